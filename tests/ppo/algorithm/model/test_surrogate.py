"""The model is an objective like any other, takes what lies near the policy, and is doubted when it predicts badly."""

import numpy as np
import pytest
from scipy.stats import norm

from ppo.algorithm.model import surrogate as module
from ppo.algorithm.model.surrogate import Surrogate
from tests.ppo.algorithm.model.processes import policy_of
from tests.problems import Quadratic

POLICY = policy_of([[0.0, 0.3], [-0.5, 0.0]])


def evaluations(n, seed=0):
    states = np.random.default_rng(seed).uniform(-1, 1, (n, 3))
    return states, Quadratic()(states[:, :2], states[:, 2:])


def surrogate(n=40, capacity=200, last=False):
    """Returns a model of the quadratic, fitted to n evaluations."""
    made = Surrogate(POLICY.spec, capacity)
    made.evidence.add(*evaluations(n))
    made.fit(POLICY, last)
    return made


@pytest.fixture
def fits(monkeypatch):
    """Returns how many points each fit so far was given, and from how many starts."""
    calls, original = [], module.fit

    def counted(states, values, starts, steps):
        calls.append((len(values), len(starts)))
        return original(states, values, starts, steps)

    monkeypatch.setattr(module, "fit", counted)
    return calls


def test_it_orders_knobs_as_f_does():
    made, (states, values) = surrogate(), evaluations(50, seed=1)
    assert not Surrogate(POLICY.spec, 10).fitted
    predicted = made(states[:, :2], states[:, 2:])
    assert predicted.shape == (50,)
    assert np.corrcoef(np.argsort(np.argsort(predicted)), np.argsort(np.argsort(values)))[0, 1] > 0.99
    assert made.dims == 3


def test_a_score_is_the_gain_over_knowing_the_mean_and_the_variance_alone():
    made, (states, values) = surrogate(), evaluations(20, seed=1)
    process = made.process
    mean, std = process.mean_and_std(states)
    std = np.sqrt(std**2 + process.variance * process.hyperparameters.noise)
    warped, known = process.warped(values), process.targets
    gains = norm.logpdf(warped, mean, std) - norm.logpdf(warped, known.mean(), known.std())
    expected = np.clip(gains, -5, 5).mean()
    assert made.score(states, values) == {"charts/model_gain": pytest.approx(expected)}
    assert made.gain == pytest.approx(expected / 2)
    made.score(states, values)
    assert made.gain == pytest.approx(0.75 * expected)


def test_a_model_that_predicts_well_is_believed_and_one_that_does_not_is_doubted():
    made, (states, values) = surrogate(), evaluations(16, seed=1)
    assert (made.gain, made.doubted) == (0.0, False)
    assert made.score(states, values)["charts/model_gain"] > 1
    assert not made.doubted
    wrong = values[::-1]
    gains = []
    for _ in range(3):
        assert made.score(states, wrong)["charts/model_gain"] < -1
        gains.append(made.gain)
    assert made.doubted
    assert gains == sorted(gains, reverse=True)
    for _ in range(4):
        made.score(states, values)
    assert not made.doubted


def test_a_single_wild_value_does_not_make_a_good_model_doubted():
    made, (states, values) = surrogate(), evaluations(16, seed=1)
    values[3] = 1e9
    assert made.score(states, values)["charts/model_gain"] > 0


def test_of_too_many_points_the_nearest_to_the_policy_are_taken_and_as_many_of_the_others(monkeypatch):
    monkeypatch.setattr(module, "MOST_POINTS", 20)
    made, (states, values) = surrogate(60), evaluations(60)
    offsets = [states[:, :2] - mean for mean in ([0.0, 0.3], [-0.5, 0.0])]
    order = np.argsort(np.min([np.hypot(*offset.T) for offset in offsets], axis=0))
    taken = [np.flatnonzero((states == state).all(axis=1)).item() for state in made.process.states]
    assert taken == sorted(taken)
    assert set(order[:10].tolist()) < set(taken)
    others = sorted(order[10:].tolist())
    assert [row for row in taken if row not in order[:10]] == [others[int(at)] for at in np.linspace(0, 49, 10)]
    assert made.process.critic().unwarped(made.process.targets) == pytest.approx(values[taken])


def test_only_components_in_use_say_what_is_near(monkeypatch):
    monkeypatch.setattr(module, "MOST_POINTS", 20)
    made = Surrogate(POLICY.spec, 60)
    made.evidence.add(*evaluations(60))
    made.fit(policy_of([[9.0, 9.0], [-0.5, 0.0], [0.9, 0.9]], live=[False, True, False]), False)
    states, _ = evaluations(60)
    order = np.argsort(np.hypot(*(states[:, :2] - [-0.5, 0.0]).T))
    near = {tuple(state) for state in states[order[:10]].tolist()}
    assert near < {tuple(state) for state in made.process.states.tolist()}


def test_up_to_the_most_all_points_are_taken():
    assert np.array_equal(surrogate(40).process.states, evaluations(40)[0])


def test_hyperparameters_are_fitted_anew_when_the_evidence_has_grown(fits):
    made = surrogate(40)
    for number, total in ((5, 45), (6, 51), (1, 52), (10, 62)):
        made.evidence.add(*evaluations(number, seed=total))
        made.fit(POLICY, False)
        assert len(made.process.states) == total  # the process has them at once
    assert fits == [(40, 2), (52, 3)]


def test_the_last_fit_is_to_all_points(fits, monkeypatch):
    monkeypatch.setattr(module, "FITTED_POINTS", 25)
    surrogate(40, last=True)
    assert fits == [(25, 2), (40, 1)]


def test_with_much_evidence_a_fit_goes_on_from_the_last_one_alone(fits, monkeypatch):
    monkeypatch.setattr(module, "BOTH_SIDES", 50)
    made = surrogate(40)
    made.evidence.add(*evaluations(60, seed=1))
    made.fit(POLICY, False)
    assert fits == [(40, 2), (100, 1)]


@pytest.mark.parametrize("most", [1000, 20], ids=["all points", "some points"])
def test_a_state_round_trip_gives_the_same_bits(most, monkeypatch):
    monkeypatch.setattr(module, "MOST_POINTS", most)
    made, other = surrogate(60), Surrogate(POLICY.spec, 200)
    made.score(*evaluations(9, seed=1))
    other.restore(made.state())
    states, _ = evaluations(30, seed=2)
    assert made(states[:, :2], states[:, 2:]).tobytes() == other(states[:, :2], states[:, 2:]).tobytes()
    assert (other.gain, other.doubted) == (made.gain, made.doubted)
    for one in (made, other):
        one.evidence.add(*evaluations(40, seed=3))
        one.fit(POLICY, False)
    assert made(states[:, :2], states[:, 2:]).tobytes() == other(states[:, :2], states[:, 2:]).tobytes()
    assert all(np.array_equal(array, other.state()[name]) for name, array in made.state().items())


def test_the_state_of_a_model_that_is_not_fitted_takes_a_model_back_to_that():
    empty, made = Surrogate(POLICY.spec, 200), surrogate()
    made.restore(empty.state())
    assert not made.fitted and len(made.evidence) == 0
