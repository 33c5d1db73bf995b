"""The learner of several components without a model: it remembers which of them was the best in the last slots.

Each component is to stay in a valley of its own, and the gate to choose the deepest. At first every component looks for
a valley. Then those at which it is not the best count less for it, so that it becomes exact where it is the law. Those
that are never needed are dropped, so that the others get their evaluations. At the end the gate is fitted to what was
seen, by regression, which is more exact than its gradient.
"""

import dataclasses

import numpy as np

from actors.law import centre_states
from actors.policy import Policy, normalise
from actors.snapshot import NetworkSpec
from actors.trajectory import Trajectory
from ppo.algorithm.components import acted_components, component_means
from ppo.algorithm.gate import fit_gate
from ppo.algorithm.learner import Learner
from ppo.algorithm.losses import Batch
from ppo.algorithm.state import State, part_of, prefixed
from ppo.config import ResolvedConfig

REMEMBERED = 1500  # slots
NARROWED_FROM, ELSEWHERE = 0.3, 0.1  # share of the training steps from which on a component learns little, by so much,
# from slots in which it is not the best one
DROPPED_AT, NEEDLESS = 0.4, 0.003  # share of the training steps after which components are dropped whose loss costs no
# more than this share of what the gate gains over one component


class ComponentsLearner(Learner):
    """A learner of several components. It adds what it remembers to what a checkpoint holds."""

    def __init__(self, config: ResolvedConfig, spec: NetworkSpec, reused: int = 0):
        super().__init__(config, spec, reused)
        self._conditions = np.empty((0, spec.obs_dim - spec.action_dim))
        self._means = np.empty((0, spec.components))

    def learn(self, trajectory: Trajectory) -> dict[str, float]:
        """Updates the state from the merged trajectory of the current step, and returns scalars to log."""
        scalars = super().learn(trajectory)
        conditions = trajectory.obs[:, 0, self.agent.policy.action_dim :]
        self._conditions = np.concatenate([self._conditions, conditions])[-REMEMBERED:]
        self._means = np.concatenate([self._means, self._means_of(trajectory)])[-REMEMBERED:]
        if self.step == round(DROPPED_AT * self.config.training_steps):
            self._drop_needless()
        if self.complete:
            self._fit_gate(self.agent.theta)
        return scalars

    @property
    def _starts(self) -> np.ndarray:
        """States at which the remembered slots began, with the knobs in their centre."""
        return centre_states(self._conditions, self.agent.policy.action_dim)

    def _fit_gate(self, theta: np.ndarray) -> None:
        """Fits the gate among parameters ``theta``, in place, to what was seen."""
        best = np.where(self.live, self._means, np.inf).argmin(axis=1)
        fit_gate(self.agent.policy, theta, normalise(self._starts, *self._normaliser), best)

    def _means_of(self, trajectory: Trajectory) -> np.ndarray:
        """Returns the mean f of each component in each slot, ``[E, K]``; inf where it is not in use."""
        return component_means(trajectory.objectives[:, 1:], acted_components(trajectory.actions), len(self.live))

    def _batch_of_components(
        self, obs: np.ndarray, trajectory: Trajectory, rank_weight: float, bandwidth: float
    ) -> Batch:
        batch = super()._batch_of_components(obs, trajectory, rank_weight, bandwidth)
        if self.step < NARROWED_FROM * self.config.training_steps:
            return batch
        is_best = self._means_of(trajectory).argmin(axis=1)[:, None] == acted_components(trajectory.actions)
        weights = np.where(is_best, 1.0, ELSEWHERE)
        weights /= weights.mean()
        return dataclasses.replace(batch, advantages=batch.advantages * weights.reshape(-1))

    def _drop_needless(self) -> None:
        """Takes components out of use without which a gate that is fitted to what was seen loses next to nothing."""
        snapshot, starts = self._policy_snapshot(), self._starts
        self._fit_gate(snapshot.theta)

        def mean_without(component: int | None) -> float:
            live = self.live & (np.arange(len(self.live)) != component)
            chosen = Policy(dataclasses.replace(snapshot, live=live)).gate(starts).argmax(axis=1)
            return float(self._means[np.arange(len(starts)), chosen].mean())

        while self.live.sum() > 1:
            now = mean_without(None)
            losses = {one: mean_without(one) - now for one in np.flatnonzero(self.live).tolist()}
            least = min(losses, key=losses.__getitem__)
            if losses[least] > NEEDLESS * (np.median(self._means[:, self.live].mean(axis=0)) - now):
                break
            self.live = self.live & (np.arange(len(self.live)) != least)

    def state(self) -> State:
        """Returns the whole state."""
        return super().state() | prefixed("remembered", {"conditions": self._conditions, "means": self._means})

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        super().restore(state)
        remembered = part_of("remembered", state)
        self._conditions, self._means = remembered["conditions"], remembered["means"]
