"""A run rests on its archive: same bits from it alone, nothing paid twice, nothing lost but what was in flight."""

import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest

from actors.law_file import read_law
from env import UsageError
from ppo import Config, resolve
from ppo.data.archive import NAME, new_archive, read_archive
from ppo.data.rows import in_order
from ppo.train import train
from ppo.training.run_dir import RunDir
from ppo.training.trainer import Trainer
from tests.ppo.training.test_resume import killed_at

ROOT = pathlib.Path(__file__).parents[3]
CONFIG = Config(
    env="tests.problems:Counted",
    evaluations=240,
    model="none",
    sampler="heterogeneous",
    hidden_sizes=(8,),
    update_epochs=2,
    eval_every=4,
    check=30,
    drivers=0,
)


def counted(path, **changes):
    """Returns the configuration whose objective counts its evaluations in a file."""
    keywords = {"path": str(path)} | changes.pop("env_kwargs", {})
    return dataclasses.replace(CONFIG, env_kwargs=keywords, **changes)


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


def paid(summary):
    """Returns all evaluations that a run paid for and accepted."""
    return summary["objective_evaluations"] + summary["eval_evaluations"] + summary["check"]["evaluations"]


def facts(run_dir):
    """Returns the rows of an archive by their keys, without who was asked and how long it took."""
    rows = in_order(read_archive(run_dir / NAME, "").rows)
    return {name: rows[name].tolist() for name in ("kind", "step", "slot", "time_step", "x", "c", "f", "failed")}


def law_of(run_dir):
    """Returns what law.npz holds, without the keywords of its objective, which name a file of the run's own."""
    snapshot, about = read_law(run_dir / "law.npz")
    config = about.provenance["config"] | {"env_kwargs": {}}
    return snapshot.to_bytes(), about.knobs, about.conditions, about.provenance | {"config": config}


