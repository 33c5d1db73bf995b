"""Mixes of samplers, and samplers by name."""

from collections.abc import Sequence

import numpy as np

from actors.policy import Policy
from actors.samplers.base import Sampler
from actors.samplers.latin_hypercube import LatinHypercube
from actors.samplers.random import Random
from actors.samplers.uncertainty import Uncertainty
from env.errors import UsageError, nearest
from env.importing import import_class

SAMPLERS: dict[str, type[Sampler]] = {"random": Random, "lhs": LatinHypercube, "uncertainty": Uncertainty}
HETEROGENEOUS = "random:1,lhs:1,uncertainty:1"


class Mix(Sampler):
    """Several samplers, each of which draws the starts of a contiguous share of the step's slots.

    With three equal shares, three drivers run one sampler each; the starts do not depend on the number of drivers.

    Args:
        samplers: samplers with the same bounds.
        weights: weight of each sampler, to which its share is proportional.
    """

    def __init__(self, samplers: Sequence[Sampler], weights: Sequence[float]):
        super().__init__(samplers[0].l_bounds, samplers[0].u_bounds)
        self.samplers = list(samplers)
        self.preload = tuple(module for sampler in samplers for module in sampler.preload)
        self.asks_policy = any(sampler.asks_policy for sampler in samplers)
        self.weights = np.asarray(weights, np.float64)

    def shares(self, n: int) -> list[slice]:
        """Returns the slots of each sampler, out of ``n`` slots."""
        ends = np.rint(n * np.cumsum(self.weights) / np.sum(self.weights)).astype(int)
        return [slice(int(a), int(b)) for a, b in zip([0, *ends[:-1]], ends, strict=True)]

    def sample(self, n: int, rng: np.random.Generator, policy: Policy, rows: slice) -> np.ndarray:
        parts = [np.empty((0, self.dims))]
        # Each sampler has its own generator, so that its draws do not depend on how many another sampler made.
        for sampler, share, own in zip(self.samplers, self.shares(n), rng.spawn(len(self.samplers)), strict=True):
            start, stop = max(rows.start, share.start), min(rows.stop, share.stop)
            if start < stop:
                wanted = slice(start - share.start, stop - share.start)
                parts.append(sampler.sample(share.stop - share.start, own, policy, wanted))
        return np.concatenate(parts)


def asks_policy(spec: str) -> bool:
    """Returns whether the sampler that ``--sampler`` names asks the policy about starts.

    Raises:
        UsageError: as ``make_sampler`` does.
    """
    return any(_sampler_class(spec, name).asks_policy for name, _ in _items(spec))


def make_sampler(spec: str, l_bounds: np.ndarray, u_bounds: np.ndarray, candidates: int) -> Sampler:
    """Builds the sampler that ``--sampler`` names.

    Args:
        spec: ``random``, ``lhs``, ``uncertainty``, ``heterogeneous``, ``package.module:Class``, or a mix of them such
            as ``random:2,lhs:1``.
        l_bounds, u_bounds: lower and upper bounds of a start state, ``[dims]`` each.
        candidates: number of candidates for each start of uncertainty sampling.

    Raises:
        UsageError: ``spec`` names no sampler, or a weight is not above 0.
    """
    samplers, weights = [], []
    for name, weight in _items(spec):
        cls = _sampler_class(spec, name)
        extra = {"candidates": candidates} if cls is Uncertainty else {}
        samplers.append(cls(l_bounds, u_bounds, **extra))
        weights.append(weight)
    return Mix(samplers, weights) if len(samplers) > 1 else samplers[0]


def _items(spec: str) -> list[tuple[str, float]]:
    """Returns the names of the samplers of a mix, and their weights."""
    return [_weighted(spec, item) for item in (HETEROGENEOUS if spec == "heterogeneous" else spec).split(",")]


def _weighted(spec: str, item: str) -> tuple[str, float]:
    """Splits ``name:weight`` into its parts; without a weight, ``package.module:Class`` included, the weight is 1."""
    name, _, tail = item.strip().rpartition(":")
    try:
        weight = float(tail)
    except ValueError:
        return item.strip(), 1.0
    if not 0 < weight < np.inf:
        raise UsageError(f"--sampler {spec}: the weight of '{name}' must be above 0, got {tail}")
    return name, weight


def _sampler_class(spec: str, name: str) -> type[Sampler]:
    """Returns the class of the sampler ``name``, which is a part of ``spec``."""
    if name in SAMPLERS:
        return SAMPLERS[name]
    if ":" not in name:
        known = [*SAMPLERS, "heterogeneous", "env"]
        raise UsageError(
            f"--sampler {spec}: no sampler '{name}'{nearest(name, known)}; known are {', '.join(known)} (alone), "
            f"package.module:Class, and mixes such as random:2,lhs:1"
        )
    return import_class("--sampler", name, Sampler, "actors.samplers.Sampler")
