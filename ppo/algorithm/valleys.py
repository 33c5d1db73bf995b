"""The learner of several components without a model: it remembers which of them was the best in the last slots.

Each component is to stay in a valley of its own, and the gate to choose the deepest. For a few training steps every
component looks for a valley under all conditions. Then it learns only from slots in which it is the best one: if it
learned from all, it would turn into the next valley where that is the deeper one, as all others would, and between the
valleys none of them would be right (experts that compete: Jacobs et al. 1991). Those that are not needed are dropped,
so that the others get their evaluations. The gate of a law is fitted to what was seen, by regression, which is more
exact than its gradient.
"""

import dataclasses

import numpy as np

from actors.policy import Policy, centre_states, normalise
from actors.snapshot import NetworkSpec, Snapshot
from actors.trajectory import Trajectory
from ppo.algorithm.components import acted_components, component_means, ignore_knobs, slot_weights
from ppo.algorithm.gate import fit_gate
from ppo.algorithm.learner import Learner
from ppo.algorithm.losses import Batch
from ppo.algorithm.outcomes import with_worst
from ppo.algorithm.schedules import Schedule
from ppo.algorithm.state import State, part_of, prefixed
from ppo.config import ResolvedConfig, SlotConfig

REMEMBERED = 1500  # slots
COMPETE_FROM = 0.05  # share of the training steps from which on only the best component of a slot learns from it
DROPPED_AT, NEEDLESS = 0.4, 0.001  # share of the training steps after which components are dropped whose loss costs no
# more than this share of what the gate gains over one component


class ComponentsLearner(Learner):
    """A learner of several components. It adds what it remembers to what a checkpoint holds."""

    def __init__(self, config: ResolvedConfig, spec: NetworkSpec, reused: int = 0):
        super().__init__(config, spec, reused)
        ignore_knobs(spec, self.agent.theta)
        self._conditions = np.empty((0, spec.obs_dim - spec.action_dim))
        self._means = np.empty((0, spec.components))

    def learn(self, trajectory: Trajectory) -> dict[str, float]:
        """Updates the state from the merged trajectory of the current step, and returns scalars to log."""
        scalars = super().learn(trajectory)
        if self.step == round(DROPPED_AT * self.config.training_steps):
            self._drop_needless()
        return scalars

    def _apply(self, trajectory: Trajectory, now: Schedule) -> dict[str, float]:
        """Makes the update of a training step, and takes in what it shows."""
        scalars = super()._apply(trajectory, now)
        conditions = trajectory.obs[:, 0, self.agent.policy.action_dim :]
        self._conditions = np.concatenate([self._conditions, conditions])[-REMEMBERED:]
        self._means = np.concatenate([self._means, self._means_of(trajectory)])[-REMEMBERED:]
        return scalars

    def snapshot(self) -> Snapshot:
        """Returns the policy, with a gate that is fitted to what was seen."""
        snapshot = self._policy_snapshot()
        means = np.where(self.live, self._means, np.inf)
        known = np.isfinite(means).any(axis=1)  # slots in which all failed say nothing
        if known.any():
            starts = normalise(self._starts[known], *self._normaliser)
            fit_gate(snapshot.spec, snapshot.theta, starts, means[known].argmin(axis=1), self._weights[known])
        return snapshot

    @property
    def _starts(self) -> np.ndarray:
        """States at which the remembered slots began, with the knobs in their centre."""
        return centre_states(self._conditions, self.agent.policy.action_dim)

    @property
    def _weights(self) -> np.ndarray:
        """Weights of the remembered slots that make all conditions count alike, ``[m]``."""
        assert isinstance(self.config, SlotConfig), "components are learned from pairs of one slot"
        return slot_weights(self._conditions, self.config.density_bandwidth)[:, 0]

    def _means_of(self, trajectory: Trajectory) -> np.ndarray:
        """Returns the mean f of each component in each slot, ``[E, K]``; inf where it is not in use, or failed."""
        return component_means(trajectory.objectives[:, 1:], acted_components(trajectory.actions), len(self.live))

    def _batch_of_components(
        self, obs: np.ndarray, trajectory: Trajectory, rank_weight: float, bandwidth: float
    ) -> Batch:
        knobs = self.agent.policy.action_dim
        centred = centre_states(obs[:, knobs:], knobs)  # which leaves the weights of the knobs at 0
        batch = super()._batch_of_components(centred, trajectory, rank_weight, bandwidth)
        if self.step < COMPETE_FROM * self.config.training_steps:
            return batch
        is_best = self._means_of(trajectory).argmin(axis=1)[:, None] == acted_components(trajectory.actions)
        weights = is_best / is_best.mean()
        return dataclasses.replace(batch, advantages=batch.advantages * weights.reshape(-1))

    def _drop_needless(self) -> None:
        """Takes components out of use without which a gate that is fitted to what was seen loses next to nothing."""
        snapshot, starts, weights = self.snapshot(), self._starts, self._weights
        means = with_worst(self._means)

        def mean_without(component: int | None) -> float:
            live = self.live & (np.arange(len(self.live)) != component)
            chosen = Policy(dataclasses.replace(snapshot, live=live)).gate(starts).argmax(axis=1)
            return float(weights @ means[np.arange(len(starts)), chosen] / len(starts))

        while self.live.sum() > 1:
            now = mean_without(None)
            losses = {one: mean_without(one) - now for one in np.flatnonzero(self.live).tolist()}
            least = min(losses, key=losses.__getitem__)
            if losses[least] > NEEDLESS * (np.median(means[:, self.live].mean(axis=0)) - now):
                break
            self.live = self.live & (np.arange(len(self.live)) != least)

    def warm_start(self, state: State) -> None:
        """Takes over the parameters, and the observation normaliser that they were trained with."""
        super().warm_start(state)
        ignore_knobs(self.agent.policy, self.agent.theta)

    def state(self) -> State:
        """Returns the whole state."""
        return super().state() | prefixed("remembered", {"conditions": self._conditions, "means": self._means})

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        super().restore(state)
        remembered = part_of("remembered", state)
        self._conditions, self._means = remembered["conditions"], remembered["means"]
