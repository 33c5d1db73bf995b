"""Statistics over seeds: median, worst, inter-quartile mean with a bootstrap interval.

Source of the inter-quartile mean with its interval: Agarwal et al. 2021, arXiv 2108.13264.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
RESAMPLES = 5000


def interquartile_mean(values: np.ndarray, axis: int = -1) -> np.ndarray:
    """Returns the mean of the middle half of the values along an axis."""
    return stats.trim_mean(values, 0.25, axis=axis)


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Returns the inter-quartile mean, and the ends of its 95 % percentile bootstrap interval with a fixed seed."""
    array = np.asarray(values, float)
    centre = float(interquartile_mean(array))
    if len(array) < 2 or not np.isfinite(array).all() or np.ptp(array) == 0:
        return centre, centre, centre
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        found = stats.bootstrap(
            (array,),
            interquartile_mean,
            confidence_level=CONFIDENCE,
            n_resamples=RESAMPLES,
            method="percentile",
            rng=np.random.default_rng(0),
        )
    return centre, float(found.confidence_interval.low), float(found.confidence_interval.high)


def summarised(values: Sequence[float]) -> tuple[str, str, str]:
    """Returns the texts of the median, the inter-quartile mean with its interval, and the largest value."""
    centre, low, high = interval(values)
    return f"{np.median(values):.2g}", f"{centre:.2g} [{low:.2g}, {high:.2g}]", f"{max(values):.2g}"


def ratio(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """Returns the geometric inter-quartile mean of a / b, over pairs with the same seed, and its interval."""
    centre, low, high = interval(np.log(np.divide(a, b)).tolist())
    return float(np.exp(centre)), float(np.exp(low)), float(np.exp(high))
