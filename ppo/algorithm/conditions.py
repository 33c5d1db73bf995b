"""The fixed conditions at which laws are evaluated."""

import numpy as np


def fixed_conditions(conditions: int, line_points: int, sobol_points: int) -> np.ndarray:
    """Returns conditions ``[m, conditions]`` in [-1, 1]: a grid on a line, or the first Sobol points of a cube.

    Args:
        conditions: number of conditions.
        line_points: number of points of the grid, for a single condition.
        sobol_points: number of Sobol points, for several conditions.
    """
    if conditions == 1:
        return np.linspace(-1, 1, line_points)[:, None]
    from scipy.stats import qmc  # imported here, since it is slow to load and only several conditions need it

    return 2 * qmc.Sobol(conditions, scramble=False).random(sobol_points) - 1
