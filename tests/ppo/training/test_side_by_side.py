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

from actors.job import Job, Kind, Task
from actors.pools.base import DriverError, NotFiniteSlotError
from actors.pools.shared import SharedPool
from actors.rollout import Collector
from env import Problem, UsageError
from ppo import Config, replay
from ppo.algorithm.learner import Learner
from ppo.data.archive import NAME, read_archive
from ppo.train import train, train_seeds
from ppo.training.rounds import Rounds
from ppo.training.run_dir import RunDir
from ppo.training.seeds import listed_seeds, parse_seeds, seeds_table
from ppo.training.side_by_side import SideBySide
from tests.actors.mixtures import mixture
from tests.ppo.algorithm.model.quick import quick
from tests.ppo.configs import TEMP_CONTROL
from tests.ppo.training.test_invariance import Killer
from tests.problems import Quadratic

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


def begin(root, config=CONFIG, seeds=SEEDS):
    """Leaves runs that were interrupted before their first training step."""
    interrupted = threading.Event()
    interrupted.set()
    with pytest.raises(KeyboardInterrupt, match=r"after training step 0 of each seed; go on with .* --resume"):
        train_seeds(config, seeds, root, interrupted=interrupted, **QUIET)


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
    "TempControl": TEMP_CONTROL,
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
    assert listed_seeds(root) == list(SEEDS)
    before = {one: len(read_archive(root / f"seed-{one}" / NAME, "").rows) for one in SEEDS}
    # One of them goes on alone, as any run can, and the others after it.
    train(RunDir(root / "seed-6").config(), root / "seed-6", resume=True, **QUIET)
    found = train_seeds(CONFIG, listed_seeds(root), root, resume=True, **QUIET)
    assert {one: bits(root / f"seed-{one}", found[one]) for one in SEEDS} == expected
    for one in SEEDS:
        assert paid(root / f"seed-{one}") == paid(tmp_path / f"{one}")  # nothing is paid for twice
        assert before[one] > 0
    assert train_seeds(CONFIG, SEEDS, root, resume=True, **QUIET) == found  # nothing is left to do


class RaisesInSomeRuns(Quadratic):
    """Raises ValueError in one slot of a later run: where the condition is the largest of all in the first round."""

    def __init__(self, above):
        self.above = above

    def __call__(self, x, c):
        if (c > self.above).any():
            raise ValueError("the probe lost contact")
        return super().__call__(x, c)


@pytest.mark.parametrize("drivers", [0, 3])
def test_an_error_names_the_run_and_the_slot_that_it_has_there(drivers, tmp_path):
    conditions = {seed: first_conditions(seed) for seed in SEEDS}
    *others, seed = sorted(
        SEEDS, key=lambda one: conditions[one].max()
    )  # not the first, whose slots have equal numbers
    slot, above = int(conditions[seed].argmax()), np.sort(np.concatenate(list(conditions.values())))[-2]
    name = "tests.ppo.training.test_side_by_side:RaisesInSomeRuns"
    config = dataclasses.replace(CONFIG, env=name, env_kwargs={"above": float(above)}, drivers=drivers)
    with pytest.raises(DriverError, match=f"it is slot {slot} of the run with seed {seed}") as raised:
        train_seeds(config, [*others, seed], tmp_path / "all", **QUIET)
    alone, goes_on = raised.value.__notes__
    keeps = "--on-failure infeasible beside it keeps such an evaluation as failed"
    assert goes_on.endswith(f"--resume {tmp_path / 'all'}; {keeps}")
    words = shlex.split(alone.partition("replay ")[2])
    assert words == [str(tmp_path / "all" / f"seed-{seed}"), "--training-step", "0", "--slot", str(slot)]
    with pytest.raises(ValueError, match="the probe lost contact"):
        replay.main(words)


def first_conditions(seed):
    """Returns the conditions of the first round, ``[E]``."""
    made = Collector(Job(Problem("tests.problems:Quadratic"), "random", 16, seed, 30, 2, np.zeros((1, 3))))
    made.update(mixture(1, version=0))
    return made.run(Task(Kind.COLLECT, 0, 0, 30)).obs[:, 0, 2]


def test_a_check_that_is_not_finite_names_its_run(tmp_path, monkeypatch):
    config = dataclasses.replace(CONFIG, env="branin", check=15)

    def broken(self, kind, step, done):
        if kind == Kind.CHECK_CONSTANT and self._job.seed == SEEDS[1]:
            error = NotFiniteSlotError("the environment's objectives are not finite", 3)
            error.slot = Task(kind, step, 3, 4)
            raise error

    monkeypatch.setattr(Rounds, "_check", broken)
    with pytest.raises(NotFiniteSlotError, match=f"not finite, in the run with seed {SEEDS[1]}") as raised:
        train_seeds(config, SEEDS, tmp_path, **QUIET)
    assert f"seed-{SEEDS[1]} --training-step 6 --slot 3 --kind check_constant" in raised.value.__notes__[0]


