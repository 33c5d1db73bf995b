"""Simulated runs come to the same end as the one without trouble, and the simulator sees bugs that are planted."""

import itertools

import pytest

from tests.simulation.bugs import BUGS, LEARNERS
from tests.simulation.run import SCENARIOS, expected, simulate
from tests.simulation.scale import SLOT_SECONDS, TIMEOUT, scale
from tests.simulation.schedule import LEARNER, draw

pytestmark = pytest.mark.faults
SCHEDULES = 300


def test_schedules_change_nothing():
    outcomes = [simulate(draw(seed, len(SCENARIOS))) for seed in range(SCHEDULES)]
    wrong = {seed: outcome.problem for seed, outcome in enumerate(outcomes) if outcome.problem}
    assert not wrong
    assert sum(outcome.lives > 1 for outcome in outcomes) > SCHEDULES / 20
    assert sum(outcome.faults for outcome in outcomes) > 2 * SCHEDULES


def test_a_schedule_is_replayed_to_the_letter():
    for seed in (3, 4, 5):
        first, second = (simulate(draw(seed, len(SCENARIOS))) for _ in range(2))
        assert first == second


def test_very_many_drivers_lose_some_and_no_bit():
    found = scale(drivers=2000, rounds=2)
    assert found.same
    assert found.happened > found.restarts > 4
    assert min(found.seconds) > SLOT_SECONDS
    assert max(found.seconds) < TIMEOUT + 3 * SLOT_SECONDS  # a silent driver costs its time-out, once and not in turn


def caught(name, most):
    """Returns how many schedules it takes to see a planted bug; None if so many do not."""
    with pytest.MonkeyPatch.context() as patch:
        BUGS[name](patch)
        for count, seed in enumerate(relevant(name)):
            if count == most:
                return None
            if simulate(draw(seed, len(SCENARIOS))).problem:
                return count + 1
    return None


def relevant(name):
    """Yields seeds of schedules that can show a bug."""
    for seed in itertools.count():
        ends = any(fault.kind in LEARNER for fault in draw(seed, len(SCENARIOS)).faults)
        if ends or name not in LEARNERS:
            yield seed


@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_caught(name):
    for number in range(len(SCENARIOS)):
        expected(number)
    assert caught(name, 500) is not None
