"""What a run with a model leaves: a law that is good, the same in any unit of f, and the same wherever it is loaded."""

import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from actors import Law
from env import OBJECTIVES
from ppo import Config, resolve
from ppo.algorithm.model import learner as module
from ppo.algorithm.model import settling
from ppo.algorithm.model.settling import Effort
from ppo.algorithm.model.surrogate import Surrogate
from ppo.evaluate import evaluate
from ppo.evaluation.check import check_starts
from ppo.train import train
from ppo.training.trainer import Trainer
from tests.ppo.training.test_archiving import ROOT
from tests.ppo.training.test_model_runs import counted
from tests.problems import Quadratic

CONFIG = Config(env="tests.problems:Quadratic", evaluations=64, hidden_sizes=(8,), drivers=0, seed=4)
C = np.linspace(-1, 1, 201)[:, None]


@pytest.fixture
def enough_effort(monkeypatch):
    """Lets a law be made quickly that is good enough to compare."""
    for name in ("STEPS_A_ROUND", "LAST_STEPS"):
        monkeypatch.setattr(module, name, 2)
    monkeypatch.setattr(Effort, "last", classmethod(lambda cls, knobs: cls(64, 20)))


@pytest.fixture
def a_critic(monkeypatch):
    """Lets each law have several components and a critic."""
    monkeypatch.setattr(settling, "ONE_SUFFICES", -np.inf)
    monkeypatch.setattr(module, "gate_suffices", lambda policy, model, rng: False)


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


@pytest.mark.usefixtures("enough_effort")
@pytest.mark.parametrize("env", ["rosenbrock", "branin"])
def test_a_law_is_far_better_than_the_best_constant_knobs(env, tmp_path):
    config = Config(env=env, evaluations=64, drivers=0)
    summary = run(config, tmp_path / "run")
    assert summary["objective_evaluations"] == 64
    assert summary["regret"]["median"] < 0.02 * summary["regret"]["constant_median"]
    objective = config.problem().objective()
    law = Law.load(tmp_path / "run" / "law.npz")
    regret = objective(law(C), C) - objective.solve(C)[1]
    constants = [np.mean(objective(np.full((201, objective.knobs), x), C)) for x in np.linspace(-1, 1, 101)]
    assert np.mean(regret) < 0.1 * (min(constants) - np.mean(objective.solve(C)[1]))


@pytest.mark.usefixtures("little_effort", "a_critic")
@pytest.mark.parametrize("critic", [True, False])
def test_law_npz_gives_the_same_knobs_without_torch(critic, tmp_path, monkeypatch):
    if not critic:
        monkeypatch.setattr(module, "gate_suffices", lambda policy, model, rng: True)
    with Trainer(resolve(CONFIG), tmp_path / "run", quiet=True) as trainer:
        list(trainer)
        trainer.finish(pictures=False)
        snapshot = trainer.learner.snapshot()
        own = Law(snapshot)(C)
    program = (
        "import sys, numpy; from actors.law import Law; law = Law.load(sys.argv[1]); "
        "assert not {'torch', 'scipy', 'ppo'} & set(sys.modules); "
        "numpy.save(sys.argv[2], law(numpy.linspace(-1, 1, 201)[:, None]))"
    )
    law, found = tmp_path / "run" / "law.npz", tmp_path / "knobs.npy"
    subprocess.run([sys.executable, "-c", program, str(law), str(found)], check=True, cwd=ROOT)
    assert np.load(found).tobytes() == own.tobytes()
    assert [Law.load(law)(c).tolist() for c in C[:9]] == own[:9].tolist()  # one condition at a time
    assert (snapshot.critic is not None) == critic
    if critic:
        means = trainer.learner.policy.proposals(np.concatenate([np.zeros((201, 2)), C], axis=1))
        live = np.flatnonzero(trainer.learner.live)
        states = [np.concatenate([np.clip(means[:, one], -1, 1), C], axis=1) for one in live]
        expected = np.stack([snapshot.critic.mean(state) for state in states], axis=1)
        best = live[expected.argmin(axis=1)]
        assert own.tolist() == np.clip(means[np.arange(201), best], -1, 1).tolist()


@pytest.mark.usefixtures("little_effort", "a_critic")
def test_f_times_a_power_of_two_gives_the_same_law(tmp_path):
    snapshots, rows = [], []
    for env in ("Quadratic", "ScaledQuadratic"):  # 1,024 f
        config = resolve(dataclasses.replace(CONFIG, env=f"tests.problems:{env}"))
        with Trainer(config, tmp_path / env, quiet=True) as trainer:
            list(trainer)
            snapshots.append(trainer.learner.snapshot())
            rows.append(trainer.learner.surrogate.evidence.states.tobytes())
    ours, scaled = snapshots
    assert rows[0] == rows[1]
    assert scaled.theta.tobytes() == ours.theta.tobytes()
    assert Law(scaled)(C).tobytes() == Law(ours)(C).tobytes()
    for name in ("states", "weights", "lengths"):
        assert getattr(scaled.critic, name).tobytes() == getattr(ours.critic, name).tobytes()
    # Of the scalars, the lowest value and the range are in the unit of f.
    assert scaled.critic.scalars.tolist() == (ours.critic.scalars * [1, 1, 1, 1, 1, 1024, 1024, 1]).tolist()


