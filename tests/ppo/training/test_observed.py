"""Under weather that nobody sets a law is learned from what was measured under what came."""

import csv
import dataclasses

import numpy as np
import pytest

import tuninglaw
from env import UsageError
from ppo import Config
from ppo.algorithm.model.learner import ModelLearner
from ppo.ask import main as ask
from ppo.data.archive import NAME, read_archive
from ppo.evaluate import evaluate
from ppo.tell import main as tell
from ppo.train import train
from ppo.training.trainer import Trainer
from tests.ppo.training.test_resume import killed_at
from tests.problems import best_sail, weathered

CONFIG = Config(env="tests.problems:weathered", evaluations=48, drivers=0, hidden_sizes=(16, 16))
BENCH = dataclasses.replace(CONFIG, env="tests.problems:boat", evaluations=24)


@pytest.fixture(autouse=True)
def quickly(little_effort):
    """A quadratic is learned with little of it."""


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


def rows_of(path):
    return read_archive(path / NAME, str(path)).rows


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    from tests.ppo.algorithm.model.quick import quick

    path = tmp_path_factory.mktemp("observed") / "run"
    with pytest.MonkeyPatch.context() as patch:
        quick(patch.setattr)
        return path, run(CONFIG, path)


def test_the_law_knows_the_wind(whole):
    law = tuninglaw.load(whole[0])
    for load in (0.0, 0.5, 1.0):
        for wind in (2.0, 6.0, 10.0):
            assert law(load=load, wind=wind)["sail"] == pytest.approx(best_sail(load, wind), abs=0.02)


def test_an_evaluation_says_that_there_is_no_check(whole):
    with pytest.raises(UsageError, match="the law was not checked; nobody can set conditions that are observed"):
        evaluate(whole[0])


def test_the_archive_holds_the_wind_that_was(whole):
    rows = rows_of(whole[0])
    load, wind = 0.5 * (rows["c"][:, 0] + 1), 10 * (rows["c"][:, 1] + 1)
    np.testing.assert_allclose(rows["f"], (0.5 * (rows["x"][:, 0] + 1) - best_sail(load, wind)) ** 2, atol=1e-12)
    assert len(rows) == 48 and wind.mean() == pytest.approx(20 / 3, abs=1.5) and len(set(wind)) == 48


def test_rounds_are_planned_for_winds_that_were_seen(whole, monkeypatch):
    from ppo.algorithm.model import planning

    put, seen = planning.Weather.put, []

    def noted(self, conditions, rng):
        put(self, conditions, rng)
        seen.append((conditions[:, 1].copy(), self.seen[:, 0].copy()))

    monkeypatch.setattr(planning.Weather, "put", noted)
    with Trainer(CONFIG, whole[0].parent / "planned", quiet=True) as trainer:
        next(trainer)
        next(trainer)
    assert seen and all(np.isin(conditions, known).all() for conditions, known in seen)


def test_the_same_bits_with_drivers_and_after_a_kill(whole, tmp_path):
    expected = whole[1]["policy_sha256"]
    config = dataclasses.replace(CONFIG, drivers=2, backend="thread")
    assert run(config, tmp_path / "drivers")["policy_sha256"] == expected
    killed_at(2, CONFIG, tmp_path / "cut", ModelLearner)
    (tmp_path / "cut" / "checkpoint.npz").unlink(missing_ok=True)  # from the archive alone
    assert run(CONFIG, tmp_path / "cut", resume=True)["policy_sha256"] == expected


def test_it_is_told_beside_f_in_any_order(tmp_path):
    winds = iter(np.random.default_rng(0).uniform(0, 12, 24).tolist())
    known = {}

    def answer(point):
        assert set(point.conditions) == {"load"}
        wind = known.setdefault(point.id, next(winds, None))
        return (point.knobs["sail"] - best_sail(point.conditions["load"], wind)) ** 2, {"wind": wind}

    digests = []
    for name, order in (("first", list), ("second", lambda points: points[::-1])):
        with Trainer(BENCH, tmp_path / name, quiet=True) as trainer:
            while points := trainer.ask():
                told = {point.id: answer(point) for point in points}
                for point in order(points):
                    trainer.tell({point.id: told[point.id]})
            digests.append(trainer.finish(pictures=False)["policy_sha256"])
    assert digests[0] == digests[1]
    np.testing.assert_allclose(sorted(10 * (rows_of(tmp_path / "first")["c"][:, 1] + 1)), sorted(known.values()))


