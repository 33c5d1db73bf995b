"""Rows hold every evaluation of a trajectory, and what a run learns from is the first sound copy of each slot."""

import numpy as np
import pytest

from actors.job import TRAINING, Kind
from ppo.data.rows import accepted, differs_from_last, in_order, row_type
from tests.actors.mixtures import mixture, random_plan
from tests.ppo.data.archives import CONTROL_SNAPSHOT, EVAL_STARTS, collected, control_job, job, rows_from, same_rows
from tests.problems import Quadratic

JOB = job()


def check_state_and_value(rows):
    """Checks f, which is known, and what every sound row holds."""
    assert np.array_equal(rows["f"], Quadratic()(rows["x"], rows["c"]))
    assert not rows["failed"].any()
    assert (np.abs(rows["x"]) <= 1).all()


@pytest.mark.parametrize("evaluate_starts", [True, False])
def test_a_collected_trajectory_has_a_row_for_each_evaluation(evaluate_starts):
    a_job = job(evaluate_starts=evaluate_starts, time_steps=2)
    trajectory = collected(a_job, step=7, start=2, stop=6, driver=3)
    trajectory.seconds[:] = np.arange(12).reshape(4, 3)
    rows = rows_from(a_job, trajectory, step=7)
    times = [0, 1, 2] if evaluate_starts else [1, 2]
    assert len(rows) == trajectory.evaluations.sum()
    assert rows["slot"].tolist() == [slot for slot in range(2, 6) for _ in times]
    assert rows["time_step"].tolist() == times * 4
    assert (rows["kind"] == Kind.COLLECT).all() and (rows["step"] == 7).all() and (rows["driver"] == 3).all()
    check_state_and_value(rows)
    table = rows.reshape(4, len(times))
    if evaluate_starts:
        assert np.array_equal(table["x"][:, 0], trajectory.obs[:, 0, :2])
    assert np.array_equal(table["x"][:, -2:], np.clip(trajectory.actions, -1, 1))
    assert np.array_equal(table["c"], np.repeat(trajectory.obs[:, :1, 2:], len(times), axis=1))
    assert table["seconds"].tolist() == [[3 * row + t for t in times] for row in range(4)]


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in TRAINING])
def test_an_evaluation_has_one_row_for_each_slot(kind):
    starts = EVAL_STARTS if kind == Kind.EVALUATE else -EVAL_STARTS
    trajectory = collected(JOB, kind, step=4)
    rows = rows_from(JOB, trajectory, kind, 4)
    assert [rows[name].tolist() for name in ("slot", "time_step")] == [[0, 1, 2], [1, 1, 1]]
    assert (rows["kind"] == kind).all() and (rows["step"] == 4).all()
    assert np.array_equal(rows["c"], starts[:, 2:])
    assert np.array_equal(rows["x"], np.clip(trajectory.actions[:, 0], -1, 1))
    check_state_and_value(rows)


def test_a_planned_round_has_a_row_for_each_slot():
    a_job, plan = job(planned=(6, 4), components=3), random_plan(4)
    trajectory = collected(a_job, Kind.PLAN, step=2, snap=mixture(3, version=2, plan=plan))
    rows = rows_from(a_job, trajectory, Kind.PLAN, 2)
    assert [rows[name].tolist() for name in ("slot", "time_step", "kind")] == [[0, 1, 2, 3], [1] * 4, [Kind.PLAN] * 4]
    assert np.array_equal(rows["x"], np.clip(plan.actions, -1, 1))
    assert np.array_equal(rows["c"], plan.starts[:, 2:])
    check_state_and_value(rows)


def test_the_component_that_acted_is_no_knob():
    a_job = job(components=3, evaluate_starts=False, mirrored=True)
    trajectory = collected(a_job, snap=mixture(3))
    rows = rows_from(a_job, trajectory)
    assert trajectory.actions.shape[2] == 3
    assert rows["x"].shape == (20, 2)
    assert np.array_equal(rows["x"], np.clip(trajectory.actions[..., :2].reshape(20, 2), -1, 1))
    assert np.array_equal(rows["c"][:, 0], np.repeat(trajectory.obs[:, 0, 2], 2))
    check_state_and_value(rows)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_evaluation_that_is_not_finite_has_failed(value):
    trajectory = collected(JOB, stop=2)
    trajectory.objectives[1, 2] = value
    rows = rows_from(JOB, trajectory)
    assert rows["failed"].tolist() == [False] * 5 + [True]
    assert np.array_equal(rows["f"][5], value, equal_nan=True)


def test_time_steps_of_an_environment_are_rows():
    a_job = control_job()
    trajectory = collected(a_job, step=2, snap=CONTROL_SNAPSHOT, driver=1)
    rows = rows_from(a_job, trajectory, step=2)
    assert rows["slot"].tolist() == [slot for slot in range(4) for _ in range(8)]
    assert rows["time_step"].tolist() == list(range(8)) * 4
    assert (rows["reward"] == 1).all() and (rows["driver"] == 1).all() and (rows["step"] == 2).all()
    left, total = rows["obs"].T
    assert np.isin(total, [3, 4, 5, 6]).all()
    assert (left[rows["time_step"] == 0] == total[rows["time_step"] == 0]).all()
    assert np.array_equal(rows["terminated"], left == 1)
    assert np.array_equal(rows["truncated"], (rows["time_step"] == 7) & (left != 1))
    assert np.array_equal(rows["action"], trajectory.actions.reshape(32, 1))
    assert set(rows["action"].ravel()) == {0, 1, 2}


