"""Noise has its size and distribution, is a function of seed and point alone, and leaves the objective untouched."""

import struct

import numpy as np
import pytest
from scipy import stats

from env import Problem, UsageError
from env.objectives import Branin, CrossingValleys, Hartmann, Noisy
from env.objectives.noisy import standard_normal
from tests.problems import Quadratic

MASK = 2**64 - 1


def split_mix(state):
    """SplitMix64 (Steele, Lea and Flood 2014) in Python's integers."""
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def states(*sizes, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, sizes)


def test_the_hash_is_split_mix_of_the_bits():
    assert split_mix(0) == 0xE220A8397B1DCDAF  # its first output with the seed 0
    for point, seed in (((0.25, -0.75), 0), ((1e-300, 1.0, -1.0), 2**64 - 1), ((0.0,), 7)):
        state = split_mix(seed)
        for value in point:
            state = split_mix(state ^ struct.unpack("<Q", struct.pack("<d", value))[0])
        first, second = ((state >> 11) + 1) / 2**53, (split_mix(state) >> 11) / 2**53
        expected = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
        assert standard_normal(np.array([point]), seed)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "points",
    [
        states(20000, 3),
        np.linspace(-1, 1, 20001)[:, None],
        np.nextafter(0.5, 1) + np.arange(20000)[:, None] * 2.0**-53,
        np.stack(np.meshgrid(np.linspace(-1, 1, 141), np.linspace(-1, 1, 141)), axis=-1).reshape(-1, 2),
    ],
    ids=["random", "line", "neighbours", "grid"],
)
def test_noise_is_normal_and_independent(points):
    noise = standard_normal(points, 0)
    assert stats.kstest(noise, "norm").pvalue > 1e-3
    for other in (noise[1:], standard_normal(points, 1), standard_normal(points[:, ::-1] + 1e-9, 0)):
        size = min(len(other), len(noise) - 1)
        assert abs(np.corrcoef(noise[:size], other[:size])[0, 1]) < 0.03


def test_the_same_point_gives_the_same_noise_again():
    points = states(50, 2)
    assert np.unique(standard_normal(np.concatenate([points, points[::-1]]), 3)).size == 50
    assert standard_normal(np.array([[0.0, 1.0]]), 3) == standard_normal(np.array([[-0.0, 1.0]]), 3)


@pytest.mark.parametrize(
    ("keywords", "objective"),
    [
        ({}, Branin()),
        ({"given": 1, "level": 0.5, "noise_seed": 9}, Branin(given=1)),
        ({"of": "hartmann", "dims": 3, "level": 0.1}, Hartmann(3)),
        ({"of": "crossing-valleys", "dims": 4, "knobs": 2, "valleys": 5}, CrossingValleys(4, 2, 5)),
        ({"of": "tests.problems:Quadratic", "dims": 3, "knobs": 2}, Quadratic()),
    ],
)
def test_noise_is_a_share_of_the_deviation_of_f(keywords, objective):
    noisy = Noisy(**keywords)
    assert (noisy.knobs, noisy.conditions) == (objective.knobs, objective.conditions)
    x, c = states(20000, noisy.knobs), states(20000, noisy.conditions, seed=1)
    f, level = objective(x, c), keywords.get("level", 0.05)
    assert noisy.noise_free(x, c).tobytes() == f.tobytes()
    noise = noisy(x, c) - f
    assert noisy.deviation == pytest.approx(level * f.std(), rel=0.03)
    assert noise.std() == pytest.approx(noisy.deviation, rel=0.03)
    assert abs(noise.mean()) < 0.03 * noisy.deviation
    for found, expected in zip(noisy.solve(c[:9]), objective.solve(c[:9]), strict=True):
        assert found.tobytes() == expected.tobytes()


def test_an_unknown_optimum_stays_unknown():
    assert Noisy(of="tests.problems:UnknownOptimum").solve(np.zeros((1, 1))) is None


def test_the_metric_suits_values_below_0():
    assert Noisy(of="rosenbrock").metric == "mse"
    assert Noisy(of="rosenbrock", level=0).metric == "msle"


def test_without_noise_f_is_the_objectives_own():
    x, c = states(100, 1), states(100, 1, seed=1)
    assert Noisy(level=0)(x, c).tobytes() == Branin()(x, c).tobytes()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"of": "brannin"}, "--env-kwargs of=brannin: unknown .did you mean 'branin'.*; known are ackley, .*Class"),
        ({"of": "noisy"}, "--env-kwargs of=noisy: unknown"),
        ({"of": 3}, "--env-kwargs of=3: unknown"),
        ({"of": "CartPole-v1"}, "--env-kwargs of=CartPole-v1: unknown"),
        ({"of": "tests.nowhere:X"}, "--env-kwargs of=tests.nowhere:X: no module named"),
        ({"of": "tests.problems:Quadratik"}, "--env-kwargs of=tests.problems:Quadratik: .*did you mean 'Quadratic'"),
        (
            {"of": "tests.problems:CountdownEnv"},
            "--env-kwargs of=.*: is a class that says nothing ",
        ),
        ({"of": "tests.problems:AbstractObjective"}, "--env-kwargs of=.*: lacks __call__"),
        ({"of": "tests.problems:ReturnsNaN"}, "--env-kwargs of=.*: its f must be finite"),
        ({"of": "tests.problems:Quadratic", "speed": 1}, "--env-kwargs of=tests.problems:Quadratic speed=1: "),
        ({"level": -1}, "--env-kwargs level=-1: must be a number of 0 or more"),
        ({"level": "high"}, "--env-kwargs level=high: must be a number of 0 or more"),
        ({"level": float("nan")}, "--env-kwargs level=nan: must be a number of 0 or more"),
        ({"noise_seed": -1}, "--env-kwargs noise_seed=-1: must be a whole number from 0 to"),
        ({"noise_seed": 0.5}, "--env-kwargs noise_seed=0.5: must be a whole number from 0 to"),
        ({"given": 3}, "--env-kwargs given=3: must be 1 or 2"),
        ({"valleys": 3}, "--env-kwargs valleys=3: --env noisy takes no keyword 'valleys'"),
    ],
)
def test_a_users_mistake_is_one_line_that_names_the_keyword(keywords, message):
    with pytest.raises(UsageError, match=f"^{message}") as caught:
        Problem("noisy", env_kwargs=keywords).objective()
    assert "\n" not in str(caught.value)


def test_sizes_of_an_objective_with_its_own_must_be_those():
    with pytest.raises(UsageError, match=r"^--dims 4: must be 3, which --env-kwargs of=tests.problems:Quadratic sets"):
        Problem("noisy", dims=4, env_kwargs={"of": "tests.problems:Quadratic"}).objective()
    with pytest.raises(UsageError, match=r"^--dims 5: must be 3, 4 or 6"):
        Problem("noisy", dims=5, env_kwargs={"of": "hartmann"}).objective()
