"""The learner of a large budget: where the model takes f for noisy, other laws are made without it, and compared.

A process of at most some thousand evaluations takes dozens of ripples over the range of a knob for noise, and more
evaluations do not teach it better. Two others have no such limit. An ensemble of networks learns from all evaluations.
And of a budget that is larger still, PPO on real slots alone: a part of it is learned from with the model, and the rest
trains a policy of one component from the start. A last planned round evaluates all of these laws at the same
conditions, and the median of the last one's knobs there as constants: a law that ends a ripple off under some
conditions may lose to them.
"""

import dataclasses
from typing import Any

import numpy as np
from scipy.stats import qmc

from actors.job import Job, Kind
from actors.law import Law
from actors.plan import Plan
from actors.policy import Policy
from actors.snapshot import NetworkSpec, Snapshot
from actors.trajectory import Trajectory
from ppo.algorithm.agent import Agent
from ppo.algorithm.learner import Learner
from ppo.algorithm.model.ensemble import Ensemble
from ppo.algorithm.model.evidence import evaluated
from ppo.algorithm.model.learner import ModelLearner
from ppo.algorithm.model.planning import plan_of
from ppo.algorithm.model.settling import Effort, followed
from ppo.algorithm.not_finite import whole_or_not_at_all
from ppo.algorithm.outcomes import collected, with_worst
from ppo.algorithm.schedules import Schedule, schedule
from ppo.algorithm.state import State, part_of, prefixed
from ppo.config import ResolvedConfig
from ppo.config.budget import MODEL_SHARE, networks_suit_budget, schedules, second_law_suits_budget

SURE = 2.0  # standard errors by which a later candidate must be better
SECOND_RATE = 1 / 3
"""The second law's learning rate, as a share of the first's. Between ripples that are nearly as good as each other,
small updates average over more samples before they commit."""


