"""Losses of a segmented buck converter: a whole number and a choice are set beside frequency and gate drive.

Its switches have 1 to 8 segments; with four it is the converter of ``env.gallery.buck_converter``. Fewer conduct worse
and are switched with less charge. In the mode ``skipping`` pulses are left out at light load: less is switched and the
controller takes less, and the current has more ripple.
"""

import itertools
from typing import Any

import numpy as np

from env.gallery.buck_converter import FREQUENCY, GATE_VOLTAGE, INDUCTANCE, OUTPUT
from env.kinds import Choice, Integer, Log, Range
from env.objectives import objective

SEGMENTS, MODES = (1, 8), ("continuous", "skipping")
GRID, REFINEMENTS = 41, 6


def parts(gate_voltage: Any, segments: Any, skipping: Any, current: Any, input_voltage: Any) -> tuple[Any, Any, Any]:
    """Returns what the loss is made of at a frequency: constant, times 1 / frequency^2, and times frequency."""
    resistance = 4 / segments / (14 * (gate_voltage - 0.8)) + 0.010
    ripple = OUTPUT * (1 - OUTPUT / input_voltage) / INDUCTANCE
    charge = segments / 4 * (0.5 * 0.4e-9 * input_voltage**2 + 2 * 2e-9 * gate_voltage**2)
    switching = (0.5 * input_voltage * current * 6e-9 + charge) * np.where(skipping, np.clip(current, 0.1, 1), 1.0)
    constant = current**2 * resistance + np.where(skipping, 1e-3, 5e-3)
    return constant, ripple**2 * resistance / 12 * np.where(skipping, 2.5, 1.0), switching


def best(current: Any, input_voltage: Any) -> dict[str, Any]:
    """Returns the best knobs: each combination of segments and mode with its best gate voltage and frequency."""
    given = [np.atleast_1d(one) for one in np.broadcast_arrays(current, input_voltage)]
    count, found = len(given[0]), []
    for segments, skipping in itertools.product(range(SEGMENTS[0], SEGMENTS[1] + 1), (False, True)):
        low, high = (np.full((count, 1), bound) for bound in GATE_VOLTAGE)
        for _ in range(REFINEMENTS):
            tried = low + (high - low) * np.linspace(0, 1, GRID)
            constant, ripple, switching = parts(tried, segments, skipping, given[0][:, None], given[1][:, None])
            frequency = np.clip((2 * ripple / switching) ** (1 / 3), *FREQUENCY)
            values = constant + ripple / frequency**2 + switching * frequency
            least = values.argmin(axis=1)[:, None]
            gate, step = np.take_along_axis(tried, least, axis=1), (high - low) / (GRID - 1)
            low, high = np.maximum(gate - step, GATE_VOLTAGE[0]), np.minimum(gate + step, GATE_VOLTAGE[1])
        columns = (np.take_along_axis(one, least, axis=1)[:, 0] for one in (values, frequency, tried))
        found.append((*columns, np.full(count, segments), np.full(count, skipping)))
    table = np.array(found)
    _, frequency, gate, segments, skipping = table[table[:, 0].argmin(axis=0), :, np.arange(count)].T
    mode = np.where(skipping > 0, MODES[1], MODES[0])
    return {"frequency": frequency, "gate_voltage": gate, "segments": segments, "mode": mode}


@objective(
    knobs={
        "frequency": Log(*FREQUENCY, unit="Hz"),
        "gate_voltage": Range(*GATE_VOLTAGE, unit="V"),
        "segments": Integer(*SEGMENTS),
        "mode": Choice(*MODES),
    },
    conditions={"current": Range(0.05, 3, unit="A"), "input_voltage": Range(3.3, 12, unit="V")},
    vectorised=True,
    best=best,
)
def loss(frequency: Any, gate_voltage: Any, segments: Any, mode: Any, current: Any, input_voltage: Any) -> Any:
    """Power lost in W, with invented parts."""
    skipping = np.asarray(mode) == MODES[1]
    constant, ripple, switching = parts(gate_voltage, segments, skipping, current, input_voltage)
    return constant + ripple / frequency**2 + switching * frequency
