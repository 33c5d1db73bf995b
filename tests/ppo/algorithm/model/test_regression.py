"""A regression takes the steps of Levenberg and Marquardt with a dense Jacobian, and reaches what can be reached."""

import dataclasses

import numpy as np
import pytest

from actors import NetworkSpec, Policy, Snapshot
from actors.policy import centre_states
from ppo.algorithm.model.regression import FIRST_DAMPING, LESS, MORE, Regression
from ppo.algorithm.network import layer_inputs
from tests.problems import Quadratic

HIDDEN = pytest.mark.parametrize("hidden", [(), (6,), (6, 5), (6, 5, 4)], ids=str)
ACTIVATION = pytest.mark.parametrize("activation", ["tanh", "relu"])
C = np.linspace(-1, 1, 30)[:, None]


@dataclasses.dataclass
class Fitting:
    """A regression of means of components, and what a network gives by the code that acts."""

    spec: NetworkSpec
    obs: np.ndarray
    components: np.ndarray
    targets: np.ndarray

    @property
    def regression(self):
        return Regression(self.spec, self.obs, self.spec.own_outputs(self.components)[:, :2], self.targets)

    def means(self, theta):
        proposals = Policy(Snapshot(0, self.spec, theta)).proposals(self.obs)
        return proposals[np.arange(len(self.obs)), self.components]

    def residuals(self, theta):
        """Returns residuals, ``[2 m]``; those of outputs that lie beyond a bound at which their target is are 0."""
        means = self.means(theta)
        beyond = ((self.targets == 1) & (means > 1)) | ((self.targets == -1) & (means < -1))
        return np.where(beyond, 0.0, means - self.targets).reshape(-1)

    def loss(self, theta):
        return (self.residuals(theta) ** 2).sum()

    def jacobian(self, theta):
        """Returns the Jacobian of the residuals by central differences, ``[2 m, size]``."""
        steps = 1e-6 * np.eye(len(theta))
        return np.stack([(self.residuals(theta + step) - self.residuals(theta - step)) / 2e-6 for step in steps], 1)

    def dense(self, theta, steps):
        """Returns the parameters after so many steps, and which of these helped."""
        damping, helped = None, []
        for _ in range(steps):
            slopes, residuals = self.jacobian(theta), self.residuals(theta)
            gram = slopes @ slopes.T
            damping = damping or FIRST_DAMPING * np.trace(gram) / len(gram)
            tried = theta - slopes.T @ np.linalg.solve(gram + damping * np.eye(len(gram)), residuals)
            helped.append(self.loss(tried) < self.loss(theta))
            theta, damping = (tried, LESS * damping) if helped[-1] else (theta, MORE * damping)
        return theta, helped


