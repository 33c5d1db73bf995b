"""With a lag a step is collected by the policy of so many steps before, in the same bits whoever collects and when."""

import contextlib
import dataclasses
import json
import multiprocessing
import os
import shutil
import signal
import threading
import traceback
import types
from concurrent.futures import Future

import numpy as np
import pytest

from actors.job import Kind
from actors.pools.base import DriverError, NotFiniteSlotError
from actors.rollout import Collector
from env import UsageError
from ppo import Config, resolve
from ppo.algorithm.agent import Agent
from ppo.algorithm.learner import Learner
from ppo.algorithm.not_finite import NotFiniteError
from ppo.data.archive import NAME, read_archive
from ppo.train import train
from ppo.training.ahead import Ahead
from ppo.training.one_slot import SlotOfRun
from ppo.training.rounds import Ran
from ppo.training.run_dir import RunDir
from ppo.training.timing import Timing
from ppo.training.trainer import Trainer
from tests.ppo.phases import largest_share
from tests.ppo.training.at_once import AtOnce
from tests.ppo.training.test_archiving import facts
from tests.ppo.training.test_resume import killed_at

SMALL = Config(
    env="tests.problems:Quadratic", training_steps=8, eval_every=3, episodes=6, drivers=0, hidden_sizes=(8,), lag=1,
    update_epochs=2, norm_obs=True, checkpoint_every=3, checkpoint_seconds=0.0, sampler="uncertainty", candidates=8,
)  # fmt: skip
FAMILIES = {
    "slot": {},
    "gae": {"advantages": "gae", "reward": "improvement"},
    "components": {"components": 2, "norm_obs": False},
    "control": {"env": "CartPole-v1", "time_steps": 12, "sampler": "env", "eval_episodes": 3, "num_minibatches": 1},
}
WHERE = [("process", 1), ("process", 3), ("thread", 2)]


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


def changed(**changes):
    return dataclasses.replace(SMALL, **changes)


