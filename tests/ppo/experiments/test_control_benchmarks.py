"""The peers are watched alike: what looking takes is not counted, and the ratio is that of medians."""

import time

import numpy as np
import pytest

from ppo.experiments import control_benchmarks as measured


def test_looking_at_a_policy_is_not_counted(monkeypatch):
    def returns(problem, controller, episodes):
        assert (problem.env, episodes) == ("CartPole-v1", 20)
        time.sleep(0.2)
        return np.full(episodes, controller.act(None))

    monkeypatch.setattr(measured, "held_out_returns", returns)
    watch = measured._Watch()
    assert not watch.solved(lambda obs: 474.9)
    assert watch.solved(lambda obs: 475.0)
    assert watch.seconds < 0.1


@pytest.mark.parametrize("script", [None, "ppo.py"])
def test_a_row_has_medians_of_all_sides(monkeypatch, script):
    monkeypatch.setattr(measured, "_ours", lambda seed: (seed - 70.0, 1000))
    monkeypatch.setattr(measured, "_stable_baselines3", lambda seed: (10.0 * (seed - 70), 2000))
    monkeypatch.setattr(measured, "_cleanrl", lambda path, seed: (6.0, 3000))
    monkeypatch.delenv(measured.CLEANRL, raising=False)
    if script:
        monkeypatch.setenv(measured.CLEANRL, script)
    ours, peer, ratio, target = measured.cart_pole("1/5")
    assert (ours, target) == ("3.00 s (1,000 time steps)", "1/5")
    assert peer == "30.00 s (2,000 time steps)" + ("; CleanRL 6.00 s (3,000 time steps)" if script else "")
    assert ratio == "1/10.0" + (", CleanRL 1/2.0" if script else "")
