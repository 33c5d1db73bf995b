"""Student's interval of a mean."""

import math

import numpy as np
from scipy import stats


def student_interval(differences: np.ndarray) -> tuple[float, float]:
    """Returns the mean and half of its 95 % interval by Student's t, which is infinite for a single value."""
    n = len(differences)
    if n == 1:
        return float(differences[0]), math.inf
    return float(differences.mean()), float(stats.t.ppf(0.975, n - 1) * differences.std(ddof=1) / math.sqrt(n))