def threads():
    """Returns the names of the threads that run rounds."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("rounds")]


@pytest.fixture
def whole(tmp_path, bits):
    """Returns a function that runs a configuration without drivers, and returns its bits."""
    return lambda config: bits(tmp_path / "whole", run(dataclasses.replace(config, drivers=0), tmp_path / "whole"))


@pytest.mark.parametrize("lag", [1, 2])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_bits_for_any_drivers_and_backend(family, lag, tmp_path, bits, whole):
    config = changed(**FAMILIES[family], lag=lag)
    expected = whole(config)
    for backend, drivers in WHERE if family in ("slot", "gae") else WHERE[-lag:]:
        path = tmp_path / f"{backend}-{drivers}"
        summary = run(dataclasses.replace(config, drivers=drivers, backend=backend), path)
        assert bits(path, summary) == expected, (backend, drivers)
    assert len(expected[1]) == 3
    assert not threads()


@pytest.mark.parametrize("drivers", [0, 2])
@pytest.mark.parametrize("lag", [0, 1, 3])
def test_a_step_is_collected_by_the_policy_of_so_many_steps_before(lag, drivers, tmp_path, monkeypatch):
    learned, policies, original = [], {}, Learner.learn

    def learn(self, trajectory):
        step = self.step
        policies[step] = self.snapshot().sha256
        learned.append((step, set(trajectory.versions.tolist())))
        return original(self, trajectory)

    begun, submit = {}, Ahead._run

    def run_round(self, kind, step, snapshot):
        if kind == Kind.COLLECT:
            begun[step] = snapshot.sha256
        return submit(self, kind, step, snapshot)

    monkeypatch.setattr(Learner, "learn", learn)
    monkeypatch.setattr(Ahead, "_run", run_round)
    run(changed(lag=lag, drivers=drivers, backend="thread" if drivers else "process"), tmp_path / "run")
    assert learned == [(step, {max(0, step - lag)}) for step in range(8)]
    assert begun == {step: policies[max(0, step - lag)] for step in range(8)}
    rows = read_archive(tmp_path / "run" / NAME, "").rows
    assert set(rows["step"][rows["kind"] == Kind.COLLECT].tolist()) == set(range(8))  # and none after the last


@pytest.mark.parametrize(
    ("family", "step"), [("slot", 0), ("slot", 1), ("slot", 4), ("slot", 7), ("gae", 4), ("gae", 6), ("components", 5)]
)
def test_killed_and_resumed_with_steps_in_flight(family, step, tmp_path, bits, whole):
    config = changed(**FAMILIES[family], lag=2)
    expected = whole(config)
    killed_at(step, dataclasses.replace(config, drivers=2, backend="thread"), tmp_path / "cut")
    assert not threads()
    for drivers in (0, 2):  # without and with a thread of the learner
        path = tmp_path / f"cut-{drivers}"
        shutil.copytree(tmp_path / "cut", path)
        again = dataclasses.replace(RunDir(path).config(), drivers=drivers, backend="thread" if drivers else "process")
        assert bits(path, run(again, path, resume=True)) == expected
        assert facts(path) == facts(tmp_path / "whole")


@pytest.mark.parametrize("checkpoint", [True, False], ids=["with its checkpoint", "from the archive alone"])
@pytest.mark.parametrize("step", [2, 6])
def test_what_was_collected_ahead_is_not_paid_for_again(step, checkpoint, tmp_path, monkeypatch, bits):
    monkeypatch.setattr("ppo.training.ahead.DaemonThreads", AtOnce)
    keywords = {"path": str(tmp_path / "count")}
    config = changed(env="tests.problems:Counted", env_kwargs=keywords, drivers=1, backend="thread", lag=2)
    expected = bits(tmp_path / "whole", run(config, tmp_path / "whole"))
    os.unlink(tmp_path / "count")
    killed_at(step, config, tmp_path / "run")
    rows = read_archive(tmp_path / "run" / NAME, "").rows
    assert set(rows["step"][rows["kind"] == Kind.COLLECT].tolist()) == set(range(min(8, step + 3)))
    if not checkpoint:
        (tmp_path / "run" / "checkpoint.npz").unlink(missing_ok=True)
    summary = run(config, tmp_path / "run", resume=True)
    assert bits(tmp_path / "run", summary) == expected
    assert summary["lost_evaluations"] == 0
    assert os.path.getsize(tmp_path / "count") == summary["objective_evaluations"] + summary["eval_evaluations"]


@pytest.mark.parametrize("step", [1, 5, 6])
def test_one_slot_is_run_again_by_the_policy_that_acted_in_it(step, tmp_path, monkeypatch):
    monkeypatch.setattr("ppo.training.ahead.DaemonThreads", AtOnce)
    killed_at(5, changed(drivers=1, backend="thread", lag=2), tmp_path / "run")
    files = RunDir(tmp_path / "run")
    if step == 1:
        files.checkpoint.unlink()
    found = SlotOfRun(files, step, 3, None, False).run()
    assert found.trajectory.versions.tolist() == [max(0, step - 2)]
    assert len(found.recorded) == 2
    assert found.other_bits == []


@contextlib.contextmanager
def failing(at, how):
    """Lets the slots of a training step raise, or be NaN, in threads of this program."""
    original = Collector.run

    def run_task(self, task):
        is_it = (task.kind, task.step) == (Kind.COLLECT, at)
        if is_it and how == "raise":
            raise ValueError("the probe lost contact")
        trajectory = original(self, task)
        if is_it:
            trajectory.objectives[:] = np.nan
        return trajectory

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Collector, "run", run_task)
        yield


@pytest.mark.parametrize(("how", "error"), [("raise", DriverError), ("nan", NotFiniteSlotError)])
def test_what_fails_ahead_is_raised_at_its_step_after_the_score_before_it(how, error, tmp_path, bits, whole):
    config, seen = changed(drivers=2, backend="thread", lag=2), []
    with (
        failing(6, how),
        pytest.raises(error) as caught,
        Trainer(resolve(config), tmp_path / "run", quiet=True) as trainer,
    ):
        seen.extend((step.number, step.score is not None) for step in trainer)
    assert seen == [(number, number % 3 == 0) for number in range(1, 7)]
    assert (caught.value.slot.kind, caught.value.slot.step) == (Kind.COLLECT, 6)
    assert "of training step 6 failed: ValueError: the probe" in str(caught.value) or "of step 6: the env" in str(
        caught.value
    )
    if how == "raise":
        assert "in run_task" in "".join(traceback.format_exception(caught.value.__cause__))
    rows = read_archive(tmp_path / "run" / NAME, "").rows
    assert rows["step"].max() == 6  # nothing more was paid for, though the policy of step 7 was there
    assert RunDir(tmp_path / "run").load("--resume")[0]["counters"][0] == 6
    assert not threads()
    assert bits(tmp_path / "run", run(config, tmp_path / "run", resume=True)) == whole(config)


def test_a_loop_goes_on_after_a_failure_and_after_an_update_that_is_not_finite(tmp_path, monkeypatch, whole):
    expected = whole(changed(lag=2))[0]["policy_sha256"]
    original, errors = Learner.learn, [NotFiniteError(3, "made up")]

    def learn(self, trajectory):
        if self.step == 3 and errors:
            raise errors.pop()
        return original(self, trajectory)

    monkeypatch.setattr(Learner, "learn", learn)
    numbers = []
    with Trainer(resolve(changed(drivers=2, backend="thread", lag=2)), tmp_path / "run", quiet=True) as trainer:
        with failing(5, "raise"), pytest.raises(DriverError):
            while True:
                with contextlib.suppress(NotFiniteError):
                    numbers.append(next(trainer).number)
        numbers += [step.number for step in trainer]
        assert trainer.finish(pictures=False)["policy_sha256"] == expected
    assert numbers == list(range(1, 9))


def test_a_driver_process_that_raises_while_the_learner_learns_ends_the_run_at_that_step(tmp_path):
    keywords = {"path": str(tmp_path / "count"), "most": 5 * 12 + 3}
    config = changed(env="tests.problems:BreaksLater", env_kwargs=keywords, drivers=2, eval_every=0)
    with pytest.raises(DriverError, match="ValueError: the probe lost contact") as caught:
        run(config, tmp_path / "run")
    assert caught.value.slot.step == 5
    assert "raise ValueError" in str(caught.value.__cause__)
    assert any("--training-step 5" in note for note in caught.value.__notes__)
    assert RunDir(tmp_path / "run").load("--resume")[0]["counters"][0] == 5
    assert not threads()
    assert multiprocessing.active_children() == []


@pytest.fixture
def ctrl_c():
    """Lets SIGINT raise KeyboardInterrupt, which it does not where a shell began the tests in its background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("how", "backend"), [("break", "process"), ("Ctrl-C", "process"), ("error", "thread"), ("Ctrl-C", "thread")]
)
def test_leaving_the_loop_gives_up_what_was_begun(how, backend, tmp_path, bits, whole, ctrl_c):
    config = changed(env="tests.problems:Counted", env_kwargs={"path": str(tmp_path / "count")})
    expected = whole(config)
    slow = {"path": str(tmp_path / "count"), "seconds": 0.004}
    config = dataclasses.replace(config, env_kwargs=slow, drivers=2, backend=backend)
    ends = {
        "break": contextlib.nullcontext(),
        "error": pytest.raises(KeyError),
        "Ctrl-C": pytest.raises(KeyboardInterrupt),
    }
    with ends[how], Trainer(resolve(config), tmp_path / "run", quiet=True) as trainer:
        for step in trainer:
            if step.number == 4 and how == "break":
                break
            if step.number == 4 and how == "error":
                raise KeyError
            if step.number == 4:
                signal.raise_signal(signal.SIGINT)
    assert RunDir(tmp_path / "run").load("--resume")[0]["counters"][0] >= 4
    assert not threads()
    assert multiprocessing.active_children() == []
    assert bits(tmp_path / "run", run(config, tmp_path / "run", resume=True)) == expected


