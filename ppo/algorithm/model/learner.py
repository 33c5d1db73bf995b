"""The learner with a model of f: real slots teach the model, and the policy learns from slots imagined on it.

A training step, from the merged trajectory of a planned round to the plan of the next:

    score the model on the round -> add it to the evidence -> fit the model -> imagined steps of PPO -> plan

While the model is doubted, rounds are collected and learned from as without one.
"""

import dataclasses

import numpy as np

from actors.job import Job, Kind, Task
from actors.plan import Plan
from actors.policy import Policy
from actors.seeding import Stream, generator
from actors.snapshot import NetworkSpec, Snapshot
from actors.trajectory import Trajectory
from ppo.algorithm.learner import Learner
from ppo.algorithm.model.evidence import evaluated
from ppo.algorithm.model.imagined import IMAGINED_SLOTS, imagining_collector
from ppo.algorithm.model.judgement import Judgement, judge
from ppo.algorithm.model.planning import Weather, design, plan_round
from ppo.algorithm.model.settling import (
    Effort,
    begun,
    followed,
    fresh_states,
    gate_suffices,
    less_expected,
    missed_valley,
    proposed,
    settled,
    surely_worse,
    with_critic,
)
from ppo.algorithm.model.surrogate import Surrogate
from ppo.algorithm.not_finite import guarded, whole_or_not_at_all
from ppo.algorithm.outcomes import collected
from ppo.algorithm.schedules import Schedule, imagined_schedule, schedule
from ppo.algorithm.state import State, part_of, prefixed
from ppo.config import ResolvedConfig

STEPS_A_ROUND, LAST_STEPS = 4, 30  # imagined steps
SETTLED_POINTS, SETTLED_SHARE = 250, 0.8  # from so many evaluations on the number of components is settled, and
# until so much of the budget is spent, before the last round
LAST_FITS = 3  # of the model about the law, and of the law to it, after the last round
WIDENED = 2  # times that a law is moved away from limits that it breaks
PROSPECTS = 64  # conditions at which it is looked for valleys that no component follows


