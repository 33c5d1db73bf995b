"""A run of a comparison is a row: what the law of one method, budget and seed leaves, and what it cost."""

import pytest

from env import UsageError
from env.make import Problem
from ppo.evaluation import shares
from ppo.evaluation.shares import Scale
from ppo.studies.comparison import COLUMNS, ComparisonRun, Result, ScaleRun, problem_name, results_of, runs_of, scale_of

QUADRATIC = Problem("tests.problems:Quadratic")
SCALE = Scale(0.0, 0.1, 1.0)


def row_of(method, evaluations=50, problem=QUADRATIC):
    run = ComparisonRun(problem, SCALE, method, evaluations, 501)
    return run, dict(zip(COLUMNS, map(str, run.run()), strict=True))


@pytest.mark.usefixtures("little_effort")
def test_a_row_holds_what_was_spent_and_what_is_left():
    run, row = row_of("law", 51)
    assert row["run"] == run.key == "--env tests.problems:Quadratic/law/51/501"
    assert (row["evaluations"], row["spent"], row["evaluations a query"]) == ("51", "51", "0")
    assert 0 < float(row["share"]) == pytest.approx(10 * float(row["mean f"]), rel=1e-5)
    assert float(row["seconds"]) > float(row["ms a query"]) / 1000 > 0


@pytest.mark.usefixtures("little_effort")
def test_searches_at_queries_are_counted_apart(monkeypatch):
    monkeypatch.setattr(shares, "CONDITIONS", 16)
    _, row = row_of("law+polish")
    assert row["spent"] == "50"
    assert 10 < float(row["evaluations a query"]) <= 30


@pytest.mark.usefixtures("little_effort")
def test_a_law_is_measured_without_the_noise_of_f():
    rows = [row_of("law", problem=Problem(f"tests.problems:{name}"))[1] for name in ("Quadratic", "Shifted")]
    assert float(rows[0]["mean f"]) == pytest.approx(float(rows[1]["mean f"]), rel=0.1)  # f plus a constant


def test_an_f_that_is_not_finite_is_one_line():
    with pytest.raises(UsageError, match=r"--env tests\.problems:ReturnsNaN: .* not finite") as error:
        row_of("law", problem=Problem("tests.problems:ReturnsNaN"))
    assert "\n" not in str(error.value)


def test_an_f_that_is_not_finite_has_no_scale(monkeypatch):
    monkeypatch.setattr(shares, "CANDIDATES", 64)
    monkeypatch.setattr(shares, "CONDITIONS", 16)
    with pytest.raises(UsageError, match=r"--env tests\.problems:ReturnsNaN: f is not finite everywhere"):
        ScaleRun(Problem("tests.problems:ReturnsNaN")).run()


def test_the_scale_is_kept_to_the_last_digit(monkeypatch):
    monkeypatch.setattr(shares, "CANDIDATES", 16)
    monkeypatch.setattr(shares, "CONDITIONS", 8)
    run = ScaleRun(QUADRATIC)
    row = dict(zip(run.columns, run.run(), strict=True))
    assert row["run"] == problem_name(QUADRATIC)
    assert scale_of(row) == shares.measure_scale(QUADRATIC.objective())


def test_a_problem_is_named_by_its_flags():
    assert problem_name(Problem("rosenbrock", 10, 5)) == "--env rosenbrock --dims 10 --knobs 5"
    assert problem_name(Problem("a:B", env_kwargs={"noise": 0.1})) == "--env a:B --env-kwargs noise=0.1"


def test_runs_are_those_whose_time_is_bearable():
    runs = runs_of(QUADRATIC, SCALE, ("law", "gp"), (300, 5000), 2)
    assert [(run.method, run.evaluations, run.seed) for run in runs] == [
        *(("law", 300, 501), ("law", 300, 502), ("gp", 300, 501), ("gp", 300, 502)),
        *(("law", 5000, 501), ("law", 5000, 502)),
    ]


def test_rows_are_summarised_over_seeds_in_the_order_of_budgets_and_methods():
    columns = ("method", "evaluations", "spent", "evaluations a query", "seconds", "ms a query", "share")
    cells = [
        ("law+polish", 100, 100, 18, 2.0, 5, 0.1),
        ("law", 300, 299, 0, 1.0, 1, 0.2),
        ("law", 100, 99, 0, 3.0, 1, 0.5),
        ("law+polish", 100, 98, 20, 4.0, 7, 0.3),
        ("law", 100, 100, 0, 1.0, 1, 0.7),
    ]
    rows = [dict(zip(columns, map(str, line), strict=True)) for line in cells]
    assert results_of(rows) == [
        Result("law", 100, (0.5, 0.7), 100, 0.0, 2.0, 1.0),
        Result("law+polish", 100, (0.1, 0.3), 100, 19.0, 3.0, 6.0),
        Result("law", 300, (0.2,), 299, 0.0, 1.0, 1.0),
    ]
