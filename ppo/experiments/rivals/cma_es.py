"""The rival ``cma-es``: conditions solved by CMA-ES (Hansen's package cma, the extra ``compare``), interpolated."""

import numpy as np

from ppo.experiments.rivals.metered import Metered, RivalLaw
from ppo.experiments.rivals.solved_conditions import Function, solve_and_interpolate

FIRST_STEP, STEP = 0.5, 0.1  # first standard deviation of the search without a start, and with one
OPTIONS = {"bounds": [-1, 1], "verbose": -9, "tolx": 0, "tolfun": 0, "tolfunhist": 0, "tolflatfitness": 10**9}


def cma_es(objective: Metered, evaluations: int, seed: int) -> RivalLaw:
    """Learns a law; see ``solve_and_interpolate``."""
    return solve_and_interpolate(objective, evaluations, seed, solve)


def solve(f: Function, start: np.ndarray | None, evaluations: int, knobs: int, seed: int) -> tuple[np.ndarray, float]:
    """Searches at one condition; see ``Solver``. A single knob is searched beside an idle one, as the package asks."""
    import cma

    middle = np.zeros(max(2, knobs))
    if start is not None:
        middle[:knobs] = start
    step = FIRST_STEP if start is None else STEP
    search = cma.CMAEvolutionStrategy(middle, step, {**OPTIONS, "seed": seed + 1})
    best, least, left = middle[:knobs], float("inf"), evaluations
    while left > 0:
        asked = search.ask()
        x = np.array(asked)[:left, :knobs]
        values = f(x)
        left -= len(x)
        if values.min() < least:
            best, least = x[values.argmin()], float(values.min())
        if len(x) == len(asked):
            search.tell(asked, values.tolist())
    return best, least
