"""The phases add up to the loop, the caller's time between steps included, in one run as over a resumed one."""

import dataclasses
import json
import time

import pytest

from ppo import resolve
from ppo.train import train
from ppo.training.timing import LAST_STEPS, PHASES, Timing
from ppo.training.trainer import Trainer
from tests.ppo.configs import SMALL
from tests.ppo.phases import largest_share


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves by hand."""
    now = [100.0]
    monkeypatch.setattr("ppo.training.timing.time.perf_counter", lambda: now[0])
    return now


def test_phases_medians_and_loop(clock):
    timing = Timing({"collect": 10.0, "loop": 20.0})
    for seconds in (1.0, 5.0, 2.0):
        with timing.measure("collect"):
            clock[0] += seconds
        timing.add("broadcast", 0.25)
        clock[0] += 0.25
        timing.end_step()
    timing.stop()
    clock[0] += 99.0
    assert timing.loop == 20.0 + 8.75
    summary = timing.summary()
    assert summary["collect"] == {"total": 18.0, "median_per_step": 2.0}
    assert summary["broadcast"] == {"total": 0.75, "median_per_step": 0.25}
    assert summary["loop"] == 28.75
    assert timing.split() == "63/0/3"
    timing.reset_medians()
    assert timing.medians()["collect"] == 0.0


def test_what_overlaps_is_beside_the_phases(clock):
    timing = Timing({"collect": 1.0, "overlapped": 10.0, "loop": 1.0})
    assert "overlapped" not in Timing().spent()
    for seconds in (3.0, -1.0, 2.0):  # below 0 where a score waited for collecting that is counted in later steps
        timing.add("overlapped", seconds)
        timing.end_step()
    assert timing.summary()["overlapped"] == {"total": 14.0, "median_per_step": 2.0}
    assert timing.spent()["overlapped"] == 14.0
    assert sum(timing.totals.values()) == timing.totals["collect"] == 1.0


def test_medians_are_of_the_last_steps_and_a_long_run_holds_no_more_of_them(clock):
    timing = Timing()
    for seconds in [5.0] * (LAST_STEPS + 1) + [1.0] * LAST_STEPS:
        timing.add("collect", seconds)
        timing.end_step()
    assert timing.medians()["collect"] == 1.0
    assert {len(kept) for kept in timing._steps.values()} == {LAST_STEPS}
    assert timing.totals["collect"] == 6.0 * LAST_STEPS + 5.0


def test_the_callers_time_between_steps_is_other(clock):
    timing = Timing()
    for seconds in (1.0, 2.0, 4.0):
        timing.begin_step()
        with timing.measure("train"):
            clock[0] += 8.0
        timing.end_step()
        clock[0] += seconds  # the body of the caller's loop
    timing.stop()
    assert timing.totals == {"collect": 0, "train": 24.0, "broadcast": 0, "evaluate": 0, "other": 7.0}
    assert timing.loop == sum(timing.totals.values()) == 31.0
    assert timing.medians()["other"] == 1.0  # of 0, 1 and 2: what follows the last step belongs to none
    clock[0] += 99.0
    assert timing.spent() == {**timing.totals, "loop": 31.0}


def test_a_checkpoints_times_go_on_in_the_resumed_run(clock):
    first = Timing()
    with first.measure("collect"):
        clock[0] += 3.0
    first.end_step()
    second = Timing(first.spent())
    with second.measure("collect"):
        clock[0] += 4.0
    second.end_step()
    second.stop()
    assert second.totals["collect"] == second.loop == 7.0
    assert second.medians()["collect"] == 4.0


def test_a_slow_callers_time_is_in_the_runs_timing(tmp_path):
    config = resolve(dataclasses.replace(SMALL, training_steps=10, eval_every=5, drivers=0))
    with Trainer(config, tmp_path / "run", quiet=True) as trainer:
        for _ in trainer:
            time.sleep(0.05)
        trainer.finish(pictures=False)
    timing = json.loads((tmp_path / "run" / "timing.json").read_text())
    phases = sum(timing[phase]["total"] for phase in PHASES)
    assert timing["other"]["total"] > 10 * 0.05
    assert 0.97 * timing["loop"] < phases <= timing["loop"]


@pytest.mark.parametrize("drivers", [0, 2])
def test_the_time_is_accounted_for(drivers, tmp_path):
    config = dataclasses.replace(SMALL, training_steps=150, drivers=drivers)

    def trained(run_dir):
        train(config, run_dir, quiet=True, pictures=False)
        timing = json.loads((run_dir / "timing.json").read_text())
        assert all(timing[phase]["total"] > 0 for phase in PHASES)

    assert largest_share(trained, tmp_path) > 0.97


def test_the_time_stops_with_the_loop(tmp_path):
    summary = train(dataclasses.replace(SMALL, training_steps=3), tmp_path, quiet=True)
    timing = json.loads((tmp_path / "timing.json").read_text())
    assert summary["wall_seconds"] == timing["loop"]


@pytest.mark.parametrize("slow", ["before the first step", "after the last step"])
def test_an_interrupted_runs_checkpoint_has_the_callers_time(slow, tmp_path):
    config = resolve(dataclasses.replace(SMALL, training_steps=10, eval_every=0, drivers=0))
    with Trainer(config, tmp_path / "run", quiet=True) as trainer:
        if slow == "before the first step":
            time.sleep(0.3)
        next(trainer)
        if slow == "after the last step":
            time.sleep(0.3)
    spent = trainer.files.load("--resume")[1]["timing"]
    assert spent["other"] > 0.3
    assert 0.97 * spent["loop"] < sum(spent[phase] for phase in PHASES) <= spent["loop"]
