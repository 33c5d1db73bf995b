import statistics

import numpy as np
import pytest

from env import Problem, UsageError
from ppo.bench import FIGURES, _dealing
from ppo.config.command_line import parse_as
from ppo.experiments.stable_baselines3 import LeanAckley
from ppo.experiments.workloads import LognormalCostAckley, RecordedAckley, collect_seconds, collecting, running, step_ms
from ppo.study import Arguments


def test_random_costs_are_lognormal_with_mean_20_and_cv_1_and_belong_to_the_row():
    states = np.random.default_rng(0).uniform(-1, 1, (20000, 2))
    costs = LognormalCostAckley().milliseconds(states[:, :1], states[:, 1:])
    assert statistics.mean(costs) == pytest.approx(20, rel=0.03)
    assert statistics.stdev(costs) / statistics.mean(costs) == pytest.approx(1, rel=0.1)
    assert LognormalCostAckley().milliseconds(states[5:6, :1], states[5:6, 1:]) == costs[5:6]


def test_dealing_is_simulated_on_the_draws_of_the_step():
    alone, ideal = _dealing(3, 1)
    assert alone == pytest.approx(ideal)
    many, share = _dealing(3, 64)
    assert share == pytest.approx(alone / 64)
    assert many >= max(np.sum(RecordedAckley.calls, axis=0)) / 1000 - 1e-9  # nobody is quicker than the slowest slot


def test_the_peers_environment_is_the_same_problem():
    env = LeanAckley()
    obs, _ = env.reset(seed=3)
    objective = Problem("ackley").objective()
    start = objective(np.array([[env.x]]), np.array([[env.c]]))[0]
    assert env.value == pytest.approx(start)
    obs, reward, terminated, _, _ = env.step(np.array([0.25], np.float32))
    after = objective(np.array([[0.25]]), np.array([[env.c]]))[0]
    assert reward == pytest.approx(start - after)
    assert obs.tolist() == pytest.approx([0.25, env.c])
    assert not terminated
    assert env.step(np.array([0.0], np.float32))[2]


def test_measurements_run():
    import dataclasses

    from ppo.experiments.workloads import STANDARD

    with running(dataclasses.replace(STANDARD, drivers=2)) as run:
        assert step_ms(run, 3) > 0
        assert run.timing.medians()["collect"] > 0
    with collecting(Problem("ackley"), 2) as pool:
        assert min(collect_seconds(pool, range(3))) > 0
    assert all(callable(measure) for measure in FIGURES.values())


@pytest.mark.parametrize("argv", [["scalling"], [], ["scaling", "--ouut", "x"]])
def test_a_mistake_is_one_line(argv):
    with pytest.raises(UsageError) as caught:
        parse_as(Arguments, "python -m ppo.study", argv)
    assert "\n" not in str(caught.value)