def test_a_spreadsheet_has_a_column_for_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ask(["mine", "--env", "tests.problems:boat", "--evaluations", "24", "--hidden-sizes", "8"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "id,sail,load,wind,f"
    table = list(csv.DictReader(lines))
    assert {row["wind"] for row in table} == {""}
    for number, row in enumerate(table):
        row["wind"], row["f"] = f"{number / 2}", f"{number}.5"
    table[1]["f"], table[2] = "failed", table[2] | {"f": "failed", "wind": ""}
    (tmp_path / "told.csv").write_text("\n".join([lines[0], *(",".join(row.values()) for row in table)]) + "\n")
    tell(["mine", "told.csv"])
    rows = rows_of(tmp_path / "mine")
    winds = 10 * (rows["c"][:, 1] + 1)
    np.testing.assert_allclose(np.delete(winds, 2), np.delete(np.arange(len(rows)) / 2, 2), atol=1e-9)
    assert rows["failed"].sum() == 2 and rows["f"][3] == 3.5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "row 1: wind = nothing: it is observed, and must be a number"),
        ("calm", "row 1: wind = calm: it is observed, and must be a number"),
        ("30", "wind = 30.0 is outside of its range, 0 to 20 m/s, .*; tell what was measured beyond it as skipped"),
    ],
)
def test_a_wind_that_is_none_is_told_and_nothing_is_taken(text, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ask(["mine", "--env", "tests.problems:boat", "--evaluations", "24", "--hidden-sizes", "8"])
    first = next(csv.DictReader(capsys.readouterr().out.splitlines()))
    (tmp_path / "told.csv").write_text(f"id,f,wind\n{first['id']},1.5,{text}\n")
    with pytest.raises(UsageError, match=words):
        tell(["mine", "told.csv"])
    assert len(rows_of(tmp_path / "mine")) == 0


def test_what_is_told_again_must_be_the_same(tmp_path):
    with Trainer(BENCH, tmp_path / "run", quiet=True) as trainer:
        first, second = trainer.ask()[:2]
        trainer.tell({first.id: (1.0, {"wind": 5.0}), second.id: ("skipped", {"wind": 25.0})})
        trainer.tell({first.id: (1.0, {"wind": 5.0})})
        with pytest.raises(UsageError, match="was told before"):
            trainer.tell({first.id: (1.0, {"wind": 9.0})})
        for wrong in ((), ({"wind": 5.0},), (1.0,), 1.0, (1.0, {"wind": None})):
            with pytest.raises(UsageError, match=f"id {trainer.ask()[0].id}: "):
                trainer.tell({trainer.ask()[0].id: wrong})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"evaluations": None},
            "conditions that are observed need a model, and so a budget, --evaluations N of 12 or",
        ),
        (
            {"check": 20},
            "--check 20: --env tests.problems:weathered has conditions that are observed, so that",
        ),
        ({"eval_every": 2}, "--eval-every 2: --env tests.problems:weathered has conditions that are observed"),
        (
            {"step_limit": 0.1, "start_law": "constant"},
            "--step-limit 0.1: --env tests.problems:weathered has",
        ),
    ],
)
def test_what_needs_conditions_that_can_be_set_is_refused(changes, words, tmp_path):
    with pytest.raises(UsageError, match=words):
        run(dataclasses.replace(CONFIG, **changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_law_is_not_polished_with_a_function_that_does_not_take_the_wind(whole):
    with pytest.raises(ValueError, match="f has some that are observed and cannot be set"):
        tuninglaw.load(whole[0]).polish(weathered, 5, load=0.5, wind=3)
    found = tuninglaw.load(whole[0]).polish(
        lambda sail, load, wind: (sail - best_sail(load, wind)) ** 2, load=0.5, wind=3
    )
    assert found.value <= found.given
