"""A bench is asked and told in any order and any process, and gives the bits of a function that is called."""

import csv
import dataclasses
import json

import numpy as np
import pytest

from actors.load import load
from env import UsageError
from ppo import Config
from ppo.ask import main as ask
from ppo.data.archive import read_archive
from ppo.data.rows import LATE, SKIPPED
from ppo.evaluate import main as evaluate
from ppo.replay import main as replay
from ppo.tell import main as tell
from ppo.train import train
from ppo.training.evaluated import training_rows
from ppo.training.run_dir import RunDir
from ppo.training.trainer import Trainer
from tests.problems import measured

CONFIG = Config(env="tests.problems:supply", evaluations=40, check=15)


@pytest.fixture(autouse=True)
def quickly(little_effort):
    """Laws need not be good here."""


def answer(point):
    return measured(**point.knobs, **point.conditions)


def asked(path, config=CONFIG, answers=lambda point: answer(point), order=lambda points: points):
    """Runs a whole training by asking and telling; returns its summary."""
    with Trainer(config, path, quiet=True) as trainer:
        while points := trainer.ask():
            trainer.tell({point.id: answers(point) for point in order(points)})
        return trainer.finish(pictures=False)


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """The same training by a function that is called: its summary."""
    config = dataclasses.replace(CONFIG, env="tests.problems:measured", drivers=0, on_failure="infeasible")
    with pytest.MonkeyPatch.context() as patch:
        from tests.ppo.algorithm.model.quick import quick

        quick(patch.setattr)
        return train(config, tmp_path_factory.mktemp("called") / "run", quiet=True, pictures=False)


def test_a_bench_gives_the_bits_of_a_function_in_whatever_order_it_is_told(called, tmp_path):
    for name, order in (("in order", lambda points: points), ("backwards", lambda points: points[::-1])):
        summary = asked(tmp_path / name, order=order)
        assert summary["policy_sha256"] == called["policy_sha256"]
        assert summary["check"] == called["check"]
        assert (summary["objective_evaluations"], summary["lost_evaluations"]) == (40, 0)


def test_points_are_in_units_and_a_round_is_over_once_all_are_told(tmp_path):
    with Trainer(CONFIG, tmp_path / "run", quiet=True) as trainer:
        points = trainer.ask()
        assert len(points) == 24 and len({point.id for point in points}) == 24
        assert {type(point.knobs["b"]) for point in points} == {int}
        assert all(0 <= point.knobs["a"] <= 10 and 1 <= point.conditions["load"] <= 3 for point in points)
        first, *rest = points
        assert trainer.tell({point.id: answer(point) for point in rest}) == 1
        assert trainer.ask() == [first]
        assert trainer.tell({first.id: answer(first)}) == 0
        assert {point.id.split("-")[0] for point in trainer.ask()} == {"plan"}


def test_what_was_told_survives_a_process_that_ends_between_any_two_answers(called, tmp_path):
    path, resume, points = tmp_path / "run", False, True
    while points:
        with Trainer(CONFIG, path, quiet=True, resume=resume) as trainer:
            points, resume = trainer.ask(), True
            trainer.tell({point.id: answer(point) for point in points[:13]}) if points else None
    with Trainer(CONFIG, path, quiet=True, resume=True) as trainer:
        assert trainer.finish(pictures=False)["policy_sha256"] == called["policy_sha256"]


def test_failed_and_skipped_points_are_told_apart_and_late_ones_join_the_next_round(tmp_path):
    with Trainer(CONFIG, tmp_path / "run", quiet=True) as trainer:
        points = trainer.ask()
        told = {point.id: answer(point) for point in points[3:]} | {points[0].id: "failed"}
        assert trainer.tell(told) == 2
        assert trainer.tell({}, close=True) == 0
        evidence = trainer.learner.surrogate.evidence
        assert (len(evidence), len(evidence.failures)) == (21, 1)
        trainer.tell({points[1].id: answer(points[1])})  # which belongs to a round that is over
        assert len(evidence) == 21
        trainer.tell({point.id: answer(point) for point in trainer.ask()})
        assert len(evidence) == 21 + 16 + 1
    rows = read_archive(tmp_path / "run" / "archive.bin", "run").rows
    late = rows[rows["kind"] == LATE]
    assert late["f"].tolist() == [answer(points[1])] and late["step"].tolist() == [1]
    assert (rows["f"] == SKIPPED).sum() == 2


