"""A whole run: what it learns, what it counts, what it leaves behind."""

import csv
import dataclasses
import json
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from actors import Law
from env import OBJECTIVES, UsageError
from ppo import Config
from ppo.train import train
from tests.problems import Quadratic

SMALL = Config(training_steps=25, eval_every=10, hidden_sizes=(8,), update_epochs=2)


def regret(objective, law, c):
    return np.mean(objective(law(c), c) - objective.solve(c)[1])


@pytest.mark.parametrize(("algo", "training_steps"), [("ppo", 300), ("reinforce", 1500)])
@pytest.mark.parametrize("sampler", ["random", "heterogeneous"])
def test_solves_a_quadratic_whose_minimiser_moves_with_c(algo, training_steps, sampler, tmp_path):
    config = Config(
        env="tests.problems:Quadratic", algo=algo, training_steps=training_steps, sampler=sampler, eval_every=0, seed=11
    )
    train(config, tmp_path, quiet=True, pictures=False)
    c = np.linspace(-1, 1, 101)[:, None]
    assert regret(Quadratic(), Law.load(tmp_path / "law.npz"), c) < 1e-3
    best_constant = np.tile(Quadratic().best(c).mean(axis=0), (101, 1))
    assert np.mean(Quadratic()(best_constant, c)) > 0.05  # a constant law would not do


def test_the_law_on_rosenbrock_has_a_tenth_of_the_best_constants_regret(tmp_path):
    train(Config(training_steps=1000, eval_every=0, sampler="heterogeneous"), tmp_path, quiet=True, pictures=False)
    objective = OBJECTIVES["rosenbrock"]()
    c = np.linspace(-1, 1, 201)[:, None]
    constants = [regret(objective, lambda c, x=x: np.full((len(c), 1), x), c) for x in np.linspace(-1, 1, 401)]
    assert regret(objective, Law.load(tmp_path / "law.npz"), c) < 0.1 * min(constants)


@pytest.mark.parametrize("time_steps", [2, 3])
def test_the_scale_and_the_place_of_f_do_not_matter(time_steps, tmp_path):
    config = Config(training_steps=300, eval_every=0, time_steps=time_steps, seed=5)
    digests, regrets, c = {}, {}, np.linspace(-1, 1, 101)[:, None]
    for name in ("Quadratic", "ScaledQuadratic", "OffsetQuadratic"):
        env = dataclasses.replace(config, env=f"tests.problems:{name}")
        digests[name] = train(env, tmp_path / name, quiet=True, pictures=False)["policy_sha256"]
        regrets[name] = regret(Quadratic(), Law.load(tmp_path / name / "law.npz"), c)
    assert digests["ScaledQuadratic"] == digests["Quadratic"]
    assert regrets["Quadratic"] < 1e-3
    assert regrets["OffsetQuadratic"] < 1e-3


def test_learns_several_choices_at_once(tmp_path):
    config = Config(
        env="tests.problems:TwoDialsEnv", time_steps=8, episodes=16, training_steps=40, eval_every=40, drivers=0,
        learning_rate=3e-3,
    )  # fmt: skip
    assert train(config, tmp_path, quiet=True, pictures=False)["eval"]["final"] == 16.0  # two dials, eight steps


def test_counts(tmp_path):
    summary = train(SMALL, tmp_path, quiet=True, pictures=False)
    assert summary["training_steps"] == 25
    assert summary["env_steps"] == 25 * 30 * 2
    assert summary["objective_evaluations"] == 25 * 30 * 2  # of each of two steps; nothing asks for f of the start
    assert summary["eval_evaluations"] == 3 * 21  # after steps 10, 20 and 25
    with (tmp_path / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["training_step"] for row in rows] == ["10", "20", "25"]
    assert [row["objective_evaluations"] for row in rows] == ["600", "1200", "1500"]
    errors = [float(row["eval/error"]) for row in rows]
    assert summary["eval"] == {
        "metric": "msle",
        "first_1000_mean": pytest.approx(np.mean(errors)),
        "first_1000_variance": pytest.approx(np.var(errors)),
        "last_1000_mean": pytest.approx(np.mean(errors)),
        "last_1000_variance": pytest.approx(np.var(errors)),
        "best": min(errors),
        "final": errors[-1],
    }


