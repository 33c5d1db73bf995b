"""The table of an archive holds every value with all its digits, and can be read again."""

import csv

import numpy as np
import pytest

from actors.job import Kind
from env import Problem, Range, UsageError
from env.coordinates import Coordinates, snapped
from ppo.data.reuse import read_reused
from ppo.data.rows import KIND_NAMES, LATE, REUSED, row_type
from ppo.data.table import column_names, write_table
from tests.ppo.data.archives import control_job, job, round_rows

JOB = job()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table.csv"


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def awkward_rows():
    """Returns rows of values that a table with fewer digits would not hold."""
    rows = round_rows(JOB)[:8]
    rows["f"] = [0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, np.nan, np.inf, -np.inf]
    rows["x"][:, 0] = np.nextafter(np.linspace(-0.9, 0.9, 8), 1)
    rows["seconds"] = np.float32(0.1)
    rows["failed"], rows["driver"] = ~np.isfinite(rows["f"]), -1
    rows["kind"] = [REUSED, *list(Kind)[:4], 1, 1, 1]
    return rows


def test_columns_of_a_field_with_several_values_are_numbered():
    fields = "kind step slot time_step x_0 x_1 c_0 f seconds driver failed"
    assert column_names(row_type(JOB)) == fields.split()
    control = "kind step slot time_step obs_0 obs_1 action_0 reward driver terminated truncated"
    assert column_names(row_type(control_job())) == control.split()


def test_fields_that_have_the_name_of_a_knob_are_told_from_it():
    named = Coordinates.plain("x", 2, "knobs"), Coordinates({"step": Range(0, 1)}, "conditions")
    found = column_names(row_type(JOB), named)
    assert found == ["kind", "row_step", "slot", "time_step", "x_0", "x_1", "step", "f", "seconds", "driver", "failed"]


def test_values_are_exact(path):
    rows = awkward_rows()
    write_table(path, rows)
    table = read(path)
    assert list(table[0]) == column_names(rows.dtype)
    columns = {name: np.array([float(line[name]) for line in table]) for name in ("x_0", "x_1", "c_0", "f", "seconds")}
    assert columns["f"].tobytes() == rows["f"].tobytes()
    assert np.stack([columns["x_0"], columns["x_1"]], axis=1).tobytes() == rows["x"].tobytes()
    assert columns["c_0"].tobytes() == rows["c"].tobytes()
    assert columns["seconds"].astype(np.float32).tobytes() == rows["seconds"].tobytes()
    for name in ("step", "slot", "time_step", "driver"):
        assert [int(line[name]) for line in table] == rows[name].tolist()
    assert [line["failed"] for line in table] == ["False"] * 5 + ["True"] * 3


def test_kinds_are_named(path):
    write_table(path, awkward_rows())
    names = ["reused", *(kind.name.lower() for kind in list(Kind)[:4]), *["collect"] * 3]
    assert [line["kind"] for line in read(path)] == names
    assert set(KIND_NAMES) == {REUSED, LATE, *Kind}


def test_a_table_without_rows_has_its_columns(path):
    write_table(path, awkward_rows()[:0])
    assert path.read_text().splitlines() == [",".join(column_names(row_type(JOB)))]


def test_a_table_of_an_environment(path):
    rows = np.zeros(2, row_type(control_job()))
    rows["kind"], rows["obs"], rows["action"], rows["terminated"] = 1, [[1.5, 2], [3, 1e-3]], [[2], [0]], [True, False]
    write_table(path, rows)
    assert path.read_text().splitlines()[1:] == [
        "collect,0,0,0,1.5,2.0,2.0,0.0,0,True,False",
        "collect,0,0,0,3.0,0.001,0.0,0.0,0,False,False",
    ]


def test_a_table_can_be_reused(path):
    rows = round_rows(JOB)
    rows["f"][4], rows["failed"][4] = np.nan, True
    write_table(path, rows)
    reused = read_reused([str(path)], JOB)
    assert len(reused) == len(rows)
    for name in ("x", "c", "f", "failed"):
        assert reused[name].tobytes() == rows[name].tobytes()
    assert (reused["kind"] == REUSED).all()


def of_amplifier():
    """Returns a job of a problem with names and units, and rows of it."""
    made = job(problem=Problem("tests.problems:amplifier"))
    made.__dict__["description"] = made.problem.describe()
    rows = np.zeros(6, row_type(made))
    rows["kind"], rows["slot"], rows["time_step"] = Kind.PLAN, np.arange(6), 1
    knobs, conditions = made.description.coordinates
    rng = np.random.default_rng(0)
    rows["x"] = snapped(rng.uniform(-1, 1, rows["x"].shape), knobs.steps)
    rows["c"] = snapped(rng.uniform(-1, 1, rows["c"].shape), conditions.steps)
    rows["f"] = rng.normal(size=6)
    return made, rows


def test_knobs_and_conditions_are_in_units_by_name(path):
    made, rows = of_amplifier()
    named = made.description.named
    write_table(path, rows, named)
    table = read(path)
    assert list(table[0])[4:10] == ["gain", "taps", "mode", "vin", "hot", "f"]
    for line, row in zip(table, rows, strict=True):
        knobs, conditions = (part.in_units(row[field]) for part, field in zip(named, "xc", strict=True))
        values = {name: str(value) for name, value in {**knobs, **conditions}.items()}
        assert {name: line[name] for name in values} == values


def test_a_table_in_units_is_reused_as_it_was(path):
    made, rows = of_amplifier()
    write_table(path, rows, made.description.named)
    back = read_reused([str(path)], made)
    np.testing.assert_allclose(back["x"], rows["x"], atol=1e-12)
    np.testing.assert_allclose(back["c"], rows["c"], atol=1e-12)
    assert back["f"].tolist() == rows["f"].tolist()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gain": "1e9"}, "gain"),
        ({"mode": "sideways"}, "column mode: 'sideways' is none of fast, slow"),
        ({"vin": "much"}, "vin"),
        ({"gain": None}, "gain"),
    ],
)
def test_what_is_no_value_of_its_knob_is_told(changes, words, path):
    made, rows = of_amplifier()
    write_table(path, rows, made.description.named)
    table = read(path)
    columns = [name for name in table[0] if changes.get(name, "") is not None]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows([table[0] | changes, *table[1:]])
    with pytest.raises(UsageError, match=words) as told:
        read_reused([str(path)], made)
    assert str(told.value).startswith(f"--reuse {path}") and "\n" not in str(told.value)
