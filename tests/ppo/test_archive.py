"""``python -m ppo.archive`` says what a run has evaluated, and writes it out as a table."""

import csv
import dataclasses
import shutil

import numpy as np
import pytest

from env import UsageError
from ppo import Config
from ppo.archive import describe, main
from ppo.data.archive import NAME, new_archive, read_archive
from ppo.train import train
from tests.ppo.configs import SMALL

PER_STEP = 30 * 2  # slots, and evaluations of each


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Returns the directory of a run, and its summary."""
    path = tmp_path_factory.mktemp("archive") / "run"
    return path, train(dataclasses.replace(SMALL, drivers=0), path, quiet=True, pictures=False)


def problem_of(line):
    """Returns what a line says of the problem."""
    assert line.startswith("problem  ")
    return set(line.removeprefix("problem  ").split(", "))


def test_what_a_run_has_evaluated_is_counted(trained, capsys):
    path, summary = trained
    main([str(path)])
    problem, rows, seconds = capsys.readouterr().out.splitlines()
    assert problem_of(problem) == {"env rosenbrock", "knobs 1", "conditions 1"}
    collected, evaluated = summary["objective_evaluations"], summary["eval_evaluations"]
    assert collected == 25 * PER_STEP
    assert rows == f"rows     {collected + evaluated:,}: {collected:,} collect, {evaluated:,} evaluate"
    assert seconds.startswith("seconds  ") and seconds.endswith(" in f; 0 failed")


def test_the_table_has_a_row_for_each_evaluation(trained, tmp_path, capsys):
    path, summary = trained
    target = tmp_path / "all.csv"
    main([str(path), "--csv", str(target)])
    last = capsys.readouterr().out.splitlines()[-1]
    with target.open(newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == summary["objective_evaluations"] + summary["eval_evaluations"]
    assert last == f"{target}: {len(table):,} rows, columns {' '.join(table[0])}"
    kinds = {"collect": 1, "evaluate": 2}
    keys = [(kinds[line["kind"]], *(int(line[name]) for name in ("step", "slot", "time_step"))) for line in table]
    assert keys == sorted(set(keys))
    rows = read_archive(path / NAME, "run").rows
    assert sorted(float(line["f"]) for line in table) == np.sort(rows["f"]).tolist()


def test_what_was_lost_cut_and_failed_is_told(trained):
    contents = read_archive(trained[0] / NAME, "run")
    contents.rows["failed"][:2] = True
    told = describe(dataclasses.replace(contents, lost=12, cut=34)).splitlines()
    assert told[2].endswith("; 2 failed")
    assert told[3:] == [
        "lost     at most 12 more: under way when a process was ended, when f raised, or now",
        "cut      34 bytes at the end, which an interrupted write left",
    ]


def test_an_archive_that_is_being_written_is_only_read(trained, tmp_path, capsys):
    shutil.copytree(trained[0], tmp_path / "run")
    archive = tmp_path / "run" / NAME
    torn = archive.read_bytes()[:-5]
    archive.write_bytes(torn)
    main([str(tmp_path / "run")])
    assert "bytes at the end, which an interrupted write left" in capsys.readouterr().out
    assert archive.read_bytes() == torn


def test_other_environments_are_counted_by_time_step(tmp_path, capsys):
    config = Config(env="CartPole-v1", record=True, training_steps=2, episodes=3, time_steps=8, eval_every=0, drivers=0)
    train(config, tmp_path / "run", quiet=True, pictures=False)
    main([str(tmp_path / "run"), "--csv", str(tmp_path / "all.csv")])
    problem, rows, _ = capsys.readouterr().out.splitlines()
    assert problem_of(problem) == {"env CartPole-v1", "observation 4", "action 1"}
    assert rows == "rows     48: 48 collect"
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 49


def test_what_cannot_be_shown_is_one_line(trained, tmp_path):
    path = trained[0]
    for arguments, expected in (
        ([str(tmp_path)], f"RUN_DIR {tmp_path}: there is no archive.bin in it; a run has one if it tunes"),
        ([str(tmp_path / "none")], f"RUN_DIR {tmp_path / 'none'}: there is no archive.bin in it"),
        ([str(path), "--csv", str(tmp_path)], f"--csv {tmp_path}: cannot be written (Is a directory)"),
        ([str(path), "--csv", str(tmp_path / "no" / "a.csv")], f"--csv {tmp_path / 'no' / 'a.csv'}: cannot be written"),
    ):
        with pytest.raises(UsageError) as caught:
            main(arguments)
        message = str(caught.value)
        assert message.startswith(expected)
        assert message.splitlines() == [message]


def test_rows_of_a_kind_that_is_not_known_are_counted_by_its_number(tmp_path, capsys):
    rows = np.zeros(3, [("kind", "u1"), ("step", "<i8"), ("slot", "<i4"), ("time_step", "<i4"), ("seconds", "<f4")])
    rows["kind"] = 1, 99, 99
    (tmp_path / NAME).write_bytes(new_archive({"env": "another"}, rows))
    main([str(tmp_path), "--csv", str(tmp_path / "all.csv")])
    assert capsys.readouterr().out.splitlines()[:2] == ["problem  env another", "rows     3: 1 collect, 2 kind_99"]
    assert (tmp_path / "all.csv").read_text().count("kind_99") == 2
