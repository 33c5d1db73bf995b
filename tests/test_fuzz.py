"""No reader answers damaged input with anything but what it documents, in a few hundred cases of ``tests.fuzz``."""

import dataclasses

import pytest

from tests import fuzz
from tests.fuzz_targets import TARGETS


def test_no_reader_fails_on_damaged_input():
    report = fuzz.fuzz(500, seed=1)
    assert report.failures == []
    for name in TARGETS:
        assert report.counts[name, "refused"] > 10, name
        assert report.counts[name, "accepted"] > 0, name


@pytest.mark.parametrize("target", ["all", "csv"])
def test_a_failure_comes_with_the_command_that_repeats_it(target, monkeypatch, capsys):
    def careless(case, content):
        raise KeyError(len(content))

    broken = {"csv": dataclasses.replace(TARGETS["csv"], read=careless)}
    monkeypatch.setattr(fuzz, "TARGETS", broken)
    report = fuzz.fuzz(2, seed=7, target=target, first=40)
    assert report.counts["csv", "failed"] == 2
    command, told = report.failures[1].split(": ", 1)
    assert command == f"python -m tests.fuzz --target {target} --seed 7 --case 41"
    assert told.startswith("csv: KeyError: ")
    fuzz.show(fuzz.Arguments(seed=7, target=target, case=41))
    shown = capsys.readouterr()
    assert shown.out.split()[0] == told.removeprefix("csv: KeyError: ")  # the same input
    assert "KeyError" in shown.err


def test_a_reader_that_takes_memory_or_time_fails(monkeypatch):
    monkeypatch.setattr(fuzz, "MOST_MEGABYTES", -1)
    assert fuzz.fuzz(1, seed=0, target="csv").counts["csv", "failed"] == 1
