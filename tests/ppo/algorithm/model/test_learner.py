"""The learner spends its budget to the last evaluation, learns on the model, and as without one while it is doubted."""

import dataclasses

import numpy as np
import pytest

from actors.job import Kind, Task
from actors.law import Law
from actors.policy import Policy
from actors.rollout import Collector
from ppo import Config, resolve
from ppo.algorithm.learner import Learner, policy_spec
from ppo.algorithm.model import learner as module
from ppo.algorithm.model import make_learner, surrogate
from ppo.algorithm.model.frame import means_at
from ppo.algorithm.model.learner import ModelLearner
from ppo.algorithm.model.planning import design
from ppo.algorithm.model.settling import Effort
from ppo.algorithm.model.surrogate import Surrogate
from ppo.training.job import make_job
from tests.problems import Quadratic

CONFIG = Config(env="tests.problems:Quadratic", evaluations=64, hidden_sizes=(8,), seed=3)
C = np.linspace(-1, 1, 41)[:, None]


@pytest.fixture
def no_model(monkeypatch):
    """Neither fits a model nor learns from it, so that the rounds alone are looked at."""
    monkeypatch.setattr(Surrogate, "fit", lambda self, policy, std_floor, last: None)
    monkeypatch.setattr(ModelLearner, "_learn_from_model", lambda self, last: {})
    monkeypatch.setattr(ModelLearner, "_planned", lambda self, policy: design(2, 1, self._job.slots(self.kind), RNG))


RNG = np.random.default_rng(0)


def learner_and_collector(reused=0, **changes):
    config = resolve(dataclasses.replace(CONFIG, **changes))
    job = make_job(config, None)
    return make_learner(config, job, reused), Collector(job)


def collect(learner, collector):
    collector.update(learner.round_snapshot())
    return collector.run(Task(learner.kind, learner.step, 0, collector.job.slots(learner.kind)))


def trained(learner, collector, rounds=100):
    """Trains to the end, or for so many rounds; returns the kind of each round, and what it spent."""
    kinds, spent = [], [0]
    while not learner.complete and len(kinds) < rounds:
        kinds.append(learner.kind)
        learner.learn(collect(learner, collector))
        spent.append(learner.evaluations)
    return kinds, np.diff(spent).tolist()


def doubt(monkeypatch, doubted):
    """Lets the model be doubted after the rounds of these training steps, counted from 0."""

    def score(self, states, values):
        self.gain = -1.0 if (len(self.evidence) > 0 and score.step in doubted) else 1.0
        return {"charts/model_gain": self.gain}

    original = ModelLearner.learn

    def learn(self, trajectory):
        score.step = self.step
        return original(self, trajectory)

    monkeypatch.setattr(Surrogate, "score", score)
    monkeypatch.setattr(ModelLearner, "learn", learn)


def test_a_configuration_without_a_model_has_the_learner_without_one():
    for changes, expected in (({}, ModelLearner), ({"model": "none"}, Learner)):
        assert type(learner_and_collector(**changes)[0]) is expected


@pytest.mark.usefixtures("no_model")
def test_a_budget_is_spent_to_the_last_evaluation():
    for budget in (*range(1, 20), *range(20, 71, 3)):
        learner, collector = learner_and_collector(evaluations=budget, model="gp")
        kinds, spent = trained(learner, collector)
        assert kinds == [Kind.DESIGN] + [Kind.PLAN] * (len(kinds) - 1)
        assert sum(spent) == budget == learner.evaluations == len(learner.surrogate.evidence)
        assert set(spent[1:]) <= {16}
        assert len(kinds) == learner.config.training_steps


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("doubted", [range(1, 100), {1, 3}, {2}])
@pytest.mark.parametrize("budget", [*range(40, 130, 18), 300])
def test_a_budget_is_never_exceeded_and_hardly_wasted_while_the_model_is_doubted(budget, doubted, monkeypatch):
    monkeypatch.setattr(Surrogate, "fitted", True)
    doubt(monkeypatch, doubted)
    learner, collector = learner_and_collector(evaluations=budget)
    kinds, spent = trained(learner, collector)
    assert budget - 16 < sum(spent) <= budget
    assert sum(spent) == learner.evaluations == len(learner.surrogate.evidence)
    left = budget - np.cumsum([0, *spent])
    for step, kind in enumerate(kinds[1:], 1):
        assert (kind == Kind.COLLECT) == (step - 1 in doubted and left[step] >= 36)