def made(hidden, activation="tanh", seed=0, m=12, scale=0.7):
    """Returns a fitting of two knobs at two conditions by three components, some beyond a bound, and parameters."""
    rng = np.random.default_rng(seed)
    spec = NetworkSpec(4, hidden, activation, "gaussian", 2, components=3)
    targets = rng.uniform(-1, 1, (m, 2))
    targets[: m // 2] = np.sign(targets[: m // 2])
    task = Fitting(spec, rng.normal(size=(m, 4)), rng.integers(0, 3, m), targets)
    return task, scale * rng.normal(size=spec.size)


def simple(hidden=(8,), components=1, seed=0, activation="tanh"):
    """Returns the fitting of one component to the best knobs of the quadratic, and parameters."""
    spec = NetworkSpec(3, hidden, activation, "gaussian", 2, components=components)
    task = Fitting(spec, centre_states(C, 2), np.zeros(len(C), int), Quadratic().best(C))
    return task, 0.5 * np.random.default_rng(seed).normal(size=spec.size)


@HIDDEN
@ACTIVATION
def test_the_last_layers_input_gives_the_outputs_of_the_acting_policy(hidden, activation):
    task, theta = made(hidden, activation)
    inputs = layer_inputs(task.spec, theta, task.obs)
    weight, bias = task.spec.views(theta)[-1]
    assert [one.shape[1] for one in inputs] == [4, *hidden]
    means = Policy(Snapshot(0, task.spec, theta)).proposals(task.obs).reshape(12, 6)
    assert (inputs[-1] @ weight + bias)[:, :6] == pytest.approx(means, abs=1e-12)


@HIDDEN
@ACTIVATION
@pytest.mark.parametrize("seed", [0, 1])
def test_the_products_of_slopes_are_those_of_a_dense_jacobian(hidden, activation, seed):
    task, theta = made(hidden, activation, seed)
    slopes, regression = task.jacobian(theta), task.regression
    assert 0 < (task.residuals(theta) == 0).sum() < 12
    products = np.tril(regression._linearised(regression._forward(theta))[0])
    assert products == pytest.approx(np.tril(slopes @ slopes.T), abs=1e-6)


@HIDDEN
@ACTIVATION
@pytest.mark.parametrize("seed", range(3))
def test_steps_are_those_with_a_dense_jacobian(hidden, activation, seed):
    task, theta = made(hidden, activation, seed)
    for steps in (1, 2, 5):
        expected, _ = task.dense(theta, steps)
        assert task.regression.fitted(theta, steps) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("steps", [1, 5])
def test_targets_that_are_met_to_the_bit_hold_the_others_as_any_do(steps):
    """A component that starts anew stands at one of its targets exactly."""
    task, theta = simple()
    task.spec.place(theta, 0, task.targets[0], 0.1)
    assert (task.residuals(theta)[:2] == 0).all()
    assert task.regression.fitted(theta, steps) == pytest.approx(task.dense(theta, steps)[0], abs=1e-5)


def test_after_steps_that_do_not_help_the_damping_is_raised_until_one_does():
    task, theta = made((6, 5, 4))
    expected, helped = task.dense(theta, 6)
    assert helped == [False, False, False, True, True, True]
    assert np.array_equal(task.regression.fitted(theta, 3), theta)
    assert task.regression.fitted(theta, 6) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
@ACTIVATION
def test_more_steps_are_never_worse(activation, seed):
    task, theta = made((6, 5), activation, seed, m=30, scale=2.0)
    losses = [task.loss(task.regression.fitted(theta, steps)) for steps in (0, 1, 2, 3, 5, 10, 30)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == task.loss(theta) > 2 * losses[-1]


@pytest.mark.parametrize("hidden", [(8,), (8, 8), (8, 8, 8)], ids=str)
def test_what_another_network_gives_is_learned(hidden):
    task, theta = simple(hidden)
    other = theta + 0.3 * np.random.default_rng(1).normal(size=task.spec.size)
    task.targets = 0.9 * np.tanh(task.means(other))
    found = task.regression.fitted(theta, 300)
    assert task.loss(theta) > 1
    assert np.abs(task.means(found) - task.targets).max() < 1e-4


@ACTIVATION
def test_the_best_knobs_of_the_quadratic_are_learned(activation):
    task, theta = simple((16, 16), activation=activation)
    found = task.regression.fitted(theta, 60)
    assert np.abs(task.means(found) - Quadratic().best(C)).max() < (1e-3 if activation == "tanh" else 1e-2)


def test_a_network_without_hidden_layers_finds_the_least_squares():
    task, theta = simple(())
    found = task.means(task.regression.fitted(theta, 60))
    known = np.column_stack([C, np.ones(len(C))])
    least = known @ np.linalg.lstsq(known, task.targets, rcond=None)[0]
    assert found == pytest.approx(least, abs=1e-5)


def constant(output):
    """Returns the fitting of a network to one row of two targets, and parameters by which it gives an output twice."""
    spec = NetworkSpec(3, (4,), "tanh", "gaussian", 2)
    theta = 0.3 * np.random.default_rng(0).normal(size=spec.size)
    spec.place(theta, 0, np.full(2, output), 0.1)
    return Fitting(spec, centre_states(np.array([[0.3]]), 2), np.zeros(1, int), np.full((1, 2), output)), theta


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(
    ("output", "target", "expected"),
    [(1.7, 1.0, 1.7), (1.7, 0.99, 0.99), (0.7, 1.0, 1.0), (-1.7, 1.0, 1.0), (1.0, 1.0, 1.0), (1.7, -0.3, -0.3)],
)
def test_beyond_a_bound_nothing_pulls_but_to_what_is_within(side, output, target, expected):
    task, theta = constant(side * output)
    task.targets = np.full((1, 2), side * target)
    found = task.regression.fitted(theta, 50)
    assert np.array_equal(found, theta) == (output == expected)
    assert task.means(found) == pytest.approx(np.full((1, 2), side * expected), abs=1e-6)


@pytest.mark.parametrize("components", [np.zeros(30, int), np.arange(30) % 2 * 2], ids=["one", "two"])
def test_only_the_given_outputs_of_each_row_are_fitted(components):
    task, theta = simple((8,), components=3)
    task.components = components
    found = task.regression.fitted(theta, 20)
    assert task.loss(found) < 0.01 * task.loss(theta)
    own = np.unique(task.spec.own_outputs(np.unique(components))[:, :2])
    others = np.setdiff1d(np.arange(15), own)
    for after, before in zip(task.spec.views(found)[-1], task.spec.views(theta)[-1], strict=True):
        assert np.array_equal(after[..., others], before[..., others])
        assert (after[..., own] != before[..., own]).all()


@pytest.mark.parametrize("columns", [[0], [1], [1, 0], [0, 1, 5, 3]], ids=str)
def test_a_row_may_have_any_number_of_outputs(columns):
    task, theta = simple((8,), components=3)
    outputs = np.tile(columns, (len(C), 1))
    targets = 0.8 * np.sin(C + np.arange(len(columns)))
    found = Regression(task.spec, task.obs, outputs, targets).fitted(theta, 60)
    means = Policy(Snapshot(0, task.spec, found)).proposals(task.obs).reshape(len(C), 6)
    assert np.abs(means[:, columns] - targets).max() < 2e-3


def test_the_parameters_given_are_left_as_they_are_and_the_bits_are_the_same():
    task, theta = simple((16, 16))
    before = theta.copy()
    first, again = (task.regression.fitted(theta, 20).tobytes() for _ in range(2))
    same = task.regression
    assert first == again == same.fitted(theta, 20).tobytes() == same.fitted(theta, 20).tobytes()
    assert np.array_equal(theta, before)
    assert not np.shares_memory(task.regression.fitted(theta, 0), theta)


def test_nothing_is_done_once_the_residuals_are_as_good_as_none():
    task, theta = simple()
    for offset, stays in ((0.0, True), (1e-8, True), (1e-5, False)):
        task.targets = task.means(theta) + offset
        assert np.array_equal(task.regression.fitted(theta, 5), theta) == stays


def test_contradicting_targets_are_met_in_the_middle_however_many_steps_are_taken():
    """Two equal rows make the products of the Jacobian singular."""
    spec = NetworkSpec(2, (8,), "tanh", "gaussian", 1)
    obs, outputs = np.zeros((2, 2)), np.zeros((2, 1), int)
    theta = 0.5 * np.random.default_rng(0).normal(size=spec.size)
    task = Regression(spec, obs, outputs, np.array([[0.2], [0.4]]))
    found = task.fitted(theta, 300)
    assert Policy(Snapshot(0, spec, found)).mode(obs[:1])[0, 0] == pytest.approx(0.3, abs=1e-6)
