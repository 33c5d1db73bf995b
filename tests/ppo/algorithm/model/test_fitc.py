"""A process that is informed of more evaluations than it takes is nearly the process of all of them."""

import numpy as np
import pytest

from ppo.algorithm.model import fits
from ppo.algorithm.model.evidence import Evidence
from ppo.algorithm.model.fitc import informed
from ppo.algorithm.model.fits import Fit
from ppo.algorithm.model.frame import Frame
from ppo.algorithm.model.gaussian_process import Hyperparameters, factored
from ppo.algorithm.model.posterior import Posterior
from tests.ppo.algorithm.model.processes import policy_of

NOISE = 0.3
HYPER = Hyperparameters(np.array([1.0, 1.5]), 0.15, 50.0, "low", "rbf")


def smooth(states):
    return np.sin(3 * states[:, 0]) + states[:, 1] ** 2


def noisy(n, seed=0):
    rng = np.random.default_rng(seed)
    states = rng.uniform(-1, 1, (n, 2))
    return states, smooth(states) + NOISE * rng.standard_normal(n)


ASKED = np.random.default_rng(1).uniform(-1, 1, (300, 2))


@pytest.mark.parametrize("kernel", ["matern", "rbf"])
def test_what_a_process_takes_tells_it_nothing_new(kernel):
    process = factored(*noisy(60), Hyperparameters(HYPER.lengths, 0.15, 0.3, "high", kernel))
    again = informed(process, *noisy(60))
    for ours, theirs in zip(again.mean_and_std(ASKED), process.mean_and_std(ASKED), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4)
    assert again.repeats == 1


def test_it_predicts_as_a_process_that_takes_all():
    states, values = noisy(2000)
    process, everything = factored(states[:100], values[:100], HYPER), factored(states, values, HYPER)
    found = informed(process, states, values)
    errors = [one.unwarped(one.mean(ASKED)) - smooth(ASKED) for one in (process, everything, found)]
    sizes = [np.sqrt(np.mean(error**2)) for error in errors]
    assert sizes[2] < 1.1 * sizes[1] < 0.4 * sizes[0]
    stds = [one.mean_and_std(ASKED)[1] / one.variance**0.5 for one in (everything, found)]
    assert stds[1] == pytest.approx(stds[0], rel=0.05)
    assert np.array_equal(process.weights, factored(states[:100], values[:100], HYPER).weights)  # it is left as it was


def test_what_asks_a_process_may_ask_one_that_is_informed():
    states, values = noisy(900)
    found = informed(factored(states[:90], values[:90], HYPER), states, values)
    mean, std = found.mean_and_std(ASKED)
    for ours, theirs in zip(Posterior(found, 1).mean_and_std(ASKED), (mean, std), strict=True):
        assert ours == pytest.approx(theirs)
    critic = found.critic()
    assert critic.mean(ASKED) == pytest.approx(mean)
    assert 0.5 < np.median(critic.std(ASKED) / std) < 2  # as if each state were evaluated ten times
    with pytest.raises(AssertionError, match="others"):
        found.left_out_density()


def evidence(n, of=noisy):
    made = Evidence(2, n)
    made.add(*of(n))
    return made


def exact(n):
    states, _ = noisy(n)
    return states, smooth(states)


@pytest.mark.parametrize(
    ("taken", "of", "noise", "frame", "repeats"),
    [
        (50, noisy, 0.15, None, 4.0),
        (200, noisy, 0.15, None, 1.0),
        (50, exact, 1e-9, None, 1.0),
        (50, noisy, 0.15, Frame(policy_of([[0.0]]), 2.0), 1.0),
    ],
)
def test_a_process_of_the_whole_range_is_informed_where_f_has_noise(taken, of, noise, frame, repeats):
    fit = Fit(np.arange(taken), Hyperparameters(HYPER.lengths, noise, 50.0, "low", "rbf"), frame)
    assert fit.informed(evidence(200, of)).repeats == repeats


def test_it_is_informed_of_so_many_evaluations_as_are_quick(monkeypatch):
    monkeypatch.setattr(fits, "INFORMING", 100 * 50**2)
    assert Fit(np.arange(50), HYPER).informed(evidence(200)).repeats == 2


def test_it_stays_as_it_was_where_the_others_cannot_inform_it():
    """Noise is so small beside the variance of f that what the evaluations say is lost to rounding."""
    fit = Fit(np.arange(150), Hyperparameters(np.full(2, 40.0), 1e-11, 50.0, "low", "rbf"))
    assert np.isfinite(fit.informed(evidence(200)).mean(ASKED)).all()
