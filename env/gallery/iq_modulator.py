"""Image rejection of an IQ modulator: gain and phase of its two paths are trimmed over temperature and frequency."""

from typing import Any

import numpy as np

from env.kinds import Log, Range
from env.objectives import objective

FLOOR = 1e-8  # of the image's power, that no trim removes


def mismatch(temperature: Any, frequency: Any) -> tuple[Any, Any]:
    """Returns the untrimmed mismatch of the paths: gain in dB and phase in degrees; invented, of a usual size."""
    u, v = (temperature - 25) / 100, np.log2(frequency / 2)
    return 0.25 + 0.2 * u - 0.15 * v + 0.1 * u * v, 1.2 - 0.8 * u + v + 0.3 * u * u


def best(temperature: Any, frequency: Any) -> dict[str, Any]:
    """Returns the trims that take the mismatch away: -80 dB is left."""
    gain, phase = mismatch(temperature, frequency)
    return {"gain_trim": -gain, "phase_trim": -phase}


@objective(
    knobs={"gain_trim": Range(-1, 1, unit="dB"), "phase_trim": Range(-5, 5, unit="deg")},
    conditions={"temperature": Range(-40, 125, unit="C"), "frequency": Log(0.7, 6, unit="GHz")},
    vectorised=True,
    best=best,
)
def image(gain_trim: Any, phase_trim: Any, temperature: Any, frequency: Any) -> Any:
    """Power of the image beside that of the signal, in dB.

    With a ratio of the amplitudes g and a phase error p it is (1 + g^2 - 2 g cos p) / (1 + g^2 + 2 g cos p); see B.
    Razavi, RF Microelectronics, 2nd ed. 2011, section 4.2.
    """
    gain, phase = mismatch(temperature, frequency)
    g, p = 10 ** ((gain + gain_trim) / 20), np.deg2rad(phase + phase_trim)
    ratio = (1 + g * g - 2 * g * np.cos(p)) / (1 + g * g + 2 * g * np.cos(p))
    return 10 * np.log10(FLOOR + ratio)
