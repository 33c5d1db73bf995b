"""Evaluations of earlier runs and of tables are taken over once each, and what is none is refused in one line."""

import numpy as np
import pytest

from actors.job import Kind
from env import Choice, Integer, Problem, Range, bench
from env.objects import name_of
from ppo.data.archive import NAME
from ppo.data.reuse import read_reused
from ppo.data.rows import REUSED, row_type
from ppo.data.table import write_table
from tests.ppo.data.archives import control_job, job, refusal, round_rows, same_rows, written

JOB = job()
HEAD = "x_0,x_1,c_0,f"


def run_dir(path, rows, a_job=JOB, reused=None):
    """Makes a directory with an archive of rows; returns its name."""
    path.mkdir()
    written(path / NAME, a_job, [rows], reused)
    return str(path)


def table(path, *lines, head=HEAD):
    """Writes a CSV file; returns its name."""
    path.write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    return str(path)


def same_facts(a, b):
    """Returns whether rows hold the same evaluations, whatever their keys."""
    return all(a[name].tobytes() == b[name].tobytes() for name in ("x", "c", "f", "seconds", "driver", "failed"))


def check_keys(rows):
    assert (rows["kind"] == REUSED).all() and (rows["step"] == -1).all() and (rows["time_step"] == 0).all()
    assert rows["slot"].tolist() == list(range(len(rows)))


def test_nothing_reuses_nothing():
    assert same_rows(read_reused([], JOB), np.empty(0, row_type(JOB)))


def test_evaluations_of_a_run_are_reused_in_their_order(tmp_path):
    rows = np.concatenate([round_rows(JOB, step=1), round_rows(JOB, Kind.EVALUATE, 1), round_rows(JOB, step=0)])
    reused = read_reused([run_dir(tmp_path / "run", rows)], JOB)
    check_keys(reused)
    assert same_facts(reused, rows)


def test_evaluations_of_a_table_are_reused(tmp_path):
    source = table(tmp_path / "a.csv", "0.5,-1,1,2.5", "0,1e-1,-0.25,-3e200", "0, 0 ,0.0,1", "1,1,1,,", "1,1,0,inf")
    rows = read_reused([source], JOB)
    check_keys(rows)
    assert rows["x"].tolist() == [[0.5, -1], [0, 0.1], [0, 0], [1, 1], [1, 1]]
    assert rows["c"].tolist() == [[1], [-0.25], [0], [1], [0]]
    assert rows["f"].tolist()[:3] == [2.5, -3e200, 1]
    assert np.isnan(rows["f"][3]) and rows["f"][4] == np.inf
    assert rows["failed"].tolist() == [False, False, False, True, True]
    assert (rows["driver"] == -1).all() and (rows["seconds"] == 0).all()


def test_columns_of_a_table_come_in_any_order_beside_others(tmp_path):
    source = table(tmp_path / "a.csv", "ok,1.5,0.25,-0.5,,0.75", head="note,f,c_0,x_1,seconds,x_0")
    rows = read_reused([source], JOB)
    assert (rows["x"].tolist(), rows["c"].tolist(), rows["f"].tolist()) == ([[0.75, -0.5]], [[0.25]], [1.5])


def test_sources_follow_each_other(tmp_path):
    rows = round_rows(JOB)
    sources = [
        table(tmp_path / "a.csv", "0,0,0,1"),
        run_dir(tmp_path / "run", rows),
        table(tmp_path / "b.csv", "0,0,1,2", "0,0,-1,3"),
    ]
    reused = read_reused(sources, JOB)
    check_keys(reused)
    assert same_facts(reused[1:31], rows)
    assert reused["f"][[0, 31, 32]].tolist() == [1, 2, 3]


