"""A config.json gives back the configuration that wrote it, and one that does not fit is refused in one line."""

import json

import pytest

from env import UsageError
from ppo import Config
from ppo.config.file import read_config


@pytest.mark.parametrize(
    "config",
    [
        Config(),
        Config(hidden_sizes=(), drivers=3, norm_obs=False, target_kl=0.1, gradients="autograd"),
        Config(env="TempControl-v1", env_kwargs={"level": "high", "actions": True, "odd": [1, None, {"a": "1"}]}),
    ],
)
def test_what_to_json_writes_is_read_back(config, tmp_path):
    (tmp_path / "config.json").write_text(config.to_json())
    assert read_config(tmp_path / "config.json") == config


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"learning_rte": 1}, "unknown key 'learning_rte' (did you mean 'learning_rate'?)"),
        ({"episodes": "many"}, 'episodes = "many" is not a whole number'),
        ({"episodes": 3.5}, "episodes = 3.5"),
        ({"backend": "cluster"}, "is not one of process, thread"),
        ({"anneal_lr": 1}, "anneal_lr = 1 is not True or False"),
        ({"hidden_sizes": ["a"]}, "hidden_sizes"),
        ({"env_kwargs": ["level=high"]}, 'env_kwargs = ["level=high"] is not an object of names and values'),
        ({"gradients": "written"}, 'gradients = "written" is not one of auto, compiled, autograd'),
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


@pytest.mark.parametrize("flag", ["--resume", "--warm-start"])
def test_a_checkpoint_of_version_0_1_is_refused(flag, command, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "config.json").write_text(json.dumps({"env": "rosenbrock", "agreement": 0.8}))
    code, error = command(flag, "old")
    assert code == 2
    expected = "was written by version 0.1, whose checkpoints this version cannot use"
    assert error == f"error: {flag} old/config.json: {expected}\n"


def test_a_file_of_version_0_1_is_told_the_new_names(command, tmp_path):
    (tmp_path / "old").mkdir()
    old = {"env": "rosenbrock", "env_kwargs": ["level=high"], "agreement": 0.8, "gradients": "written"}
    (tmp_path / "old" / "config.json").write_text(json.dumps(old))
    code, error = command("--config", "old/config.json")
    assert code == 2
    assert error == (
        "error: --config old/config.json: was written by version 0.1; since then agreement is update_damping, "
        'gradients written are compiled, and env_kwargs is an object ({"level": "high"}): change these three in it\n'
    )
    new = {"env": "rosenbrock", "env_kwargs": {"level": "high"}, "update_damping": 0.8, "gradients": "compiled"}
    (tmp_path / "old" / "config.json").write_text(json.dumps(new))  # what the line asks for
    expected = Config(env_kwargs={"level": "high"}, update_damping=0.8, gradients="compiled")
    assert read_config(tmp_path / "old" / "config.json") == expected


def test_the_line_names_the_flag_that_led_to_the_file(tmp_path):
    with pytest.raises(UsageError, match=r"^--resume .*/config.json: No such file or directory$"):
        read_config(tmp_path / "config.json", "--resume")