def strata_of(column):
    """Returns in how many of as many equal parts of the range there are points: in a Latin hypercube in all."""
    return len(set(np.floor((column + 1) / 2 * len(column))))


@pytest.mark.usefixtures("little_effort")
def test_the_first_round_is_a_design_and_the_next_ones_are_planned():
    learner, collector = learner_and_collector()
    first = learner.round_snapshot().plan
    points = np.concatenate([first.actions, first.starts[:, 2:]], axis=1)
    for column in points.T:  # a Latin hypercube
        assert strata_of(column) == len(points)
    for _ in range(2):
        plan = learner.round_snapshot().plan
        trajectory = collect(learner, collector)
        assert np.array_equal(trajectory.final_obs[:, 0, :2], plan.actions)
        learner.learn(trajectory)
    assert not learner.complete


@pytest.mark.usefixtures("little_effort")
def test_all_evaluations_are_evidence():
    learner, collector = learner_and_collector()
    trained(learner, collector)
    evidence = learner.surrogate.evidence
    assert evidence.values.tolist() == Quadratic()(evidence.states[:, :2], evidence.states[:, 2:]).tolist()
    assert len(evidence) == 64


@pytest.mark.usefixtures("little_effort")
def test_the_policy_changes_in_each_round_that_the_model_is_believed():
    learner, collector = learner_and_collector()
    seen = {learner.agent.theta.tobytes()}
    while not learner.complete:
        scalars = learner.learn(collect(learner, collector))
        seen.add(learner.agent.theta.tobytes())
        assert {"charts/objective", "losses/policy_loss"} <= set(scalars)
        assert scalars["losses/initial_logratio"] < 1e-9  # imagined slots are those of the policy that learns
        assert ("charts/model_gain" in scalars) == (learner.step > 1)
    assert len(seen) == 4


@pytest.mark.usefixtures("little_effort")
def test_what_is_collected_while_the_model_is_doubted_is_learned_from_as_without(monkeypatch):
    doubt(monkeypatch, range(1, 100))
    learner, collector = learner_and_collector(evaluations=160)
    trained(learner, collector, 2)
    assert learner.kind == Kind.COLLECT and learner.round_snapshot().plan is None
    now = learner.schedule

    class Plain(Learner):
        schedule = now

    plain = Plain(learner.config, policy_spec(learner.config, collector.job.description))
    plain.restore(learner.state())
    trajectory = collect(learner, collector)
    theirs, ours = plain.learn(trajectory), learner.learn(trajectory)
    assert plain.agent.theta.tobytes() == learner.agent.theta.tobytes()
    assert theirs.items() <= ours.items()
    assert (plain.step, plain.env_steps, plain.evaluations) == (learner.step, learner.env_steps, learner.evaluations)


@pytest.mark.usefixtures("little_effort")
def test_a_model_that_is_doubted_teaches_nothing(monkeypatch):
    doubt(monkeypatch, {1})
    learner, collector = learner_and_collector()
    trained(learner, collector, 1)
    before = learner.agent.theta.copy()
    trained(learner, collector, 1)
    assert np.array_equal(learner.agent.theta, before)


@pytest.mark.usefixtures("little_effort")
def test_state_round_trip_continues_in_the_same_bits():
    learner, collector = learner_and_collector()
    trained(learner, collector, 2)
    copy, _ = learner_and_collector()
    copy.restore(learner.state())
    for one in (learner, copy):
        trained(one, collector)
    assert copy.snapshot().sha256 == learner.snapshot().sha256
    assert set(copy.state()) == set(learner.state())
    assert all(np.array_equal(copy.state()[name], array) for name, array in learner.state().items())
    assert learner.accepts(copy.state())


@pytest.mark.usefixtures("little_effort")
def test_the_plan_of_a_round_is_a_function_of_the_state():
    learner, collector = learner_and_collector()
    trained(learner, collector, 1)
    copy, _ = learner_and_collector()
    copy.restore(learner.state())
    assert copy.round_snapshot().sha256 == learner.round_snapshot().sha256
    assert learner.round_snapshot().plan is not None
    assert learner.snapshot().plan is None


