"""The study of the lag times and trains each workload with each lag once, and says what it could not do."""

import dataclasses

import pytest

from ppo import Config, resolve
from ppo.studies import lag
from ppo.studies.runs import Options

TINY = Config(env="sphere", training_steps=4, hidden_sizes=(8,), update_epochs=2)


@pytest.fixture
def tiny(monkeypatch):
    """One workload and one problem, both small, with two drivers and two lags."""
    monkeypatch.setattr(lag, "LAGS", (0, 1))
    monkeypatch.setattr(lag, "DRIVERS", 2)
    monkeypatch.setattr(lag, "workloads", lambda: {"sphere": TINY})
    monkeypatch.setattr(lag, "problems", lambda: {"sphere": TINY})
    monkeypatch.setattr(lag, "_mujoco", lambda: False)


def test_each_row_is_measured_once(tiny, tmp_path, capsys):
    lag.run(Options(tmp_path, 1, True, None))
    first = {path.name: path.read_text() for path in tmp_path.glob("*.csv")}
    rows = [line.split(",")[0] for line in first["errors.csv"].splitlines()[1:]]
    assert sorted(rows) == ["sphere/3/lag 0/401", "sphere/3/lag 1/401"]
    assert len(first["times.csv"].splitlines()) == 3
    shown = capsys.readouterr().out
    assert "| sphere, lag 1 |" in shown
    assert "| sphere | 1 | mse |" in shown
    assert "HalfCheetah-v5 was left out" in shown
    lag.run(Options(tmp_path, 1, True, None))
    assert {path.name: path.read_text() for path in tmp_path.glob("*.csv")} == first


def test_a_group_can_be_done_alone(tiny, tmp_path):
    lag.run(Options(tmp_path, 1, True, "times"))
    assert [path.name for path in tmp_path.glob("*.csv")] == ["times.csv"]
    lag.run(Options(tmp_path, 1, True, "errors"))  # and the report keeps what was there
    text = (tmp_path / "lag.md").read_text()
    assert "| sphere, lag 1 |" in text
    assert "| sphere | 1 | mse |" in text


def test_all_that_is_timed_or_learned_can_take_a_lag(monkeypatch):
    monkeypatch.setattr(lag, "_mujoco", lambda: False)
    for config in [*lag.workloads().values(), *lag.problems().values()]:
        assert resolve(dataclasses.replace(config, lag=2)).lag == 2
    seeds = [(run.config.lag, run.config.seed) for run in lag.runs_of("ackley", 10, False)]
    assert seeds == [(n, seed) for n in (0, 1, 2) for seed in range(401, 411)]
