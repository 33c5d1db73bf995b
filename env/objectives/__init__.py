"""Objectives f(x, c), which a tuning law minimises over the knobs x for given conditions c.

Functions and the search for their optimum live here; episodes, rewards and policies may not.
"""

from env.objectives.base import Objective
from env.objectives.benchmarks import Ackley, Benchmark, Rosenbrock, ShiftedAckley, Sphere
from env.objectives.solve import solve_numerically

OBJECTIVES: dict[str, type[Benchmark]] = {
    "ackley": Ackley,
    "shifted-ackley": ShiftedAckley,
    "rosenbrock": Rosenbrock,
    "sphere": Sphere,
}
"""Built-in objectives by the name that ``--env`` takes."""

__all__ = ["OBJECTIVES", "Ackley", "Objective", "Rosenbrock", "ShiftedAckley", "Sphere", "solve_numerically"]
