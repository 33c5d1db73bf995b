"""Objectives f(x, c), which a tuning law minimises over the knobs x for given conditions c.

Functions and the search for their optimum live here; episodes, rewards and policies may not.
"""

from env.objectives.base import Objective
from env.objectives.bench import bench
from env.objectives.benchmarks import Ackley, Rosenbrock, ShiftedAckley, Sphere
from env.objectives.branin import Branin
from env.objectives.crossing_valleys import CrossingValleys
from env.objectives.evaluation import evaluate, solution
from env.objectives.function import objective
from env.objectives.hartmann import Hartmann
from env.objectives.noisy import Noisy
from env.objectives.plain import PLAIN
from env.objectives.solve import solve_numerically

OBJECTIVES: dict[str, type[Objective]] = PLAIN | {"noisy": Noisy}
"""Built-in objectives by the name that ``--env`` takes."""

__all__ = [
    "OBJECTIVES",
    "Ackley",
    "Branin",
    "CrossingValleys",
    "Hartmann",
    "Noisy",
    "Objective",
    "Rosenbrock",
    "ShiftedAckley",
    "Sphere",
    "bench",
    "evaluate",
    "objective",
    "solution",
    "solve_numerically",
]
