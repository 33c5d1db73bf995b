"""Ten seeds side by side are measured beside one."""

import dataclasses

from ppo.experiments import seeds_benchmarks as measured
from ppo.experiments.workloads import STANDARD


def test_ten_seeds_are_measured_beside_one(monkeypatch):
    monkeypatch.setattr(measured, "BLOCKS", 1)
    small = dataclasses.replace(STANDARD, episodes=4, hidden_sizes=(4,), update_epochs=1, drivers=0)
    ten, one, ratio, target = measured.ten_seeds(small, "7 times")
    assert float(ten.removesuffix(" ms")) > float(one.removesuffix(" ms for one"))
    assert 1 < float(ratio.removesuffix(" times")) < 100 and target == "7 times"
