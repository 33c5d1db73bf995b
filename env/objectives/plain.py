"""Objectives that need no other."""

from env.objectives.base import Objective
from env.objectives.benchmarks import Ackley, Rosenbrock, ShiftedAckley, Sphere
from env.objectives.branin import Branin
from env.objectives.crossing_valleys import CrossingValleys
from env.objectives.hartmann import Hartmann

PLAIN: dict[str, type[Objective]] = {
    "ackley": Ackley,
    "shifted-ackley": ShiftedAckley,
    "rosenbrock": Rosenbrock,
    "sphere": Sphere,
    "branin": Branin,
    "hartmann": Hartmann,
    "crossing-valleys": CrossingValleys,
}
"""By name."""
