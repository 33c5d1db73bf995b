"""``ppo.train`` answers a mistake with one line and leaves nothing on disk, repeats runs, and keeps torch to itself."""

import dataclasses
import json
import subprocess
import sys
import threading
import time

import psutil
import pytest

from env import UsageError
from ppo import Config
from ppo.config.file import read_config
from ppo.train import train
from ppo.training.run_dir import RunDir
from tests.ppo.configs import SMALL

FLAGS = ["--training-steps", "2", "--episodes", "4", "--hidden-sizes", "4", "--quiet", "--no-pictures"]

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
    (["--agreement", "0.5"], "unknown argument --agreement (renamed to --update-damping)"),
    (["--gradients", "written"], "--gradients"),
    (["stray"], "unknown argument stray"),
    (["--backend", "cluster"], "--backend"),
    (["--run-dir", ""], "--run-dir '': is empty"),
    (["--run-dir", f"a/{'x' * 300}/b"], "is too long for a path (its longest name has 300 bytes)"),
    (["--run-dir", "a/" * 2100], "is too long for a path"),
    (["--run-dir", "a\0b"], "--run-dir 'a\\x00b': is no path"),
    (["--run-dir", "\ud800"], "is no path"),
    (["--run-dir", "/dev/null/x"], "/dev/null is not a directory that can be written to"),
    (["--config", ""], "--config '': is empty"),
    (["--config", "x" * 300], "is too long for a path"),
    (["--config", "/dev/zero"], "--config /dev/zero: is longer than 10,000,000 bytes"),
    (["--resume", ""], "--resume '': is empty"),
    (["--resume", "x" * 300], "is too long for a path"),
    (["--warm-start", ""], "--warm-start '': is empty"),
    (["--warm-start", "x" * 300], "is too long for a path"),
    (["--reuse", ""], "--reuse '': is empty"),
    (["--reuse", "x" * 300], "is too long for a path"),
    (["--reuse", "a\0b"], "is no path"),
    (["--hidden-sizes", "10000000000"], "--hidden-sizes 10000000000: needs about"),
    (["--hidden-sizes", "100000", "100000"], "--hidden-sizes 100000 100000: needs about"),
    (["--hidden-sizes", "9" * 400], "every width must be at least 1, and at most 1000000000000"),
    (["--episodes", "1000000000000"], "--episodes 1000000000000: must be at most 2147483647"),
    (["--episodes", "2000000000"], "--episodes 2000000000 --time-steps 2: needs about"),
    (["--dims", "1000000000"], "--dims 1000000000: must be at most 20,000"),
    (["--env", "noisy", "--dims", "1000000000"], "--dims 1000000000: must be at most 20,000"),
    (["--env-kwargs", "dims=1000000000"], "--dims 1000000000: must be at most 20,000"),
    (["--env-kwargs", "dims=2.5"], "conditions = 1.5 must be a whole number of at least 1"),
    (["--candidates", "1000000000000"], "--candidates 1000000000000: needs about"),
    (["--sampler", "uncertainty", "--candidates", "100000000000"], "--candidates 100000000000: needs about"),
    (["--drivers", "100000"], "--drivers 100000: must be at most 10000"),
    (["--env", "CartPole-v1", "--eval-episodes", "2000000000"], "--eval-episodes 2000000000: needs about"),
    (["--eval-episodes", "1000000000000"], "--eval-episodes 1000000000000: must be at most 2147483647"),
    (["--check", "1000000000000"], "--check 1000000000000: must be at most 1000000000"),
    (["--components", "1000000"], "--components 1000000: must be at most 1000"),
    (["--training-steps", "1000000000000000000"], "must be at most 1000000000000"),
    (["--evaluations", "1" + "0" * 30], "must be at most 1000000000000"),
    (["--torch-threads", "1000000000"], "--torch-threads 1000000000: must be at most 1024"),
    (["--episodes", "9" * 5000], "--episodes"),
    (["--learning-rate", "1e400"], "--learning-rate inf: must be above 0"),
    (["--std-floor", "nan"], "--std-floor nan: must be 0 or more"),
    (["--env-kwargs", "x=" + "[" * 30 + "]" * 30], "--env-kwargs x: its value is nested deeper than 20 levels"),
    (["--env-kwargs", "x=" + "[" * 100_000 + "]" * 100_000], "--env-kwargs"),
    (["--env-kwargs", "x={1, 2}"], "--env-kwargs x={1, 2}: must be a value that JSON can hold"),
    (["--env-kwargs", "x=Infinity"], "--env-kwargs x=Infinity: must be a value that JSON can hold"),
    (["--env-kwargs", "x=a\nb"], "takes no keyword 'x'"),
    (["--env", "tests.misfits:NoKnobs"], "--env tests.misfits:NoKnobs: knobs = 0 must be a whole number"),
    (["--env", "tests.misfits:RootMeanSquare"], "metric = 'rmse' must be mse or msle"),
    (["--env", "noisy", "--env-kwargs", "of=tests.misfits:NoKnobs"], "of=tests.misfits:NoKnobs: knobs = 0 must"),
    (["--sampler", "tests.misfits:AbstractSampler"], "--sampler tests.misfits:AbstractSampler: lacks sample"),
    (["--config", "missing.json"], "--config missing.json: No such file"),
    (["--resume", "missing"], "not a run directory"),
    (["--warm-start", "missing"], "--warm-start missing: not a run directory"),
]


