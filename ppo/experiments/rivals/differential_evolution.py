"""The rival ``differential-evolution``: conditions solved by SciPy's differential evolution, interpolated."""

import numpy as np

from ppo.experiments.rivals.metered import Metered, RivalLaw
from ppo.experiments.rivals.solved_conditions import Function, solve_and_interpolate

REACH, CLOSE = 0.3, 0.02  # how far from a start the first population reaches, and what is tried at last from the best
LEAST = 5  # individuals that SciPy needs


def differential_evolution(objective: Metered, evaluations: int, seed: int) -> RivalLaw:
    """Learns a law; see ``solve_and_interpolate``."""
    return solve_and_interpolate(objective, evaluations, seed, solve)


def solve(f: Function, start: np.ndarray | None, evaluations: int, knobs: int, seed: int) -> tuple[np.ndarray, float]:
    """Searches at one condition, in at least five generations where there are evaluations for that; see ``Solver``."""
    from scipy import optimize

    rng = np.random.default_rng(seed)
    n = min(evaluations, max(LEAST, min(5 * knobs, evaluations // 5)))
    population = rng.uniform(-1, 1, (n, knobs))
    if start is not None:
        population = np.clip(start + REACH * population, -1, 1)
        population[0] = start
    if n < LEAST:
        values = f(population)
        return population[values.argmin()], float(values.min())
    result = optimize.differential_evolution(
        lambda x: f(x.T),
        [(-1, 1)] * knobs,
        init=population,
        maxiter=evaluations // n - 1,
        tol=0,
        polish=False,
        vectorized=True,
        updating="deferred",
        rng=rng,
    )
    if rest := evaluations - n * (1 + result.nit):  # too few for another generation, or the population has no spread
        close = np.clip(result.x + CLOSE * rng.standard_normal((rest, knobs)), -1, 1)
        values = f(close)
        if values.min() < result.fun:
            return close[values.argmin()], float(values.min())
    return result.x, float(result.fun)
