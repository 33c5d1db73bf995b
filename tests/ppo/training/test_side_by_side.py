"""Runs of several seeds in one process and one pool leave what each would leave alone."""

import dataclasses
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from actors.pools.base import DriverError
from env import UsageError
from ppo import Config, replay
from ppo.algorithm.learner import Learner
from ppo.data.archive import NAME, read_archive
from ppo.train import train, train_seeds
from ppo.training.run_dir import RunDir
from ppo.training.seeds import begun_seeds, parse_seeds, seeds_table
from tests.ppo.algorithm.model.quick import quick

CONFIG = Config(
    training_steps=6,
    eval_every=3,
    checkpoint_every=2,
    norm_obs=True,
    candidates=16,
    hidden_sizes=(8,),
    update_epochs=2,
    drivers=0,
)
SEEDS = (5, 6, 9)
QUIET = {"quiet": True, "pictures": False}
NO_RESULT = ("driver", "seconds")


def alone(config, seed, path):
    return train(dataclasses.replace(config, seed=seed), path, **QUIET)


def paid(path):
    """Returns the rows of an archive, in order, without what is no result."""
    rows = np.sort(read_archive(path / NAME, "").rows, order=["kind", "step", "slot", "time_step"])
    return [rows[name].tobytes() for name in rows.dtype.names if name not in NO_RESULT]


PROBLEMS = {
    "rosenbrock": {},
    "heterogeneous": {"sampler": "heterogeneous", "num_minibatches": 2},
    "checked": {"env": "branin", "check": 15},
    "chance": {"env": "tests.chance:OwnChance"},
    "CartPole": {"env": "CartPole-v1", "episodes": 5, "time_steps": 60, "eval_episodes": 3},
    "TempControl": {
        "env": "TempControl-v1",
        "env_kwargs": {"load_rounds": 0, "actions": True},
        "sampler": "lhs",
        "episodes": 5,
        "time_steps": 60,
        "eval_episodes": 3,
    },
    "failing": {"env": "tests.failing:Failing", "on_failure": "infeasible"},
    "waits": {"env": "tests.waiting:Waits"},
}
BUDGETS = {
    "model": {"env": "branin", "evaluations": 60, "check": 15},
    "components": {"env": "crossing-valleys", "evaluations": 100},
}


@pytest.mark.parametrize("drivers", [0, 3])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_run_has_the_bits_that_it_has_alone(name, drivers, tmp_path, bits):
    config = dataclasses.replace(CONFIG, **PROBLEMS[name])
    together = train_seeds(dataclasses.replace(config, drivers=drivers), SEEDS, tmp_path / "all", **QUIET)
    assert list(together) == list(SEEDS)
    for seed in SEEDS:
        own, path = tmp_path / f"{seed}", tmp_path / "all" / f"seed-{seed}"
        assert bits(path, together[seed]) == bits(own, alone(config, seed, own))
        assert (path / "law.npz").read_bytes() == (own / "law.npz").read_bytes()
        assert (path / NAME).exists() == (own / NAME).exists()
        if (own / NAME).exists():
            assert paid(path) == paid(own)


@pytest.mark.parametrize("name", BUDGETS)
def test_runs_with_models_go_their_own_ways_in_shared_rounds(name, tmp_path, bits, monkeypatch):
    quick(monkeypatch.setattr)
    config = Config(**BUDGETS[name], hidden_sizes=(8,), drivers=0, eval_every=1)
    together = train_seeds(config, SEEDS, tmp_path / "all", **QUIET)
    for seed in SEEDS:
        own, path = tmp_path / f"{seed}", tmp_path / "all" / f"seed-{seed}"
        assert bits(path, together[seed]) == bits(own, alone(config, seed, own))
        assert paid(path) == paid(own)


class Killed(BaseException):
    pass


@pytest.mark.parametrize(("seed", "step"), [(5, 0), (6, 3), (9, 5)])
def test_runs_cut_at_different_places_are_gone_on_with_together(seed, step, tmp_path, bits, monkeypatch):
    expected = {one: bits(tmp_path / f"{one}", alone(CONFIG, one, tmp_path / f"{one}")) for one in SEEDS}
    original, root = Learner.learn, tmp_path / "all"

    def learn(self, trajectory):
        if (self.config.seed, self.step) == (seed, step):
            raise Killed
        return original(self, trajectory)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "learn", learn)
        with pytest.raises(Killed):
            train_seeds(CONFIG, SEEDS, root, **QUIET)
    assert begun_seeds(root) == list(SEEDS)
    before = {one: len(read_archive(root / f"seed-{one}" / NAME, "").rows) for one in SEEDS}
    # One of them goes on alone, as any run can, and the others after it.
    train(RunDir(root / "seed-6").config(), root / "seed-6", resume=True, **QUIET)
    found = train_seeds(CONFIG, begun_seeds(root), root, resume=True, **QUIET)
    assert {one: bits(root / f"seed-{one}", found[one]) for one in SEEDS} == expected
    for one in SEEDS:
        assert paid(root / f"seed-{one}") == paid(tmp_path / f"{one}")  # nothing is paid for twice
        assert before[one] > 0
    assert train_seeds(CONFIG, SEEDS, root, resume=True, **QUIET) == found  # nothing is left to do


