"""An objective with noise, which depends on the point alone."""

from typing import Any

import numpy as np

from env.errors import UsageError, nearest
from env.importing import import_object
from env.objectives.base import Objective
from env.objectives.checks import check_objective
from env.objectives.evaluation import evaluate
from env.objectives.given import objective_class
from env.objectives.plain import PLAIN

POINTS = 4096  # at which the standard deviation of f is estimated
GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # constants of SplitMix64


class Noisy(Objective):
    """Another objective plus Gaussian noise that is a function of ``noise_seed`` and of the point (x, c).

    The same point gives the same noise again, in whichever process and batch it is evaluated; points that differ in any
    bit have independent noise. So results stay the same for any number of drivers, and repeating an evaluation tells
    nothing new about f.

    The standard deviation of the noise is ``level`` times that of f over all knobs and conditions. The constructor
    estimates it from 4,096 evaluations, which are not counted, so the other objective must be cheap.

    Attributes:
        noise_free: the objective without noise, with which a law can be measured.
        deviation: standard deviation of the noise, in the objective's own unit.

    Args:
        of: the other objective: the name of a built-in one, or ``package.module:Class``.
        level: standard deviation of the noise, as a share of that of f.
        noise_seed: seed of the noise, from 0 to 2^64 - 1.
        dims, knobs: sizes of the other objective (None: its own). One that is not built in has no other than its own.
        **kwargs: further keywords of the other objective.

    Raises:
        UsageError: a value is not accepted, or f is not finite somewhere.
    """

    def __init__(
        self,
        dims: int | None = None,
        knobs: int | None = None,
        of: str = "branin",
        level: float = 0.05,
        noise_seed: int = 0,
        **kwargs: Any,
    ):
        if not isinstance(level, int | float) or not 0 <= level < float("inf"):
            raise UsageError(
                f"--env-kwargs level={level}: must be a number of 0 or more, the noise's share of the deviation of f"
            )
        if not isinstance(noise_seed, int) or not 0 <= noise_seed < 2**64:
            raise UsageError(f"--env-kwargs noise_seed={noise_seed}: must be a whole number from 0 to 2^64 - 1")
        self.noise_free = _make(str(of), {"dims": dims, "knobs": knobs}, kwargs)
        self.knobs, self.conditions = self.noise_free.knobs, self.noise_free.conditions
        self.vectorised, self.takes_rng = self.noise_free.vectorised, self.noise_free.takes_rng
        self.thread_safe, self.at_once = self.noise_free.thread_safe, self.noise_free.at_once
        self.take_coordinates(self.noise_free.coordinates)
        if self.noise_free.asynchronous:
            raise UsageError(f"--env-kwargs of={of}: has an async __call__, to which no noise is added")
        if self.noise_free.constraints:
            raise UsageError(f"--env-kwargs of={of}: has constraints, to which no noise is added")
        self.metric = "mse" if level else self.noise_free.metric  # noise may take f below 0, where msle is not defined
        self.noise_seed = noise_seed
        z = _spread(POINTS, self.dims)
        deviation = float(np.std(evaluate(self.noise_free, z[:, : self.knobs].copy(), z[:, self.knobs :].copy())))
        if not np.isfinite(deviation):
            raise UsageError(f"--env-kwargs of={of}: its f must be finite everywhere, so that the noise has a scale")
        self.deviation = level * deviation

    def __call__(self, x: np.ndarray, c: np.ndarray, **given: np.random.Generator) -> np.ndarray:
        # Where the other one takes a single row and a generator, so does this one: both are passed on.
        noise = standard_normal(np.concatenate([x, c], axis=1), self.noise_seed)
        return self.noise_free(x, c, **given) + self.deviation * noise

    def solve(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns the best knobs without noise, and f without noise at them; see ``Objective.solve``."""
        return self.noise_free.solve(c)


def standard_normal(points: np.ndarray, seed: int) -> np.ndarray:
    """Returns a number for each point that looks like a draw from the standard normal distribution.

    The bits of a point's coordinates are hashed one after the other; two hashes make two uniform numbers, which the
    method of Box and Muller makes into a normal one.

    Args:
        points: points, ``[n, dims]``.
        seed: seed, from 0 to 2^64 - 1; with another one all numbers are others.

    Returns:
        The numbers, ``[n]``, each a function of its point and of the seed alone.
    """
    bits = (np.asarray(points, np.float64) + 0.0).view(np.uint64)  # adding 0 makes -0 and 0 the same point
    state = mix(np.full(len(points), seed, np.uint64))
    for column in bits.T:
        state = mix(state ^ column)
    radius = np.sqrt(-2 * np.log(((state >> 11) + 1) * 2.0**-53))  # of a number in (0, 1]
    return radius * np.cos(2 * np.pi * ((mix(state) >> 11) * 2.0**-53))


def mix(state: np.ndarray) -> np.ndarray:
    """Returns the output of the generator SplitMix64 for states of 64 bits (Steele, Lea and Flood 2014)."""
    z: np.ndarray = state + np.uint64(GOLDEN)
    z = (z ^ (z >> 30)) * np.uint64(FIRST)
    z = (z ^ (z >> 27)) * np.uint64(SECOND)
    return z ^ (z >> 31)


def _make(of: str, sizes: dict[str, int | None], kwargs: dict[str, Any]) -> Objective:
    """Makes the objective that ``of`` names.

    Raises:
        UsageError: there is none, or it has other sizes.
    """
    given = {name: value for name, value in sizes.items() if value is not None}
    if of in PLAIN:
        return PLAIN[of](**given, **kwargs)
    if ":" not in of:
        words = f"known are {', '.join(PLAIN)} and package.module:Class"
        raise UsageError(f"--env-kwargs of={of}: unknown{nearest(of, PLAIN)}; {words}")
    made = objective_class(f"--env-kwargs of={of}", import_object("--env-kwargs of=", of))(**kwargs)
    objective = check_objective(f"--env-kwargs of={of}", made)
    for name, value in given.items():
        if value != (own := getattr(objective, name)):
            raise UsageError(f"--{name} {value}: must be {own}, which --env-kwargs of={of} sets by itself")
    return objective


def _spread(count: int, dims: int) -> np.ndarray:
    """Returns points that fill [-1, 1]^dims evenly, ``[count, dims]``, always the same.

    They are the multiples, modulo 1, of powers of 1 / g with g^(dims + 1) = g + 1 (Roberts 2018, "The unreasonable
    effectiveness of quasirandom sequences"). A Sobol set would need SciPy, which a driver process does without.
    """
    g = 1.5
    for _ in range(60):
        g = (1 + g) ** (1 / (dims + 1))
    return 2 * ((0.5 + np.outer(np.arange(count), g ** -np.arange(1.0, dims + 1))) % 1) - 1