def test_skipped_updates_are_steps_that_count(tmp_path, monkeypatch, bits):
    original = Agent.update

    def update(self, batch, step, *arguments):
        if step == 3:
            raise NotFiniteError(step, "made up")
        return original(self, batch, step, *arguments)

    monkeypatch.setattr(Agent, "update", update)
    config = changed(on_nan="skip")
    expected = bits(tmp_path / "whole", run(config, tmp_path / "whole"))
    threaded = dataclasses.replace(config, drivers=2, backend="thread")
    killed_at(6, threaded, tmp_path / "cut")
    assert bits(tmp_path / "cut", run(threaded, tmp_path / "cut", resume=True)) == expected
    assert json.loads((tmp_path / "cut" / "summary.json").read_text())["skipped_steps"] == 1


def test_the_time_is_accounted_for(tmp_path):
    config = changed(env="sphere", training_steps=40, evaluation_cost_ms=2.0, drivers=2, update_epochs=20)

    def trained(run_dir):
        run(config, run_dir)
        assert json.loads((run_dir / "timing.json").read_text())["overlapped"]["total"] > 0
        assert RunDir(run_dir).load("--resume")[1]["timing"]["overlapped"] > 0

    assert largest_share(trained, tmp_path) > 0.97


@pytest.mark.parametrize(
    ("kind", "started", "spent"),
    [
        (Kind.COLLECT, 7.0, {"collect": 8.0, "broadcast": 0.0, "evaluate": 0.0, "overlapped": 3.0}),
        (Kind.COLLECT, 9.5, {"collect": 7.5, "broadcast": 0.5, "evaluate": 0.0, "overlapped": 0.5}),
        (Kind.EVALUATE, 14.0, {"collect": 4.0, "broadcast": 1.0, "evaluate": 3.0, "overlapped": -4.0}),
    ],
)
def test_a_wait_is_for_what_ran_meanwhile(kind, started, spent, tmp_path, monkeypatch):
    """The learner waits from 10 to 18; the round began at a time, its snapshot was held 1 later, and it ended at 18."""
    with Trainer(resolve(SMALL), tmp_path / "run", quiet=True) as trainer:
        trainer.rounds._timing = Timing()
        clock = iter([10.0, 18.0])
        monkeypatch.setattr("ppo.training.ahead.time", types.SimpleNamespace(monotonic=lambda: next(clock)))
        future = Future()
        future.set_result(Ran(trainer.rounds.collect(), 1.0, started, 18.0))
        trainer.rounds._timing = timing = Timing()
        trainer.rounds._waited(kind, future)
    assert {name: timing._seconds[name] for name in spent} == spent


