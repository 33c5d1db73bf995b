"""Flags are the fields of the configuration, words and configurations map to each other, mistakes are one line."""

import dataclasses
import subprocess
import sys

import pytest

from actors.pools.base import DriverError
from env import UsageError
from ppo import Config, resolve
from ppo.config.command_line import (
    TrainArguments,
    command_words,
    given_flags,
    keyword_words,
    parse,
    parse_as,
    parse_keywords,
    run_main,
)


def test_every_config_field_is_a_flag():
    helped = subprocess.run([sys.executable, "-m", "ppo.train", "--help"], capture_output=True, text=True, check=True)
    for field in dataclasses.fields(Config):
        assert "--" + field.name.replace("_", "-") in helped.stdout, field.name


def test_flags_override_defaults():
    arguments = parse(["--hidden-sizes", "32", "16", "--target-kl", "0.02", "--no-norm-adv", "--sampler", "lhs"])
    config = arguments.to_config()
    assert type(config) is Config
    assert (config.hidden_sizes, config.target_kl, config.norm_adv, config.sampler) == ((32, 16), 0.02, False, "lhs")
    assert config.changed() == {
        "hidden_sizes": (32, 16), "target_kl": 0.02, "norm_adv": False, "sampler": "lhs",
    }  # fmt: skip


def test_new_fields_are_parsed_by_their_flags():
    flags = "--std-floor-power 1 --learning-rate-power 0 --rank-fade 0.1 --density-bandwidth 2 --checkpoint-seconds 5"
    assert parse([*flags.split(), "--update-damping", "0.5", "--gradients", "autograd"]).to_config() == Config(
        std_floor_power=1.0,
        learning_rate_power=0.0,
        rank_fade=0.1,
        density_bandwidth=2.0,
        checkpoint_seconds=5.0,
        update_damping=0.5,
        gradients="autograd",
    )


@pytest.mark.parametrize("argv", [["--agreement", "0.5"], ["--agreement=0.5"]])
def test_a_renamed_flag_is_answered_with_its_new_name(argv):
    with pytest.raises(UsageError) as error:
        parse(argv)
    assert str(error.value) == f"unknown argument {argv[0]} (renamed to --update-damping); --help lists the flags"


def test_a_mistyped_flag_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match=r"^unknown argument --leerning-rate \(did you mean '--learning-rate'\?\)"):
        parse(["--leerning-rate", "1"])


KEYWORDS = {
    "level=high": {"level": "high"},
    "actions=true": {"actions": True},
    "actions=True": {"actions": True},
    "x=null": {"x": None},
    "x=None": {"x": None},
    "n=3": {"n": 3},
    "x=-1.5e3": {"x": -1500.0},
    'n="3"': {"n": "3"},
    "xs=[1, 2]": {"xs": [1, 2]},
    "xs=(1, 2)": {"xs": (1, 2)},
    'd={"a": [true]}': {"d": {"a": [True]}},
    "x=": {"x": ""},
    "x=a=b": {"x": "a=b"},
    "x=no such word": {"x": "no such word"},
}


@pytest.mark.parametrize(("word", "expected"), KEYWORDS.items(), ids=KEYWORDS)
def test_keywords_are_json_or_python_or_text(word, expected):
    found = parse_keywords([word])
    assert found == expected
    assert [type(value) for value in found.values()] == [type(value) for value in expected.values()]


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"level": "high", "n": 3, "x": 0.1, "on": True, "off": False, "none": None},
        {"like_a_number": "3", "like_true": "true", "like_True": "True", "like_null": "null", "like_a_list": "[1]"},
        {"like_a_tuple": "(1, 2)", "quoted": '"x"', "empty": "", "spaced": " 1 ", "two": "a b", "equals": "a=b"},
        {"nested": {"a": [1, {"b": None}], "c": "3"}, "deep": [[[]]], "umlaut": "größer"},
    ],
)
def test_words_of_keywords_are_parsed_back(keywords):
    words = keyword_words(keywords)
    assert len(words) == len(keywords)
    assert parse_keywords(words) == keywords
    assert parse(["--env-kwargs", *words]).env_kwargs == keywords


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["oops"], "--env-kwargs oops: must be name=value"),
        (["=3"], "--env-kwargs =3: must be name=value"),
        (["a=1", "b-c=2"], "--env-kwargs b-c=2: must be name=value"),
        (["a=1", "b=2", "a=3"], "--env-kwargs a=1 b=2 a=3: a is given more than once"),
    ],
)
def test_keywords_that_do_not_fit_are_named(words, message, command, tmp_path):
    with pytest.raises(UsageError) as error:
        parse_keywords(words)
    assert str(error.value) == message
    code, line = command("--env-kwargs", *words)
    assert (code, line) == (2, f"error: {message}\n")
    assert list(tmp_path.iterdir()) == []


