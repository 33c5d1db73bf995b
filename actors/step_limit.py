"""How far knobs may lie from those of a start law, under the same conditions."""

import functools
from dataclasses import dataclass, replace

import numpy as np

from actors.policy import Policy, centre_states
from actors.snapshot import NetworkSpec, Snapshot
from env.coordinates import snapped

NEARLY = 1e-9  # of a step, by which rounding may move a bound that lies on one


@dataclass(frozen=True, eq=False)
class StepLimit:
    """Bounds of knobs about a start law, which may have been trained within such bounds itself, and so on.

    A knob that can have but some values has those within the bounds.

    Attributes:
        starts: the laws, each of which was trained within the bounds about the one before; the last one is the start
            law. The first may be None, for the middle of the ranges.
        reaches: how far knobs may lie from each of them, as a share of the range.
        steps: of the knobs, as in ``NetworkSpec``; none where all knobs can have all values.
        knobs: their number.
    """

    starts: tuple[Snapshot | None, ...]
    reaches: tuple[float, ...]
    steps: tuple[float, ...]
    knobs: int

    @classmethod
    def about(cls, start: Snapshot | None, within: "StepLimit | None", reach: float, spec: NetworkSpec) -> "StepLimit":
        """Returns the bounds about a start law.

        Args:
            start: the start law; None for the middle of the ranges.
            within: the bounds that it was trained within; None for none.
            reach: share of the range.
            spec: network of a policy with the same knobs.
        """
        starts, reaches = (within.starts, within.reaches) if within else ((), ())
        return cls((*starts, start), (*reaches, reach), spec.steps, spec.action_dim)

    @property
    def reach(self) -> float:
        """How far knobs may lie from those of the start law, as a share of the range."""
        return self.reaches[-1]

    @property
    def start(self) -> Snapshot | None:
        """The start law; None for the middle of the ranges."""
        return self.starts[-1]

    @property
    def within(self) -> "StepLimit | None":
        """The bounds that the start law was trained within; None for none."""
        if len(self.starts) == 1:
            return None
        return replace(self, starts=self.starts[:-1], reaches=self.reaches[:-1])

    def start_knobs(self, conditions: np.ndarray) -> np.ndarray:
        """Returns the knobs of the start law at conditions ``[m, conditions]``, ``[m, knobs]``."""
        x = self._knobs(0, conditions)
        for number, reach in enumerate(self.reaches[:-1], start=1):
            x = np.clip(self._knobs(number, conditions), *self._about(x, reach))
        return x

    def bounds(self, conditions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the least and the largest knobs at conditions ``[m, conditions]``, ``[m, knobs]`` each."""
        return self._about(self.start_knobs(conditions), self.reach)

    @functools.cached_property
    def _policies(self) -> list[Policy | None]:
        return [None if start is None else Policy(start) for start in self.starts]

    def _knobs(self, number: int, conditions: np.ndarray) -> np.ndarray:
        """Returns the knobs of one of the laws, ``[m, knobs]``."""
        states = centre_states(conditions, self.knobs)
        if (policy := self._policies[number]) is not None:
            return policy.valid(policy.mode(states))
        return snapped(states[:, : self.knobs], np.array(self.steps)) if self.steps else states[:, : self.knobs]

    def _about(self, x: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
        """Returns the bounds about knobs ``[m, knobs]``; where there are steps, on them."""
        low, high = np.maximum(x - 2 * reach, -1.0), np.minimum(x + 2 * reach, 1.0)
        if not self.steps:
            return low, high
        steps = np.array(self.steps)
        sizes = np.where(steps > 0, steps, 1.0)
        up, down = np.ceil((low + 1) / sizes - NEARLY), np.floor((high + 1) / sizes + NEARLY)
        low = snapped(np.where(steps > 0, up * sizes - 1, low), steps)
        high = snapped(np.where(steps > 0, down * sizes - 1, high), steps)
        return low, high
