"""``ppo.replay`` runs one slot alone to the bits that the archive has, and pays for nothing else."""

import contextlib
import dataclasses
import os
import pdb
import shlex
import subprocess
import sys
import traceback

import numpy as np
import pytest

from actors.job import Kind, Task
from actors.pools.base import DriverError
from actors.rollout import Collector
from env import UsageError
from ppo import Config
from ppo.data.archive import NAME, read_archive
from ppo.evaluate import evaluate
from ppo.replay import main
from ppo.train import train
from ppo.training.one_slot import SlotOfRun
from ppo.training.run_dir import RunDir
from tests.ppo.training.test_resume import killed_at
from tests.problems import Quadratic, measured

SMALL = Config(
    env="tests.problems:Counted", training_steps=6, eval_every=2, check=15, drivers=0, episodes=4, hidden_sizes=(8,),
    update_epochs=2, checkpoint_every=4,
)  # fmt: skip
CONTROL = Config(
    env="Pendulum-v1", record=True, training_steps=5, eval_every=0, drivers=0, episodes=3, time_steps=7,
    hidden_sizes=(8,), checkpoint_every=2,
)  # fmt: skip
SAME = "the same bits as in the archive"


def run(config, path):
    return train(config, path, quiet=True, pictures=False)


def slot_of(path, step, slot, kind=None, run_again=False):
    """Returns a slot's task, and what it gave."""
    one = SlotOfRun(RunDir(path), step, slot, kind, run_again)
    return one.task, one.run()