CONFIGS = [
    Config(),
    Config(norm_obs=False, anneal_lr=False, norm_adv=False, clip_vloss=True),
    Config(env="CartPole-v1", norm_obs=True, hidden_sizes=(8, 4), target_kl=0.1, drivers=3),
    Config(env="TempControl-v1", env_kwargs={"level": "high", "load_rounds": 0, "actions": True, "text": "1"}),
    Config(rank_fade=0.0, density_bandwidth=1e3, std_floor_power=1.0, learning_rate_power=0.0, update_damping=0.0),
    Config(hidden_sizes=()),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: " ".join(command_words(config)) or "defaults")
def test_words_of_a_command_give_the_configuration_back(config):
    assert parse(command_words(config)).to_config() == config
    resolved = resolve(config) if config.env != "TempControl-v1" else config  # it takes no keyword "text"
    again = parse(command_words(resolved)).to_config()
    assert dataclasses.asdict(again) == dataclasses.asdict(resolved)


def test_the_words_of_a_command_are_what_is_not_a_default():
    assert command_words(Config()) == []
    assert command_words(Config(hidden_sizes=(8, 4), norm_adv=False, env_kwargs={"level": "high", "n": "3"})) == [
        *("--env-kwargs", "level=high", 'n="3"', "--hidden-sizes", "8", "4", "--no-norm-adv"),
    ]


def test_given_flags_are_told_from_those_of_other_commands():
    argv = ["--hidden-sizes", "8", "--no-norm-adv", "--seed=3", "x"]
    assert given_flags(argv) == ["hidden_sizes", "norm_adv", "seed"]


@dataclasses.dataclass(frozen=True)
class Small:
    """A command with one flag."""

    number: int = 0


def test_another_command_is_parsed_by_the_same_rules():
    assert parse_as(Small, "small", ["--number", "3"]) == Small(3)
    assert parse_as(Small, "small", [], Small(7)) == Small(7)
    with pytest.raises(UsageError, match=r"^unknown argument --numbr \(did you mean '--number'\?\)"):
        parse_as(Small, "small", ["--numbr", "3"])
    with pytest.raises(SystemExit) as end:
        parse_as(Small, "small", ["--help"])
    assert end.value.code == 0


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (UsageError("--x 1: no"), 2, "error: --x 1: no\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (KeyboardInterrupt("after step 3"), 130, "interrupted: after step 3\n"),
    ],
)
def test_a_command_ends_with_a_code_and_one_line(error, code, line, monkeypatch, capsys):
    def main(argv):
        assert argv == ["given"]
        raise error

    monkeypatch.setattr(sys, "argv", ["command", "given"])
    with pytest.raises(SystemExit) as end:
        run_main(main)
    assert end.value.code == code
    assert capsys.readouterr().err == line


def test_the_error_of_a_driver_shows_where_it_was_raised_and_what_to_do(monkeypatch, capsys):
    def main(argv):
        error = DriverError("slot 3 of training step 0 failed: division by zero")
        error.add_note("run this slot alone")
        try:
            objective()
        except ZeroDivisionError as cause:
            raise error from cause

    def objective():
        return 1 / 0

    monkeypatch.setattr(sys, "argv", ["command"])
    with pytest.raises(SystemExit) as end:
        run_main(main)
    assert end.value.code == 1
    first, *trace, cause, last, note = capsys.readouterr().err.splitlines()
    assert first.startswith("Traceback")
    assert any("in objective" in line for line in trace)
    assert not any("run_main" in line for line in trace)  # nor what else the learner was at
    assert (cause, last, note) == (
        "ZeroDivisionError: division by zero",
        "error: slot 3 of training step 0 failed: division by zero",
        "run this slot alone",
    )


def test_a_failure_of_the_program_is_left_to_python(monkeypatch):
    def main(argv):
        raise ZeroDivisionError

    monkeypatch.setattr(sys, "argv", ["command"])
    with pytest.raises(ZeroDivisionError):
        run_main(main)


def test_train_arguments_are_the_configuration_and_some_more():
    more = {field.name for field in dataclasses.fields(TrainArguments)} - set(dataclasses.asdict(Config()))
    assert more == {"config", "run_dir", "seeds", "resume", "quiet", "track", "profile", "pictures"}


def test_another_budget_takes_nothing_from_that_of_a_config(tmp_path):
    stored = resolve(Config(evaluations=300, hidden_sizes=(8,), seed=5))
    (tmp_path / "config.json").write_text(stored.to_json())
    config = parse(["--config", str(tmp_path / "config.json"), "--evaluations", "1000"]).to_config()
    assert resolve(config) == resolve(Config(evaluations=1000, hidden_sizes=(8,), seed=5))
    assert resolve(parse(["--config", str(tmp_path / "config.json")]).to_config()) == stored


def test_all_that_is_reused_comes_after_one_flag():
    assert parse(["--reuse", "runs/a", "b.csv"]).reuse == ("runs/a", "b.csv")
    with pytest.raises(UsageError, match=r"^--reuse: given more than once; name all"):
        parse(["--reuse", "runs/a", "--reuse", "b.csv"])
    with pytest.raises(UsageError, match=r"^--reuse: needs a run directory"):
        parse(["--reuse", "--seed", "3"])
