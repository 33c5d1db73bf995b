"""Every sampler draws starts within bounds that depend on the generator and the policy, not on the rows asked for."""

import itertools

import numpy as np
import pytest

from actors import NetworkSpec, Policy, Snapshot
from actors.samplers import Mix, Uncertainty, make_sampler
from actors.samplers.mix import SAMPLERS
from actors.seeding import Stream, generator
from env import UsageError

LOW, HIGH = np.array([-1.0, 2.0, -3.0]), np.array([1.0, 5.0, 0.0])
SPECS = [*SAMPLERS, "heterogeneous", "random:2,lhs:1", "lhs,uncertainty:3", "tests.problems:CornerSampler"]


def known_std_policy(obs_dim=3, weight=1.0):
    """Returns a Gaussian whose raw log std is ``weight`` times the first coordinate."""
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
class TestEverySampler:
    """The contract of ``Sampler.sample``, which a sampler of a user's own must pass as well."""

    def test_shape_and_bounds(self, spec, n):
        points = starts(spec, n)
        assert points.shape == (n, 3)
        assert (points >= LOW).all()
        assert (points <= HIGH).all()

    def test_same_generator_same_rows(self, spec, n):
        assert starts(spec, n).tobytes() == starts(spec, n).tobytes()

    def test_rows_do_not_depend_on_the_rows_beside_them(self, spec, n):
        whole = starts(spec, n)
        for shares in (2, 3, 7, 16, n):
            ends = [n * i // shares for i in range(shares + 1)]
            some = [starts(spec, n, slice(a, b)) for a, b in itertools.pairwise(ends) if a < b]
            assert np.concatenate(some).tobytes() == whole.tobytes()

    def test_rows_do_not_depend_on_what_was_asked_before(self, spec, n):
        sampler, whole = make_sampler(spec, LOW, HIGH, 32), starts(spec, n)
        for row in reversed(range(n)):
            some = sampler.sample(n, generator(1, 0, Stream.STARTS), known_std_policy(), slice(row, row + 1))
            assert some.tobytes() == whole[row : row + 1].tobytes()


@pytest.mark.parametrize("n", [30, 64])
@pytest.mark.parametrize("spec", SPECS)
def test_starts_differ_from_training_step_to_training_step(spec, n):
    assert starts(spec, n).tobytes() != starts(spec, n, step=1).tobytes()


@pytest.mark.parametrize("n", [30, 64])
def test_lhs_is_stratified_over_the_whole_step(n):
    intervals = np.floor((starts("lhs", n) - LOW) / (HIGH - LOW) * n).astype(int)
    for column in intervals.T:
        assert sorted(column) == list(range(n))


def test_random_is_not_stratified():
    intervals = np.floor((starts("random", 64) - LOW) / (HIGH - LOW) * 64).astype(int)
    assert len(set(intervals[:, 0])) < 64


@pytest.mark.parametrize("weight", [1.0, -1.0, 1e-6])
def test_uncertainty_takes_rank_r_in_proportion_to_its_weight(weight):
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
