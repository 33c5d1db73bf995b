"""The learner of a large budget: where the model takes f for noisy, a second law is trained without it.

A model of at most some thousand evaluations takes dozens of ripples over the range of a knob for noise, and more
evaluations do not teach it better. PPO on real slots alone has no such limit. So a part of a large budget is learned
from with the model, and that law is finished. If the model sees noise then, the rest trains a policy of one component
from the start, and a last planned round evaluates both laws at the same conditions, and the median of the second one's
knobs there as constants: a law that ends a ripple off under some conditions may lose to them.
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
from ppo.algorithm.learner import Learner, collected
from ppo.algorithm.model.evidence import evaluated
from ppo.algorithm.model.learner import ModelLearner
from ppo.algorithm.model.planning import plan_of
from ppo.algorithm.schedules import Schedule, schedule
from ppo.algorithm.state import State
from ppo.config import ResolvedConfig
from ppo.config.budget import MODEL_SHARE, schedules

CANDIDATES, SURE = 3, 2.0  # of the last round; standard errors
SECOND_RATE = 1 / 3
"""The second law's learning rate, as a share of the first's. Between ripples that are nearly as good as each other,
small updates average over more samples before they commit."""


class TwoLawsLearner(ModelLearner):
    """A learner with a model that may train a second law. It adds the first one to what a checkpoint holds.

    Args:
        config: what to train.
        spec: the policy's network.
        job: what the drivers run.
        reused: evaluations of f made before the run.
    """

    def __init__(self, config: ResolvedConfig, spec: NetworkSpec, job: Job, reused: int = 0):
        super().__init__(config, spec, job, reused)
        self._finished: Snapshot | None = None  # the law of the model, unless the second one is chosen
        self._finished_at = 0  # evaluations

    @property
    def kind(self) -> Kind:
        """What the next round is run for."""
        if self._finished is None:
            return super().kind
        enough = self._left >= self._cost(Kind.PAIR) + self._cost(Kind.PLAN)
        return Kind.PAIR if enough else Kind.PLAN

    @property
    def schedule(self) -> Schedule:
        """The scheduled values: those of a training of its own for the second law."""
        if not self._finished_at:
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
        """Returns the law: that of the model while the second one is trained."""
        return super().snapshot() if self._finished is None else self._finished

    def round_snapshot(self) -> Snapshot:
        """Returns what the drivers need for the next round."""
        return self._policy_snapshot() if self.kind == Kind.PAIR else super().round_snapshot()

    def learn(self, trajectory: Trajectory) -> dict[str, float]:
        """Updates the state from the merged trajectory of the round, and returns scalars to log."""
        if self._finished is None:
            before = self._spent
            scalars = super().learn(trajectory)
            if before < MODEL_SHARE <= self._spent and self._second_may_be_better:
                self._finish()
            return scalars
        kind = self.kind
        self.surrogate.evidence.add(*evaluated(trajectory))
        if kind == Kind.PAIR:
            return Learner.learn(self, trajectory)
        scalars = collected(trajectory)
        self._choose(trajectory)
        self._count(trajectory)
        return scalars

    @property
    def _second_may_be_better(self) -> bool:
        return not self.complete and self._first is None and (self.surrogate.doubted or self.surrogate.whole.noisy)

    def _finish(self) -> None:
        """Makes the law of the model, and starts anew with one component."""
        self.surrogate.leave_law()  # so that its window is fitted from the start
        self.surrogate.fit(self.policy, self._imagined_schedule(0.0).std_floor, last=True)
        self._learn_from_model(last=True)
        self._finished, self._finished_at, self._plan = self.snapshot(), self.evaluations, None
        spec = self.agent.policy
        self.agent = Agent(spec, self.config)
        # The mean of component 0 starts in the middle, as it does where there is one component.
        _, bias = spec.views(self.agent.theta)[-1]
        bias[: self.knobs] = 0.0
        self.live = np.arange(spec.components) == 0

    def _planned(self, policy: Policy) -> Plan:
        """Returns the plan of a round: the last one evaluates the candidates, in turn."""
        if self._finished is None:
            return super()._planned(policy)
        slots = self._job.slots(Kind.PLAN)
        conditions = 2 * qmc.LatinHypercube(self.conditions, rng=self._rng(0)).random(-(-slots // CANDIDATES)) - 1
        first, second = Law(self._finished)(conditions), Law(self._policy_snapshot())(conditions)
        knobs = first, second, np.broadcast_to(np.median(second, axis=0), second.shape)
        states = np.stack([np.concatenate([x, conditions], axis=1) for x in knobs], axis=1)
        return plan_of(states.reshape(-1, self.knobs + self.conditions)[:slots], self.knobs)

    def _choose(self, trajectory: Trajectory) -> None:
        """Takes a later candidate if it is surely better by f at the same conditions, and lets the model know of it."""
        assert self._finished is not None
        values = trajectory.objectives[:, 1]
        first, second, constants = values[: len(values) // CANDIDATES * CANDIDATES].reshape(-1, CANDIDATES).T
        if take_second := _surely_less(second, first):
            self._finished = None
        else:  # with noise, a round says nothing of small differences, and the model knows of more evaluations
            self._take(self._finished)
        if _surely_less(constants, second if take_second else first):
            self._finished, self.live = None, np.arange(self.agent.policy.components) == 0
            knobs = trajectory.final_obs[CANDIDATES - 1, 0, : self.knobs]
            self.agent.policy.place(self.agent.theta, 0, knobs, self.config.init_std)
        self._plan = None
        self.surrogate.leave_law()
        self.surrogate.fit(self.policy, self._imagined_schedule(0.0).std_floor, last=True)

    def state(self) -> State:
        """Returns the whole state."""
        law = b"" if self._finished is None else self._finished.to_bytes()
        ours = {"finished": np.frombuffer(law, np.uint8), "finished_at": np.array(self._finished_at)}
        return super().state() | ours

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        super().restore(state)
        self._finished_at = int(state["finished_at"])
        self._finished = Snapshot.from_bytes(state["finished"].tobytes()) if len(state["finished"]) else None


def _surely_less(values: np.ndarray, others: np.ndarray) -> bool:
    """Returns whether values ``[n]`` are less than others at the same conditions, by more than chance explains."""
    gain = others - values
    return bool(gain.mean() > SURE * gain.std() / len(gain) ** 0.5)
