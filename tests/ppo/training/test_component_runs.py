"""A run of several components without a model: same bits whoever collects and however it is cut, nothing paid twice."""

import dataclasses
import os

import pytest

from ppo import Config
from ppo.algorithm.valleys import ComponentsLearner
from ppo.train import train
from ppo.training.run_dir import RunDir
from tests.ppo.training.test_archiving import facts, law_of, without
from tests.ppo.training.test_invariance import Killer
from tests.ppo.training.test_resume import killed_at

CONFIG = Config(
    env="tests.problems:Counted",
    evaluations=720,
    model="none",
    components=3,
    hidden_sizes=(8,),
    update_epochs=2,
    eval_every=4,
    drivers=0,
)


def counted(path, seconds=0.0, **changes):
    return dataclasses.replace(CONFIG, env_kwargs={"path": str(path), "seconds": seconds}, **changes)


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run in one go: its directory, and its summary."""
    path = tmp_path_factory.mktemp("whole")
    return path / "run", run(counted(path / "count"), path / "run")


@pytest.fixture
def same(whole, bits):
    """Checks that a run is the same as the one in one go."""

    def check(path, summary):
        assert bits(path, summary) == bits(*whole)
        assert facts(path) == facts(whole[0])
        assert law_of(path) == law_of(whole[0])

    return check


@pytest.mark.parametrize(("backend", "drivers"), [("process", 1), ("process", 3), ("process", 16), ("thread", 3)])
def test_same_bits_whoever_collects(backend, drivers, same, tmp_path):
    config = counted(tmp_path / "count", drivers=drivers, backend=backend)
    same(tmp_path / "run", run(config, tmp_path / "run"))


def test_same_bits_when_drivers_are_killed(same, tmp_path):
    killer = Killer(kills=4)
    killer.start()
    summary = run(counted(tmp_path / "count", 0.004, drivers=3), tmp_path / "run")
    assert summary["driver_restarts"] > 1
    same(tmp_path / "run", summary)


@pytest.mark.parametrize(("step", "alone"), [(3, False), (3, True), (11, False), (11, True)])
def test_killed_and_resumed_from_its_checkpoint_or_the_archive_alone(step, alone, same, whole, tmp_path):
    assert step < whole[1]["training_steps"]
    config = counted(tmp_path / "count", checkpoint_every=2)
    killed_at(step, config, tmp_path / "run", ComponentsLearner)
    if alone:
        without(tmp_path / "run", "checkpoint.npz", "law.npz", "metrics.csv")
    summary = run(RunDir(tmp_path / "run").config(), tmp_path / "run", resume=True)
    same(tmp_path / "run", summary)
    spent = summary["objective_evaluations"] + summary["eval_evaluations"]
    assert os.path.getsize(tmp_path / "count") == spent  # not one was paid for again