def test_the_error_is_that_of_the_law_over_21_conditions(tmp_path):
    summary = train(SMALL, tmp_path, quiet=True, pictures=False)
    objective, c = OBJECTIVES["rosenbrock"](), np.linspace(-1, 1, 21)[:, None]
    f = objective(Law.load(tmp_path / "law.npz")(c), c)
    expected = np.mean((np.log1p(f) - np.log1p(objective.solve(c)[1])) ** 2)
    assert summary["eval"]["final"] == pytest.approx(expected, rel=1e-12)


def test_statistics_over_the_first_and_last_1000_steps(tmp_path):
    from ppo.evaluation.evaluator import Evaluator
    from ppo.training.run_dir import RunDir

    files = RunDir(tmp_path)
    files.rows = [{"training_step": step, "eval/error": float(step)} for step in range(10, 5001, 10)]
    summary = files.eval_summary(Evaluator("mse", np.zeros(1)))
    assert summary["first_1000_mean"] == np.mean(np.arange(10, 1001, 10))
    assert summary["last_1000_mean"] == np.mean(np.arange(4010, 5001, 10))
    assert summary["last_1000_variance"] == np.var(np.arange(4010, 5001, 10))
    assert (summary["best"], summary["final"]) == (10.0, 5000.0)


@pytest.mark.parametrize(
    "changes", [{}, {"eval_every": 0}, {"env": "tests.problems:UnknownOptimum"}, {"dims": 4, "knobs": 2}]
)
def test_a_run_directory(changes, tmp_path, capsys):
    config = dataclasses.replace(SMALL, **changes)
    train(config, tmp_path / "run")
    shown = capsys.readouterr().out
    names = {path.name for path in (tmp_path / "run").iterdir()}
    expected = {"config.json", "timing.json", "summary.json", "checkpoint.npz", "law.npz"}
    if config.eval_every:
        expected |= {"metrics.csv", "curves.png"}
        assert "best" in shown
    if not {"dims", "env"} & set(changes):
        expected |= {"law.png"}
    assert names == expected
    for line in ("spent", "time", "machine", "files"):
        assert line in shown
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert len(summary["policy_sha256"]) == 64
    assert summary["resources"]["processes"] >= 1


@pytest.mark.parametrize("drivers", [0, 2])
def test_the_time_is_accounted_for(drivers, tmp_path):
    config = dataclasses.replace(SMALL, training_steps=150, drivers=drivers)
    train(config, tmp_path, quiet=True, pictures=False)
    timing = json.loads((tmp_path / "timing.json").read_text())
    phases = {name: timing[name]["total"] for name in ("collect", "train", "broadcast", "evaluate", "other")}
    assert all(seconds > 0 for seconds in phases.values())
    assert sum(phases.values()) <= timing["loop"]
    assert sum(phases.values()) > 0.97 * timing["loop"]


def test_the_time_stops_with_the_loop(tmp_path):
    summary = train(dataclasses.replace(SMALL, training_steps=3), tmp_path, quiet=True)
    timing = json.loads((tmp_path / "timing.json").read_text())
    assert summary["wall_seconds"] == timing["loop"]


def test_two_runs_do_not_share_a_directory(tmp_path, monkeypatch):
    monkeypatch.setattr("ppo.train.check_free", lambda path: None)  # both looked before either began
    train(SMALL, tmp_path, quiet=True, pictures=False)
    with pytest.raises(UsageError, match="another run has just begun in it"):
        train(SMALL, tmp_path, quiet=True, pictures=False)


def test_profiles_name_where_the_time_goes_inside_drivers_too(tmp_path):
    train(dataclasses.replace(SMALL, drivers=2), tmp_path, quiet=True, pictures=False, profile=True)
    assert "gradient" in (tmp_path / "profile.txt").read_text()
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


def test_without_matplotlib_the_run_goes_through_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ppo.training.plots.importlib.util.find_spec", lambda name: None)
    train(SMALL, tmp_path / "run")
    assert "pip install 'tuninglaw[plot]'" in capsys.readouterr().out
    assert not list((tmp_path / "run").glob("*.png"))


def test_an_objective_that_returns_nan_stops_the_run_and_names_the_slot(tmp_path):
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
