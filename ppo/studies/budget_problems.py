"""Problems of the study of budgets: none of them was used while the schedules for small budgets were chosen."""

import numpy as np

from env.objectives import Objective


class Converter(Objective):
    """Loss of a step-down converter to 1.8 V, as the logarithm of its ratio to 4.73 % of the output power.

    Knobs: switching frequency, 0.1 to 5 MHz, and gate drive, 1.8 to 5 V in 32 steps. Conditions: output current, 0.1 to
    3 A, input voltage, 3.3 to 12 V, and temperature, -40 to 125 C. Conduction losses grow with the ripple, which falls
    with the frequency, and switching losses with frequency and gate drive. The mean of f is 0.666 with the best
    constant knobs.
    """

    knobs = 2
    conditions = 3
    vectorised = True

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        frequency = 1e5 * 50 ** ((x[:, 0] + 1) / 2)
        drive = 1.8 + 3.2 * np.round(31 * (x[:, 1] + 1) / 2) / 31
        current, supply, warmth = 0.1 * 30 ** ((c[:, 0] + 1) / 2), 3.3 + 8.7 * (c[:, 1] + 1) / 2, 82.5 * c[:, 2] + 17.5
        switch = (1 + 0.004 * warmth) / (14 * (drive - 0.8))
        ripple = 1.8 * (1 - 1.8 / supply) / (1e-6 * frequency)
        conduction = (current**2 + ripple**2 / 12) * (switch + 0.01 * (1 + 0.0039 * warmth))
        switching = frequency * (3e-9 * supply * current + 0.2e-9 * supply**2 + 4e-9 * drive**2)
        return np.log((conduction + switching) / (1.8 * current) / 0.0473)


class Valley(Objective):
    """A bent valley whose place depends on both conditions."""

    knobs = 2
    conditions = 2
    vectorised = True

    def __call__(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        along = x[:, 0] - 0.5 * c[:, 0]
        return 5 * (x[:, 1] - along**2 - 0.4 * c[:, 1]) ** 2 + along**2