@pytest.fixture
def settling(monkeypatch):
    """Lets two components be in use wherever a policy is settled; returns what was asked for so far.

    Each is the models of the whole range and about the law, and the effort.
    """
    asked = []

    def settled(policy, model, about, effort, std, rng):
        asked.append((model, about, effort))
        return dataclasses.replace(policy, theta=policy.theta + len(asked), live=np.arange(6) < 2)

    monkeypatch.setattr(module, "settled", settled)
    monkeypatch.setattr(ModelLearner, "_astray", lambda self, before: False)  # though this is no law
    return asked


@pytest.mark.usefixtures("little_effort")
def test_the_law_is_settled_after_the_last_round(settling):
    learner, collector = learner_and_collector()
    trained(learner, collector, 2)
    assert not settling
    trained(learner, collector)
    [(model, about, effort)] = settling
    assert model is learner.surrogate.whole and len(model.states) == 64
    assert about is None and effort == Effort.last(2)
    snapshot = learner.snapshot()
    assert snapshot.live.tolist() == [True, True, False, False, False, False]
    assert learner.surrogate.process is learner.surrogate.whole


@pytest.mark.usefixtures("little_effort")
def test_with_much_evidence_a_policy_is_settled_where_the_model_was_fitted_anew(settling, monkeypatch):
    """Neither with few evaluations, nor once most of the budget is spent, before the last round."""
    monkeypatch.setattr(module, "SETTLED_POINTS", 60)
    monkeypatch.setattr(module, "SETTLED_SHARE", 0.81)
    learner, collector = learner_and_collector(evaluations=128)
    counts = []
    while not learner.complete:
        before = len(settling)
        learner.learn(collect(learner, collector))
        counts.append((learner.evaluations, learner.surrogate.refitted, len(settling) - before))
    for evaluations, refitted, settled in counts[:-1]:
        assert settled == (refitted and 60 <= evaluations < 0.81 * 128)
    assert any(settled for *_, settled in counts[:-1]) and counts[-1][2] == 1
    efforts = [effort for *_, effort in settling]
    assert efforts == [Effort.quick(2)] * (len(efforts) - 1) + [Effort.last(2)]


@pytest.mark.usefixtures("little_effort", "settling")
@pytest.mark.parametrize("suffices", [True, False])
def test_a_law_has_a_critic_where_the_gate_does_not_suffice(suffices, monkeypatch):
    monkeypatch.setattr(module, "gate_suffices", lambda policy, model, rng: suffices)
    learner, collector = learner_and_collector()
    assert learner.snapshot().critic is None  # nothing is known yet
    trained(learner, collector)
    assert (learner.snapshot().critic is None) == suffices
    assert learner._policy_snapshot().critic is None


@pytest.mark.usefixtures("little_effort", "settling")
@pytest.mark.parametrize("suffices", [True, False])
def test_a_critic_takes_what_was_found_nearest_to_the_law(suffices, monkeypatch):
    asked = []
    monkeypatch.setattr(Surrogate, "take_nearest", lambda self, states: asked.append(states))
    monkeypatch.setattr(module, "gate_suffices", lambda policy, model, rng: suffices)
    learner, collector = learner_and_collector()
    trained(learner, collector)
    assert len(asked) == 1 - suffices
    for states in asked:
        live = int(learner.live.sum())
        assert live > 1 and states.shape == (live * Effort.last(2).conditions, 3)
        law = means_at(Policy(learner.snapshot()), states[::live, 2:])
        assert np.array_equal(states[:, :2], law.reshape(-1, 2))


@pytest.fixture
def followings(monkeypatch):
    """Returns the model that the only component followed each time, and with which effort."""
    calls = []

    def followed(policy, model, effort, rng):
        calls.append((model, effort))
        return dataclasses.replace(policy, theta=policy.theta + 1e-3)

    monkeypatch.setattr(module, "followed", followed)
    return calls


def local_processes(monkeypatch, better):
    """Lets a process about the law take few evaluations, and be preferred always or never."""
    monkeypatch.setattr(surrogate, "LOCAL_POINTS", 20)
    monkeypatch.setattr(surrogate, "A_COORDINATE", 5)
    monkeypatch.setattr(surrogate, "LEAST_A_COORDINATE", 5)
    monkeypatch.setattr(surrogate, "LEAST_GAIN", -np.inf if better else np.inf)
    monkeypatch.setattr(Surrogate, "score", lambda self, states, values: {})  # which would give up a bad one


