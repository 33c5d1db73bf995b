"""The archive of a run is made for its problem, and read only if it is of the same one."""

import dataclasses

import numpy as np
import pytest

from actors.job import Kind
from env import Integer, Problem
from env.coordinates import Coordinates
from ppo.data.archive import NAME, Contents, new_archive, read_archive
from ppo.data.rows import row_type
from ppo.data.run_archive import check_same_problem, open_for_run, read_of_run, signature
from tests.ppo.data.archives import control_job, job, refusal, round_rows, same_rows, written

JOB = job()
ROWS = round_rows(JOB)


def test_what_says_which_problem_an_archive_is_of():
    tuning = {"env": "tests.problems:Quadratic", "env_kwargs": {}, "knobs": 2, "conditions": 1}
    assert signature(JOB) == tuning
    control = {"env": "tests.problems:CountdownEnv", "env_kwargs": {}, "observation": 2, "action": 1}
    assert signature(control_job()) == control


def test_seeds_slots_and_latency_make_no_other_problem(tmp_path):
    written(tmp_path / NAME, JOB, [ROWS])
    slow = Problem("tests.problems:Quadratic", time_steps=5, evaluation_cost_ms=9)
    for other in (job(seed=3), job(episodes=2, evaluate_starts=False), job(problem=slow, time_steps=5)):
        assert same_rows(read_of_run(tmp_path, other, "run").rows, ROWS)


def test_there_may_be_no_archive(tmp_path):
    assert read_of_run(tmp_path, JOB, "run") is None


@pytest.mark.parametrize(
    ("problem", "theirs", "ours"),
    [
        (
            Problem("tests.problems:ScaledQuadratic"),
            "env tests.problems:Quadratic",
            "env tests.problems:ScaledQuadratic",
        ),
        (Problem("tests.problems:Quadratic", env_kwargs={"a": 1}), "env_kwargs {}", "env_kwargs {'a': 1}"),
        (
            Problem("rosenbrock", dims=4, knobs=2),
            "env tests.problems:Quadratic",
            "rosenbrock",
        ),
    ],
)
def test_the_archive_of_another_problem_is_refused(problem, theirs, ours, tmp_path, monkeypatch):
    written(tmp_path / NAME, JOB, [ROWS])
    before = (tmp_path / NAME).read_bytes()
    other = job(problem=problem)
    other.__dict__["description"] = (problem if problem.dims else JOB.problem).describe()
    message = refusal(read_of_run, tmp_path, other, "--resume run")
    assert message.startswith(f"--resume run: its evaluations are of another problem: {theirs}, and here ")
    assert message.endswith(ours)
    assert (tmp_path / NAME).read_bytes() == before


def test_rows_with_other_fields_are_refused():
    fewer = np.zeros(2, [(name, row_type(JOB)[name]) for name in row_type(JOB).names if name != "driver"])
    message = refusal(check_same_problem, Contents(signature(JOB), fewer, 0, 0, 0), JOB, "--reuse runs/a")
    assert message.startswith("--reuse runs/a: its rows have other fields than this version writes: ('kind', 'step'")


def test_a_damaged_archive_of_a_run_is_refused(tmp_path):
    places = written(tmp_path / NAME, JOB, [ROWS[:3], ROWS[3:]])
    data = bytearray((tmp_path / NAME).read_bytes())
    data[places[0] + 50] ^= 1
    (tmp_path / NAME).write_bytes(data)
    assert f"--resume run: {NAME} is damaged at byte {places[0]}" in refusal(read_of_run, tmp_path, JOB, "--resume run")


def test_a_new_archive_begins_with_what_is_reused_and_is_appended_to(tmp_path):
    archive = open_for_run(tmp_path, JOB, None, ROWS[:4])
    archive.add_rows(ROWS[4:6])
    archive.close()
    contents = read_of_run(tmp_path, JOB, "run")
    assert same_rows(contents.rows, ROWS[:6])
    again = open_for_run(tmp_path, JOB, contents, ROWS[:0])
    again.add_rows(ROWS[6:])
    again.close()
    assert same_rows(read_of_run(tmp_path, JOB, "run").rows, ROWS)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_an_archive_of_an_environment_is_read_as_its_own(tmp_path):
    a_job = control_job()
    rows = np.zeros(5, row_type(a_job))
    rows["kind"], rows["obs"], rows["truncated"] = Kind.COLLECT, [1.5, -2], [0, 1, 0, 0, 1]
    (tmp_path / NAME).write_bytes(new_archive(signature(a_job), rows))
    assert same_rows(read_of_run(tmp_path, a_job, "run").rows, rows)
    assert "another problem: env tests.problems:CountdownEnv" in refusal(read_of_run, tmp_path, JOB, "run")
    assert read_archive(tmp_path / NAME, "run").rows["obs"].tolist() == [[1.5, -2]] * 5


def amplifier_job(**changes):
    """Returns a job of a problem with units; ``changes`` are those of its knobs."""
    made = job(problem=Problem("tests.problems:amplifier"))
    knobs, conditions = (found := made.problem.describe()).coordinates
    named = Coordinates({**knobs, **changes}, "knobs"), conditions
    made.__dict__["description"] = dataclasses.replace(found, coordinates=named)
    return made


def test_an_archive_says_of_which_knobs_and_conditions_it_is():
    found = signature(amplifier_job())
    assert [part["name"] for part in found["coordinates"][0]] == ["gain", "taps", "mode"]
    assert "coordinates" not in signature(JOB) and "constraints" not in found
    limited = job(problem=Problem("tests.problems:limited"))
    limited.__dict__["description"] = limited.problem.describe()
    assert signature(limited)["constraints"] == 1


def test_the_archive_of_other_ranges_is_refused():
    ours, theirs = amplifier_job(), amplifier_job(taps=Integer(0, 15))
    contents = Contents(signature(theirs), np.zeros(0, row_type(theirs)), 0, 0, 0)
    message = refusal(check_same_problem, contents, ours, "--reuse runs/a")
    assert message.startswith("--reuse runs/a: its evaluations are of another problem: gain ")
    assert "taps Integer(0, 15)" in message and message.count("taps") == 2
    check_same_problem(Contents(signature(ours), np.zeros(0, row_type(ours)), 0, 0, 0), ours, "--reuse runs/a")
