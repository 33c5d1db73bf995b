"""A table of what a bench has measured is read as a spreadsheet writes it, and says what was set."""

import contextlib
from unittest.mock import Mock

import pytest

from env import Choice, Integer, Range, UsageError
from env.coordinates import Coordinates
from ppo.data.answers import check_settings, read_answers
from ppo.training.asking import Point

CONDITIONS = Coordinates({"load": Range(0, 1)}, "conditions")


def settings_table(path, header, *lines):
    path.write_text("\n".join([header, *lines]))
    return path


@pytest.mark.parametrize(
    ("line", "sound"),
    [
        ("1,2,a,1", True),  # as a spreadsheet writes 1.0 and 2.50 again
        ("1.0,2.00,A ,1", True),
        ("2,2,a,1", False),
        ("1,3,a,1", False),
        ("1,2,b,1", False),
        ("2,3,b,skipped", True),
        ("2,3,b,failed", False),
    ],
)
def test_options_are_told_as_a_spreadsheet_writes_them(line, sound, tmp_path):
    knobs = Coordinates({"r": Choice(1.0, 2.0), "n": Choice(2, 3), "mode": Choice("a ", "b")})
    described = Mock(constraints=0, observed=(), coordinates=(knobs, CONDITIONS))
    point = Point("plan-1-0", {"r": 1.0, "n": 2, "mode": "a "}, {})
    path = settings_table(tmp_path / "a.csv", "id,r,n,mode,f", f"plan-1-0,{line}")
    answers = read_answers(path, described)
    with contextlib.nullcontext() if sound else pytest.raises(UsageError, match=r"row 1: .* was asked"):
        check_settings(answers, [point], described)


def test_empty_cells_at_the_end_of_a_row_are_no_values(tmp_path):
    path = settings_table(tmp_path / "a.csv", "id,f", "plan-1-0,1,", "close,,")
    answers = read_answers(path, Mock(constraints=0, observed=(), coordinates=None))
    assert answers.values == {"plan-1-0": 1.0} and answers.close


@pytest.mark.parametrize(
    ("name", "text", "sound"),
    [
        ("a", "3.33", True),  # 3.3333 as a spreadsheet shows it
        ("a", "3.6", False),
        ("a", "", True),
        ("a", "high", False),
        ("b", "2.0", True),
        ("b", "3", False),
        ("load", "0.25", True),
        ("load", "0.5", False),
    ],
)
def test_what_was_set_must_be_what_was_asked(name, text, sound, tmp_path):
    knobs = Coordinates({"a": Range(0, 10), "b": Integer(0, 255)})
    described = Mock(constraints=0, observed=(), coordinates=(knobs, CONDITIONS))
    point = Point("plan-1-0", {"a": 3.3333, "b": 2}, {"load": 0.25})
    path = settings_table(tmp_path / "a.csv", f"id,{name},f", f"plan-1-0,{text},1")
    answers = read_answers(path, described)
    with (
        contextlib.nullcontext()
        if sound
        else pytest.raises(UsageError, match=rf"row 1: {name} = {text}, where .* was asked; say skipped")
    ):
        check_settings(answers, [point], described)


@pytest.mark.parametrize(("word", "meant"), [("failed", "failed"), ("FAILED", "failed"), ("Skipped", "skipped")])
def test_words_may_have_capitals(word, meant, tmp_path):
    path = settings_table(tmp_path / "a.csv", "id,f", f"plan-1-0,{word}")
    answers = read_answers(path, Mock(constraints=0, observed=(), coordinates=None))
    assert answers.values == {"plan-1-0": meant}