def test_a_breach_of_contract_leaves_nothing_behind(tmp_path):
    config = dataclasses.replace(CONFIG, env="tests.mistaken:ReturnsNone")
    with pytest.raises(UsageError, match="returned None"):
        train_seeds(config, SEEDS, tmp_path / "deep" / "all", **QUIET)
    assert not (tmp_path / "deep").exists()


def test_an_interruption_saves_all_runs(tmp_path, bits):
    expected = {one: bits(tmp_path / f"{one}", alone(CONFIG, one, tmp_path / f"{one}")) for one in SEEDS}
    begin(tmp_path / "all")
    found = train_seeds(CONFIG, SEEDS, tmp_path / "all", resume=True, **QUIET)
    assert {one: bits(tmp_path / "all" / f"seed-{one}", found[one]) for one in SEEDS} == expected


def test_seeds_are_a_range_without_its_end():
    assert list(parse_seeds("3:6")) == [3, 4, 5]
    for wrong, message in (
        ("3", "must be FIRST:END"),
        ("3:3", "has 0 seeds"),
        ("6:3", "has 0 seeds"),
        ("0:101", "has 101 seeds"),
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


def test_drivers_that_die_cost_no_run_a_bit(tmp_path, bits):
    config = dataclasses.replace(CONFIG, env="branin", training_steps=4)
    killer = Killer(kills=5)
    killer.start()
    slow = dataclasses.replace(config, evaluation_cost_ms=5.0, drivers=3)
    together = train_seeds(slow, SEEDS, tmp_path / "all", **QUIET)
    assert killer.killed > 2
    assert together[5]["driver_restarts"] > 2
    for seed in SEEDS:
        own, path = tmp_path / f"{seed}", tmp_path / "all" / f"seed-{seed}"
        assert bits(path, together[seed]) == bits(own, alone(config, seed, own))
        assert paid(path) == paid(own)


def test_slots_that_no_driver_comes_back_from_fail_in_their_run(tmp_path, bits):
    failing = {"env": "tests.failing:Failing", "env_kwargs": {"how": "exit", "limit": 0.97}, "on_failure": "infeasible"}
    config = dataclasses.replace(CONFIG, **failing, training_steps=2)
    together = train_seeds(dataclasses.replace(config, drivers=3), SEEDS, tmp_path / "all", **QUIET)
    kept = dataclasses.replace(config, env_kwargs={"how": "nan", "limit": 0.97})
    for seed in SEEDS:
        own = alone(kept, seed, tmp_path / f"{seed}")
        assert bits(tmp_path / "all" / f"seed-{seed}", together[seed]) == bits(tmp_path / f"{seed}", own)
    assert sum(one["failed_evaluations"] for one in together.values()) > 0


@pytest.mark.parametrize(("drivers", "backend"), [(0, "process"), (2, "process"), (2, "thread")])
def test_the_time_of_a_task_is_that_of_each_run(drivers, backend, tmp_path):
    """A round of one run takes some 0.4 s here, and all of them take longer than a task may."""
    config = dataclasses.replace(CONFIG, env="branin", evaluation_cost_ms=6.0, episodes=20, time_steps=2, eval_every=0)
    config = dataclasses.replace(config, training_steps=1, drivers=drivers, backend=backend, driver_timeout=1.2)
    together = train_seeds(config, range(5), tmp_path / "all", **QUIET)
    assert [one["driver_restarts"] for one in together.values()] == [0] * 5


def test_auto_measures_rounds_in_which_a_run_takes_no_part(tmp_path, monkeypatch):
    config = dataclasses.replace(CONFIG, env="branin", evaluation_cost_ms=3.0, drivers="auto", training_steps=8)
    monkeypatch.setattr("actors.pools.auto.cores", lambda: 2)
    begin(tmp_path, config, (1, 2))
    train(RunDir(tmp_path / "seed-1").config(), tmp_path / "seed-1", resume=True, **QUIET)
    (tmp_path / "seed-1" / "summary.json").unlink()  # as if it had been killed before the end
    assert train_seeds(config, (1, 2), tmp_path, resume=True, **QUIET)[2]["drivers"] > 0


def test_a_start_that_was_cut_loses_no_seed(tmp_path, bits):
    expected = {one: bits(tmp_path / f"{one}", alone(CONFIG, one, tmp_path / f"{one}")) for one in SEEDS}
    root = tmp_path / "all"
    begin(root)
    for file in (root / "seed-9").iterdir():
        file.unlink()
    (root / "seed-9").rmdir()
    found = train_seeds(CONFIG, SEEDS, root, resume=True, **QUIET)
    assert {one: bits(root / f"seed-{one}", found[one]) for one in SEEDS} == expected
    with pytest.raises(UsageError, match=r"was begun with the seeds \[5, 6, 9\], and is to go on with \[5, 6\]"):
        train_seeds(CONFIG, (5, 6), root, resume=True, **QUIET)


def test_a_start_that_fails_leaves_nothing(tmp_path, monkeypatch):
    original = RunDir.create

    def create(self, config, limit=None):
        if config.seed == 9:
            raise UsageError("--run-dir: cannot be made (No space left on device)")
        original(self, config, limit)

    monkeypatch.setattr(RunDir, "create", create)
    with pytest.raises(UsageError, match="No space left"):
        train_seeds(CONFIG, SEEDS, tmp_path / "deep" / "all", **QUIET)
    assert list(tmp_path.iterdir()) == []
    for wrong in ((), (1, 1), range(101)):
        with pytest.raises(UsageError, match="from 1 to 100 seeds, each once"):
            train_seeds(CONFIG, wrong, tmp_path / "all", **QUIET)
    assert list(tmp_path.iterdir()) == []


def test_of_two_starts_in_one_place_the_second_leaves_the_first_alone(tmp_path, monkeypatch):
    root, begun = tmp_path / "all", {}
    original = SideBySide.__enter__

    def enter(self):  # another process begins while this one starts its drivers
        if not begun:
            begun["first"] = True
            begin(root)  # and has paid for nothing yet
            begun["files"] = sorted(path for path in root.rglob("*"))
        return original(self)

    monkeypatch.setattr(SideBySide, "__enter__", enter)
    for place in ("ppo.training.together", "ppo.training.trainer"):
        monkeypatch.setattr(f"{place}.check_free", lambda path: None)
    with pytest.raises(UsageError, match="other runs have just begun in it"):
        train_seeds(CONFIG, SEEDS, root, **QUIET)
    assert sorted(path for path in root.rglob("*")) == begun["files"] != []


def test_each_run_goes_on_with_its_own_settings(tmp_path, command):
    root = tmp_path / "all"
    begin(root)
    path = root / "seed-6" / "config.json"
    path.write_text(path.read_text().replace('"on_nan": "stop"', '"on_nan": "skip"'))
    assert command("--resume", root, "--quiet", "--no-pictures") == (0, "")
    assert [RunDir(root / f"seed-{seed}").config().on_nan for seed in SEEDS] == ["stop", "skip", "stop"]


def test_runs_of_other_settings_are_not_gone_on_with_together(tmp_path, command):
    root = tmp_path / "all"
    begin(root)
    path = root / "seed-6" / "config.json"
    path.write_text(path.read_text().replace('"update_epochs": 2', '"update_epochs": 3'))
    code, error = command("--resume", root, "--quiet")
    assert code == 2 and "--update-epochs is 2 in seed-5 and 3 in seed-6; go on with each alone" in error
    (root / "seeds.json").write_text("{")
    code, error = command("--resume", root, "--quiet")
    assert code == 2 and "seeds.json is damaged" in error


def test_the_checks_of_all_runs_share_their_rounds_and_what_is_said_names_the_seed(tmp_path, monkeypatch, capsys):
    together = []
    original = SharedPool._run
    monkeypatch.setattr(SharedPool, "_run", lambda self, runs: (together.append(len(runs)), original(self, runs))[1])
    config = dataclasses.replace(CONFIG, env="branin", check=15, training_steps=1, eval_every=0)
    train_seeds(config, SEEDS, tmp_path, pictures=False)
    assert together == [3] * 4  # one to learn from, and the law beside two constant knobs
    shown = capsys.readouterr()
    assert "seed 6: " in shown.err and "check" in shown.err
    assert "median" in shown.out


class Moves(Quadratic):
    """Changes the working directory, as an environment may."""

    def __init__(self):
        os.makedirs("elsewhere", exist_ok=True)
        os.chdir("elsewhere")


def test_runs_are_where_they_were_asked_for_wherever_an_environment_goes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = dataclasses.replace(CONFIG, env="tests.ppo.training.test_side_by_side:Moves", training_steps=1)
    train_seeds(config, (1, 2), "runs", **QUIET)
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["seed-1", "seed-2", "seeds.json"]


def test_a_run_without_a_checkpoint_does_not_go_on_with_another_seed(tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "learn", lambda self, trajectory: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            train(dataclasses.replace(CONFIG, seed=4), tmp_path / "run", **QUIET)
    (tmp_path / "run" / "checkpoint.npz").unlink(missing_ok=True)
    with pytest.raises(UsageError, match=r"its config.json has --seed 4, and it was to go on with 0"):
        train(CONFIG, tmp_path / "run", resume=True, **QUIET)
