"""schedule() gives each training step the values worked out by hand, and depends on its arguments alone."""

import dataclasses

import pytest

from ppo import Config, resolve
from ppo.algorithm.learner import Learner, policy_spec
from ppo.algorithm.schedules import Schedule, schedule

# 100 training steps, 10 of warming up; the floor falls from 0.1 to 0.001: by 100^-(progress^0.5).
PLAIN = Config(
    training_steps=100, warmup=0.1, learning_rate=0.5, learning_rate_power=0.5, std_floor=0.1, std_floor_final=1e-3,
    std_floor_power=0.5, rank_fade=0.05,
)  # fmt: skip
SLOT = resolve(PLAIN)
GAE = resolve(dataclasses.replace(PLAIN, rank_fade=None, advantages="gae"))
EXPECTED = {
    # The floor and the linear decay have not begun, and the first of 10 + 1 steps up is taken.
    0: Schedule(0.1, 0.5 / 11, 1.0, 20),
    # Progress 0.04, its root 0.2: the floor is 0.1 * 100^-0.2 = 0.1 * 0.398107; 5 of 11 steps up, 0.96 left.
    4: Schedule(0.0398107, 0.5 * 5 / 11 * 0.96 * 0.398107**0.5, 1.0, 20),
    # Progress 0.25, its root 0.5: half the way in logarithms, a tenth of the first floor, which is above 0.05 of it.
    25: Schedule(0.01, 0.5 * 0.75 * 0.1**0.5, 1.0, 20),
    # Progress 0.64, its root 0.8: 100^-0.8 = 0.0251189 of the first floor, and 0.0251189 / 0.05 of the ranks.
    64: Schedule(0.00251189, 0.5 * 0.36 * 0.0251189**0.5, 0.502377, 20),
    # Progress 0.99, its root 0.994987: 100^-0.994987 = 0.0102335.
    99: Schedule(0.00102335, 0.5 * 0.01 * 0.0102335**0.5, 0.204671, 20),
}


@pytest.mark.parametrize(("step", "expected"), EXPECTED.items())
def test_values_by_hand(step, expected):
    found = schedule(SLOT, step)
    assert dataclasses.asdict(found) == pytest.approx(dataclasses.asdict(expected), rel=1e-5)


@pytest.mark.parametrize("step", EXPECTED)
def test_gae_has_the_same_floor_and_rate_and_ranks_alone(step):
    assert schedule(GAE, step) == dataclasses.replace(schedule(SLOT, step), rank_weight=1.0)


def test_no_step_depends_on_those_before_it():
    forwards = [schedule(SLOT, step) for step in range(100)]
    assert [schedule(SLOT, step) for step in reversed(range(100))] == forwards[::-1]
    assert resolve(PLAIN) == SLOT


def test_other_fields_change_nothing():
    others = {"seed": 3, "drivers": 2, "env": "ackley", "episodes": 7, "eval_every": 1, "checkpoint_seconds": 0.0}
    other = resolve(dataclasses.replace(PLAIN, **others))
    assert [schedule(other, step) for step in range(100)] == [schedule(SLOT, step) for step in range(100)]


def changed(**changes):
    return resolve(dataclasses.replace(PLAIN, **changes))


def test_a_floor_power_of_1_is_exponential_in_the_progress():
    config = changed(std_floor_power=1.0)
    floors = [schedule(config, step).std_floor for step in (0, 50, 75)]
    assert floors == pytest.approx([0.1, 0.01, 0.00316228], rel=1e-5)


def test_a_rate_power_of_0_leaves_the_warm_up_and_the_annealing():
    config = changed(learning_rate_power=0.0)
    rates = [schedule(config, step).learning_rate for step in (0, 4, 25, 99)]
    assert rates == pytest.approx([0.5 / 11, 0.5 * 5 / 11 * 0.96, 0.375, 0.005])
    constant = changed(learning_rate_power=0.0, anneal_lr=False, warmup=0.0)
    assert {schedule(constant, step).learning_rate for step in range(100)} == {0.5}


def test_a_rank_fade_of_0_keeps_the_ranks():
    assert {schedule(changed(rank_fade=0.0), step).rank_weight for step in range(100)} == {1.0}
    weights = [schedule(changed(rank_fade=1.0), step).rank_weight for step in (0, 25)]
    assert weights == pytest.approx([1.0, 0.1])


def test_without_a_floor_the_rate_falls_linearly_alone():
    config = changed(std_floor=0.0, std_floor_final=0.0, warmup=0.0)
    for step in (0, 25, 99):
        assert schedule(config, step) == Schedule(0.0, pytest.approx(0.5 * (1 - step / 100)), 1.0, 20)


@pytest.mark.parametrize("step", EXPECTED)
def test_a_head_of_0_changes_nothing(step):
    assert schedule(SLOT, step, 0.0) == schedule(SLOT, step)


@pytest.mark.parametrize("head", [50, 300])
@pytest.mark.parametrize("step", [0, 10, 99])
def test_a_head_starts_where_a_run_longer_by_it_would_be(head, step):
    longer = changed(training_steps=100 + head, warmup=0.0)
    found, expected = schedule(changed(warmup=0.0), step, head), schedule(longer, head + step)
    assert dataclasses.asdict(found) == pytest.approx(dataclasses.asdict(expected))


def test_values_with_a_head_by_hand():
    # Progress 100 / 400, its root 0.5: a tenth of the first floor at the first step; the warm-up begins all the same.
    found = schedule(SLOT, 0, 100 / 3)
    expected = Schedule(0.01, 0.5 / 11 * 0.75 * 0.1**0.5, 1.0, 20)
    assert dataclasses.asdict(found) == pytest.approx(dataclasses.asdict(expected))


def test_a_longer_head_starts_lower_and_ends_as_low():
    floors = [schedule(SLOT, 0, head).std_floor for head in (0.0, 0.5, 3.0, 100.0, 1e6)]
    assert floors == sorted(floors, reverse=True)
    assert len(set(floors)) == 5
    assert schedule(SLOT, 100, 77.0).std_floor == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("changes", "evaluations"),
    [
        ({}, 60),  # a training step has 30 slots of two evaluations
        ({"episodes": 7}, 14),
        ({"rank_fade": None, "reward": "improvement"}, 90),  # and one of the start
        ({"rank_fade": None, "reward": "objective"}, 60),
    ],
)
def test_a_learner_counts_reused_evaluations_in_training_steps(changes, evaluations):
    config = changed(**changes)
    spec = policy_spec(config, config.problem().describe())
    assert Learner(config, spec, 5 * evaluations).schedule == schedule(config, 0, 5.0)
    assert Learner(config, spec).schedule == schedule(config, 0)
