"""Controllers act as their formulas say, and reach returns on TempControl that were computed apart from this code."""

import numpy as np
import pytest

from env import TempControlVectorEnv
from env.controllers import PID, Constant


def mean_return(controller, seeds=range(1000, 1100)):
    env = TempControlVectorEnv(len(seeds), load_rounds=0)
    obs, _ = env.reset(seed=list(seeds))
    controller.reset(len(seeds))
    total, truncated = np.zeros(len(seeds)), np.zeros(1, bool)
    while not truncated.any():
        obs, rewards, _, truncated, _ = env.step(controller.act(obs))
        total += rewards
    return total.mean()


def test_pid_by_hand():
    controller = PID(gain=0.1, integral_time=10.0, derivative_time=2.0, bias=0.05)
    controller.reset(2)
    first = controller.act(np.array([[2.0, 0.5], [0.0, 0.0]]))
    assert first[:, 0] == pytest.approx([0.1 * (2 + 0.2 + 1.0) + 0.05, 0.05])
    second = controller.act(np.array([[1.0, -1.0], [0.0, 0.0]]))
    assert second[:, 0] == pytest.approx([0.1 * (1 + 0.3 - 2.0) + 0.05, 0.05])


def test_the_integral_does_not_wind_up_at_a_limit():
    controller = PID(gain=0.1, integral_time=10.0)
    controller.reset(1)
    for _ in range(50):
        assert controller.act(np.array([[30.0, 0.0]])) == 1
    assert controller.act(np.array([[-1.0, 0.0]]))[0, 0] == pytest.approx(0.1 * (-1 - 0.1))  # nothing to unwind


@pytest.mark.parametrize(
    ("controller", "mean"),
    [
        (Constant(0.0), -36_872),
        (Constant(1.0), -10_825),
        (PID(0.083, 40.0), -2_821),
        (PID(0.2, 10.0, 2.5), -2_658),
        (PID(0.13, 20.0, 2.0), -2_647),
        (PID(0.083, bias=0.594), -2_647),
    ],
    ids=["nothing", "full power", "PI by SIMC", "PID by Ziegler and Nichols", "best PID of a grid", "P with a bias"],
)
def test_mean_returns_on_temp_control(controller, mean):
    """Means over 100 other seeds; within 3 standard errors of two such means, and how windup is kept off differs."""
    assert mean_return(controller) == pytest.approx(mean, abs=3 * 400 * (2 / 100) ** 0.5)


def test_differences_on_the_same_episodes():
    """Differences of the means above; the same noise for both leaves them much surer than each mean."""
    simc, ziegler, grid = (mean_return(PID(*gains)) for gains in ((0.083, 40.0), (0.2, 10.0, 2.5), (0.13, 20.0, 2.0)))
    assert ziegler - simc == pytest.approx(163, abs=15)
    assert 0 < grid - ziegler < 40  # 11 there, with windup kept off in another way