@pytest.mark.parametrize(("argv", "message"), MISTAKES, ids=[repr(" ".join(argv)[:60]) for argv, _ in MISTAKES])
def test_a_mistake_is_one_line_and_leaves_nothing(argv, message, command, tmp_path):
    small = [] if "--resume" in argv else FLAGS
    code, error = command(*small, *argv)
    assert code == 2
    assert len(error.splitlines()) == 1
    assert message in error
    assert list(tmp_path.iterdir()) == []


def test_a_run_directory_that_is_not_empty_is_refused(command, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("precious")
    code, error = command(*FLAGS, "--run-dir", "taken")
    assert code == 2
    assert "--run-dir taken: exists and is not empty" in error
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["thesis.txt"]
    (tmp_path / "file").touch()
    assert command(*FLAGS, "--run-dir", "file/run")[0] == 2
    (tmp_path / "empty").mkdir()
    assert command(*FLAGS, "--run-dir", "empty")[0] == 0


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
    assert command(*FLAGS, "--run-dir", "run")[0] == 0
    path = tmp_path / "run" / "checkpoint.npz"
    path.write_bytes(damage(path.read_bytes()))
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    code, error = command("--resume", "run")
    assert code == 2
    assert "checkpoint.npz is damaged" in error
    assert len(error.splitlines()) == 1
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


def test_resume_takes_no_other_training_flag(command):
    assert command(*FLAGS, "--run-dir", "run")[0] == 0
    code, error = command("--resume", "run", "--training-steps", "9")
    assert code == 2
    assert "--training-steps was given" in error
    where = ["--drivers", "2", "--backend", "thread", "--driver-timeout", "9", "--checkpoint-seconds", "5"]
    assert command("--resume", "run", *where, "--quiet", "--no-pictures")[0] == 0


def test_a_config_file_repeats_a_run_and_flags_override_it(command, tmp_path):
    assert command(*FLAGS, "--run-dir", "a", "--clip-coef", "0.3", "--no-anneal-lr", "--sampler", "lhs")[0] == 0
    assert command("--config", "a/config.json", "--run-dir", "b", "--quiet", "--no-pictures")[0] == 0
    assert command("--config", "a/config.json", "--run-dir", "c", "--seed", "5", "--quiet", "--no-pictures")[0] == 0
    a, b, c = (json.loads((tmp_path / name / "summary.json").read_text())["policy_sha256"] for name in "abc")
    assert a == b != c
    assert read_config(tmp_path / "c" / "config.json") == dataclasses.replace(
        read_config(tmp_path / "a" / "config.json"), seed=5
    )


def test_a_failing_objective_exits_with_1_and_its_traceback(tmp_path):
    flags = ["--env", "tests.problems:RaisesForSomeConditions", "--drivers", "2", *FLAGS]
    command = [sys.executable, "-m", "ppo.train", *flags, "--run-dir", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert 'raise ValueError("the probe lost contact")' in done.stderr


def test_a_mistake_is_answered_before_torch_is_loaded():
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "ppo.train", "--episodes", "x"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "torch" not in done.stderr
    assert time.monotonic() - started < 30


class SetAfter(threading.Event):
    """An event that is set once it has been asked so many times."""

    def __init__(self, times):
        super().__init__()
        self.left = times

    def is_set(self):
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_an_interrupted_training_ends_after_its_step(steps, tmp_path):
    config = dataclasses.replace(SMALL, training_steps=3, drivers=0)
    law = f", or measure its law with python -m ppo.evaluate {tmp_path / 'run'}" if steps else ""
    message = rf"^after training step {steps}; go on with python -m ppo.train --resume {tmp_path / 'run'}{law}$"
    with pytest.raises(KeyboardInterrupt, match=message):
        train(config, tmp_path / "run", quiet=True, interrupted=SetAfter(steps))
    if steps:
        assert RunDir(tmp_path / "run").load("--resume")[0]["counters"][0] == steps
    # After the last step there is nothing left to interrupt.
    left = SetAfter(3 - steps)
    summary = train(config, tmp_path / "run", resume=True, quiet=True, pictures=False, interrupted=left)
    assert summary["training_steps"] == 3


def test_profiles_name_where_the_time_goes_inside_drivers_too(tmp_path):
    config = dataclasses.replace(SMALL, drivers=2, episodes=64, hidden_sizes=(64, 64), update_epochs=20)
    train(config, tmp_path, quiet=True, pictures=False, profile=True)
    assert "compiled/update.py" in (tmp_path / "profile.txt").read_text()
    for index in range(2):
        assert "_roll" in (tmp_path / f"profile-driver-{index}.txt").read_text()


def test_tensorboard_events(tmp_path):
    train(SMALL, tmp_path, quiet=True, pictures=False, track=True)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert {"eval/error", "losses/approx_kl", "charts/learning_rate", "charts/SPS"} <= set(events.Tags()["scalars"])
    assert [event.step for event in events.Scalars("eval/error")] == [10, 20, 25]


def test_without_tensorboard_one_line_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UsageError, match=r"pip install 'tuninglaw\[track\]'"):
        train(SMALL, tmp_path / "run", track=True, quiet=True)
    assert not (tmp_path / "run").exists()


def test_without_matplotlib_the_run_ends_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ppo.evaluation.plots.importlib.util.find_spec", lambda name: None)
    train(SMALL, tmp_path / "run")
    assert "pip install 'tuninglaw[plot]'" in capsys.readouterr().out
    assert not list((tmp_path / "run").glob("*.png"))


def test_an_objective_that_returns_nan_stops_the_run(tmp_path):
    with pytest.raises(FloatingPointError, match=r"slot \d+ of step 0: the environment's objectives are not finite"):
        train(Config(env="tests.problems:ReturnsNaN", training_steps=3), tmp_path, quiet=True)


def tree(process):
    return {child.pid: child for child in process.children(recursive=True)}


def torch_maps(processes):
    return [process.pid for process in processes if any("torch" in mapped.path for mapped in process.memory_maps())]


SCRIPT = """
import sys, torch
from ppo import Config
from ppo.train import train

print("main ran", flush=True)
train(Config(training_steps=10**6, evaluation_cost_ms=1.0, drivers=2, eval_every=5), sys.argv[1], quiet=True)
"""


@pytest.mark.parametrize("how", ["module", "script"])
def test_a_live_driver_maps_no_torch(how, tmp_path):
    if how == "module":
        flags = ["--training-steps", "1000000", "--evaluation-cost-ms", "1", "--drivers", "2", "--eval-every", "5"]
        command = [sys.executable, "-m", "ppo.train", *flags, "--quiet", "--run-dir", str(tmp_path / "run")]
    else:  # without the usual guard against running again in a child: it does not run again
        (tmp_path / "script.py").write_text(SCRIPT)
        command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            while not (tmp_path / "run" / "metrics.csv").exists():
                assert process.poll() is None
                time.sleep(0.05)
            parent = psutil.Process(process.pid)
            children = tree(parent)
            assert len(children) >= 3  # two drivers and their server
            assert torch_maps([parent]) == [parent.pid]
            assert torch_maps(children.values()) == []
        finally:
            process.kill()
            printed = process.communicate()[0]
    assert printed.count("main ran") == (how == "script")
    _, alive = psutil.wait_procs(children.values(), timeout=5)
    assert not alive  # drivers do not outlive a learner that was killed
