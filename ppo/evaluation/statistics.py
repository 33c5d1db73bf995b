"""Student's interval of a mean, of values whose squares may be too large for a number."""

import math

import numpy as np
from scipy import stats


def student_interval(differences: np.ndarray) -> tuple[float, float]:
    """Returns the mean and half of its 95 % interval by Student's t, which is infinite for a single value."""
    n = len(differences)
    if n == 1:
        return float(differences[0]), math.inf
    small, exponent = scaled(differences)
    half = stats.t.ppf(0.975, n - 1) * small.std(ddof=1) / math.sqrt(n)
    return float(np.ldexp(small.mean(), exponent)), float(np.ldexp(half, exponent))


def scaled(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Returns values below 1, and the exponent of the power of two that was taken out, which changes no bit of them."""
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    return np.ldexp(values, -exponent), exponent
