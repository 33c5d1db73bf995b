"""Flags, and the mistakes that users make: one line, exit code 2, nothing left on disk."""

import dataclasses
import json
import subprocess
import sys
import time

import pytest

from env import UsageError
from ppo import Config
from ppo.config.command_line import parse, run_main
from ppo.config.file import read_config
from ppo.train import main, train
from ppo.training.run_dir import RunDir

SMALL = ["--training-steps", "2", "--episodes", "4", "--hidden-sizes", "4", "--quiet", "--no-pictures"]


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Runs the command line in an empty directory and returns (exit code, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(*argv):
        monkeypatch.setattr(sys, "argv", ["ppo.train", *map(str, argv)])
        code = 0
        try:
            run_main(main)
        except SystemExit as end:
            code = end.code
        return code, capsys.readouterr().err

    return run


MISTAKES = [
    (["--env", "rosenbrok"], "did you mean 'rosenbrock'"),
    (["--env", "nowhere:Thing"], "no module named 'nowhere'"),
    (["--sampler", "hetrogeneous"], "did you mean 'heterogeneous'"),
    (["--env", "tests.problems:CountdownEnv", "--time-steps", "9", "--sampler", "lhs"], "use --sampler env"),
    (["--episodes", "0"], "--episodes 0: must be at least 1"),
    (["--episodes", "-3"], "--episodes -3: must be at least 1"),
    (["--time-steps", "0"], "--time-steps 0"),
    (["--training-steps", "-1"], "--training-steps -1"),
    (["--drivers", "-1"], "--drivers -1: must be 0 or more"),
    (["--drivers", "many"], "--drivers"),
    (["--backend", "thread"], "--backend thread: needs a number of --drivers"),
    (["--dims", "0"], "--dims 0"),
    (["--dims", "3", "--knobs", "3"], "--knobs 3: must be from 1 to 2 with --dims 3"),
    (["--hidden-sizes", "64", "0"], "--hidden-sizes 64 0"),
    (["--learning-rate", "0"], "--learning-rate 0.0: must be above 0"),
    (["--learning-rate", "nan"], "--learning-rate nan"),
    (["--gamma", "1.5"], "--gamma 1.5"),
    (["--seed", "-1"], "--seed -1"),
    (["--num-minibatches", "1000"], "--num-minibatches 1000: a batch has only 8 time steps"),
    (["--num-minibatches", "8"], "a minibatch needs two"),
    (["--driver-timeout", "1e20"], "--driver-timeout 1e+20"),
    (["--env", "CartPole-v1", "--evaluation-cost-ms", "3"], "--evaluation-cost-ms 3.0: only a tuning problem"),
    (["--env", "LunarLander-v3"], "--env LunarLander-v3: cannot be made"),
    (["--run-dir", "/proc/x/y"], "--run-dir /proc/x/y"),
    (["--run-dir", "x" * 300], "too long"),
    (["--algo", "reinforce", "--update-epochs", "3"], "--update-epochs"),
    (["--algo", "dqn"], "--algo"),
    (["--std-floor-final", "0.5"], "--std-floor-final 0.5"),
    (["--env", "CartPole-v1", "--reward", "objective"], "only a tuning problem"),
    (["--env", "Pendulum-v1", "--noise", "mirrored"], "--noise mirrored: only with --advantages slot"),
    (["--advantages", "gae", "--noise", "mirrored"], "--noise mirrored: only with --advantages slot"),
    (["--leerning-rate", "1"], "unknown argument --leerning-rate (did you mean '--learning-rate'?)"),
    (["stray"], "unknown argument stray"),
    (["--backend", "cluster"], "--backend"),
    (["--config", "missing.json"], "--config missing.json: No such file"),
    (["--resume", "missing"], "not a run directory"),
    (["--warm-start", "missing"], "--warm-start missing: not a run directory"),
]


@pytest.mark.parametrize(("argv", "message"), MISTAKES, ids=[" ".join(argv) for argv, _ in MISTAKES])
def test_a_mistake_is_one_line_with_exit_code_2_and_leaves_nothing(argv, message, command, tmp_path):
    small = [] if "--resume" in argv else SMALL
    code, error = command(*small, *argv)
    assert code == 2
    assert len(error.splitlines()) == 1
    assert message in error
    assert list(tmp_path.iterdir()) == []


def test_a_run_directory_that_is_not_empty_is_refused(command, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("precious")
    code, error = command(*SMALL, "--run-dir", "taken")
    assert code == 2
    assert "--run-dir taken: exists and is not empty" in error
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["thesis.txt"]
    (tmp_path / "file").touch()
    assert command(*SMALL, "--run-dir", "file/run")[0] == 2
    (tmp_path / "empty").mkdir()
    assert command(*SMALL, "--run-dir", "empty")[0] == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"learning_rte": 1}, "unknown key 'learning_rte' (did you mean 'learning_rate'?)"),
        ({"episodes": "many"}, 'episodes = "many" is not int'),
        ({"episodes": 3.5}, "episodes = 3.5"),
        ({"backend": "cluster"}, "is not one of process, thread"),
        ({"anneal_lr": 1}, "anneal_lr = 1 is not bool"),
        ({"hidden_sizes": ["a"]}, "hidden_sizes"),
        ([1], "one JSON object"),
        ("{", "not JSON"),
    ],
)
def test_a_config_file_that_does_not_fit_is_refused(content, message, command, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(content if content == "{" else json.dumps(content))
    code, error = command("--config", "config.json")
    assert code == 2
    assert message in error
    assert len(error.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def with_unknown_compression(content):
    entry = content.index(b"PK\x01\x02")  # the central directory; the method is 10 bytes in
    return content[: entry + 10] + b"\x63" + content[entry + 11 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b[: len(b) // 2],
        lambda b: b"",
        lambda b: b[:200] + bytes(8) + b[208:],
        lambda b: b"PK" + b[::-1],
        with_unknown_compression,
        lambda b: b.replace(b"meta.npy", b"mtea.npy"),
    ],
    ids=["cut", "empty", "overwritten", "reversed", "method", "name"],
)
def test_resuming_a_damaged_checkpoint_is_refused(damage, command, tmp_path):
    assert command(*SMALL, "--run-dir", "run")[0] == 0
    path = tmp_path / "run" / "checkpoint.npz"
    path.write_bytes(damage(path.read_bytes()))
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    code, error = command("--resume", "run")
    assert code == 2
    assert "checkpoint.npz is damaged" in error
    assert len(error.splitlines()) == 1
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


def test_resume_takes_no_other_training_flag(command):
    assert command(*SMALL, "--run-dir", "run")[0] == 0
    code, error = command("--resume", "run", "--training-steps", "9")
    assert code == 2
    assert "--training-steps was given" in error
    assert command("--resume", "run", "--drivers", "2", "--quiet", "--no-pictures")[0] == 0


def test_a_config_file_repeats_a_run_and_other_flags_override_it(command, tmp_path):
    assert command(*SMALL, "--run-dir", "a", "--clip-coef", "0.3", "--no-anneal-lr", "--sampler", "lhs")[0] == 0
    assert command("--config", "a/config.json", "--run-dir", "b", "--quiet", "--no-pictures")[0] == 0
    assert command("--config", "a/config.json", "--run-dir", "c", "--seed", "5", "--quiet", "--no-pictures")[0] == 0
    a, b, c = (json.loads((tmp_path / name / "summary.json").read_text())["policy_sha256"] for name in "abc")
    assert a == b != c
    assert read_config(tmp_path / "c" / "config.json") == dataclasses.replace(
        read_config(tmp_path / "a" / "config.json"), seed=5
    )


def test_every_config_field_is_a_flag():
    helped = subprocess.run([sys.executable, "-m", "ppo.train", "--help"], capture_output=True, text=True, check=True)
    for field in dataclasses.fields(Config):
        assert "--" + field.name.replace("_", "-") in helped.stdout, field.name


def test_flags_override_defaults():
    arguments = parse(["--hidden-sizes", "32", "16", "--target-kl", "0.02", "--no-norm-adv", "--sampler", "lhs"])
    config = arguments.to_config()
    assert (config.hidden_sizes, config.target_kl, config.norm_adv, config.sampler) == ((32, 16), 0.02, False, "lhs")


def test_defaults_by_family_are_resolved_and_stored(tmp_path):
    tuning, control = Config().resolved(), Config(env="Pendulum-v1").resolved()
    assert (tuning.advantages, tuning.time_steps, tuning.sampler, tuning.norm_obs) == ("slot", 2, "random", False)
    assert (control.gamma, control.time_steps, control.sampler, control.norm_obs) == (0.99, 200, "env", True)
    assert (control.training_steps, tuning.training_steps, tuning.episodes) == (500, 5000, 30)
    train(Config(training_steps=1, hidden_sizes=(4,)), tmp_path, quiet=True, pictures=False)
    stored = RunDir(tmp_path).config()
    assert stored == dataclasses.replace(Config(training_steps=1, hidden_sizes=(4,)).resolved())
    assert stored.resolved() == stored


@pytest.mark.parametrize(
    ("changes", "episodes", "minibatches"),
    [({}, 10, 31), ({"time_steps": 50}, 40, 31), ({"episodes": 3}, 3, 9), ({"time_steps": 9000}, 1, 140)],
)
def test_control_takes_about_as_many_time_steps_however_long_a_slot_is(changes, episodes, minibatches):
    config = Config(env="Pendulum-v1", **changes).resolved()
    assert (config.episodes, config.num_minibatches) == (episodes, minibatches)


def test_an_objective_must_be_importable_by_the_drivers():
    with pytest.raises(UsageError, match="__main__"):
        Config(env="__main__:Mine").resolved()


def test_a_failing_objective_exits_with_1_and_its_own_traceback(tmp_path):
    command = [
        sys.executable,
        "-m",
        "ppo.train",
        "--env",
        "tests.problems:RaisesForSomeConditions",
        "--drivers",
        "2",
        *SMALL,
    ]
    done = subprocess.run([*command, "--run-dir", str(tmp_path / "run")], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'raise ValueError("the probe lost contact")' in done.stderr


def test_a_run_that_is_slow_to_start_says_so_before_it_loads_torch():
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "ppo.train", "--episodes", "x"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "torch" not in done.stderr
    assert time.monotonic() - started < 30