@pytest.mark.usefixtures("little_effort")
@pytest.mark.parametrize("better", [True, False])
def test_a_law_is_settled_beside_the_model_about_it_where_that_is_the_better_one(
    better, settling, followings, monkeypatch
):
    """Once the law has several components, nothing follows a model about it any more."""
    local_processes(monkeypatch, better)
    learner, collector = learner_and_collector()
    learner.live = np.arange(6) == 2
    trained(learner, collector, 2)
    assert (learner.surrogate.process.frame is not None) == better and not settling
    before = len(followings)
    monkeypatch.setattr(module, "SETTLED_POINTS", 0)
    monkeypatch.setattr(module, "SETTLED_SHARE", 2.0)
    monkeypatch.setattr(surrogate, "REFIT", 1.0)
    trained(learner, collector)
    [(model, about, _)] = settling
    assert model.frame is None and model is learner.surrogate.whole
    assert about is None if not better else about is followings[-1][0] and about.frame.policy.live.tolist() == [2]
    assert len(followings) - before == better
    assert learner.surrogate.process is learner.surrogate.whole


@pytest.mark.usefixtures("little_effort")
def test_after_the_last_round_a_law_with_a_model_about_it_is_not_given_up(settling, followings, monkeypatch):
    local_processes(monkeypatch, True)
    learner, collector = learner_and_collector()
    learner.live = np.arange(6) == 2
    trained(learner, collector)
    assert not settling and learner.live.tolist() == (np.arange(6) == 2).tolist()
    assert followings[-1][1] == Effort.last(2)


@pytest.mark.usefixtures("little_effort")
@pytest.mark.parametrize("better", [True, False])
def test_a_single_component_follows_the_model_about_the_law_where_that_is_the_better_one(
    better, followings, monkeypatch
):
    local_processes(monkeypatch, better)
    learner, collector = learner_and_collector(components=1)
    trained(learner, collector, 2)
    assert len(followings) == 2 * better
    trained(learner, collector)
    assert len(followings) == (3 + module.LAST_FITS) * better
    assert all(model.frame is not None for model, _ in followings)
    assert [effort for _, effort in followings] == (2 * [Effort.quick(2)] + 4 * [Effort.last(2)]) * better
    assert len({id(model) for model, _ in followings[2:]}) == (1 + module.LAST_FITS) * better  # each is fitted anew


@pytest.mark.usefixtures("little_effort")
def test_a_single_component_needs_no_critic():
    learner, collector = learner_and_collector(components=1)
    trained(learner, collector)
    assert learner.snapshot().critic is None and learner.snapshot().spec.components == 1


def test_a_law_is_astray_where_the_model_surely_expected_more_of_it_before_its_last_fit():
    learner, collector = learner_and_collector()
    trained(learner, collector)
    law = learner._policy_snapshot()
    assert not learner._astray(law)
    knobs = np.array([0.9, 0.9])  # the best ones are in [-0.5, 0.5]
    learner.agent.policy.place(learner.agent.theta, int(np.flatnonzero(learner.live)[0]), knobs, 0.1)
    assert learner._astray(law)
    assert not learner._astray(learner._policy_snapshot())  # as bad before
    learner.surrogate._earlier = None
    assert not learner._astray(law)  # nothing to ask


@pytest.mark.parametrize("astray", [True, False])
def test_a_law_that_went_astray_is_made_by_the_model_before_its_last_fit(astray, monkeypatch):
    seen = []

    def astray_(self, before):
        seen.append((before, self.surrogate._earlier, self.surrogate.whole.hyperparameters))
        return astray

    monkeypatch.setattr(ModelLearner, "_astray", astray_)
    learner, collector = learner_and_collector()
    trained(learner, collector)
    [(before, earlier, last)] = seen  # after the last round alone
    assert not np.array_equal(before.theta, learner.agent.theta)
    assert earlier.hyperparameters is not last
    expected = earlier.hyperparameters if astray else last
    assert learner.surrogate.whole.hyperparameters is expected
    x = Law(learner.snapshot())(C)
    assert (Quadratic()(x, C) - Quadratic()(Quadratic().best(C), C)).mean() < 1e-3
