"""--help shows every flag once: those that matter first, the others in groups, with the text under the field."""

import dataclasses
import re
import subprocess
import sys

import pytest

from ppo.config.command_line import TrainArguments
from ppo.config.fields import Config, flag
from ppo.config.help import FIRST, GROUPS, field_texts, show_help

FIELDS = [field.name for field in dataclasses.fields(TrainArguments)]


def helped(kind, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as end:
        show_help(kind, "a command")
    assert end.value.code == 0
    return capsys.readouterr().out


def test_every_field_stands_in_one_place():
    named = [*FIRST, *(name for names in GROUPS.values() for name in names)]
    assert sorted(named) == sorted(FIELDS)
    assert len(set(named)) == len(named)


def test_the_flags_that_matter_come_first_and_each_once(capsys, monkeypatch):
    text = helped(TrainArguments, capsys, monkeypatch)
    shown = [name for name in re.findall(r"^[│ ] (?:-h, )?--([a-z-]+)", text, re.MULTILINE) if name != "help"]
    assert shown[:11] == [name.replace("_", "-") for name in FIRST] and len(FIRST) == 11
    assert shown == [flag(name)[2:] for name in (*FIRST, *(name for names in GROUPS.values() for name in names))]
    titles = re.findall(r"^[╭─ ]*([a-z][a-z-]* options|options)[─╮ ]*$", text, re.MULTILINE)
    assert titles == ["options", *(f"{title.replace(' ', '-')} options" for title in GROUPS)]
    assert text.startswith("usage: a command") and "Trains a tuning law" in text


def test_values_are_shown_without_the_one_that_stands_for_none(capsys, monkeypatch):
    text = helped(TrainArguments, capsys, monkeypatch)
    assert "{None}" not in text and "None|" not in text
    for shown in ("--evaluations INT ", "--drivers INT|{auto} ", "--env-kwargs NAME=VALUE ...", "--clip-coef FLOAT "):
        assert shown in text
    assert "--hidden-sizes INT [INT ...]" in text and "--model {none,gp}" in text


def test_each_flag_has_the_text_under_its_field():
    texts = field_texts(TrainArguments)
    assert sorted(texts) == sorted(FIELDS)
    assert texts["seed"] == "Random seed." and texts["quiet"] == "No progress bar and no table."
    assert all(text.endswith(".") and "\n" not in text for text in texts.values())


def test_another_command_shows_its_own_flags_too(capsys, monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Arguments(Config):
        number: int = 7
        """How many of them."""

    monkeypatch.setattr("ppo.config.help.field_texts", lambda kind: {**field_texts(Config), "number": "How many."})
    text = helped(Arguments, capsys, monkeypatch)
    assert "--number INT" in text and "--resume" not in text


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["--seed", "5", "--help"]])
def test_it_is_shown_whatever_else_is_given_without_torch(words):
    code = """if True:
        import sys
        from ppo.config.command_line import parse
        try:
            parse(sys.argv[1:])
        finally:
            print("torch" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False" and "--evaluations" in done.stdout
