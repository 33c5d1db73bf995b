"""A search finds the knobs of which the model expects least, wherever they are, and starts from the components too."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize

from actors import Policy
from env.coordinates import snapped
from ppo.algorithm.model import search
from ppo.algorithm.model.frame import Frame
from ppo.algorithm.model.gaussian_process import GaussianProcess, Hyperparameters
from ppo.algorithm.model.search import best_constant, expected, expected_at, polished, prospect
from tests.ppo.algorithm.model.processes import Crossing, drawn, policy_of, process
from tests.problems import Quadratic

POLICY = policy_of([[0.0, 0.3], [-0.5, 0.0], [2.0, -3.0]])
C = np.linspace(-1, 1, 40)[:, None]


def of(number):
    return np.random.default_rng(number)


def test_what_is_expected_of_many_knobs_is_what_is_expected_of_each(model):
    knobs, conditions = of(0).uniform(-1, 1, (4, 5, 2)), of(1).uniform(-1, 1, (4, 1))
    found = expected_at(model, knobs, conditions)
    for row in range(4):
        for column in range(5):
            state = np.concatenate([knobs[row, column], conditions[row]])
            assert found[row, column] == pytest.approx(model.mean(state[None])[0], abs=1e-9)
    assert expected(model, knobs[:, 2], conditions) == pytest.approx(found[:, 2], abs=1e-9)


def test_a_prospect_finds_the_known_minimum(model):
    conditions = np.linspace(-1, 1, 21)[:, None]
    found = prospect(model, POLICY, conditions, of(0))
    assert np.abs(found.knobs - Quadratic().best(conditions)).max() < 1e-3
    assert np.abs(found.expected - expected_at(model, found.knobs[:, None], conditions)[:, 0]).max() < 1e-9
    assert (found.expected <= found.proposed).all()


def test_a_prospect_says_which_component_is_best_within_the_bounds(model):
    means = np.array([[0.0, 0.3], [-0.5, 0.0], [1.0, -1.0]])  # the last one is clipped
    conditions = of(1).uniform(-1, 1, (50, 1))
    found = prospect(model, POLICY, conditions, of(0))
    values = expected_at(model, np.broadcast_to(means, (50, 3, 2)), conditions)
    assert found.proposed == pytest.approx(values.min(axis=1))
    assert found.chosen.tolist() == values.argmin(axis=1).tolist()
    assert set(found.chosen) == {0, 1}


def test_a_prospect_asks_components_in_use_alone(model):
    policy = policy_of([[0.0, 0.3], [-0.5, -0.9], [0.3, 0.3]], live=[False, True, False])
    found = prospect(model, policy, of(1).uniform(-1, 1, (9, 1)), of(0))
    assert found.chosen.tolist() == [1] * 9


def test_a_prospect_starts_from_a_component_in_a_hole_that_spread_knobs_miss():
    """One deep hole far narrower than the distance of the spread knobs, among shallow ones: only a component knows."""
    states = np.concatenate([[[0.123, 0.456, 0.0]], of(1).uniform(-1, 1, (400, 3)) * [1, 1, 0]])
    values = np.where(states[:, 0] < -0.2, -1.0, 0.0)
    values[0] = -5.0
    model = GaussianProcess(states, values, Hyperparameters(np.array([0.02, 0.02, 1.0]), 1e-4, 10.0, "low", "rbf"))
    for seed in (0, 2, 3):  # by 1, a spread knob happens to lie in the hole
        lost = prospect(model, policy_of([[-0.9, -0.9]] * 2), np.zeros((1, 1)), of(seed))
        found = prospect(model, policy_of([[-0.9, -0.9], [0.12, 0.46]]), np.zeros((1, 1)), of(seed))
        assert model.unwarped(lost.expected)[0] > -2 and lost.knobs[0, 0] < 0
        assert model.unwarped(found.expected)[0] == pytest.approx(-5, abs=0.05)
        assert found.knobs[0] == pytest.approx([0.123, 0.456], abs=0.005)
        assert found.chosen.tolist() == [1]


def test_a_prospect_finds_the_better_of_two_valleys(valleys):
    """The components know of one of them alone."""
    grid = np.linspace(-1, 1, 401)[:, None]
    for mean in (-0.6, 0.6):
        found = prospect(valleys, policy_of([[mean]]), C, of(0))
        assert np.abs(found.knobs - Crossing().best(C)).max() < 1e-3
        least = expected_at(valleys, np.broadcast_to(grid, (40, 401, 1)), C).min(axis=1)
        assert (found.expected <= least).all()


def test_a_prospect_of_a_process_in_a_frame_stays_in_its_window():
    """The window of 0.1 about (0.8, 0.95) is cut off by the bounds, and the best knobs lie outside of it."""
    states, policy = of(0).uniform(-1, 1, (60, 3)), policy_of([[0.8, 0.95]])
    states[:, :2] = [0.8, 0.95] + 0.1 * states[:, :2]
    values = Quadratic()(states[:, :2], states[:, 2:])
    hyper = Hyperparameters(np.full(3, 5.0), 1e-6, 10.0, "low", "rbf")
    model = GaussianProcess(states, values, hyper, Frame(policy, 0.1))
    found = prospect(model, policy, C, of(0))
    assert np.abs(found.knobs - [0.7, 0.85]).max() < 1e-9
    assert (found.expected < found.proposed).all()


def test_a_prospect_is_a_function_of_its_arguments(model):
    first, again = (prospect(model, POLICY, C, of(0)) for _ in range(2))
    for name in ("conditions", "knobs", "expected", "proposed", "chosen"):
        assert getattr(first, name).tobytes() == getattr(again, name).tobytes()


@pytest.mark.parametrize(("n", "knobs", "conditions"), [(1, 1, 1), (2, 1, 1), (5, 2, 3), (5, 3, 1)])
def test_a_prospect_of_few_evaluations_is_finite_and_within_the_bounds(n, knobs, conditions):
    states, values = drawn(n, knobs + conditions)
    ours = GaussianProcess(states, values, Hyperparameters(np.ones(knobs + conditions), 1e-4, 1.0, "low"))
    found = prospect(ours, policy_of(np.zeros((1, knobs)), conditions), of(0).uniform(-1, 1, (7, conditions)), of(0))
    assert found.knobs.shape == (7, knobs) and (np.abs(found.knobs) <= 1).all()
    assert np.isfinite(found.expected).all() and (found.expected <= found.proposed).all()


def test_the_best_constant_is_the_one_of_the_given_knobs_with_the_least_mean_f(model):
    knobs, conditions = of(0).uniform(-1, 1, (50, 2)), of(1).uniform(-1, 1, (200, 1))
    means = [Quadratic()(np.tile(one, (200, 1)), conditions).mean() for one in knobs]
    best = knobs[[int(np.argmin(means))]]
    found, mean = best_constant(model, knobs, conditions)
    assert np.array_equal(found, best[0]) and mean == pytest.approx(min(means), abs=1e-3)
    for others in (49, 500):
        found, mean = best_constant(model, np.concatenate([best, np.ones((others, 2))]), conditions)
        assert np.array_equal(found, best[0]) and mean < 1.01 * min(means)


@pytest.mark.parametrize("kernel", ["matern", "rbf"])
@pytest.mark.parametrize("side", ["low", "high"])
def test_polished_knobs_are_those_that_scipy_finds_for_each_condition(side, kernel):
    ours = process(side, kernel=kernel)
    knobs = of(0).uniform(-0.5, 0.5, (12, 2))
    conditions = C[:12] * 0.9
    found = polished(ours, knobs, conditions)
    for start, end, condition in zip(knobs, found, conditions, strict=True):

        def mean(x, condition=condition):
            return float(ours.mean(np.concatenate([x, condition])[None])[0])

        alone = minimize(mean, end, bounds=[(-1, 1)] * 2, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
        assert mean(end) <= mean(start)
        assert mean(end) == pytest.approx(alone.fun, abs=1e-6)
    assert (np.abs(found) <= 1).all()


def test_polished_knobs_of_a_known_function_are_the_best_ones(model):
    found = polished(model, np.zeros((40, 2)), C)
    assert np.abs(found - Quadratic().best(C)).max() < 1e-3


def test_polishing_stays_in_the_valley_in_which_it_starts(valleys):
    for valley, start in enumerate((-0.4, 0.4)):
        found = polished(valleys, np.full((40, 1), start), C)
        assert np.abs(found[:, 0] - Crossing().valleys(C)[:, valley]).max() < 1e-3


def test_polishing_ends_at_a_bound_where_the_model_falls_towards_it():
    states = of(0).uniform(-1, 1, (40, 3))
    hyper = Hyperparameters(np.full(3, 4.0), 1e-6, 10.0, "low", "rbf")
    model = GaussianProcess(states, states @ [1.0, -2.0, 0.5], hyper)
    assert polished(model, np.zeros((40, 2)), C).tolist() == [[-1.0, 1.0]] * 40
    assert polished(model, np.full((40, 2), 3.0), C).tolist() == [[-1.0, 1.0]] * 40  # from out of bounds


def test_knobs_at_a_minimum_stay_there(model):
    best = polished(model, np.zeros((40, 2)), C)
    assert np.abs(polished(model, best, C) - best).max() < 1e-4


def test_knobs_are_never_worse_for_being_polished(monkeypatch):
    """Few iterations help all rows together, but need not help each of them."""
    ours, knobs = process(kernel="rbf"), of(0).uniform(-1, 1, (40, 2))
    for iterations in (1, 2, 3, 60):
        monkeypatch.setattr(search, "PRECISE", search.PRECISE | {"maxiter": iterations})
        found = polished(ours, knobs, C)
        assert (expected(ours, found, C) <= expected(ours, knobs, C)).all()


class Ridge:
    """(3 a - 2 b - c)^2 + 0.1 b^2 for known knobs, so that one cannot be moved without the other."""

    limit = None

    def mean(self, states):
        return self.mean_and_slope(states, 2)[0]

    def mean_and_slope(self, states, count):
        a, b, c = states.T
        along = 3 * a - 2 * b - c
        return along**2 + 0.1 * b * b, np.stack([6 * along, -4 * along + 0.2 * b], axis=1)

    def window(self, conditions, knobs):
        bound = np.ones((len(conditions), knobs))
        return -bound, bound


def stepped(*steps):
    return dataclasses.replace(POLICY.spec, steps=steps)


@pytest.mark.parametrize("steps", [(0.25, 0.0), (0.0, 0.25), (0.25, 0.25), (0.125, 0.25)])
def test_polished_knobs_are_the_best_of_those_that_there_are(steps):
    found = polished(Ridge(), np.zeros((40, 2)), C, stepped(*steps))
    axes = [np.arange(-1, 1.001, step or 1 / 512) for step in steps]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    values = expected_at(Ridge(), np.broadcast_to(grid, (40, *grid.shape)), C)
    assert (expected(Ridge(), found, C) <= values.min(axis=1) + 1e-3).all()
    for j, step in enumerate(steps):
        if step:
            assert (found[:, j] + 1) / step == pytest.approx(np.rint((found[:, j] + 1) / step), abs=1e-9)


def test_the_nearest_of_those_that_there_are_is_not_always_the_best():
    """So that the test above means something: the next ones on the ridge are a step off in both knobs."""
    free = polished(Ridge(), np.zeros((40, 2)), C)
    rounded = snapped(free, np.array([0.25, 0.25]))
    found = polished(Ridge(), np.zeros((40, 2)), C, stepped(0.25, 0.25))
    assert (expected(Ridge(), rounded, C) > expected(Ridge(), found, C) + 0.01).mean() > 0.25


def test_choices_are_left_as_they_are():
    spec = dataclasses.replace(POLICY.spec, steps=(0.0, 1.0), labelled=(1,))
    start = np.array([[0.9, -1.0], [0.9, 0.0], [0.9, 1.0]])
    found = polished(Ridge(), start, np.zeros((3, 1)), spec)
    assert found[:, 1].tolist() == [-1, 0, 1] and found[:, 0] == pytest.approx([-2 / 3, 0, 2 / 3], abs=1e-6)


def test_a_prospect_is_of_knobs_that_there_are():
    policy = Policy(dataclasses.replace(POLICY.snapshot, spec=stepped(0.5, 0.25)))
    found = prospect(Ridge(), policy, C, of(0))
    assert snapped(found.knobs, np.array([0.5, 0.25])).tobytes() == found.knobs.tobytes()
    means = snapped(np.array([[0.0, 0.3], [-0.5, 0.0], [1.0, -1.0]]), np.array([0.5, 0.25]))
    assert found.proposed == pytest.approx(expected_at(Ridge(), np.broadcast_to(means, (40, 3, 2)), C).min(axis=1))
