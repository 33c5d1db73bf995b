"""Of a large budget whose f looks noisy to the model other laws are made without it, and the best of all is kept."""

import numpy as np
import pytest

import ppo.training.job
from actors.job import Kind
from actors.law import Law
from actors.policy import Policy
from ppo.algorithm.learner import Learner, policy_spec
from ppo.algorithm.model import make_learner
from ppo.algorithm.model.candidates import CandidatesLearner
from ppo.algorithm.model.gaussian_process import GaussianProcess
from ppo.algorithm.model.learner import ModelLearner
from ppo.config import budget
from tests.ppo.algorithm.model.test_learner import collect, doubt, learner_and_collector, trained

BUDGET, PAIRS = 160, 5
"""Evaluations, and slots of a round of the second law: each takes 10, and a planned one 16."""
pytestmark = pytest.mark.usefixtures("little_effort")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(budget, "LEAST_FOR_SECOND_LAW", BUDGET)
    monkeypatch.setattr(ppo.training.job, "MOST_SLOTS", PAIRS)


@pytest.fixture
def noisy(monkeypatch):
    monkeypatch.setattr(GaussianProcess, "noisy", True)


def started(rounds, evaluations=BUDGET, **changes):
    """Returns a learner after so many rounds, and its collector."""
    learner, collector = learner_and_collector(evaluations=evaluations, **changes)
    assert isinstance(learner, CandidatesLearner)
    trained(learner, collector, rounds)
    return learner, collector


@pytest.mark.usefixtures("noisy")
def test_after_a_share_of_the_budget_the_rest_is_pairs_and_a_last_planned_round():
    learner, collector = started(0)
    kinds, spent = trained(learner, collector)
    assert kinds == [Kind.DESIGN, Kind.PLAN] + [Kind.PAIR] * 9 + [Kind.PLAN]
    assert spent == [32, 16] + [10] * 9 + [16]
    assert learner.evaluations == len(learner.surrogate.evidence) == 154  # another round of pairs would be too much


def test_without_noise_the_budget_is_spent_as_a_smaller_one(monkeypatch):
    monkeypatch.setattr(GaussianProcess, "noisy", False)
    learner, collector = started(100)
    plain = ModelLearner(learner.config, policy_spec(learner.config, collector.job.description), collector.job)
    trained(plain, collector)
    assert learner.snapshot().sha256 == plain.snapshot().sha256
    assert learner.evaluations == BUDGET


@pytest.mark.usefixtures("noisy")
def test_a_law_that_came_of_reused_evaluations_is_not_given_up_for_a_second_one():
    config, job = (made := learner_and_collector(evaluations=BUDGET))[0].config, made[1].job
    learner = make_learner(config, job, reused=40)
    states = 2 * np.random.default_rng(0).random((40, 3)) - 1
    learner.imitate(states[:, :2], states[:, 2:], (states**2).sum(axis=1))
    kinds, _ = trained(learner, made[1])
    assert Kind.PAIR not in kinds


@pytest.mark.usefixtures("noisy")
def test_the_second_law_is_learned_as_without_a_model():
    learner, collector = started(4)
    assert learner.kind == Kind.PAIR and learner.live.tolist() == [True] + [False] * 5
    now = learner.schedule

    class Plain(Learner):
        schedule = now

    plain = Plain(learner.config, policy_spec(learner.config, collector.job.description))
    plain.restore(learner.state())
    trajectory = collect(learner, collector)
    assert trajectory.actions.shape == (PAIRS, 2, 3) and not trajectory.actions[..., -1].any()
    theirs, ours = plain.learn(trajectory), learner.learn(trajectory)
    assert theirs == ours and abs(ours["losses/initial_logratio"]) < 1e-12
    assert plain.agent.theta.tobytes() == learner.agent.theta.tobytes()
    assert (plain.step, plain.env_steps, plain.evaluations) == (learner.step, learner.env_steps, learner.evaluations)


@pytest.mark.usefixtures("noisy")
def test_the_schedule_of_the_second_law_starts_anew_and_ends_where_such_a_training_ends():
    learner, collector = started(2)
    floors = [learner.schedule.std_floor]
    assert floors[0] == learner.config.std_floor
    assert learner.schedule.learning_rate == pytest.approx(learner.config.learning_rate / 3)
    while learner.kind == Kind.PAIR:
        trained(learner, collector, 1)
        floors.append(learner.schedule.std_floor)
    assert (np.diff(floors) < 0).all()
    assert floors[-1] < 0.3 * floors[0]


@pytest.mark.usefixtures("noisy")
def test_until_both_are_compared_the_law_is_that_of_the_model():
    learner, collector = started(2)
    law = learner.snapshot()
    trained(learner, collector, 5)
    assert learner.snapshot().sha256 == law.sha256 != learner.round_snapshot().sha256
    assert learner.judgement() is not None