def without(run_dir, *names):
    for name in names:
        (run_dir / name).unlink(missing_ok=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run in one go: its directory, and its summary."""
    path = tmp_path_factory.mktemp("whole")
    summary = run(counted(path / "count"), path / "run")
    assert os.path.getsize(path / "count") == paid(summary) == len(read_archive(path / "run" / NAME, "").rows)
    assert summary["lost_evaluations"] == 0
    return path / "run", summary


@pytest.mark.parametrize(
    ("backend", "drivers", "seconds"),
    [
        *(("process", drivers, 0.0) for drivers in (1, 3, 16)),
        *(("process", drivers, 0.011) for drivers in (3, 16)),
        *(("thread", 3, seconds) for seconds in (0.0, 0.011)),
    ],
)
def test_same_bits_and_same_rows_whoever_collects(backend, drivers, seconds, whole, tmp_path, bits):
    keywords = {"seconds": seconds}
    config = counted(tmp_path / "count", drivers=drivers, backend=backend, env_kwargs=keywords)
    summary = run(config, tmp_path / "run")
    assert bits(tmp_path / "run", summary) == bits(*whole)
    assert summary["check"] == whole[1]["check"]
    assert facts(tmp_path / "run") == facts(whole[0])
    assert os.path.getsize(tmp_path / "count") == paid(summary)


@pytest.mark.parametrize("step", [0, 1, 9, 11])
def test_killed_and_resumed_from_the_archive_alone(step, whole, tmp_path, bits):
    config = counted(tmp_path / "count", checkpoint_every=3)
    killed_at(step, config, tmp_path / "run")
    without(tmp_path / "run", "checkpoint.npz", "law.npz", "metrics.csv")
    rows = len(read_archive(tmp_path / "run" / NAME, "").rows)
    assert rows == os.path.getsize(tmp_path / "count")
    summary = run(RunDir(tmp_path / "run").config(), tmp_path / "run", resume=True)
    assert bits(tmp_path / "run", summary) == bits(*whole)
    assert facts(tmp_path / "run") == facts(whole[0])
    assert os.path.getsize(tmp_path / "count") == paid(summary)  # not one was paid for again


def test_a_finished_run_is_played_back_for_nothing(whole, tmp_path, bits):
    config = counted(tmp_path / "count")
    run(config, tmp_path / "run")
    spent, before = os.path.getsize(tmp_path / "count"), (tmp_path / "run" / NAME).read_bytes()
    without(tmp_path / "run", "checkpoint.npz", "law.npz", "metrics.csv", "summary.json", "timing.json")
    summary = run(config, tmp_path / "run", resume=True)
    assert bits(tmp_path / "run", summary) == bits(*whole)
    assert summary["check"] == whole[1]["check"]
    assert os.path.getsize(tmp_path / "count") == spent
    assert (tmp_path / "run" / NAME).read_bytes() == before


@pytest.mark.parametrize("lacking", [1, 17, 500, 2000])
def test_an_archive_that_lost_its_end_is_made_whole_again(lacking, whole, tmp_path, bits):
    config = counted(tmp_path / "count")
    run(config, tmp_path / "run")
    spent, kept = os.path.getsize(tmp_path / "count"), len(read_archive(tmp_path / "run" / NAME, "").rows)
    os.truncate(tmp_path / "run" / NAME, (tmp_path / "run" / NAME).stat().st_size - lacking)
    kept -= len(read_archive(tmp_path / "run" / NAME, "").rows)
    without(tmp_path / "run", "checkpoint.npz", "summary.json")
    summary = run(config, tmp_path / "run", resume=True)
    assert bits(tmp_path / "run", summary) == bits(*whole)
    assert facts(tmp_path / "run") == facts(whole[0])
    assert os.path.getsize(tmp_path / "count") == spent + kept


def test_a_gap_before_the_checkpoint_costs_nothing_and_one_after_it_is_refused(tmp_path):
    config = counted(tmp_path / "count", checkpoint_every=5, eval_every=0, check=0)
    killed_at(8, config, tmp_path / "run")
    path = tmp_path / "run" / NAME
    rows = read_archive(path, "").rows
    signature = read_archive(path, "").signature
    path.write_bytes(new_archive(signature, rows[rows["step"] != 2]))
    (tmp_path / "keep").write_bytes((tmp_path / "run" / "checkpoint.npz").read_bytes())
    without(tmp_path / "run", "checkpoint.npz")
    with pytest.raises(
        UsageError, match=r"^--resume .*: the archive lacks training step 2, and there is no checkpoint"
    ):
        run(config, tmp_path / "run", resume=True)
    (tmp_path / "run" / "checkpoint.npz").write_bytes((tmp_path / "keep").read_bytes())
    spent = os.path.getsize(tmp_path / "count")
    summary = run(config, tmp_path / "run", resume=True)
    assert os.path.getsize(tmp_path / "count") == spent + 240 - len(rows)
    assert summary["objective_evaluations"] == 240


@pytest.mark.parametrize("change", ["seed", "sampler", "other values"])
def test_the_archive_of_another_run_is_refused_in_one_line(change, tmp_path):
    run(counted(tmp_path / "count"), tmp_path / "one")
    other = {"seed": {"seed": 5}, "sampler": {"sampler": "random"}, "other values": {"env_kwargs": {"seconds": 1e-5}}}
    killed_at(3, counted(tmp_path / "count", **other[change]), tmp_path / "two")
    without(tmp_path / "two", "checkpoint.npz")
    archive = (tmp_path / "one" / NAME).read_bytes()
    (tmp_path / "two" / NAME).write_bytes(archive)
    message = r"another run's or damaged: the row of collect, step 0|another problem: env_kwargs"
    with pytest.raises(UsageError, match=message) as told:
        run(RunDir(tmp_path / "two").config(), tmp_path / "two", resume=True)
    assert "\n" not in str(told.value)
    assert (tmp_path / "two" / NAME).read_bytes() == archive


def test_a_full_disk_ends_the_run_in_one_line_and_it_can_go_on(whole, tmp_path, bits):
    path = tmp_path / "config.json"
    path.write_text(counted(tmp_path / "count").to_json())
    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)); "
        "from ppo.train import main; from ppo.config.command_line import run_main; run_main(main)"
    )
    command = [sys.executable, "-c", limited, "--config", str(path), "--run-dir", str(tmp_path / "run"), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot be written to (File too large)" in done.stderr
    assert f"go on with python -m ppo.train --resume {tmp_path / 'run'}" in done.stderr
    summary = run(RunDir(tmp_path / "run").config(), tmp_path / "run", resume=True)
    assert bits(tmp_path / "run", summary) == bits(*whole)
    assert paid(summary) <= os.path.getsize(tmp_path / "count") <= paid(summary) + summary["lost_evaluations"]


def test_nothing_is_paid_twice_over_twenty_kills(tmp_path):
    keywords = {"seconds": 0.012}
    changes = {"evaluations": 600, "eval_every": 0, "check": 0}
    expected = run(counted(tmp_path / "other", **changes), tmp_path / "whole")
    config = counted(tmp_path / "count", drivers=3, env_kwargs=keywords, **changes)
    (tmp_path / "config.json").write_text(config.to_json())
    words = ["-m", "tests.ppo.training.kills", str(tmp_path / "run"), str(tmp_path / "config.json"), "20"]
    subprocess.run([sys.executable, *words], check=True, cwd=ROOT)
    assert len(read_archive(tmp_path / "run" / NAME, "").rows) < 600
    summary = run(config, tmp_path / "run", resume=True)
    assert summary["policy_sha256"] == expected["policy_sha256"]
    assert facts(tmp_path / "run") == facts(tmp_path / "whole")
    again = os.path.getsize(tmp_path / "count") - 600
    assert 0 < again <= summary["lost_evaluations"]
    assert summary["lost_evaluations"] <= 20 * 3 * 2 + 10 * 2  # a slot of two evaluations for each driver of each kill


def test_a_killed_driver_costs_what_it_had_in_flight(tmp_path):
    config = counted(tmp_path / "count", evaluations=60, drivers=2, eval_every=0, check=0)
    with Trainer(resolve(config), tmp_path / "run", quiet=True) as trainer:
        victim = trainer.pool._roster.drivers[0].handle.process.pid
        os.kill(victim, signal.SIGSTOP)  # so that it cannot finish the slot that it is given
        threading.Timer(0.3, os.kill, (victim, signal.SIGKILL)).start()
        for _ in trainer:
            pass
        summary = trainer.finish(pictures=False)
    # The first round is dealt slot by slot, of two evaluations each.
    assert (summary["lost_evaluations"], summary["driver_restarts"]) == (2, 1)
    assert summary["objective_evaluations"] == 60 == os.path.getsize(tmp_path / "count")


def test_reused_evaluations_make_the_run_directory_repeat_the_run(tmp_path):
    run(counted(tmp_path / "count", eval_every=0, check=0), tmp_path / "first")
    with_table = tmp_path / "more.csv"
    with_table.write_text("x_0,x_1,c_0,f\n0.1,0.2,0.3,1.5\n0,0,0,\n")
    reuse = (str(tmp_path / "first"), str(with_table))
    config = counted(tmp_path / "count", evaluations=60, eval_every=0, reuse=reuse)
    spent = os.path.getsize(tmp_path / "count")
    expected = run(config, tmp_path / "second")
    assert os.path.getsize(tmp_path / "count") == spent + 60 + 30  # what is new, and its check
    assert facts(tmp_path / "second")["step"].count(-1) == 240 + 2
    for name in ("first", "more.csv"):
        os.rename(tmp_path / name, tmp_path / f"{name} elsewhere")
    without(tmp_path / "second", "checkpoint.npz", "summary.json", "law.npz", "metrics.csv")
    again = run(config, tmp_path / "second", resume=True)
    assert [again[name] for name in ("policy_sha256", "check")] == [
        expected[name] for name in ("policy_sha256", "check")
    ]
    assert os.path.getsize(tmp_path / "count") == spent + 60 + 30


def test_reuse_leads_to_a_better_law_than_the_same_budget_alone(tmp_path):
    def mean_f(summary):
        return summary["check"]["law_mean"]

    first = counted(tmp_path / "count", evaluations=300, hidden_sizes=None, update_epochs=None, eval_every=0)
    run(first, tmp_path / "first")
    again = dataclasses.replace(first, evaluations=60, seed=1)
    alone = mean_f(run(again, tmp_path / "alone"))
    reused = mean_f(run(dataclasses.replace(again, reuse=(str(tmp_path / "first"),)), tmp_path / "reused"))
    assert reused < 0.5 * alone


def test_too_few_reused_evaluations_are_kept_and_not_learned_from(tmp_path, capsys):
    (tmp_path / "few.csv").write_text("x_0,x_1,c_0,f\n" + "0.1,0.2,0.3,1.5\n" * 47)
    config = counted(tmp_path / "count", evaluations=20, eval_every=0, check=0)
    alone = run(config, tmp_path / "alone")
    config = dataclasses.replace(config, reuse=(str(tmp_path / "few.csv"),))
    reused = train(config, tmp_path / "reused", pictures=False)
    assert reused["policy_sha256"] == alone["policy_sha256"]
    assert facts(tmp_path / "reused")["step"].count(-1) == 47
    assert "--reuse: 47 evaluations are kept, and are too few" in capsys.readouterr().err


def test_two_processes_do_not_write_to_one_run(tmp_path):
    config = counted(tmp_path / "count", evaluations=40, eval_every=1, check=0)
    with Trainer(resolve(config), tmp_path / "run", quiet=True) as trainer:
        next(trainer)
        spent = os.path.getsize(tmp_path / "count")
        with pytest.raises(UsageError, match=r"--resume .*run: another process is training in it") as told:
            run(config, tmp_path / "run", resume=True)
        assert "\n" not in str(told.value)
        assert os.path.getsize(tmp_path / "count") == spent
        assert (tmp_path / "run" / "metrics.csv").read_text().count("\n") == 2
        next(trainer)
    run(config, tmp_path / "run", resume=True)
    steps = resolve(config).training_steps
    assert os.path.getsize(tmp_path / "count") == 40 + steps * 21


def test_a_checkpoint_without_its_archive_is_refused_while_there_is_something_to_do(tmp_path):
    config = counted(tmp_path / "count", checkpoint_every=3, eval_every=0, check=0)
    killed_at(8, config, tmp_path / "cut")
    without(tmp_path / "cut", NAME)
    with pytest.raises(UsageError, match=r"there is no archive\.bin in it, on which the run rests; begin a new one"):
        run(config, tmp_path / "cut", resume=True)
    done = run(config, tmp_path / "done")
    without(tmp_path / "done", NAME)
    assert run(config, tmp_path / "done", resume=True) == done


def test_a_finished_run_writes_a_law_that_was_deleted_again(tmp_path):
    config = counted(tmp_path / "count")
    run(config, tmp_path / "run")
    law, spent = (tmp_path / "run" / "law.npz").read_bytes(), os.path.getsize(tmp_path / "count")
    without(tmp_path / "run", "law.npz")
    run(config, tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "law.npz").read_bytes() == law
    assert os.path.getsize(tmp_path / "count") == spent
