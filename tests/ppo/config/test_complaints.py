"""A value that is not understood is told in one line and in words."""

import os
import subprocess
import sys

import pytest

from env import UsageError
from ppo.config.command_line import parse
from ppo.config.complaints import one_line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--evaluations abc", "--evaluations abc: must be a whole number"),
        ("--evaluations 1.5", "--evaluations 1.5: must be a whole number"),
        ("--seed x", "--seed x: must be a whole number"),
        ("--drivers x", "--drivers x: must be a whole number or auto"),
        ("--model foo", "--model foo: must be gp or none"),
        ("--algo foo", "--algo foo: must be ppo or reinforce"),
        ("--hidden-sizes a", "--hidden-sizes a: must be whole numbers"),
        ("--hidden-sizes 8 x", "--hidden-sizes 8 x: must be whole numbers"),
        ("--clip-coef x", "--clip-coef x: must be a number"),
        ("--target-kl x", "--target-kl x: must be a number"),
        ("--norm-obs perhaps", "--norm-obs perhaps: must be False or True"),
        ("--evaluations", "--evaluations: needs a value"),
        ("--env", "--env: needs a value"),
        ("--clip-coef --seed 3", "--clip-coef: needs a value"),
        ("--resume", "--resume: needs a value"),
        ("--quiet yes", "unknown argument yes; --help lists the flags"),
        ("--evalutions 5", "unknown argument --evalutions (did you mean '--evaluations'?); --help lists the flags"),
    ],
)
def test_what_is_not_understood_is_told_in_words(words, message):
    with pytest.raises(UsageError) as caught:
        parse(words.split())
    assert str(caught.value) == message


def test_what_is_not_known_is_shown_as_it_is_on_one_line():
    lines = "Something else.", "And more of it.", "For full helptext, run x --help"
    box = "\n".join(["╭─ Parsing error ───╮", *(f"│ {line} │" for line in lines), "╰───────╯"])
    assert one_line(box) == "Something else. And more of it."
    plain = "\n".join([" Parsing error ", "-" * 30, *(f"  {line}  " for line in lines[:2]), "-" * 30, f"  {lines[2]}"])
    assert one_line(plain) == one_line(box)
    assert one_line("") == ""


def test_a_frame_of_plain_ascii_is_no_part_of_the_message():
    command = [sys.executable, "-m", "ppo.train", "--drivers", "x"]
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (ended.stderr, ended.returncode) == ("error: --drivers x: must be a whole number or auto\n", 2)