def test_the_fields_of_a_row():
    assert row_type(JOB).names == ("kind", "step", "slot", "time_step", "x", "c", "f", "seconds", "driver", "failed")
    assert row_type(JOB)["x"].shape == (2,) and row_type(JOB)["c"].shape == (1,)
    control = row_type(control_job())
    assert control.names[4:] == ("obs", "action", "reward", "driver", "terminated", "truncated")
    assert control["obs"].shape == (2,) and control["action"].shape == (1,)


def copy_of_slot(slot, values, step=0, kind=Kind.COLLECT):
    """Returns the rows of one copy of a slot: a value of f for each time step, NaN for one that failed."""
    rows = np.zeros(len(values), row_type(JOB))
    rows["kind"], rows["step"], rows["slot"], rows["time_step"] = kind, step, slot, np.arange(len(values))
    rows["f"], rows["failed"] = values, ~np.isfinite(values)
    return rows


def accepted_values(*copies):
    rows = accepted(np.concatenate(copies))
    return list(zip(rows["step"].tolist(), rows["slot"].tolist(), rows["time_step"].tolist(), rows["f"], strict=True))


def values_of(slot, values, step=0):
    return [(step, slot, t, value) for t, value in enumerate(values)]


def test_the_first_copy_without_a_failure_is_accepted_whole():
    good, better, bad, worse = [1, 2, 3], [4, 5, 6], [7, np.nan, 9], [np.nan, np.nan, np.inf]
    for copies, expected in (
        ([good], good),
        ([good, better], good),
        ([good, bad], good),
        ([bad, good], good),
        ([bad, worse, better, good], better),
        ([good, good], good),
    ):
        assert accepted_values(*(copy_of_slot(3, values) for values in copies)) == values_of(3, expected)


def test_a_slot_of_which_every_copy_failed_is_not_accepted():
    assert accepted_values(copy_of_slot(0, [1, np.nan]), copy_of_slot(0, [np.nan, 1]), copy_of_slot(1, [5, 6])) == (
        values_of(1, [5, 6])
    )
    assert accepted_values(copy_of_slot(0, [np.nan])) == []


def test_nothing_accepts_nothing():
    assert same_rows(accepted(copy_of_slot(0, [])), copy_of_slot(0, []))


def test_accepted_rows_are_in_the_order_of_their_keys():
    arrived = [
        copy_of_slot(2, [1, 2], step=1),
        copy_of_slot(0, [3, np.nan], step=1),
        copy_of_slot(1, [5, 6], step=0),
        copy_of_slot(1, [7, 8], step=1, kind=Kind.EVALUATE),
        copy_of_slot(0, [9, 10], step=1),
        copy_of_slot(1, [11, 12], step=0),
    ]
    expected = [*values_of(1, [5, 6]), *values_of(0, [9, 10], 1), *values_of(2, [1, 2], 1), *values_of(1, [7, 8], 1)]
    assert accepted_values(*arrived) == expected


@pytest.mark.parametrize("seed", range(20))
def test_accepted_is_what_a_plain_search_finds(seed):
    rng = np.random.default_rng(seed)
    copies, best = [], {}
    for number in range(rng.integers(1, 60)):
        kind, step, slot = Kind(int(rng.integers(1, 3))), int(rng.integers(2)), int(rng.integers(5))
        values = np.where(rng.random(3) < 0.15, np.nan, number + np.arange(3) / 4)
        copies.append(copy_of_slot(slot, values, step, kind))
        if np.isfinite(values).all():
            best.setdefault((int(kind), step, slot), copies[-1])
    expected = [best[key] for key in sorted(best)]
    rows = np.concatenate(copies)
    assert same_rows(accepted(rows), np.concatenate([rows[:0], *expected]))


def test_rows_with_the_same_key_keep_their_order():
    rows = np.concatenate([copy_of_slot(1, [1, 2]), copy_of_slot(0, [3]), copy_of_slot(1, [4, 5])])
    assert in_order(rows)["f"].tolist() == [3, 1, 4, 2, 5]
    assert in_order(np.concatenate([rows, copy_of_slot(9, [6], step=-1)]))["f"].tolist() == [6, 3, 1, 4, 2, 5]
    assert len(in_order(rows[:0])) == 0


def test_where_a_row_differs_from_the_one_before():
    rows = np.concatenate([copy_of_slot(0, [1, 1]), copy_of_slot(1, [1, 1]), copy_of_slot(1, [1], step=5)])
    assert differs_from_last(rows, ["slot"]).tolist() == [True, False, True, False, False]
    assert differs_from_last(rows, ["slot", "step"]).tolist() == [True, False, True, False, True]
    assert differs_from_last(rows, ["time_step", "step"]).tolist() == [True, True, True, True, True]
    assert differs_from_last(rows, []).tolist() == [True, False, False, False, False]
    assert differs_from_last(rows[:0], ["slot"]).tolist() == []


def test_where_failures_are_kept_the_first_copy_is_accepted_if_none_is_without_a_failure():
    good, bad, worse = [1, 2, 3], [7, np.nan, 9], [np.nan, np.nan, np.nan]
    for copies in ([good, bad], [bad, good], [worse], [worse, bad], [worse, bad, good, [4, 5, 6]]):
        rows = np.concatenate([copy_of_slot(3, values) for values in copies])
        expected = good if good in copies else copies[0]
        assert accepted(rows, keep_failures=True)["f"].tolist() == pytest.approx(expected, nan_ok=True)
    assert len(accepted(rows[:0], keep_failures=True)) == 0