class ModelLearner(Learner):
    """A learner with a model. It adds the model, and how many steps were imagined, to what a checkpoint holds.

    Args:
        config: what to train.
        spec: the policy's network.
        job: what the drivers run.
        reused: evaluations of f made before the run.

    Attributes:
        surrogate: the model.
    """

    def __init__(self, config: ResolvedConfig, spec: NetworkSpec, job: Job, reused: int = 0):
        super().__init__(config, spec)
        self.knobs, self.conditions = spec.action_dim, spec.obs_dim - spec.action_dim
        assert config.evaluations is not None, "a model needs a budget"
        self.surrogate = Surrogate(spec, reused + config.evaluations, job.description.constraints, config.device)
        self.surrogate.take_coordinates(job.description.coordinates)
        self.surrogate.step_limit = job.limit
        self._job, self._imagined, self._collected, self._kept = job, 0, 0, False
        self._collector = imagining_collector(job, spec.components, self.surrogate, config.gradients, IMAGINED_SLOTS)
        self._limited = self._without_critic = job.description.constraints > 0  # a critic knows of f alone
        self.agent.theta[:] = begun(spec, self.agent.theta, job.limit, self._rng(20))
        self._plan: Plan | None = None
        self._first: Snapshot | None = None  # the law that came of what was reused, which may be kept at the end

    def prepare(self) -> None:
        """Does what the first training step would wait for otherwise."""
        super().prepare()
        self._collector.prepare(self.policy)

    @property
    def kind(self) -> Kind:
        """What the next round is run for."""
        if self.step == 0:
            return Kind.DESIGN
        may_collect = self._left >= self._cost(Kind.COLLECT) and not self._job.description.whole_rounds
        return Kind.COLLECT if self.surrogate.doubted and may_collect else Kind.PLAN

    @property
    def complete(self) -> bool:
        """Whether the budget does not suffice for another round."""
        return self.step > 0 and self._left < max(1, self._cost(Kind.PLAN))

    @property
    def _left(self) -> int:
        assert self.config.evaluations is not None
        return self.config.evaluations - self.evaluations

    def _cost(self, kind: Kind) -> int:
        return self._job.slots(kind) * self._job.evaluations(kind)

    @property
    def schedule(self) -> Schedule:
        """The scheduled values, by the share of the budget that is spent."""
        return schedule(self.config, self.config.training_steps * self._spent)

    @property
    def _spent(self) -> float:
        """The share of the budget that is spent."""
        assert self.config.evaluations is not None
        return self.evaluations / self.config.evaluations

    def _imagined_schedule(self, last: float | None = None) -> Schedule:
        """Returns the values of an imagined step; ``last`` is the share that is done of what follows the last round."""
        return imagined_schedule(self.config, self._spent if last is None else 1.0, last or 0.0)

    def round_snapshot(self, ahead: int = 0) -> Snapshot:
        """Returns what the drivers need for the next round: a planned one's plan is part of it."""
        snapshot = self._policy_snapshot()
        if self.kind == Kind.COLLECT:
            return snapshot
        if self._plan is None:
            self._plan = self._planned(Policy(snapshot))
        return dataclasses.replace(snapshot, plan=self._plan)

    def snapshot(self) -> Snapshot:
        """Returns the law, with a critic where it has one."""
        snapshot = self._policy_snapshot()
        doubted = self.surrogate.doubted and self._collected > 0 and not self._kept
        without = self._without_critic or doubted or not self.surrogate.fitted
        return snapshot if without else with_critic(snapshot, self.surrogate.whole)

    def _planned(self, policy: Policy) -> Plan:
        slots, rng = self._job.slots(self.kind), self._rng(0)
        if not self.surrogate.fitted or (self.step == 0 and len(self.surrogate.evidence) < slots):  # few were reused
            return design(self.knobs, self.conditions, slots, rng, self._job.limit)
        weather = Weather.of(self._job.description, self.surrogate.evidence)
        return plan_round(self.surrogate.process, policy, slots, rng, weather)

    @whole_or_not_at_all
    def learn(self, trajectory: Trajectory) -> dict[str, float]:
        """Updates the state from the merged trajectory of the round, and returns scalars to log."""
        planned = self.kind != Kind.COLLECT  # before the score, which may change it
        states, values, constraints = evaluated(trajectory, self.late)
        scalars = self.surrogate.score(states, values)
        scalars |= collected(trajectory) if planned else super().learn(trajectory)
        self._collected += not planned
        self.surrogate.evidence.add(states, values, constraints)
        if planned:
            self._count(trajectory)
        self._plan, last = None, self.complete
        self.surrogate.fit(self.policy, self._imagined_schedule().std_floor, last)
        # A law must come of something: where no round was collected, of a model that is doubted.
        if self.surrogate.fitted and (not self.surrogate.doubted or (last and self._collected == 0)):
            before = self._policy_snapshot()
            scalars |= self._learn_from_model(last)
            if last and self._astray(before):
                self._take(before)
                self.surrogate.undo_last_fit(self.policy, self._imagined_schedule().std_floor)
                scalars |= self._learn_from_model(last)
        if last:
            self._keep_the_better()
        else:
            self.round_snapshot()  # planned now, since this is training and no broadcast
        return scalars

    def _rng(self, use: int) -> np.random.Generator:
        """Returns the generator of one use in a training step."""
        return generator(self.config.seed, self.step, Stream.PLAN, use)

    def _learn_from_model(self, last: bool) -> dict[str, float]:
        """Takes the imagined steps of a round, and after the last one makes the law."""
        self._revive()
        scalars: dict[str, float] = {}
        for _ in range(STEPS_A_ROUND):
            scalars = self._imagine(self._imagined_schedule())
        for number in range(LAST_STEPS if last else 0):
            scalars = self._imagine(self._imagined_schedule((number + 1) / LAST_STEPS))
        effort = Effort.last(self.knobs) if last else Effort.quick(self.knobs)
        about_law = self.surrogate.process.frame is not None
        if about_law:
            self._follow(effort)
        worth_it = len(self.surrogate.evidence) >= SETTLED_POINTS and self._spent < SETTLED_SHARE
        # After the last round a law that its own model knows is not given up: no round would test what comes instead.
        if (last and not about_law) or (self.surrogate.refitted and worth_it):
            self._settle(effort)
        if last:
            self._keep_limits(effort, about_law)
        if last and self.live.sum() > 1 and not self._limited:
            snapshot = self._policy_snapshot()
            self._without_critic = gate_suffices(snapshot, self.surrogate.whole, self._rng(4))
            if not self._without_critic:
                self.surrogate.take_nearest(proposed(snapshot, effort, self._rng(6)))
        for number in range(LAST_FITS if last and self.live.sum() == 1 else 0):
            self.surrogate.fit_local(self.policy, self._imagined_schedule((number + 1) / LAST_FITS).std_floor)
            if self.surrogate.process.frame is None:
                break  # the law is the best by the model of the whole range
            self._follow(effort)
            self._keep_limits(effort, True)
        return scalars

    def _keep_limits(self, effort: Effort, about_law: bool) -> None:
        """Moves the law away from limits that it breaks, since it is not exactly where the model's best knobs are."""
        for number in range(WIDENED if self._limited else 0):
            if not self.surrogate.widened(fresh_states(self.snapshot(), self._rng(10 + number), self._job.limit)):
                break
            self._follow(effort) if about_law else self._settle(effort)

    def _astray(self, before: Snapshot) -> bool:
        """Whether the model, before its last fit, surely expects more of its law than of the law of the last round."""
        earlier = self.surrogate.earlier
        return earlier is not None and surely_worse(self.snapshot(), before, earlier, self._rng(9), self._job.limit)

    def _imagine(self, now: Schedule) -> dict[str, float]:
        """Takes one step of PPO on slots that are rolled out over the model."""
        frame = self.surrogate.process.frame
        if frame is not None:  # the model knows nothing of what lies outside its window
            now = dataclasses.replace(now, std_floor=min(now.std_floor, frame.radius / 3))
        self._collector.update(dataclasses.replace(self._policy_snapshot(), std_floor=now.std_floor))
        trajectory = self._collector.run(Task(Kind.IMAGINE, self._imagined, 0, IMAGINED_SLOTS))
        key = self._imagined
        scalars = guarded(self, trajectory, lambda: self.improve(trajectory, now, key), f"in imagined step {key}, ")
        self._imagined += 1
        return scalars

    def _revive(self) -> None:
        """Sets the component that is of least use to where the model expects most beside all of them."""
        if self.live.sum() == 1:
            return
        rng = self._rng(1)
        conditions = 2 * rng.random((PROSPECTS, self.conditions)) - 1
        if (missed := missed_valley(self.surrogate.whole, self.policy, conditions, rng)) is not None:
            self.agent.policy.place(self.agent.theta, *missed, self.config.init_std)
            self.live = self.live.copy()
            self.live[missed[0]] = True

    def _settle(self, effort: Effort) -> None:
        """Makes the policy give the model's best knobs, with as many components as that takes."""
        process, whole = self.surrogate.process, self.surrogate.whole
        about = None if process is whole else process
        self._take(settled(self._policy_snapshot(), whole, about, effort, self.config.init_std, self._rng(2)))
        if self.live.sum() > 1:
            self.surrogate.leave_law()

    def _follow(self, effort: Effort) -> None:
        """Makes the only component give the best knobs of the model about the law."""
        self._take(followed(self._policy_snapshot(), self.surrogate.process, effort, self._rng(2)))

    def _take(self, snapshot: Snapshot) -> None:
        """Takes over a policy's parameters, and which of its components are in use."""
        self.agent.theta[:] = snapshot.theta
        self.live = self._live_of(snapshot)

    def _live_of(self, snapshot: Snapshot) -> np.ndarray:
        """Returns which components of a policy are in use, ``[K]`` of bool."""
        return np.isin(np.arange(len(self.live)), Policy(snapshot).live)

    def _keep_the_better(self) -> None:
        """Goes back to the law that came of what was reused, if the model expects less of that one."""
        if self._first is None:
            return
        first = with_critic(self._first, self.surrogate.whole)
        if less_expected(first, self.snapshot(), self.surrogate, self._rng(5)):
            self._take(self._first)
            self._without_critic, self._kept = self._limited, True  # its gate was not compared with this critic

    def judgement(self) -> Judgement | None:
        """Returns what the model says of the law."""
        return judge(self.surrogate, self.snapshot()) if self.surrogate.fitted else None

    def imitate(self, x: np.ndarray, c: np.ndarray, f: np.ndarray, g: np.ndarray | None = None) -> None:
        """Takes evaluations made before the run into the evidence, and makes a law of them; see ``Learner.imitate``."""
        self.surrogate.evidence.add(np.concatenate([x, c], axis=1), f, g)
        self.surrogate.fit(self.policy, self._imagined_schedule().std_floor, last=True)
        if not self.surrogate.fitted:
            return
        self._learn_from_model(last=True)
        self._first = self._policy_snapshot()

    def state(self) -> State:
        """Returns the whole state."""
        ours = {"imagined": self._imagined, "collected": self._collected}
        ours |= {"without_critic": self._without_critic, "kept": self._kept}
        first = {} if self._first is None else {"first": self._first.theta, "first_live": self._live_of(self._first)}
        arrays = {name: np.array(value) for name, value in ours.items()}
        return super().state() | arrays | first | prefixed("surrogate", self.surrogate.state())

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        super().restore(state)
        self._imagined, self._collected = int(state["imagined"]), int(state["collected"])
        self._without_critic, self._kept = bool(state["without_critic"]), bool(state["kept"])
        if "first" in state:
            self._first = Snapshot(0, self.agent.policy, state["first"], live=state["first_live"])
        self.surrogate.restore(part_of("surrogate", state))