@pytest.mark.usefixtures("enough_effort")
@pytest.mark.parametrize(
    ("problem", "offset"),
    [
        ({"env": "branin"}, {"env": "tests.problems:OffsetBranin"}),
        ({"env": "branin", "env_kwargs": {"given": 1}}, {"env": "tests.problems:OffsetBranin"}),
        ({"env": "hartmann", "dims": 4, "knobs": 2}, {"env": "tests.problems:OffsetHartmann"}),
    ],
)
def test_another_unit_and_zero_of_f_change_the_regret_by_a_tenth_at_the_most(problem, offset, tmp_path):
    objective = Config(**problem).problem().objective()
    c = np.random.default_rng(0).uniform(-1, 1, (200, objective.conditions))
    shared = {"env_kwargs": problem.get("env_kwargs", {}), "evaluations": 64, "drivers": 0, "check": 0}
    factors = []
    for seed in range(5):  # a last bit may change a regret of a millionth of f's range by more
        regrets = []
        for path, fields in ((tmp_path / f"f{seed}", problem), (tmp_path / f"offset{seed}", offset)):
            run(Config(seed=seed, **shared | fields), path)
            law = Law.load(path / "law.npz")
            regrets.append(np.mean(objective(law(c), c) - objective.solve(c)[1]))
        factors.append(regrets[1] / regrets[0])
    assert np.median(factors) == pytest.approx(1, rel=0.1)


@pytest.mark.usefixtures("little_effort", "a_critic")
@pytest.mark.parametrize("drivers", [0, 3])
def test_scores_and_the_check_are_those_of_the_law_with_its_critic(drivers, tmp_path):
    config = dataclasses.replace(CONFIG, eval_every=2, check=30, drivers=drivers)
    summary = run(config, tmp_path / "run")
    law = Law.load(tmp_path / "run" / "law.npz")
    lines = (tmp_path / "run" / "metrics.csv").read_text().splitlines()
    assert [int(line.split(",")[0]) for line in lines[1:]] == [2, 3]
    c = np.linspace(-1, 1, 21)[:, None]
    assert summary["eval"]["final"] == pytest.approx(np.mean(Quadratic()(law(c), c) ** 2), rel=1e-9)
    conditions = np.unique(check_starts(config.seed, 10, 2, 1)[:, 2:], axis=0)
    assert summary["check"]["law_mean"] == pytest.approx(Quadratic()(law(conditions), conditions).mean(), rel=1e-9)
    constant = np.tile(summary["check"]["constant_knobs"], (len(conditions), 1))
    assert summary["check"]["constant_mean"] == pytest.approx(Quadratic()(constant, conditions).mean(), rel=1e-9)


@pytest.mark.usefixtures("little_effort", "a_critic")
def test_a_run_with_a_model_is_evaluated(tmp_path):
    config = dataclasses.replace(CONFIG, drivers=2)
    run(config, tmp_path / "run")
    found = evaluate(tmp_path / "run", pictures=False, check=15)
    law = Law.load(tmp_path / "run" / "law.npz")
    assert found["regret_median"] == pytest.approx(np.median(Quadratic()(law(C), C)), rel=1e-6)
    assert found["check"] == run(dataclasses.replace(config, check=15), tmp_path / "checked")["check"]


@pytest.mark.usefixtures("little_effort")
def test_a_law_is_drawn_and_told(tmp_path, capsys):
    config = Config(env="branin", evaluations=32, hidden_sizes=(8,), drivers=0, eval_every=1)
    train(config, tmp_path / "run")
    shown = capsys.readouterr()
    assert {"law.png", "curves.png"} <= set(os.listdir(tmp_path / "run"))
    assert "32 evaluations of f" in shown.out
    assert "32/32" in shown.err
    written = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (written["model"], written["components"], written["training_steps"]) == ("gp", 6, 2)


@pytest.mark.usefixtures("little_effort")
def test_how_well_the_model_predicts_is_shown(tmp_path, capsys):
    """In the bar, in the summary and, where nothing is evaluated in between, as events of each training step."""
    pytest.importorskip("tensorboard", reason="the extra track")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    summary = train(CONFIG, tmp_path / "run", track=True, pictures=False)
    assert " nats" in capsys.readouterr().err
    assert "left to gain" in summary["model"]["words"] and summary["model"]["gain"] > 0
    events = EventAccumulator(str(tmp_path / "run")).Reload()
    assert [event.step for event in events.Scalars("charts/model_gain")] == [2, 3]
    assert not (tmp_path / "run" / "metrics.csv").exists()


@pytest.mark.usefixtures("little_effort")
def test_every_fit_is_made_on_one_thread(tmp_path, monkeypatch):
    """The number of threads may change the last bits of a product, in the fit to reused evaluations too."""
    run(counted(tmp_path / "count"), tmp_path / "first")
    threads, original = [], Surrogate.fit

    def fit(self, policy, std_floor, last=False):
        threads.append({pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"})
        original(self, policy, std_floor, last)

    monkeypatch.setattr(Surrogate, "fit", fit)
    with threadpool_limits(2, "blas"):
        run(counted(tmp_path / "count", seed=1, check=0, reuse=(str(tmp_path / "first"),)), tmp_path / "second")
    assert threads == [{1}] * 4


@pytest.mark.parametrize("env", ["rosenbrock", "branin"])
def test_a_configuration_that_was_resolved_is_resolved_to_itself(env):
    assert env in OBJECTIVES
    once = resolve(Config(env=env, evaluations=64))
    assert resolve(once) == once and once.model == "gp"
