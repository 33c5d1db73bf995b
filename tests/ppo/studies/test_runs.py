"""Each run of a study is done once, and its row is found again by its key, in the order asked for."""

import pathlib
from dataclasses import dataclass
from typing import ClassVar

from ppo.experiments.tables import Table
from ppo.studies.runs import missing_runs, run_all


@dataclass(frozen=True)
class Doubling:
    """A run whose row is its number and twice that; it leaves a file for each time it is done."""

    columns: ClassVar = ("run", "number", "twice")
    group: str
    number: int
    done: pathlib.Path

    @property
    def key(self):
        return f"{self.group}/{self.number}"

    def run(self):
        (self.done / f"{self.group}-{self.number}-{len(list(self.done.iterdir()))}").touch()
        return [self.key, self.number, 2 * self.number]


class Named(Doubling):
    """A run that is called the same in each group."""

    key = "one"


def test_only_what_is_missing_is_run(tmp_path):
    done, out = tmp_path / "done", tmp_path / "out"
    done.mkdir()
    runs = [Doubling(group, number, done) for number in (2, 1) for group in ("b", "a")]
    assert missing_runs(out, runs) == runs
    rows = run_all(out, runs[:2], workers=1)
    assert rows == {
        "b": [{"run": "b/2", "number": "2", "twice": "4"}],
        "a": [{"run": "a/2", "number": "2", "twice": "4"}],
    }
    assert missing_runs(out, runs) == runs[2:]
    rows = run_all(out, [*runs[::-1], runs[0]], workers=1)
    assert {group: [row["run"] for row in some] for group, some in rows.items()} == {
        "a": ["a/1", "a/2"],
        "b": ["b/1", "b/2", "b/2"],
    }
    assert missing_runs(out, runs) == []
    assert len(list(done.iterdir())) == 4
    assert Table(out / "a.csv", ()).rows == [
        {"run": "a/2", "number": "2", "twice": "4"},
        {"run": "a/1", "number": "1", "twice": "2"},
    ]


def test_runs_of_two_groups_may_have_the_same_name(tmp_path):
    runs = [Named("a", 1, tmp_path), Named("b", 2, tmp_path)]
    rows = run_all(tmp_path / "out", runs, workers=1)
    assert {group: some[0]["twice"] for group, some in rows.items()} == {"a": "2", "b": "4"}
