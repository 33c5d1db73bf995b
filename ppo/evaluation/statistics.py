"""Student's interval of a mean, of values whose squares may be too large for a number; and numbers told apart."""

import math

import numpy as np
from scipy.special import stdtrit

MOST_DIGITS = 17  # of a float


def student_interval(differences: np.ndarray) -> tuple[float, float]:
    """Returns the mean and half of its 95 % interval by Student's t, which is infinite for a single value."""
    n = len(differences)
    if n == 1:
        return float(differences[0]), math.inf
    small, exponent = scaled(differences)
    half = stdtrit(n - 1, 0.975) * small.std(ddof=1) / math.sqrt(n)
    return float(np.ldexp(small.mean(), exponent)), float(np.ldexp(half, exponent))


def scaled(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Returns values below 1, and the exponent of the power of two that was taken out, which changes no bit of them."""
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    return np.ldexp(values, -exponent), exponent


def told_apart(*values: float, digits: int = 4, difference: float | None = None) -> list[str]:
    """Returns numbers with so many digits, or with more, so that two digits of their difference are seen.

    Args:
        values: the numbers.
        digits: the least number of digits.
        difference: the difference that is to be seen; None for that of the largest and the smallest.
    """
    largest, difference = max(map(abs, values)), max(values) - min(values) if difference is None else difference
    if math.isfinite(largest) and difference > 0:
        needed = math.ceil(math.log10(largest) - math.log10(difference)) + 2
        if needed > digits:  # and then all before the point, so that no exponent stands beside a number without one
            before = math.floor(math.log10(largest)) + 1 if largest < 10**MOST_DIGITS else 0
            digits = min(max(needed, before), MOST_DIGITS)
    return [f"{value:.{digits}g}" for value in values]
