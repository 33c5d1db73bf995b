"""A checkpoint whose arrays have the right shapes and a wrong content is refused in one line, as is another config."""

import dataclasses
import json

import numpy as np
import pytest

from env import UsageError
from ppo import Config
from ppo.config.file import read_config
from ppo.train import train
from ppo.training.checkpoint import load_checkpoint, save_checkpoint
from tests.ppo.configs import SMALL
from tests.ppo.training.test_resume import killed_at

CONTROL = Config(
    env="CartPole-v1", training_steps=25, episodes=4, time_steps=10, eval_every=10, hidden_sizes=(8,), drivers=0
)


def with_(state, name, value):
    return state | {name: value}


DAMAGES = {
    "text": lambda s, m: (with_(s, "agent.parameters", s["agent.parameters"].astype(str)), m),
    "text beside": lambda s, m: (with_(s, "note", np.array(["x"])), m),
    "whole numbers": lambda s, m: (with_(s, "agent.parameters", s["agent.parameters"].astype(int)), m),
    "nan": lambda s, m: (with_(s, "agent.parameters", s["agent.parameters"] * np.nan), m),
    "infinite mean": lambda s, m: (with_(s, "obs_moments.mean", s["obs_moments.mean"] + np.inf), m),
    "negative step": lambda s, m: (with_(s, "counters", s["counters"] * [-1, 1, 1]), m),
    "absurd step": lambda s, m: (with_(s, "counters", s["counters"] + [10**12, 0, 0]), m),
    "negative evaluations": lambda s, m: (with_(s, "counters", s["counters"] - [0, 0, 10**9]), m),
    "fractional counters": lambda s, m: (with_(s, "counters", s["counters"] + 0.5), m),
    "negative squares": lambda s, m: (with_(s, "agent.adam.exp_avg_sq", s["agent.adam.exp_avg_sq"] - 1), m),
    "negative steps": lambda s, m: (with_(s, "agent.adam.steps", -s["agent.adam.steps"]), m),
    "negative count": lambda s, m: (with_(s, "obs_moments.count", -s["obs_moments.count"] - 1), m),
    "meta is a list": lambda s, m: (s, [m]),
    "timing": lambda s, m: (s, m | {"timing": m["timing"] | {"train": -1.0}}),
    "timing is text": lambda s, m: (s, m | {"timing": "soon"}),
    "restarts": lambda s, m: (s, m | {"driver_restarts": -1}),
    "evaluations": lambda s, m: (s, m | {"eval_evaluations": 0.5}),
    "open": lambda s, m: (s, m | {"open": {"loss": "none"}}),
    "config": lambda s, m: (s, m | {"config": [1]}),
}


def damage(path, change):
    state, meta = load_checkpoint(path / "checkpoint.npz", "--resume")
    save_checkpoint(path / "checkpoint.npz", *change(state, meta))


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """An interrupted run: the files of its directory."""
    path = tmp_path_factory.mktemp("cut") / "run"
    killed_at(14, dataclasses.replace(CONTROL, checkpoint_every=7), path)
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.fixture
def run_dir(cut, tmp_path):
    (tmp_path / "run").mkdir()
    for name, content in cut.items():
        (tmp_path / "run" / name).write_bytes(content)
    return tmp_path / "run"


@pytest.mark.parametrize("change", DAMAGES.values(), ids=DAMAGES)
def test_wrong_content_is_refused_in_one_line_and_changes_nothing(change, run_dir, command):
    damage(run_dir, change)
    before = {file.name: file.read_bytes() for file in run_dir.iterdir()}
    code, error = command("--resume", "run", "--quiet", "--no-pictures")
    assert code == 2
    assert len(error.splitlines()) == 1
    assert error.startswith("error: --resume run: checkpoint.npz is damaged (")
    assert {file.name: file.read_bytes() for file in run_dir.iterdir()} == before


def test_the_same_checkpoint_undamaged_is_taken_up(run_dir, command):
    damage(run_dir, lambda state, meta: (state, meta))
    assert command("--resume", "run", "--quiet", "--no-pictures") == (0, "")


@pytest.mark.parametrize("name", ["surrogate.whole.taken", "surrogate.evidence.count", "surrogate.scalars"])
def test_a_model_that_cannot_be_is_refused(name, tmp_path, little_effort):
    config = Config(env="sphere", evaluations=40, hidden_sizes=(8,), drivers=0)
    expected = train(config, tmp_path, quiet=True, pictures=False)["policy_sha256"]
    (tmp_path / "summary.json").unlink()
    assert train(config, tmp_path, resume=True, quiet=True, pictures=False)["policy_sha256"] == expected
    (tmp_path / "summary.json").unlink()
    wrong = {"surrogate.scalars": lambda array: array[:2]}.get(name, lambda array: array + 1000)
    damage(tmp_path, lambda state, meta: (with_(state, name, wrong(state[name])), meta))
    with pytest.raises(UsageError, match=r"checkpoint.npz is damaged .*without checkpoint.npz the run goes on from"):
        train(config, tmp_path, resume=True, quiet=True)


def test_a_config_that_was_changed_is_refused_and_named(run_dir, command):
    path = run_dir / "config.json"
    changed = json.loads(path.read_text()) | {"clip_coef": 0.3}
    path.write_text(json.dumps(changed))
    code, error = command("--resume", "run", "--quiet")
    assert code == 2
    assert error == (
        "error: --resume run: --clip-coef was 0.2 when the run was begun, and its config.json now has 0.3; change it "
        "back, or begin a new run with --config\n"
    )
    path.write_text(json.dumps(changed | {"clip_coef": 0.2, "drivers": 2, "checkpoint_every": 3}))
    assert command("--resume", "run", "--quiet", "--no-pictures") == (0, "")  # none of these changes a result


def test_a_run_goes_on_with_the_kernels_that_it_was_begun_with(run_dir, command):
    damage(run_dir, lambda state, meta: (state, meta | {"kernels": "this processor's"}))
    code, error = command("--resume", "run", "--quiet", "--no-pictures")
    assert code == 2
    assert error == (
        "error: --resume run: was begun with this processor's kernels, and this process has x86-64-v3 ones, which end "
        "in other bits; go on from a program that imports NumPy before tuninglaw\n"
    )


def test_an_older_checkpoint_without_a_configuration_is_accepted(run_dir, command):
    damage(run_dir, lambda state, meta: (state, {name: meta[name] for name in ("timing", "eval_evaluations")}))
    assert command("--resume", "run", "--quiet", "--no-pictures") == (0, "")


def test_a_warm_start_checks_the_content_too(tmp_path):
    first = tmp_path / "first"
    train(SMALL, first, quiet=True, pictures=False)
    damage(first, DAMAGES["nan"])
    config = dataclasses.replace(read_config(first / "config.json"), warm_start=str(first))
    with pytest.raises(UsageError, match=r"--warm-start .*first: checkpoint.npz is damaged \(agent.parameters is not"):
        train(config, tmp_path / "second", quiet=True)
    assert not (tmp_path / "second").exists()