def test_a_late_answer_is_one_points_whatever_else_is_skipped_after_it(tmp_path):
    with Trainer(CONFIG, tmp_path / "run", quiet=True) as trainer:
        names = sorted((point.id for point in trainer.ask()), key=lambda name: int(name.split("-")[2]))
        first, second = names[3], names[5]
        trainer.tell({second: "skipped"})
        trainer.tell({second: 1.2})
        trainer.tell({first: "skipped"})
        trainer.tell({second: 1.2, first: 1.2})
        with pytest.raises(UsageError, match=f"id {first}: was told before as 1.2"):
            trainer.tell({first: 7.0})
    late = read_archive(tmp_path / "run" / "archive.bin", "run").rows
    late = late[late["kind"] == LATE]
    assert late["f"].tolist() == [1.2, 1.2] and len({row["slot"].item() for row in late}) == 2


def test_late_answers_give_the_same_bits_in_any_order_and_after_a_resume(tmp_path):
    digests = set()
    for name, order in (("a", 1), ("b", -1)):
        path = tmp_path / name
        with Trainer(CONFIG, path, quiet=True) as trainer:
            points = trainer.ask()
            trainer.tell({point.id: answer(point) for point in points[5:]}, close=True)
            for point in points[:5][::order]:
                trainer.tell({point.id: answer(point)})
            (path / "checkpoint.npz").unlink(missing_ok=True)
        (path / "checkpoint.npz").unlink(missing_ok=True)
        with Trainer(CONFIG, path, quiet=True, resume=True) as trainer:
            while points := trainer.ask():
                trainer.tell({point.id: answer(point) for point in points})
            digests.add(trainer.finish(pictures=False)["policy_sha256"])
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"plan-9-9": 1.0}, "id plan-9-9: no point of this run has it"),
        ({"design-0-0": "fail"}, "id design-0-0: 'fail' must be a number, failed or skipped"),
        ({"design-0-0": None}, "id design-0-0: None must be a finite number"),
        ({"design-0-0": float("nan")}, "id design-0-0: nan must be a finite number"),
        ({"design-0-0": (1.0, 2.0)}, "must be a finite number"),
    ],
)
def test_a_wrong_answer_is_one_line_and_nothing_is_taken(answers, message, tmp_path):
    with Trainer(CONFIG, tmp_path / "run", quiet=True) as trainer:
        points = trainer.ask()
        with pytest.raises(UsageError, match=message):
            trainer.tell({points[5].id: 1.0} | answers)
        assert trainer.ask() == points


def test_an_answer_may_be_repeated_and_not_changed(tmp_path):
    with Trainer(CONFIG, tmp_path / "run", quiet=True) as trainer:
        first = trainer.ask()[0]
        trainer.tell({first.id: 2.5})
        assert trainer.tell({first.id: 2.5}) == 23
        with pytest.raises(UsageError, match="was told before as"):
            trainer.tell({first.id: 2.6})


def test_a_function_is_not_asked_and_a_bench_is_not_called(tmp_path):
    with pytest.raises(UsageError, match="is a bench, which no training calls"):
        train(CONFIG, tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError, match="a bench needs a budget"):
        Trainer(dataclasses.replace(CONFIG, evaluations=None), tmp_path / "run")
    config = dataclasses.replace(CONFIG, env="tests.problems:measured", drivers=0)
    with Trainer(config, tmp_path / "function", quiet=True) as trainer, pytest.raises(UsageError, match="only a bench"):
        trainer.ask()


def table(capsys, *words):
    """Runs ``ask`` and returns the rows that it prints."""
    ask([str(word) for word in words])
    return list(csv.DictReader(capsys.readouterr().out.splitlines()))


def test_a_spreadsheet_is_all_that_a_bench_needs(called, tmp_path, capsys):
    run, results = tmp_path / "run", tmp_path / "results.csv"
    rows = table(capsys, run, "--env", "tests.problems:supply", "--evaluations", 40, "--check", 15)
    assert list(rows[0]) == ["id", "a", "b", "load", "f"]
    while rows:
        for row in rows:
            row["f"] = repr(measured(float(row["a"]), int(row["b"]), float(row["load"])))
        with results.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(reversed(rows))
        tell([str(run), str(results)])
        capsys.readouterr()
        rows = table(capsys, run)
    assert json.loads((run / "summary.json").read_text())["policy_sha256"] == called["policy_sha256"]
    assert set(load(run)(load=2.0)) == {"a", "b"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,value\ndesign-0-0,1\n", "has no column f; it must have id, f"),
        ("id,f,f\ndesign-0-0,1,\n", "has more than one column f; it must have id, f"),
        ("id,f\ndesign-0-0,one\n", "row 1: one must be a number, failed or skipped"),
        ("id,f\ndesign-0-0,1\ndesign-0-0,2\n", "row 2: id design-0-0 comes twice"),
        ("id,f\ndesign-0-0,3,5\n", "row 1: has more values than there are columns; is it a comma in a number?"),
    ],
)
def test_a_wrong_table_is_one_line(text, message, tmp_path, capsys):
    table(capsys, tmp_path / "run", "--env", "tests.problems:supply", "--evaluations", 40)
    (tmp_path / "results.csv").write_text(text)
    with pytest.raises(UsageError, match=message):
        tell([str(tmp_path / "run"), str(tmp_path / "results.csv")])