def test_a_table_that_is_named_twice_comes_once(tmp_path):
    lines = ["0,0,0,1", "0,0,0,2", "0,0.5,0,1", "0,0,0.5,1"]
    first, second = table(tmp_path / "a.csv", *lines), table(tmp_path / "b.csv", *lines[::-1], "1,1,1,1")
    assert read_reused([first, second], JOB)["f"].tolist() == [1, 2, 1, 1, 1]


def test_an_evaluation_that_two_runs_hold_comes_once(tmp_path):
    rows, later = round_rows(JOB), round_rows(JOB, step=1)
    first = run_dir(tmp_path / "first", rows)
    second = run_dir(tmp_path / "second", later, reused=read_reused([first], JOB))
    reused = read_reused([first, second], JOB)
    check_keys(reused)
    assert same_facts(reused, np.concatenate([rows, later]))
    assert same_facts(read_reused([second, first], JOB), np.concatenate([rows, later]))


def test_an_evaluation_that_a_run_and_its_table_hold_comes_once(tmp_path):
    """A table is in units, by way of which the last bits of a knob in [-1, 1] change."""
    problem = Problem(name_of(bench(knobs={"fan": Range(0.1, 0.7)}, conditions={"load": Range(3, 50, unit="A")})))
    a_job = job(problem=problem)
    rows, rng = np.zeros(200, row_type(a_job)), np.random.default_rng(0)
    rows["kind"], rows["slot"], rows["time_step"] = Kind.COLLECT, np.arange(200), 1
    rows["x"], rows["c"], rows["f"] = rng.uniform(-1, 1, (200, 1)), rng.uniform(-1, 1, (200, 1)), rng.normal(size=200)
    write_table(tmp_path / "a.csv", rows, problem.describe().coordinates)
    sources = [run_dir(tmp_path / "run", rows, a_job), str(tmp_path / "a.csv")]
    alone = read_reused(sources[1:], a_job)
    assert (alone["x"] != rows["x"]).any() and np.abs(alone["x"] - rows["x"]).max() < 1e-15
    assert same_facts(read_reused(sources, a_job), rows)


def test_a_whole_number_and_an_option_are_read_as_they_may_be_written(tmp_path):
    problem = Problem(
        name_of(bench(knobs={"taps": Integer(0, 4), "on": Choice(True, False)}, conditions={"c": Range(0, 1)}))
    )
    a_job, head = job(problem=problem), "taps,on,c,f"
    rows = read_reused([table(tmp_path / "a.csv", "3.0,TRUE,0.5,1", "4,False,0,2", head=head)], a_job)
    assert rows["x"].tolist() == [[0.5, -1], [1, 1]]
    message = refusal(read_reused, [table(tmp_path / "b.csv", "2.5,True,0,1", head=head)], a_job)
    assert message.endswith("row 1, column taps: '2.5' is no whole number, and Integer(0, 4) has no other")


def test_repeated_measurements_that_differ_are_kept(tmp_path):
    rows = np.repeat(round_rows(JOB)[:1], 4)
    rows["f"][1] += 1e-12
    rows["seconds"][2] += 1
    rows["driver"][3] = 5
    assert len(read_reused([run_dir(tmp_path / "run", rows)], JOB)) == 4


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["0,0,0,1", "0,2,0,1"], "row 2, column x_1: '2' is outside [-1, 1], its range"),
        (["0,0,-1.0000001,1"], "row 1, column c_0: '-1.0000001' is outside [-1, 1]"),
        (["nan,0,0,1"], "row 1, column x_0: 'nan' is outside [-1, 1]"),
        (["0,0,0,1", "0,0,0,1", "0,0,0,good"], "row 3, column f: 'good' is no number"),
        (["0,,0,1"], "row 1, column x_1: '' is no number"),
        (["0,0,0,1", "0,0,0,3,5"], "row 2: has more values than there are columns; is it a comma in a number?"),
        (["0"], "row 1, column x_1: the row is too short, it has no value there"),
        ([], f"has no rows; it must have the columns {HEAD.replace(',', ', ')}"),
    ],
)
def test_a_table_with_a_mistake_is_refused(lines, expected, tmp_path):
    source = table(tmp_path / "a.csv", *lines)
    message = refusal(read_reused, [source], JOB)
    assert message.startswith(f"--reuse {source}: ")
    assert expected in message


