"""--record keeps the time steps of an environment that is no tuning problem."""

import dataclasses

import numpy as np

from ppo import Config
from ppo.data.archive import NAME, read_archive
from ppo.data.rows import in_order
from ppo.training.run_dir import RunDir
from tests.ppo.training.test_resume import killed_at, run


def test_an_environment_is_recorded_only_if_asked_to(tmp_path):
    config = Config(env="CartPole-v1", training_steps=2, time_steps=20, episodes=4, eval_every=1, drivers=0)
    plain = run(config, tmp_path / "plain")
    assert not (tmp_path / "plain" / NAME).exists()
    recorded = run(dataclasses.replace(config, record=True), tmp_path / "recorded")
    assert recorded["policy_sha256"] == plain["policy_sha256"]
    rows = read_archive(tmp_path / "recorded" / NAME, "").rows
    assert len(rows) == 2 * 20 * 4
    assert rows.dtype.names[4:7] == ("obs", "action", "reward")
    assert (rows["reward"] == 1).all()
    assert np.isin(rows["action"], (0, 1)).all()


def test_a_resumed_environment_records_each_time_step_once(tmp_path):
    sizes = {"training_steps": 6, "time_steps": 20, "episodes": 4}
    config = Config(env="CartPole-v1", **sizes, eval_every=0, drivers=0, record=True)
    whole = run(config, tmp_path / "whole")
    killed_at(4, dataclasses.replace(config, checkpoint_every=3), tmp_path / "cut")
    resumed = run(RunDir(tmp_path / "cut").config(), tmp_path / "cut", resume=True)
    assert resumed["policy_sha256"] == whole["policy_sha256"]
    keys = ["kind", "step", "slot", "time_step", "reward"]
    rows = [in_order(read_archive(tmp_path / name / NAME, "").rows)[keys].tolist() for name in ("whole", "cut")]
    assert rows[0] == rows[1]
