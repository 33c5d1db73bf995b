"""Recorded slots are played back in the same bits, without an evaluation of f, and no other run's rows are believed."""

import dataclasses

import numpy as np
import pytest

from actors.job import Kind
from env import Problem
from ppo.data.replay import Replay
from tests.actors.pools.rounds import snapshot
from tests.ppo.data.archives import PER_SLOT, collected, job, refusal, round_rows, rows_from

JOB = job()
STEP = 3
ROWS = round_rows(JOB, step=STEP)
NOT_REPLAYED = ("drivers", "seconds", "buffer")


def same_but_times(a, b):
    """Returns whether two trajectories agree in all fields but who collected them and how long it took."""
    names = [field.name for field in dataclasses.fields(a) if field.name not in NOT_REPLAYED]
    return all(np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True) for name in names)


def replayed(rows, a_job=JOB, kind=Kind.COLLECT, step=STEP, snap=None):
    replay = Replay(rows, a_job, "--resume run")
    try:
        return replay.trajectories(kind, step, snap or snapshot(step))
    finally:
        replay.close()


def of_slots(*slots):
    return ROWS[np.isin(ROWS["slot"], slots)]


CHANGES = [{}, {"evaluate_starts": False}, {"mirrored": True}, {"sampler": "uncertainty"}, {"sampler": "lhs"}]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("kind", [Kind.COLLECT, Kind.EVALUATE, Kind.CHECK])
def test_a_recorded_round_is_played_back_in_the_same_bits(kind, changes):
    a_job = job(**changes)
    trajectory = collected(a_job, kind, STEP)
    (played,) = replayed(rows_from(a_job, trajectory, kind, STEP), a_job, kind)
    assert played.evaluations.sum() == a_job.evaluations(kind) * a_job.slots(kind)
    assert same_but_times(played, trajectory)


def test_nothing_is_evaluated_or_waited_for(monkeypatch):
    expected, waits = collected(JOB, step=STEP), []
    monkeypatch.setattr("env.tuning.time.sleep", waits.append)
    elsewhere = Problem("tests.problems:RaisesConnectionError", time_steps=2, evaluation_cost_ms=20)
    (played,) = replayed(ROWS, job(problem=elsewhere))
    assert same_but_times(played, expected)
    assert waits == []


def test_only_slots_that_are_recorded_are_played_back():
    parts = replayed(of_slots(1, 2, 5, 8, 9))
    assert [part.slots.tolist() for part in parts] == [[1, 2], [5], [8, 9]]
    for part in parts:
        start, stop = int(part.slots[0]), int(part.slots[-1]) + 1
        assert same_but_times(part, collected(JOB, step=STEP, start=start, stop=stop))


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_slot_that_lacks_an_evaluation_is_not_played_back(missing):
    rows = np.delete(of_slots(4, 5, 6), PER_SLOT + missing)
    assert [part.slots.tolist() for part in replayed(rows)] == [[4], [6]]
    assert replayed(np.delete(of_slots(4), missing)) == []


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1.0])
def test_what_failed_is_played_back_as_a_failure_whatever_f_returned(value):
    rows = ROWS.copy()
    rows["f"][4], rows["failed"][4] = value, True
    (played,) = replayed(rows, dataclasses.replace(JOB, keep_failures=True))
    expected = np.where(rows["failed"], np.nan, rows["f"])
    assert np.array_equal(played.objectives.reshape(-1), expected, equal_nan=True)


def test_slots_that_the_job_does_not_have_are_not_played_back():
    rows = of_slots(7, 8, 9)
    rows["slot"][-PER_SLOT:] = 10
    assert [part.slots.tolist() for part in replayed(rows)] == [[7, 8]]
    assert [part.slots.tolist() for part in replayed(ROWS, job(episodes=10))] == [list(range(10))]


def test_each_round_is_played_back_from_its_own_rows():
    rounds = [(Kind.COLLECT, 2), (Kind.COLLECT, STEP), (Kind.EVALUATE, STEP)]
    replay = Replay(np.concatenate([round_rows(JOB, *key) for key in rounds]), JOB, "run")
    for kind, step in reversed(rounds):
        (played,) = replay.trajectories(kind, step, snapshot(step))
        assert same_but_times(played, collected(JOB, kind, step))
    assert replay.trajectories(Kind.EVALUATE, 2, snapshot(2)) == []
    assert replay.trajectories(Kind.COLLECT, 4, snapshot(4)) == []
    replay.close()


@pytest.mark.parametrize("field", ["x", "c"])
@pytest.mark.parametrize(("slot", "time_step"), [(0, 0), (5, 1), (9, 2)])
def test_a_row_that_holds_another_state_is_refused(field, slot, time_step):
    rows = ROWS.copy()
    value = rows[field][PER_SLOT * slot + time_step]
    value[-1] = np.nextafter(value[-1], 2)
    message = refusal(replayed, rows)
    assert message.startswith("--resume run: the archive is another run's or damaged: the row of collect, ")
    assert f"of collect, step 3, slot {slot}, time step {time_step} holds other knobs or conditions" in message


def test_a_changed_evaluation_of_the_law_is_refused():
    rows = round_rows(JOB, Kind.EVALUATE, STEP)
    rows["x"][1, 0] += 1e-9
    message = refusal(replayed, rows, JOB, Kind.EVALUATE)
    assert "the row of evaluate, step 3, slot 1, time step 1 holds other knobs" in message


def test_the_archive_of_a_run_with_another_seed_is_refused():
    assert "the row of collect, step 3, slot 0, time step 0 holds" in refusal(replayed, ROWS, job(seed=1))
    assert "the row of collect, step 3, slot 4, time step 0 holds" in refusal(replayed, of_slots(4, 5), job(seed=1))


def test_rows_of_another_policy_are_refused():
    message = refusal(replayed, ROWS, JOB, Kind.COLLECT, STEP, snapshot(4))
    assert "the row of collect, step 3, slot 0, time step 1 holds" in message


@pytest.mark.parametrize(
    ("recorded", "step", "gap"),
    [
        ([], 0, None),
        ([0, 1, 2], 0, None),
        ([0, 1, 2], 3, None),
        ([0, 1, 2], 7, None),
        ([0, 2], 0, 1),
        ([0, 2], 1, 1),
        ([0, 2], 2, None),
        ([3, 5], 0, 0),
        ([3, 5], 3, 4),
    ],
)
def test_the_first_gap_is_a_step_without_rows_before_later_ones(recorded, step, gap):
    rows = np.concatenate([ROWS[:0], *(round_rows(JOB, step=number) for number in recorded)])
    assert Replay(rows, JOB, "run").first_gap(step) == gap


def test_evaluations_of_later_steps_make_no_gap():
    rows = np.concatenate([round_rows(JOB, step=0), round_rows(JOB, Kind.EVALUATE, 5)])
    assert Replay(rows, JOB, "run").first_gap(0) is None