def test_what_was_set_must_be_what_was_asked(tmp_path, capsys):
    rows = table(capsys, tmp_path / "run", "--env", "tests.problems:supply", "--evaluations", 40)
    (tmp_path / "results.csv").write_text(f"id,a,f\n{rows[0]['id']},{rows[0]['a']},1\n{rows[1]['id']},11,1\n")
    with pytest.raises(UsageError, match=rf"row 2: a = 11, where {rows[1]['a']} was asked"):
        tell([str(tmp_path / "run"), str(tmp_path / "results.csv")])
    assert len(read_archive(tmp_path / "run" / "archive.bin", "run").rows) == 0


@pytest.mark.parametrize(
    ("flags", "missing"),
    [([], "--env and --evaluations is not"), (["--env", "tests.problems:supply"], "and --evaluations is not")],
)
def test_what_a_first_asking_lacks_is_named(flags, missing, tmp_path):
    with pytest.raises(UsageError, match=f"is no run yet, {missing if flags else 'and ' + missing} given; begin it"):
        ask([str(tmp_path / "run"), *flags])


def test_a_row_closes_the_round_and_empty_ones_are_told_later(tmp_path, capsys):
    rows = table(capsys, tmp_path / "run", "--env", "tests.problems:supply", "--evaluations", 40)
    lines = [f"{row['id']},{row['a'] if number % 2 else ''}" for number, row in enumerate(rows)]
    (tmp_path / "results.csv").write_text("\n".join(["id,f", *lines, "close,"]))
    tell([str(tmp_path / "run"), str(tmp_path / "results.csv")])
    assert "16 points are open; before this round 24 of 40 were told or skipped" in capsys.readouterr().err
    rows = read_archive(tmp_path / "run" / "archive.bin", "run").rows
    assert np.isinf(rows["f"]).sum() == 12


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The directory of a run without a check."""
    path = tmp_path_factory.mktemp("finished") / "run"
    with pytest.MonkeyPatch.context() as patch:
        from tests.ppo.algorithm.model.quick import quick

        quick(patch.setattr)
        asked(path, dataclasses.replace(CONFIG, check=0))
    return path


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ([], "the optimum of Bench is not known, and the law was not checked; a run that is begun with --check asks"),
        (
            ["--check", "60"],
            "--check 60: --env tests.problems:supply is a bench; a run that is begun with --check asks",
        ),
    ],
)
def test_a_bench_is_not_called_for_a_check(flags, words, finished):
    path = finished
    before = (path / "archive.bin").read_bytes()
    with pytest.raises(UsageError, match=words):
        evaluate([str(path), *flags])
    assert (path / "archive.bin").read_bytes() == before


def test_a_bench_is_not_called_for_a_slot_alone(finished):
    with pytest.raises(UsageError, match=r"its --env tests\.problems:supply is a bench, which no slot calls"):
        replay([str(finished), "--training-step", "0", "--slot", "0"])


def test_what_was_skipped_is_not_reused_and_late_answers_are(tmp_path):
    with Trainer(CONFIG, tmp_path / "run", quiet=True) as trainer:
        points = trainer.ask()
        trainer.tell({point.id: answer(point) for point in points[4:]} | {points[0].id: "failed"})
        trainer.tell({}, close=True)
        trainer.tell({points[1].id: answer(points[1])})
    late = training_rows(RunDir(tmp_path / "run"), True)
    assert (late["kind"] == LATE).sum() == 1
    with Trainer(dataclasses.replace(CONFIG, reuse=(tmp_path / "run",)), tmp_path / "next", quiet=True) as trainer:
        evidence = trainer.learner.surrogate.evidence
        assert (len(evidence), len(evidence.failures)) == (len(points) - 4 + 1, 1)
        assert np.isfinite(evidence.values).all()