class CandidatesLearner(ModelLearner):
    """A learner with a model that may make other laws too. It adds the finished ones to what a checkpoint holds.

    Args:
        config: what to train.
        spec: the policy's network.
        job: what the drivers run.
        reused: evaluations of f made before the run.
    """

    def __init__(self, config: ResolvedConfig, spec: NetworkSpec, job: Job, reused: int = 0):
        super().__init__(config, spec, job, reused)
        assert config.evaluations is not None, "a model needs a budget"
        self._with_second = second_law_suits_budget(config.evaluations)
        self._with_networks = networks_suit_budget(config.evaluations, spec.obs_dim)
        self._candidates: list[Snapshot] = []  # finished laws, that of the model first
        self._finished_at = 0  # evaluations
        self._law: Snapshot | None = None  # that of the model, once it is chosen

    @property
    def kind(self) -> Kind:
        """What the next round is run for."""
        if not self._candidates:
            return super().kind
        enough = self._left >= self._cost(Kind.PAIR) + self._cost(Kind.PLAN)
        return Kind.PAIR if self._with_second and enough else Kind.PLAN

    @property
    def schedule(self) -> Schedule:
        """The scheduled values: those of a training of its own for the second law."""
        if not (self._finished_at and self._with_second):
            return super().schedule
        assert self.config.evaluations is not None
        progress = (self.evaluations - self._finished_at) / (self.config.evaluations - self._finished_at)
        return schedule(self._second_config, self.config.training_steps * progress)

    @property
    def _second_config(self) -> ResolvedConfig:
        """The configuration with what a budget sets as it is for the rest; what was given stays as given."""
        config = self.config
        assert config.evaluations is not None
        ours = schedules(config.evaluations // config.time_steps, config.std_floor)
        theirs = schedules((config.evaluations - self._finished_at) // 2, config.std_floor)
        fields: dict[str, Any] = {name: value for name, value in theirs.items() if getattr(config, name) == ours[name]}
        return dataclasses.replace(config, **fields, learning_rate=SECOND_RATE * config.learning_rate)

    def snapshot(self) -> Snapshot:
        """Returns the law: that of the model until all are compared."""
        if self._law is not None:
            return self._law
        return self._candidates[0] if self._candidates else super().snapshot()

    def round_snapshot(self, ahead: int = 0) -> Snapshot:
        """Returns what the drivers need for the next round."""
        return self._policy_snapshot() if self.kind == Kind.PAIR else super().round_snapshot()

    def learn(self, trajectory: Trajectory) -> dict[str, float]:
        """Updates the state from the merged trajectory of the round, and returns scalars to log."""
        return self._learn_from_pairs(trajectory) if self.kind == Kind.PAIR else self._learn_with_model(trajectory)

    def _learn_from_pairs(self, trajectory: Trajectory) -> dict[str, float]:
        scalars = Learner.learn(self, trajectory)
        self.surrogate.evidence.add(*evaluated(trajectory))
        if self.kind == Kind.PLAN:
            self._candidates.append(self._policy_snapshot())
            self._add_law_of_networks()
        return scalars

    @whole_or_not_at_all
    def _learn_with_model(self, trajectory: Trajectory) -> dict[str, float]:
        if not self._candidates:
            before = self._spent
            scalars = super().learn(trajectory)
            if self._due(before) and self._others_may_be_better:
                self._finish()
            return scalars
        self.surrogate.evidence.add(*evaluated(trajectory))
        scalars = collected(trajectory)
        self._choose(trajectory)
        self._count(trajectory)
        return scalars

    def _due(self, before: float) -> bool:
        """Whether it is time for other laws, given the share of the budget that was spent before this round."""
        if self._with_second:
            return before < MODEL_SHARE <= self._spent
        return self._left < 2 * self._cost(Kind.PLAN)  # which leaves the last round

    @property
    def _others_may_be_better(self) -> bool:
        if self.complete or self._first is not None or not self.surrogate.fitted:
            return False
        noisy, doubted = self.surrogate.whole.noisy, self.surrogate.doubted
        return noisy or doubted if self._with_second else noisy and not doubted

    def _finish(self) -> None:
        """Makes the law of the model, and then that of the networks or a policy that starts anew with one component."""
        self.surrogate.leave_law()  # so that its window is fitted from the start
        self.surrogate.fit(self.policy, self._imagined_schedule(0.0).std_floor, last=True)
        self._learn_from_model(last=True)
        self._candidates, self._finished_at, self._plan = [self.snapshot()], self.evaluations, None
        if not self._with_second:
            self._add_law_of_networks()
            return
        spec = self.agent.policy
        self.agent = Agent(spec, self.config)
        # The mean of component 0 starts in the middle, as it does where there is one component.
        _, bias = spec.views(self.agent.theta)[-1]
        bias[: self.knobs] = 0.0
        self.live = np.arange(spec.components) == 0

    def _add_law_of_networks(self) -> None:
        """Adds the law whose one component gives the best knobs of networks that have learned all evaluations."""
        if not self._with_networks:
            return
        evidence = self.surrogate.evidence
        whole, device = self.surrogate.whole, self.config.device
        networks = Ensemble(whole, evidence.states, evidence.values, self._rng(7), device)
        start = self._candidates[0]
        live = np.arange(start.spec.components) == Policy(start).live[0]
        start = dataclasses.replace(start, version=self.step, live=None if live.all() else live, critic=None)
        self._candidates.append(followed(start, networks, Effort.finest(self.knobs), self._rng(8)))

    def _planned(self, policy: Policy) -> Plan:
        """Returns the plan of a round: the last one evaluates the candidates, in turn."""
        if not self._candidates:
            return super()._planned(policy)
        slots, count = self._job.slots(Kind.PLAN), len(self._candidates) + 1
        conditions = 2 * qmc.LatinHypercube(self.conditions, rng=self._rng(0)).random(-(-slots // count)) - 1
        knobs = [Law(candidate)(conditions) for candidate in self._candidates]
        knobs.append(np.broadcast_to(np.median(knobs[-1], axis=0), knobs[-1].shape))
        states = np.stack([np.concatenate([x, conditions], axis=1) for x in knobs], axis=1)
        return plan_of(states.reshape(-1, self.knobs + self.conditions)[:slots], self.knobs)

    def _choose(self, trajectory: Trajectory) -> None:
        """Takes a later candidate if it is surely better by f at the same conditions, and lets the model know of it.

        With noise, a round says nothing of small differences, and the model knows of more evaluations.
        """
        count = len(self._candidates) + 1
        values = with_worst(trajectory.objectives[:, 1])
        values = values[: len(values) // count * count].reshape(-1, count).T
        chosen = 0
        for later in range(1, count):
            if _surely_less(values[later], values[chosen]):
                chosen = later
        if chosen < len(self._candidates):
            self._take(self._candidates[chosen])
        else:
            self.live = np.arange(self.agent.policy.components) == 0
            knobs = trajectory.final_obs[count - 1, 0, : self.knobs]
            self.agent.policy.place(self.agent.theta, 0, knobs, self.config.init_std)
        self._law = None if chosen else self._candidates[0]
        self._candidates, self._plan = [], None
        self.surrogate.leave_law()
        self.surrogate.fit(self.policy, self._imagined_schedule(0.0).std_floor, last=True)

    def state(self) -> State:
        """Returns the whole state."""
        laws = {str(number): _stored(law) for number, law in enumerate(self._candidates)}
        ours = {"finished_at": np.array(self._finished_at)} | ({} if self._law is None else {"law": _stored(self._law)})
        return super().state() | ours | prefixed("candidates", laws)

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        super().restore(state)
        self._finished_at = int(state["finished_at"])
        self._law = _restored(state["law"]) if "law" in state else None
        laws = part_of("candidates", state)
        self._candidates = [_restored(laws[str(number)]) for number in range(len(laws))]


def _stored(law: Snapshot) -> np.ndarray:
    return np.frombuffer(law.to_bytes(), np.uint8)


def _restored(array: np.ndarray) -> Snapshot:
    return Snapshot.from_bytes(array.tobytes())


def _surely_less(values: np.ndarray, others: np.ndarray) -> bool:
    """Returns whether values ``[n]`` are less than others at the same conditions, by more than chance explains."""
    gain = others - values
    return bool(gain.mean() > SURE * gain.std() / len(gain) ** 0.5)
