"""Of a large budget whose f looks noisy to the model the rest trains a second law, and the better of both is kept."""

import numpy as np
import pytest

import ppo.training.job
from actors.job import Kind
from actors.law import Law
from ppo.algorithm.learner import Learner, policy_spec
from ppo.algorithm.model import ModelLearner, make_learner
from ppo.algorithm.model.candidates import CandidatesLearner
from ppo.algorithm.model.gaussian_process import GaussianProcess
from ppo.config import budget
from tests.ppo.algorithm.model.test_learner import collect, learner_and_collector, trained

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


def started(rounds, **changes):
    """Returns a learner after so many rounds, and its collector."""
    learner, collector = learner_and_collector(evaluations=BUDGET, **changes)
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
