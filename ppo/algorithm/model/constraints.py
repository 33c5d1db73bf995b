"""The models of constraints: what they are fitted to, and the margin that a law keeps."""

import numpy as np
import torch

from actors.snapshot import NetworkSpec
from ppo.algorithm.model.evidence import Evidence, some_of
from ppo.algorithm.model.fits import Fit, fit_of, state_of
from ppo.algorithm.model.fitting import fit
from ppo.algorithm.model.gaussian_process import factored, first_guesses
from ppo.algorithm.model.limits import Limits
from ppo.algorithm.model.region import Avoided, Region
from ppo.algorithm.state import State, part_of, prefixed

STEPS, FURTHER_STEPS = 40, 15  # iterations of a first fit, and of one that goes on from another
FIRST_MARGIN, MOST_MARGIN = 1e-3, 1e-2  # standard deviations of a constraint
QUANTILE = 0.9  # of the states of a law that the margin is to keep within the limits, if it suffices


class ConstraintModels:
    """A process of each constraint, fitted to the evaluations that the process of f takes.

    Args:
        spec: the policy's network.
        count: number of constraints; without any there is nothing to fit.
        device: where torch computes the likelihood of fits; None for NumPy.

    Attributes:
        margin: how far within the limits knobs are to be, in standard deviations of each, ``[count]``.
    """

    def __init__(self, spec: NetworkSpec, count: int, device: torch.device | None = None):
        self.margin = np.full(count, FIRST_MARGIN)
        self._spec, self._device, self._fits = spec, device, list[Fit]()
        self._last: tuple[tuple, Avoided | None] = (), None

    def fit(self, evidence: Evidence, taken: np.ndarray, most: int, anew: bool) -> None:
        """Fits the processes.

        Args:
            evidence: all evaluations.
            taken: those that the processes take, by number.
            most: how many of them choose hyperparameters.
            anew: whether hyperparameters are chosen anew.
        """
        some, found = some_of(taken, most), []
        for number in range(len(self.margin)):
            hyper = self._fits[number].hyperparameters if self._fits else None
            if hyper is None or anew:
                starts = first_guesses(evidence.states.shape[1]) if hyper is None else [hyper]
                values, steps = evidence.constraints[some, number], STEPS if hyper is None else FURTHER_STEPS
                hyper = fit(evidence.states[some], values, starts, steps, self._device)
            found.append(Fit(taken, hyper))
        self._fits = found

    def avoided(self, evidence: Evidence) -> Avoided | None:
        """Returns where a law is not to go: beyond the limits, and where f is likely to fail; None for nowhere."""
        key = len(evidence), len(evidence.failures), self.margin.tobytes(), *map(id, self._fits)
        if self._last[0] != key:
            self._last = key, self._avoided(evidence)
        return self._last[1]

    def _avoided(self, evidence: Evidence) -> Avoided | None:
        region = Region(evidence.states, evidence.failures) if len(evidence.failures) else None
        if not self._fits:
            return region
        processes = []
        for number, made_of in enumerate(self._fits):
            values = evidence.constraints[made_of.taken, number]
            processes.append(factored(evidence.states[made_of.taken], values, made_of.hyperparameters))
        return Limits(processes, self.margin, region)

    def widen(self, beyond: np.ndarray) -> bool:
        """Widens the margin where a law breaks the limits, given how far it lies beyond, ``[m, count]``.

        Returns:
            Whether it was widened.
        """
        before, missing = self.margin, np.maximum(np.quantile(beyond, QUANTILE, axis=0), 0.0)
        self.margin = np.minimum(before + missing, MOST_MARGIN)
        return bool((self.margin > before).any())

    def state(self) -> State:
        """Returns what is not a function of the evidence alone."""
        found = {"margin": self.margin.copy()}
        for number, made_of in enumerate(self._fits):
            found |= prefixed(str(number), state_of(made_of))
        return found

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        self.margin = state["margin"].copy()
        numbers = range(len(self.margin) if len(state) > 1 else 0)
        fits = (fit_of(part_of(str(number), state), self._spec) for number in numbers)
        self._fits = [made_of for made_of in fits if made_of is not None]