@pytest.mark.parametrize("drivers", [0, 3])
def test_an_error_names_the_run_and_the_slot_that_it_has_there(drivers, tmp_path):
    config = dataclasses.replace(CONFIG, env="tests.problems:RaisesRowByRow", drivers=drivers)
    with pytest.raises(DriverError, match=r"it is slot \d+ of the run with seed \d+") as raised:
        train_seeds(config, SEEDS, tmp_path / "all", **QUIET)
    alone, goes_on = raised.value.__notes__
    assert goes_on.endswith(
        f"--resume {tmp_path / 'all'}; --on-failure infeasible beside it keeps such an evaluation as failed"
    )
    words = shlex.split(alone.partition("replay ")[2])
    assert words[0].startswith(str(tmp_path / "all" / "seed-"))
    with pytest.raises(ValueError, match="the probe lost contact"):
        replay.main(words)


def test_a_breach_of_contract_leaves_nothing_behind(tmp_path):
    config = dataclasses.replace(CONFIG, env="tests.mistaken:ReturnsNone")
    with pytest.raises(UsageError, match="returned None"):
        train_seeds(config, SEEDS, tmp_path / "deep" / "all", **QUIET)
    assert not (tmp_path / "deep").exists()


def test_an_interruption_saves_all_runs(tmp_path, bits):
    expected = {one: bits(tmp_path / f"{one}", alone(CONFIG, one, tmp_path / f"{one}")) for one in SEEDS}
    interrupted = threading.Event()
    interrupted.set()
    with pytest.raises(KeyboardInterrupt, match=r"after training step 0 of each seed; go on with .* --resume"):
        train_seeds(CONFIG, SEEDS, tmp_path / "all", interrupted=interrupted, **QUIET)
    found = train_seeds(CONFIG, SEEDS, tmp_path / "all", resume=True, **QUIET)
    assert {one: bits(tmp_path / "all" / f"seed-{one}", found[one]) for one in SEEDS} == expected


def test_seeds_are_a_range_without_its_end():
    assert list(parse_seeds("3:6")) == [3, 4, 5]
    for wrong, message in (
        ("3", "must be FIRST:END"),
        ("3:3", "has 0 seeds"),
        ("6:3", "has 0 seeds"),
        ("0:1001", "has 1001 seeds"),
        ("4294967290:4294967297", "the last seed is above 4294967295"),
        ("-1:2", "must be FIRST:END"),
    ):
        with pytest.raises(UsageError, match=message):
            parse_seeds(wrong)


def test_the_table_has_the_median_and_the_worst_seed():
    def one(final, best, metric="mse"):
        return {"eval": {"metric": metric, "final": final, "best": best}}

    table = seeds_table(pathlib.Path("runs/x"), {4: one(0.5, 0.25), 5: one(0.125, 0.125), 7: one(2.0, 1.0)})
    assert "median 0.5, worst 2 (seed 7)" in table
    assert table.endswith("runs/x: seed-4 to seed-7, each a run of its own")
    returns = {1: one(-5.0, -4.0, "mean_return"), 2: one(None, None, "mean_return"), 3: one(1.0, 1.0, "mean_return")}
    table = seeds_table(pathlib.Path("x"), returns)
    assert "median -2, worst -5 (seed 1)" in table
    assert "       2  not finite" in table
    budget = {"eval": {"metric": "mse", "final": None}, "model": {"law": 3.0}}
    checked = budget | {"check": {"gain": 2.5}, "regret": {"median": 0.5, "constant_median": 10.0}}
    assert seeds_table(pathlib.Path("x"), {1: budget, 2: budget}).splitlines()[0] == "    seed  mean of f by the model"
    assert "median 0.05, worst 0.05" in seeds_table(pathlib.Path("x"), {1: checked, 2: checked})
    assert "median 3, worst 3" in seeds_table(pathlib.Path("x"), {1: budget, 2: checked})  # which both have
    nothing = seeds_table(pathlib.Path("x"), {1: budget | {"model": {"law": None}}})
    assert nothing == "   files  x: seed-1 to seed-1, each a run of its own"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--seeds", "0:x"], "--seeds 0:x: must be FIRST:END"),
        (["--seeds", "0:3", "--seed", "1"], "--seeds 0:3: names all seeds; leave out --seed"),
        (["--seeds", "0:3", "--lag", "1"], "--seeds: cannot be combined with --lag 1"),
        (["--seeds", "0:3", "--profile"], "--profile: profiles a single run; leave out --seeds"),
        (["--seeds", "0:3", "--resume", "there"], "--resume takes no other training flag, and --seeds was given"),
        (["--resume", "there"], "--resume there: not a run directory"),
        (["--seeds", "0:3", "--run-dir", "full"], "--run-dir full: exists and is not empty"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(argv, message, command, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    code, error = command("--quiet", *argv)
    assert (code, len(error.splitlines())) == (2, 1)
    assert error.startswith(f"error: {message}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "there"]


def test_killed_runs_are_gone_on_with_by_their_directory(tmp_path, command, bits):
    """The commands as a user has them, killed without warning."""
    flags = ["--training-steps", "300", "--hidden-sizes", "8", "--no-pictures", "--quiet", "--drivers", "2"]
    program = [sys.executable, "-m", "ppo.train", *flags, "--checkpoint-every", "20"]
    root, archives = tmp_path / "all", [tmp_path / "all" / f"seed-{seed}" / NAME for seed in range(3)]
    process = subprocess.Popen([*program, "--seeds", "0:3", "--run-dir", str(root)])
    while not all(path.exists() and path.stat().st_size > 50_000 for path in archives) and process.poll() is None:
        time.sleep(0.01)
    assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert command("--resume", root, "--quiet", "--no-pictures")[0] == 0
    for seed in range(3):
        config = RunDir(root / f"seed-{seed}").config()
        expected = train(config, tmp_path / f"{seed}", **QUIET)
        found = RunDir(root / f"seed-{seed}").summary()
        assert bits(root / f"seed-{seed}", found) == bits(tmp_path / f"{seed}", expected)
