"""Losses of a buck converter: switching frequency and gate drive are set over load, input voltage and temperature."""

from typing import Any

import numpy as np

from env.kinds import Log, Range
from env.objectives import objective

OUTPUT, INDUCTANCE = 1.8, 1e-6  # V, H
GATE_VOLTAGE, FREQUENCY = (1.8, 5.0), (0.1e6, 5e6)
GRID, REFINEMENTS = 401, 4


def parts(gate_voltage: Any, current: Any, input_voltage: Any, temperature: Any) -> tuple[Any, Any, Any]:
    """Returns what the loss is made of at a frequency: constant, times 1 / frequency^2, and times frequency."""
    on = (1 + 0.004 * (temperature - 25)) / (14 * (gate_voltage - 0.8))
    resistance = on + 0.010 * (1 + 0.0039 * (temperature - 25))
    ripple = OUTPUT * (1 - OUTPUT / input_voltage) / INDUCTANCE  # times the period: peak to peak
    overlap, output = 0.5 * input_voltage * current * 6e-9, 0.5 * 0.4e-9 * input_voltage**2
    switching = overlap + output + 2 * 2e-9 * gate_voltage**2
    return current**2 * resistance, ripple**2 * resistance / 12, switching


def best(current: Any, input_voltage: Any, temperature: Any) -> dict[str, Any]:
    """Returns the best knobs: for a gate voltage the frequency is (2 B / C)^(1/3), and the voltage is searched."""
    given = [np.atleast_1d(one)[:, None] for one in np.broadcast_arrays(current, input_voltage, temperature)]
    low, high = (np.full(given[0].shape, bound) for bound in GATE_VOLTAGE)
    for _ in range(REFINEMENTS):
        tried = low + (high - low) * np.linspace(0, 1, GRID)
        constant, ripple, switching = parts(tried, *given)
        frequency = np.clip((2 * ripple / switching) ** (1 / 3), *FREQUENCY)
        least = (constant + ripple / frequency**2 + switching * frequency).argmin(axis=1)[:, None]
        gate = np.take_along_axis(tried, least, axis=1)
        step = (high - low) / (GRID - 1)
        low, high = np.maximum(gate - step, GATE_VOLTAGE[0]), np.minimum(gate + step, GATE_VOLTAGE[1])
    return {"frequency": np.take_along_axis(frequency, least, axis=1)[:, 0], "gate_voltage": gate[:, 0]}


@objective(
    knobs={"frequency": Log(*FREQUENCY, unit="Hz"), "gate_voltage": Range(*GATE_VOLTAGE, unit="V")},
    conditions={
        "current": Range(0.1, 3, unit="A"),
        "input_voltage": Range(3.3, 12, unit="V"),
        "temperature": Range(-40, 125, unit="C"),
    },
    vectorised=True,
    best=best,
)
def loss(frequency: Any, gate_voltage: Any, current: Any, input_voltage: Any, temperature: Any) -> Any:
    """Power lost in W: conduction, ripple, and switching; the usual first-order formulas, with invented parts.

    See R. W. Erickson and D. Maksimovic, Fundamentals of Power Electronics, 3rd ed. 2020, chapters 3 and 4.
    """
    constant, ripple, switching = parts(gate_voltage, current, input_voltage, temperature)
    return constant + ripple / frequency**2 + switching * frequency