MISTAKES = [
    (
        {"evaluations": 300, "training_steps": None, "episodes": None},
        "--lag 1: not with --model gp, .* use --model none",
    ),
    ({"algo": "reinforce", "update_epochs": None}, "--lag 1: not with --algo reinforce, .* use --algo ppo"),
    ({"lag": -1}, "--lag -1: must be 0 or more"),
    ({"lag": 101}, "--lag 101: must be at most 100"),
    ({"env": "tests.problems:supply", "evaluations": 300, "training_steps": None}, "--lag 1: --env .* is a bench"),
]


@pytest.mark.parametrize(("changes", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_what_cannot_be_learned_late_is_one_line(changes, message):
    with pytest.raises(UsageError, match=f"^{message}") as told:
        resolve(changed(norm_obs=None, sampler=None, **changes))
    assert "\n" not in str(told.value)


def test_a_run_goes_on_with_the_lag_that_it_has(tmp_path):
    killed_at(4, SMALL, tmp_path / "run")
    path = tmp_path / "run" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"lag": 2}))
    with pytest.raises(UsageError, match=r"--lag was 1 when the run was begun"):
        run(RunDir(tmp_path / "run").config(), tmp_path / "run", resume=True)


def test_a_run_without_a_lag_starts_from_one_with_it_and_the_other_way_round(tmp_path):
    run(changed(training_steps=3), tmp_path / "late")
    warm = run(changed(lag=0, warm_start=str(tmp_path / "late")), tmp_path / "prompt")
    assert warm["training_steps"] == 8
    again = changed(lag=2, warm_start=str(tmp_path / "prompt"))
    a = run(again, tmp_path / "a")["policy_sha256"]
    assert a == run(dataclasses.replace(again, drivers=2, backend="thread"), tmp_path / "b")["policy_sha256"]
