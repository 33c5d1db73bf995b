"""No evaluation of a run with a step limit is farther from the start law than that, under the same conditions."""

import dataclasses
import shutil

import numpy as np
import pytest

import tuninglaw
from actors.job import Kind
from env import UsageError
from ppo import Config
from ppo.algorithm.model.learner import ModelLearner
from ppo.data.archive import NAME, read_archive
from ppo.evaluate import evaluate
from ppo.train import train
from ppo.training.trainer import Trainer
from tests.ppo.algorithm.model.quick import quick
from tests.ppo.training.test_resume import killed_at
from tests.problems import measured

FIRST = Config(
    env="tests.problems:measured", evaluations=40, check=20, drivers=0, start_law="constant", step_limit=0.1
)  # the middle is a = 5, b = 2, and b has 5 values


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


def rows_of(path):
    return read_archive(path / NAME, str(path)).rows


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A run about constant knobs, and one about the law of that one, with both summaries."""
    path = tmp_path_factory.mktemp("limits")
    with pytest.MonkeyPatch.context() as patch:
        quick(patch.setattr)
        first = run(FIRST, path / "first")
        second = dataclasses.replace(FIRST, start_law=str(path / "first"), step_limit=0.26, seed=1)
        return path, first, run(second, path / "second"), second


def test_every_evaluation_is_within_the_limit(both):
    path = both[0]
    x = rows_of(path / "first")["x"]
    assert (
        len(x) == 60
        and np.abs(x).max() <= 0.2
        and np.abs(x).max(axis=0).tolist() == pytest.approx([0.2, 0.0], abs=0.01)
    )
    rows = rows_of(path / "second")
    distances = np.abs(rows["x"] - tuninglaw.load(path / "first")(rows["c"]))
    assert len(rows) == 60 and distances.max() <= 0.52 + 1e-12 and distances.max(axis=0).min() >= 0.5
    assert np.abs(rows["x"]).max() > 0.45  # beyond what the first run could reach


def test_the_law_stays_within_the_limit_and_is_compared_with_the_start_law(both):
    path, first, second, _ = both
    for summary, name in ((first, "first"), (second, "second")):
        check, rows = summary["check"], rows_of(path / name)
        assert (check["evaluations"], check["constant_knobs"]) == (20, [])
        assert "than the start law" in check["words"] and "with the start law" in summary["model"]["words"]
        kinds = [int((rows["kind"] == kind).sum()) for kind in (Kind.CHECK, Kind.CHECK_CONSTANT, Kind.CHECK_MEAN)]
        assert kinds == [10, 10, 0]
    loads, laws = np.linspace(1, 3, 9), [tuninglaw.load(path / name) for name in ("first", "second")]
    for load in loads.tolist():
        before, after = (law(load=load) for law in laws)
        assert abs(before["a"] - 5) <= 1 + 1e-9 and abs(after["a"] - before["a"]) <= 2.6 + 1e-9
        assert before["b"] == 2 and abs(after["b"] - before["b"]) <= 1
    start, law = (rows_of(path / "second") for _ in range(2))
    start, law = start[start["kind"] == Kind.CHECK_CONSTANT], law[law["kind"] == Kind.CHECK]
    assert (start["x"] == laws[0](start["c"])).all()
    np.testing.assert_allclose(law["x"], laws[1](law["c"]), atol=1e-12)
    means = [measured(**laws[number](load=loads), load=loads).mean() for number in (0, 1)]
    assert means[1] < 0.7 * means[0] < 0.7 * measured(5, 2, loads).mean()


def test_a_run_goes_on_without_the_run_of_its_start_law(both, tmp_path, little_effort):
    path, _, expected, config = both
    shutil.copytree(path / "first", tmp_path / "first")
    config = dataclasses.replace(config, start_law=str(tmp_path / "first"))
    killed_at(1, config, tmp_path / "cut", ModelLearner)
    shutil.rmtree(tmp_path / "first")
    resumed = run(config, tmp_path / "cut", resume=True)
    assert resumed["policy_sha256"] == expected["policy_sha256"]
    assert resumed["check"] == expected["check"]
    assert tuninglaw.load(tmp_path / "cut")(load=1.5) == tuninglaw.load(path / "second")(load=1.5)


def test_drivers_give_the_same_bits(both, tmp_path, little_effort):
    expected, config = both[2:]
    found = run(dataclasses.replace(config, drivers=2, backend="thread"), tmp_path / "run")
    assert found["policy_sha256"] == expected["policy_sha256"]


def test_a_law_is_checked_later_beside_the_start_law(both, tmp_path, little_effort):
    path = both[0]
    shutil.copytree(path / "second", tmp_path / "run")
    check = evaluate(tmp_path / "run", pictures=False, check=30)["check"]
    assert (check["evaluations"], check["constant_knobs"]) == (30, [])
    rows = rows_of(tmp_path / "run")
    assert len(rows) == 70  # those of the earlier check are not paid again
    assert np.abs(rows["x"] - tuninglaw.load(path / "first")(rows["c"])).max() <= 0.52 + 1e-12


def test_a_bench_is_asked_within_the_limit(tmp_path, little_effort):
    config = Config(env="tests.problems:supply", evaluations=24, start_law="constant", step_limit=0.1)
    with Trainer(config, tmp_path / "run", quiet=True) as trainer:
        while points := trainer.ask():
            assert all(4 <= point.knobs["a"] <= 6 and point.knobs["b"] == 2 for point in points)
            trainer.tell({point.id: measured(**point.knobs, **point.conditions) for point in points})
    assert trainer.learner.evaluations == 24


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"start_law": None}, "--step-limit 0.1: needs --start-law beside it"),
        ({"step_limit": None}, "--start-law constant: needs --step-limit R beside it"),
        ({"step_limit": 0.0}, "--step-limit 0: must be above 0 and at most 1, a share of the range"),
        ({"step_limit": 1.5}, "--step-limit 1.5: must be above 0 and at most 1"),
        ({"model": "none"}, "--step-limit 0.1: only with a model, which a budget brings: --evaluations N"),
        ({"env": "tests.problems:amplifier"}, "has choices, of which no value is near to another"),
        ({"env": "CartPole-v1", "evaluations": None, "check": 0}, "only a tuning problem takes it"),
        ({"start_law": "nowhere"}, "--start-law nowhere: there is no such directory or file; give a run directory"),
        ({"start_law": "tests"}, "--start-law tests: there is no law.npz in it"),
        ({"start_law": "setup.cfg"}, "--start-law setup.cfg: setup.cfg is damaged, or no law"),
        ({"env": "tests.problems:limited"}, "is of another problem: env tests.problems:measured, and here env tests"),
    ],
)
def test_mistakes_are_told_in_one_line(both, changes, words, tmp_path, request):
    law = {"start_law": str(both[0] / "first")} if "another problem" in words else {}
    config = dataclasses.replace(FIRST, **law | changes)
    with pytest.raises(UsageError, match=words.replace("(", r"\(")) as told:
        run(config, tmp_path / "run")
    assert "\n" not in str(told.value) and not (tmp_path / "run").exists()


def test_nothing_is_evaluated_beyond_the_limit_to_see_how_good_the_law_is(tmp_path, little_effort):
    """Whoever tells the best knobs has f evaluated there, and everywhere for pictures."""
    for env in ("tests.problems:Quadratic", "rosenbrock"):
        with pytest.raises(UsageError, match=r"--step-limit 0\.1: --env .* tells its best knobs"):
            run(dataclasses.replace(FIRST, env=env), tmp_path / "run")
    asked = []

    @tuninglaw.objective(knobs={"a": tuninglaw.Range(-1, 1)}, conditions={"load": tuninglaw.Range(-1, 1)})
    def noted(a, load):
        asked.append(a)
        return (a - load) ** 2

    train(dataclasses.replace(FIRST, env=noted), tmp_path / "run", quiet=True)
    evaluate(tmp_path / "run", check=30)
    assert np.abs(asked).max() <= 0.2
    assert (tmp_path / "run" / "law.png").is_file()


def test_a_limit_may_be_a_whole_number_and_a_start_law_a_path(both, tmp_path, little_effort):
    config = dataclasses.replace(FIRST, start_law=both[0] / "first", step_limit=1, check=0)
    run(config, tmp_path / "run")
    assert tuninglaw.load(tmp_path / "run").about.limit.reaches == (0.1, 1.0)


def test_a_run_that_lost_its_start_law_says_so(both, tmp_path):
    shutil.copytree(both[0] / "second", tmp_path / "run")
    (tmp_path / "run" / "start_law.npz").unlink()
    (tmp_path / "run" / "summary.json").unlink()
    with pytest.raises(UsageError, match=r"there is no start_law\.npz in it, about which it was begun"):
        run(both[3], tmp_path / "run", resume=True)
