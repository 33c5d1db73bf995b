"""The best constant knobs, estimated from evaluations that were paid for anyway."""

import numpy as np

from env.coordinates import snapped

MODEL_POINTS = 800  # evaluations that the model takes, so that its system of equations stays small
CANDIDATES = 256  # Sobol points where the evaluated knobs lie, and as many evaluated knobs themselves
CONDITIONS = 64
SMOOTHING = 1e-3  # 0 would pass through each value, its noise included


def estimated_best_constant(x: np.ndarray, c: np.ndarray, f: np.ndarray, steps: np.ndarray | None = None) -> np.ndarray:
    """Estimates the constant knobs with the least mean of f over all conditions.

    f is modelled by SciPy's radial basis functions (cubic, with a linear part). The early evaluations of a run lie far
    apart, so more of them are taken. The result is deterministic, and as good as the model is: what it gives is to be
    measured before it is compared with.

    Args:
        x: evaluated knobs in the order of the run, ``[n, knobs]``.
        c: conditions, ``[n, conditions]``.
        f: finite values, ``[n]``.
        steps: distances between the values that each knob can have, ``[knobs]``; None where all can have all.

    Returns:
        Knobs, ``[knobs]``; the centre where there are too few evaluations for a model.
    """
    from scipy.interpolate import RBFInterpolator  # imported here, since it is slow to load
    from scipy.stats import qmc

    points = np.unique(np.concatenate([x, c], axis=1), axis=0, return_index=True)[1]
    points.sort()
    if len(points) > MODEL_POINTS:
        share = np.linspace(0, 1, MODEL_POINTS, endpoint=False) ** 2
        points = points[np.unique((share * len(points)).astype(int))]
    x, c, f = x[points], c[points], f[points]
    if len(points) <= 1 + x.shape[1] + c.shape[1] or np.ptp(f) == 0:
        return np.zeros(x.shape[1])
    try:
        model = RBFInterpolator(np.concatenate([x, c], axis=1), f, kernel="cubic", smoothing=SMOOTHING)
    except np.linalg.LinAlgError:  # all states lie in a plane
        return x[np.argmin(f)]
    low, high = np.percentile(x, (2, 98), axis=0)
    sobol = low + (high - low) * qmc.Sobol(x.shape[1], scramble=False).random(CANDIDATES)
    sobol = sobol if steps is None else snapped(sobol, steps)
    candidates = np.concatenate([sobol, x[:: max(1, len(x) // CANDIDATES)]])
    conditions = 2 * qmc.Sobol(c.shape[1], scramble=False).random(CONDITIONS) - 1
    states = [np.repeat(candidates, CONDITIONS, axis=0), np.tile(conditions, (len(candidates), 1))]
    means = model(np.concatenate(states, axis=1)).reshape(len(candidates), CONDITIONS).mean(axis=1)
    return candidates[np.argmin(means)]
