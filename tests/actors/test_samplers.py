import itertools

import numpy as np
import pytest

from actors import NetworkSpec, Policy, Snapshot
from actors.samplers import Mix, Uncertainty, make_sampler
from actors.seeding import Stream, generator
from env import UsageError

LOW, HIGH = np.array([-1.0, 2.0, -3.0]), np.array([1.0, 5.0, 0.0])
SPECS = [
    "random",
    "lhs",
    "uncertainty",
    "heterogeneous",
    "random:2,lhs:1",
    "tests.problems:CornerSampler",
    "lhs,uncertainty:3",
]


def known_std_policy(obs_dim=3, weight=1.0):
    """A Gaussian whose raw log std is ``weight`` times the first coordinate."""
    spec = NetworkSpec(obs_dim, (), "tanh", "gaussian", 1)
    theta = np.zeros(spec.size)
    theta[1] = weight
    return Policy(Snapshot(0, spec, theta, std_floor=0.3))


def starts(spec, n, rows=None, step=0, policy=None, candidates=32):
    sampler = make_sampler(spec, LOW, HIGH, candidates)
    rng = generator(1, step, Stream.STARTS)
    return sampler.sample(n, rng, policy or known_std_policy(), rows or slice(0, n))


@pytest.mark.parametrize("n", [1, 5, 30, 64])
@pytest.mark.parametrize("spec", SPECS)
class TestContract:
    """What every sampler must do."""

    def test_shape_and_bounds(self, spec, n):
        points = starts(spec, n)
        assert points.shape == (n, 3)
        assert (points >= LOW).all()
        assert (points <= HIGH).all()

    def test_reproducible_and_different_from_step_to_step(self, spec, n):
        assert starts(spec, n).tobytes() == starts(spec, n).tobytes()
        if n > 5:
            assert starts(spec, n).tobytes() != starts(spec, n, step=1).tobytes()

    def test_same_starts_for_any_split(self, spec, n):
        whole = starts(spec, n)
        for parts in (2, 3, 7, 16, n):
            ends = [n * i // parts for i in range(parts + 1)]
            pieces = [starts(spec, n, slice(a, b)) for a, b in itertools.pairwise(ends) if a < b]
            assert np.concatenate(pieces).tobytes() == whole.tobytes()


@pytest.mark.parametrize("n", [30, 64])
def test_lhs_is_stratified_over_the_whole_step(n):
    intervals = np.floor((starts("lhs", n) - LOW) / (HIGH - LOW) * n).astype(int)
    for column in intervals.T:
        assert sorted(column) == list(range(n))


def test_random_is_not_stratified():
    intervals = np.floor((starts("random", 64) - LOW) / (HIGH - LOW) * 64).astype(int)
    assert len(set(intervals[:, 0])) < 64


@pytest.mark.parametrize("weight", [1.0, -1.0, 1e-6])
def test_uncertainty_takes_the_candidate_of_rank_r_with_a_probability_in_proportion_to_a_root_of_one_over_r(weight):
    n, m = 20_000, 5
    sampler = Uncertainty(LOW, HIGH, candidates=m)
    points = sampler.sample(n, generator(1, 0, Stream.STARTS), known_std_policy(weight=weight), slice(0, n))
    candidates = LOW + (HIGH - LOW) * generator(1, 0, Stream.STARTS).random((n, m, 3))
    above = np.sign(weight) * (candidates[:, :, 0] - points[:, None, 0]) > 1e-12  # its std grows with this coordinate
    shares = np.bincount(above.sum(axis=1), minlength=m) / n
    weights = np.arange(1, m + 1) ** -0.25
    expected = weights / weights.sum()
    assert np.abs(shares - expected).max() < 5 * np.sqrt(0.25 / n)
    assert (np.abs(candidates - points[:, None]).sum(axis=2).min(axis=1) < 1e-12).all()


def test_a_mix_gives_contiguous_shares_by_weight():
    mix = make_sampler("random:2,lhs:1,uncertainty:1", LOW, HIGH, 8)
    assert isinstance(mix, Mix)
    assert mix.shares(30) == [slice(0, 15), slice(15, 22), slice(22, 30)]
    thirds = make_sampler("heterogeneous", LOW, HIGH, 8)
    assert thirds.shares(30) == [slice(0, 10), slice(10, 20), slice(20, 30)]
    assert thirds.shares(64) == [slice(0, 21), slice(21, 43), slice(43, 64)]
    assert thirds.shares(1)[-1].stop == 1


def test_the_lhs_share_of_a_mix_is_a_design_of_its_own():
    share = starts("heterogeneous", 30)[10:20]
    intervals = np.floor((share - LOW) / (HIGH - LOW) * 10).astype(int)
    assert all(sorted(column) == list(range(10)) for column in intervals.T)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("randm", "did you mean 'random'"),
        ("random:0,lhs:1", "weight of 'random' must be above 0"),
        ("random:-1", "must be above 0"),
        ("random:nan", "must be above 0"),
        ("random,,lhs", "no sampler ''"),
        ("tests.problems:Quadratic", "must be a subclass of actors.samplers.Sampler"),
        ("tests.nowhere:Thing", "no module named"),
    ],
)
def test_a_users_mistake_is_one_line_that_names_the_flag(spec, message):
    with pytest.raises(UsageError, match=message) as caught:
        make_sampler(spec, LOW, HIGH, 8)
    assert str(caught.value).startswith("--sampler")
    assert "\n" not in str(caught.value)
