"""The conditions at which laws are judged: always the same ones."""

import numpy as np


def fixed_conditions(conditions: int, line_points: int, sobol_points: int) -> np.ndarray:
    """Returns conditions ``[m, conditions]`` in [-1, 1]: a grid on a line, or the first Sobol points of a cube."""
    if conditions == 1:
        return np.linspace(-1, 1, line_points)[:, None]
    from scipy.stats import qmc  # here, since only several conditions need it

    return 2 * qmc.Sobol(conditions, scramble=False).random(sobol_points) - 1