@pytest.mark.parametrize("column", HEAD.split(","))
def test_a_table_without_a_column_is_refused(column, tmp_path):
    source = table(tmp_path / "a.csv", "0,0,0,0", head=HEAD.replace(column, "other"))
    expected = f"--reuse {source}: has no column {column}; it must have the columns x_0, x_1, c_0, f"
    assert refusal(read_reused, [source], JOB) == expected


def test_what_is_no_table_and_no_run_is_refused(tmp_path):
    missing, empty, binary = tmp_path / "none", tmp_path / "empty", tmp_path / "binary.csv"
    empty.mkdir()
    binary.write_bytes(b"x_0,x_1,c_0,f\n\xff\xfe,0,0,0\n")
    for source, expected in (
        (missing, "no such file or directory; give a run directory of this version, or a CSV file"),
        (empty, "there is no archive.bin in it; give a run directory of this version, or a CSV file"),
        (binary, "cannot be read ('utf-8' codec can't decode"),
    ):
        assert refusal(read_reused, [str(source)], JOB).startswith(f"--reuse {source}: {expected}")


def test_runs_of_another_problem_are_refused(tmp_path):
    a_job = control_job()
    source = run_dir(tmp_path / "run", np.zeros(3, row_type(a_job)), a_job)
    message = refusal(read_reused, [source], JOB)
    assert message.startswith(f"--reuse {source}: its evaluations are of another problem: env tests.problems:Countdown")


def test_a_damaged_archive_is_refused(tmp_path):
    source = run_dir(tmp_path / "run", round_rows(JOB))
    data = (tmp_path / "run" / NAME).read_bytes()
    (tmp_path / "run" / NAME).write_bytes(data[:20])
    assert refusal(read_reused, [source], JOB).startswith(f"--reuse {source}: {NAME} ")


def test_a_torn_tail_is_left_out_and_left_alone(tmp_path):
    rows = round_rows(JOB)
    source = run_dir(tmp_path / "run", rows[:9])
    with (tmp_path / "run" / NAME).open("ab") as file:
        file.write(b"\xf1rec torn")
    before = (tmp_path / "run" / NAME).read_bytes()
    assert same_facts(read_reused([source], JOB), rows[:9])
    assert (tmp_path / "run" / NAME).read_bytes() == before


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "has no rows"),
        (bytes(100), "has no column x_0"),
        (bytes(range(256)), "cannot be read ('utf-8' codec can't decode"),
        (b"x_0,x_1,c_0,f\n0,\0,0,0\n", "row 1, column x_1: '\\x00' is no number"),
        (b"x_0,x_1,c_0,x_0,f\n0,0,0,1,0\n", "has more than one column x_0"),
        (b"x_0,x_1,c_0,f\n0,0,0," + b"9" * 20_000_000, "a line has 10,000,000 characters or more, so it is no table"),
        (b"x_0,x_1,c_0,f\n0,0,0," + b"9" * 200_000, "field larger than field limit"),
        (b"x_0,x_1,c_0,f\n0,0,0," + b"a" * 100_000, f"row 1, column f: '{'a' * 60}...' is no number"),
        (b'x_0,x_1,c_0,f\n"0,0,0,0\n', "row 1, column x_0: '0,0,0,0\\n' is no number"),
    ],
)
def test_a_file_that_is_no_table_is_refused(content, expected, tmp_path):
    (tmp_path / "a.csv").write_bytes(content)
    message = refusal(read_reused, [str(tmp_path / "a.csv")], JOB)
    assert message.startswith(f"--reuse {tmp_path / 'a.csv'}: ")
    assert expected in message
    assert len(message) < 400
