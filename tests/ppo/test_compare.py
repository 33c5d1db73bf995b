"""``ppo.compare`` runs what its table lacks, and answers a mistake with one line before anything is written."""

import pytest

from env import UsageError
from ppo import compare
from ppo.compare import main
from ppo.evaluation import shares
from ppo.experiments.rivals import registry
from ppo.experiments.tables import Table

QUADRATIC = ["--env", "tests.problems:Quadratic"]


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["--evaluations", "300", "19"], "--evaluations 300 19: one number or several, each at least 20"),
        (["--evaluations"], "--evaluations is empty"),
        (["--seeds", "0"], "--seeds 0: must be from 1 to 1000"),
        (["--jobs", "-1"], "--jobs -1: must be at least 0"),
        (["--jobs", "1000000"], "--jobs 1000000: must be at least 0 and at most 10000"),
        (["--evaluations", "1000000000000"], "--evaluations 1000000000000: one number or several"),
        (["--dims", "1000000000"], "--dims 1000000000: must be at most 20,000"),
        (["--out", "x" * 300], "is too long for a path"),
        (["--env", "tests.misfits:RootMeanSquare"], "metric = 'rmse' must be mse or msle"),
        (["--env", "CartPole-v1"], "--env CartPole-v1: only a tuning problem"),
        (["--env", "rosenbrok"], "did you mean 'rosenbrock'?"),
        (["--env", "tests.problems:supply"], "--env tests.problems:supply: is a bench, which no other method asks"),
        (["--env", "tests.problems:weathered"], "has conditions that are observed, at which nobody can ask for knobs"),
        (["--knobs", "2"], "--knobs 2: must be from 1 to 1 with --dims 2"),
        ([*QUADRATIC, "--dims", "3"], "--dims 3: only the built-in objectives take it"),
        (["--methods", "gb"], "--methods gb: unknown (did you mean 'gp'?)"),
        (["--sedes", "3"], "unknown argument --sedes (did you mean '--seeds'?)"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(argv, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as error:
        main(argv)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_more_evaluations_than_any_method_takes_are_refused(monkeypatch):
    monkeypatch.setattr(registry, "installed", lambda package: True)
    with pytest.raises(UsageError, match="--evaluations 5000: gp takes at most 2000"):
        main(["--methods", "gp", "--evaluations", "5000"])


def test_a_missing_extra_is_one_line(monkeypatch):
    monkeypatch.setattr(registry, "installed", lambda package: False)
    with pytest.raises(
        UsageError, match=r"--methods gp cma-es: needs botorch, cma; pip install 'tuninglaw\[compare\]'"
    ):
        main([])


def test_without_matplotlib_one_line_names_the_extra(monkeypatch):
    monkeypatch.setattr(compare, "matplotlib_installed", lambda: False)
    with pytest.raises(UsageError, match=r"pip install 'tuninglaw\[compare\]'"):
        main(["--methods", "law"])


@pytest.mark.usefixtures("little_effort")
def test_a_comparison_is_continued_and_added_to(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="the extra plot")
    done = []

    def one_by_one(do, calls, *_):
        done.extend(run for call in calls for run in call)
        return [(call, do(call)) for call in calls]

    monkeypatch.setattr("ppo.studies.runs.map_in_processes", one_by_one)
    monkeypatch.setattr(shares, "CANDIDATES", 64)
    monkeypatch.setattr(shares, "CONDITIONS", 16)
    argv = [*QUADRATIC, "--methods", "law", "differential-evolution", "--seeds", "2", "--out", str(tmp_path)]
    main([*argv, "--evaluations", "60"])
    assert len(done) == 1 + 4
    text = (tmp_path / "compare.md").read_text()
    assert text in capsys.readouterr().out
    assert "With 60 evaluations, " in text
    main([*argv, "--evaluations", "60"])
    assert len(done) == 5
    assert (tmp_path / "compare.md").read_text() == text
    main([*argv, "--evaluations", "90", "60"])
    assert [(run.method, run.evaluations) for run in done[5:]] == [("law", 90)] * 2 + [
        ("differential-evolution", 90)
    ] * 2
    assert len(Table(tmp_path / "compare.csv", ()).rows) == 8
    assert (tmp_path / "compare.png").is_file()