def content(path):
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A tuning run that is over, and the file that counts its evaluations."""
    path = tmp_path_factory.mktemp("replay")
    run(dataclasses.replace(SMALL, env_kwargs={"path": str(path / "count")}), path / "run")
    return path / "run", path / "count"


@pytest.fixture(scope="module")
def controlled(tmp_path_factory):
    """A control run that was killed in training step 3: its checkpoint is of step 2."""
    path = tmp_path_factory.mktemp("replay") / "run"
    killed_at(3, CONTROL, path)
    return path


def test_a_failure_that_is_kept_is_told_and_has_the_recorded_bits(tmp_path, capsys, monkeypatch):
    failing = {"env": "tests.failing:Failing", "on_failure": "infeasible", "env_kwargs": {"limit": -0.9}, "check": 0}
    run(dataclasses.replace(SMALL, **failing), tmp_path / "run")
    rows = read_archive(tmp_path / "run" / NAME, "").rows
    step, slot = rows[rows["failed"] & (rows["kind"] == Kind.COLLECT)][["step", "slot"]][-1].tolist()
    main([str(tmp_path / "run"), "--training-step", str(step), "--slot", str(slot)])
    *_, failed, bits = capsys.readouterr().out.splitlines()
    assert failed == "an evaluation of f failed (ValueError: the probe lost contact)"
    assert bits == SAME
    opened = []
    monkeypatch.setattr(pdb, "post_mortem", lambda trace: opened.append(traceback.extract_tb(trace)[-1].line))
    main([str(tmp_path / "run"), "--training-step", str(step), "--slot", str(slot), "--debugger"])
    assert opened == ['raise ValueError("the probe lost\\ncontact")']
    assert capsys.readouterr().out.splitlines()[-2:] == [failed, bits]


@pytest.mark.parametrize("step", [0, 3, 4, 5])
def test_a_slot_of_a_tuning_run_gives_the_recorded_bits(step, tuned):
    path, count = tuned
    before, paid = content(path), os.path.getsize(count)
    for slot in range(4):
        task, replayed = slot_of(path, step, slot)
        assert (task.kind, len(replayed.rows)) == (Kind.COLLECT, 2)
        assert replayed.other_bits == []
    assert os.path.getsize(count) == paid + 4 * 2  # the slots alone
    assert content(path) == before


@pytest.mark.parametrize(
    ("kind", "step"),
    [(Kind.EVALUATE, 2), (Kind.EVALUATE, 6), (Kind.CHECK, 6), (Kind.CHECK_CONSTANT, 6), (Kind.CHECK_MEAN, 6)],
)
def test_so_does_a_slot_that_measures_the_law(kind, step, tuned):
    for slot in (0, 4):
        task, replayed = slot_of(tuned[0], step, slot, kind)
        assert (task.kind, len(replayed.recorded)) == (kind, 1)
        assert replayed.other_bits == []


def test_without_a_checkpoint_the_archive_is_enough(tmp_path):
    config = dataclasses.replace(SMALL, env_kwargs={"path": str(tmp_path / "count")}, checkpoint_every=10**6)
    killed_at(4, config, tmp_path / "run")
    assert not (tmp_path / "run" / "checkpoint.npz").exists()
    assert slot_of(tmp_path / "run", 4, 2)[1].other_bits == []
    with pytest.raises(UsageError, match="--training-step 6: the archive lacks evaluations of training step 5, so"):
        slot_of(tmp_path / "run", 6, 2)


def test_a_slot_of_a_planned_round_gives_the_recorded_bits(tmp_path, little_effort):
    config = Config(evaluations=40, hidden_sizes=(8,), drivers=0, seed=1)
    steps = run(config, tmp_path / "run")["training_steps"]
    rows = read_archive(tmp_path / "run" / NAME, "").rows
    for step in range(steps):
        task, replayed = slot_of(tmp_path / "run", step, 3)
        assert task.kind == (Kind.PLAN if step else Kind.DESIGN) == rows["kind"][rows["step"] == step][0]
        assert replayed.other_bits == []
    assert steps > 1


@pytest.mark.parametrize(("step", "again"), [(0, False), (1, True), (2, False), (3, True)])
def test_a_recorded_control_run_gives_the_recorded_bits(step, again, controlled):
    _, replayed = slot_of(controlled, step, 2, run_again=again)
    assert len(replayed.rows) == 7
    assert len(replayed.recorded) == (7 if step < 4 else 0)
    assert replayed.other_bits == []


def test_control_steps_are_run_again_only_if_asked_to(controlled):
    before = content(controlled)
    for step, again in ((1, 1), (3, 1)):
        with pytest.raises(UsageError, match=f"--training-step {step}: the checkpoint is not .* runs {again} training"):
            slot_of(controlled, step, 0)
    assert content(controlled) == before


def test_a_control_run_that_failed_has_the_checkpoint_of_its_step(tmp_path, monkeypatch, capsys):
    original = Collector.run

    def raises_in_step_3(self, task):
        if task.step == 3 and task.kind == Kind.COLLECT:
            raise ValueError("the track is closed")
        return original(self, task)

    with monkeypatch.context() as patch, pytest.raises(DriverError) as failed:
        patch.setattr(Collector, "run", raises_in_step_3)
        run(dataclasses.replace(CONTROL, checkpoint_every=100), tmp_path / "cut")
    assert failed.value.slot == Task(Kind.COLLECT, 3, 0, 1)
    main(shlex.split(failed.value.__notes__[0].partition("ppo.replay ")[2]))
    shown = capsys.readouterr().out
    run(CONTROL, tmp_path / "whole")
    main([str(tmp_path / "whole"), "--training-step", "3", "--slot", "0", "--from-start"])
    whole = capsys.readouterr().out
    assert whole.endswith(f"{SAME}\n")
    assert shown.splitlines()[:-1] == whole.splitlines()[:-1]
    with pytest.raises(UsageError, match="--slot 0: a round of check has none"):
        main([str(tmp_path / "whole"), "--training-step", "5", "--slot", "0", "--kind", "check"])


def test_what_a_function_is_called_with_is_shown_in_units(tmp_path, capsys):
    run(Config(env="tests.problems:measured", hidden_sizes=(8,), drivers=0, training_steps=2), tmp_path / "run")
    capsys.readouterr()
    main([str(tmp_path / "run"), "--training-step", "1", "--slot", "2"])
    lines = [line for line in capsys.readouterr().out.splitlines() if "f is asked for" in line]
    rows = read_archive(tmp_path / "run" / NAME, "").rows
    rows = rows[(rows["kind"] == Kind.COLLECT) & (rows["step"] == 1) & (rows["slot"] == 2)]
    for line, row in zip(lines, rows, strict=True):
        given = eval(f"dict({line.partition(', which is ')[2]})")
        assert measured(**given) == row["f"]


def test_what_happened_is_shown_to_the_last_bit(tuned, capsys):
    path, _ = tuned
    main([str(path), "--training-step", "3", "--slot", "1"])
    head, start, *asked, first, second, verdict = capsys.readouterr().out.splitlines()
    rows = read_archive(path / NAME, "").rows
    one, two = rows[(rows["kind"] == Kind.COLLECT) & (rows["step"] == 3) & (rows["slot"] == 1)]
    assert head == "slot 1 of training step 3 (collect)"
    assert start.startswith("start [")
    assert start.endswith(f"{one['c'][0].item()!r}]")
    of_rows = [f"f is asked for x {row['x'].tolist()!r}, c {row['c'].tolist()!r}" for row in (one, two)]
    assert asked == [f"time step {number}: {text}" for number, text in enumerate(of_rows, 1)]
    for number, line, row in ((1, first, one), (2, second, two)):
        assert line.startswith(f"time step {number}: action [")
        assert line.endswith(f", f {row['f'].item()!r}")
    assert verdict == SAME


def test_another_f_is_told(tuned, monkeypatch, capsys):
    original = Quadratic.__call__
    monkeypatch.setattr(Quadratic, "__call__", lambda self, x, c: original(self, x, c) + (c[:, 0] < 2))
    main([str(tuned[0]), "--training-step", "3", "--slot", "1"])
    told = capsys.readouterr().out.splitlines()[-1]
    assert told == "other bits than in the archive: f of time step 1, f of time step 2"


def test_a_slot_that_is_not_recorded_is_told(tmp_path, capsys):
    run(dataclasses.replace(CONTROL, record=False, training_steps=1), tmp_path / "run")
    main([str(tmp_path / "run"), "--training-step", "0", "--slot", "1"])
    *_, last, verdict = capsys.readouterr().out.splitlines()
    assert last.endswith(", truncated")
    assert verdict == "the archive does not hold this slot"


MISTAKES = [
    (["--training-step", "6", "--slot", "0"], "--training-step 6: the run has training steps 0 to 5"),
    (["--training-step", "7", "--slot", "0", "--kind", "evaluate"], "--training-step 7: the run has only 6 training"),
    (["--training-step", "-1", "--slot", "0"], "--training-step -1: must be 0 or more"),
    (["--training-step", "3", "--slot", "4"], "--slot 4: a round of collect has slots 0 to 3"),
    (["--training-step", "3", "--slot", "-1"], "--slot -1: a round of collect has slots 0 to 3"),
    (["--training-step", "6", "--slot", "5", "--kind", "check"], "--slot 5: a round of check has slots 0 to 4"),
    (["--training-step", "3", "--slot", "0", "--kind", "plan"], "--kind plan: training step 3 is of collect"),
    (["--training-step", "3", "--slot", "0", "--from-start"], "--from-start: only for an environment that is no"),
    (["--slot", "0"], "--training-step"),
]


@pytest.mark.parametrize(("argv", "message"), MISTAKES, ids=[" ".join(argv) for argv, _ in MISTAKES])
def test_a_mistake_is_one_line(argv, message, tuned):
    with pytest.raises(UsageError) as caught:
        main([str(tuned[0]), *argv])
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_what_is_no_run_is_one_line(tmp_path):
    with pytest.raises(UsageError, match="not a run directory"):
        main([str(tmp_path), "--training-step", "0", "--slot", "0"])


@pytest.mark.parametrize(
    ("env", "error", "options"),
    [
        ("tests.problems:RaisesRowByRow", "the probe lost contact", {}),
        ("tests.problems:RaisesRowByRow", "the probe lost contact", {"evaluations": 40}),
        ("tests.problems:RaisingCountdownEnv", "the rocket fell over", {"time_steps": 6}),
    ],
)
@pytest.mark.parametrize("drivers", [0, 2])  # in a planned round, whose plan lies in memory that drivers share, too
def test_the_error_of_a_slot_names_the_command_that_runs_it_alone(env, error, options, drivers, tmp_path):
    config = Config(env=env, drivers=drivers, hidden_sizes=(8,), **options)
    with pytest.raises(DriverError, match=error) as failed:
        run(config, tmp_path / "a run")
    note, then = failed.value.__notes__
    assert then.startswith(f"once that is mended, go on with python -m ppo.train --resume '{tmp_path}/a run'")
    assert ("--on-failure infeasible" in then) == ("Countdown" not in env)  # tuning problems alone may fail
    command = note.removeprefix("run this slot alone with python -m ppo.replay ")
    assert command.startswith(f"'{tmp_path}/a run' --training-step 0 --slot ")
    with pytest.raises(ValueError, match=error):
        main(shlex.split(command))


def test_a_slot_that_evaluates_is_named_by_its_kind(tmp_path, monkeypatch):
    original = Quadratic.__call__

    def raises_in_the_centre(self, x, c):
        if np.allclose(c, c.round(1), atol=1e-9):  # where laws are evaluated
            raise ValueError("too round")
        return original(self, x, c)

    monkeypatch.setattr(Quadratic, "__call__", raises_in_the_centre)
    config = dataclasses.replace(SMALL, env="tests.problems:Quadratic", check=0)
    with pytest.raises(DriverError, match="too round") as failed:
        run(config, tmp_path / "run")
    assert failed.value.__notes__[0].endswith("--training-step 2 --slot 0 --kind evaluate")


def test_so_is_one_of_a_check_that_is_made_later(tmp_path, monkeypatch):
    run(dataclasses.replace(SMALL, env="tests.problems:UnknownOptimum", check=0), tmp_path / "run")
    with monkeypatch.context() as patch, pytest.raises(DriverError) as failed:
        patch.setattr(Quadratic, "__call__", lambda self, x, c: 1 / 0)
        evaluate(tmp_path / "run", check=30)
    assert failed.value.__notes__[0].endswith("--training-step 6 --slot 0 --kind check")
    evaluate(tmp_path / "run", pictures=False, check=30)
    for kind in (Kind.CHECK, Kind.CHECK_CONSTANT, Kind.CHECK_MEAN):
        assert slot_of(tmp_path / "run", 6, 9, kind)[1].other_bits == []


@pytest.mark.slow
def test_with_the_debugger_an_exception_opens_it_where_it_was_raised(tmp_path):
    with contextlib.suppress(DriverError):
        run(Config(env="tests.problems:RaisesRowByRow", drivers=0), tmp_path / "run")
    command = [sys.executable, "-m", "ppo.replay", str(tmp_path / "run"), "--training-step", "0", "--debugger"]
    found = next(slot for slot in range(30) if raises(tmp_path / "run", slot))
    done = subprocess.run(
        [*command, "--slot", str(found)], input="p float(c[0, 0]) > 0.5\nq\n", capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "(Pdb) True" in done.stdout
    assert 'raise ValueError("the probe lost contact")' in done.stderr


def raises(path, slot):
    try:
        slot_of(path, 0, slot)
    except ValueError:
        return True
    return False


def test_rows_that_are_compared_are_those_that_count(tmp_path):
    """Of a slot that was run again, the copy without a failure; of one that failed each time, the first copy."""
    config = Config(env="tests.problems:ReturnsNaN", hidden_sizes=(8,), drivers=0, training_steps=2)
    with pytest.raises(FloatingPointError):
        run(config, tmp_path / "run")
    failed = read_archive(tmp_path / "run" / NAME, "").rows
    slot = int(failed["slot"][failed["failed"]][0])
    _, replayed = slot_of(tmp_path / "run", 0, slot)
    assert np.isnan(replayed.recorded["f"]).any()
    assert replayed.other_bits == []