@pytest.mark.usefixtures("noisy")
@pytest.mark.parametrize(
    ("chosen", "second", "constants"),  # what those are better by than the first law, under five conditions
    [
        ("second", [1] * 5, [0] * 5),
        ("first", [-1] * 5, [-1] * 5),
        ("second", [0, 2] * 2 + [2], [-1] * 5),
        ("first", [5] + [0] * 4, [0, 5] + [0] * 3),
        ("constants", [1] * 5, [2] * 5),
        ("second", [1] * 5, [1] * 4 + [2]),
        ("constants", [-1] * 5, [1] * 5),
    ],
)
def test_candidates_are_evaluated_at_the_same_conditions_and_a_surely_better_one_is_taken(chosen, second, constants):
    learner, collector = started(11)
    laws = {"first": learner.snapshot(), "second": learner.policy.snapshot}
    assert learner.kind == Kind.PLAN
    trajectory = collect(learner, collector)
    states = np.split(trajectory.final_obs[:15, 0].reshape(5, 3, 3), 3, axis=1)
    conditions = states[0][:, 0, 2:]
    assert len(np.unique(conditions)) == 5 and all(np.array_equal(one[:, 0, 2:], conditions) for one in states)
    every = trajectory.final_obs[::3, 0, 2:]  # those of the slot left over too
    knobs = {name: Law(law)(every) for name, law in laws.items()}
    knobs["constants"] = np.tile(np.median(knobs["second"], axis=0), (6, 1))
    for place, name in enumerate(knobs):
        assert np.array_equal(states[place][:, 0, :2], knobs[name][:5])
    first = trajectory.objectives[:15:3, 1]
    trajectory.objectives[1:15:3, 1], trajectory.objectives[2:15:3, 1] = first - second, first - constants
    learner.learn(trajectory)
    assert learner.complete
    assert np.array_equal(Law(learner.snapshot())(every), knobs[chosen])
    assert learner.snapshot().live.sum() == (laws["first"].live.sum() if chosen == "first" else 1)
    assert learner.judgement() is not None


@pytest.mark.usefixtures("noisy")
@pytest.mark.parametrize("rounds", [1, 2, 6, 11, 12])
def test_state_round_trip_continues_in_the_same_bits(rounds):
    learner, collector = started(rounds)
    copy, _ = started(0)
    copy.restore(learner.state())
    assert copy.snapshot().to_bytes() == learner.snapshot().to_bytes()
    for one in (learner, copy):
        trained(one, collector)
    assert copy.snapshot().to_bytes() == learner.snapshot().to_bytes()
    assert copy.judgement() == learner.judgement()
    assert all(np.array_equal(copy.state()[name], array) for name, array in learner.state().items())


@pytest.fixture
def networks(monkeypatch):
    """Lets networks learn from a small budget."""
    monkeypatch.setattr(budget, "NETWORKS_A_COORDINATE", 20)


@pytest.mark.usefixtures("noisy", "networks")
@pytest.mark.parametrize("components", [1, 6])
def test_before_the_last_round_networks_make_a_law_of_all_evaluations(components):
    learner, collector = started(0, evaluations=96, components=components)
    kinds, spent = trained(learner, collector, 4)
    assert kinds == [Kind.DESIGN] + [Kind.PLAN] * 3 and spent == [32] + [16] * 3
    assert len(learner._candidates) == 2 and learner.kind == Kind.PLAN and not learner.complete
    first, second = learner._candidates
    assert learner.snapshot().sha256 == first.sha256
    assert len(Policy(second).live) == 1 and second.critic is None
    trajectory = collect(learner, collector)
    states = trajectory.final_obs[:15, 0].reshape(5, 3, 3)
    for place, law in enumerate((first, second)):
        assert np.array_equal(states[:, place, :2], Law(law)(states[:, place, 2:]))
    trajectory.objectives[:, 1] = np.tile([3.0, 2.0, 4.0], 6)[:16]
    learner.learn(trajectory)
    assert learner.complete and learner.evaluations == 96
    assert np.array_equal(Law(learner.snapshot())(states[:, 0, 2:]), states[:, 1, :2])


@pytest.mark.usefixtures("networks")
@pytest.mark.parametrize("noisy", [True, False])
def test_without_noise_or_of_a_model_that_is_doubted_networks_make_none(noisy, monkeypatch):
    monkeypatch.setattr(GaussianProcess, "noisy", noisy)
    if noisy:
        doubt(monkeypatch, range(1, 100))
    learner, collector = started(100, evaluations=96)
    plain = ModelLearner(learner.config, policy_spec(learner.config, collector.job.description), collector.job)
    trained(plain, collector)
    assert learner.snapshot().sha256 == plain.snapshot().sha256


@pytest.mark.usefixtures("noisy", "networks")
def test_with_a_second_law_too_all_are_compared():
    learner, _ = started(11)
    assert len(learner._candidates) == 3 and learner.kind == Kind.PLAN
    plan = learner.round_snapshot().plan
    knobs = plan.actions.reshape(4, 4, 2)  # 16 slots: four conditions under four candidates
    conditions = plan.starts[::4, 2:]
    for place, law in enumerate(learner._candidates):
        assert np.array_equal(knobs[:, place], Law(law)(conditions))
    assert (knobs[:, 3] == np.median(knobs[:, 2], axis=0)).all()


def test_networks_are_for_many_evaluations_of_several_coordinates():
    for evaluations, dims, expected in ((10_000, 10, True), (9_999, 10, False), (10_000, 2, False), (3000, 3, True)):
        assert budget.networks_suit_budget(evaluations, dims) == expected


@pytest.mark.usefixtures("noisy", "networks")
@pytest.mark.parametrize(("evaluations", "rounds"), [(96, 3), (96, 4), (96, 5), (BUDGET, 10), (BUDGET, 11)])
def test_state_round_trip_with_networks_continues_in_the_same_bits(evaluations, rounds):
    learner, collector = started(rounds, evaluations=evaluations)
    copy, _ = started(0, evaluations=evaluations)
    copy.restore(learner.state())
    for one in (learner, copy):
        trained(one, collector)
    assert copy.snapshot().to_bytes() == learner.snapshot().to_bytes()
    assert all(np.array_equal(copy.state()[name], array) for name, array in learner.state().items())
