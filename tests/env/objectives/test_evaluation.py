"""f is called as it can be called, and what it and its ``solve`` return is what they must return."""

import random

import numpy as np
import pytest

from env import Objective, Problem, UsageError
from env.objectives import Noisy, Sphere, evaluate, solution, solve_numerically
from env.objectives.returned import Failures
from tests.chance import GlobalChance, OwnChance, Product
from tests.failing import Failing, FailingTogether
from tests.problems import Quadratic


def states(n, knobs=2, conditions=1):
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (n, knobs)), rng.uniform(-1, 1, (n, conditions))


class Rows(Quadratic):
    """Notes how many rows it was given."""

    def __call__(self, x, c):
        self.seen = [*getattr(self, "seen", []), len(x)]
        return super().__call__(x, c)


class ManyRows(Rows):
    """Takes many."""

    vectorised = True


@pytest.mark.parametrize(("objective", "seen"), [(Rows(), [1] * 5), (ManyRows(), [5])])
def test_only_a_vectorised_objective_is_given_more_than_one_row(objective, seen):
    x, c = states(5)
    assert np.array_equal(evaluate(objective, x, c), Quadratic()(x, c))
    assert objective.seen == seen


def test_the_promise_does_not_pass_on_to_another_call():
    class Heavier(Sphere):
        def __call__(self, x, c):
            return 2 * super().__call__(x, c)

    class Wider(Sphere):
        bound = 9.0

    assert (Sphere.vectorised, Heavier.vectorised, Wider.vectorised) == (True, False, True)


def test_the_bits_of_a_matrix_product_do_not_depend_on_the_number_of_rows():
    objective = Product()
    x, c = states(33, 40)
    whole = evaluate(objective, x, c)
    for size in (1, 2, 5, 16):
        for start in range(0, 33 - size, size):
            rows = slice(start, start + size)
            assert evaluate(objective, x[rows], c[rows]).tobytes() == whole[rows].tobytes()
    assert set(objective.rows) == {1}
    transposed = np.asfortranarray(x)
    assert evaluate(objective, transposed, c).tobytes() == whole.tobytes()


@pytest.mark.parametrize("objective", [GlobalChance(), OwnChance()])
def test_what_f_draws_depends_on_the_key_of_its_row_alone(objective):
    x, c = states(6)
    keys = [3, 1, 4, 1, 5, 9]
    noise = evaluate(objective, x, c, keys) - Quadratic()(x, c)
    assert noise[1] == pytest.approx(noise[3], abs=1e-12)
    assert len(np.unique(noise.round(9))) == 5
    order = [5, 0, 3]
    some = evaluate(objective, x[order], c[order], [keys[row] for row in order])
    assert some.tobytes() == evaluate(objective, x, c, keys)[order].tobytes()
    assert np.array_equal(evaluate(objective, x, c), evaluate(objective, x, c, range(6)))


@pytest.mark.parametrize("of", ["GlobalChance", "OwnChance"])
def test_noise_over_an_objective_with_chance_is_called_like_it(of):
    noisy = Noisy(of=f"tests.chance:{of}", level=0.0)
    assert not noisy.vectorised
    x, c = states(4)
    assert np.array_equal(evaluate(noisy, x, c, range(4)), evaluate(noisy.noise_free, x, c, range(4)))
    assert len(np.unique((evaluate(noisy, x, c) - Quadratic()(x, c)).round(9))) == 4
    assert Noisy(of="branin").vectorised


def test_the_callers_random_numbers_stay_its_own():
    random.seed(2)
    expected = random.random()
    random.seed(2)
    evaluate(GlobalChance(), *states(3))
    assert random.random() == expected


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (Problem("tests.chance:SharedChance"), "--env tests.chance:SharedChance: SharedChance declares"),
        (
            Problem("noisy", env_kwargs={"of": "tests.chance:SharedChance"}),
            "--env-kwargs of=tests.chance:SharedChance: SharedChance declares",
        ),
    ],
)
def test_rows_share_no_generator(problem, told):
    with pytest.raises(UsageError, match=f"^{told} vectorised = True, so its __call__ cannot take rng"):
        problem.objective()


class Returns(Objective):
    """Returns what it is told to."""

    knobs = 1
    conditions = 1

    def __init__(self, value, vectorised=False):
        self.value, self.vectorised = value, vectorised

    def __call__(self, x, c):
        return self.value

    def solve(self, c):
        return self.value


@pytest.mark.parametrize("value", [2.5, np.float32(2.5), np.array(2.5), [2.5], np.array([2.5])])
def test_a_single_row_may_be_answered_by_a_number(value):
    assert evaluate(Returns(value), np.zeros((2, 1)), np.zeros((2, 1))).tolist() == [2.5, 2.5]
    assert evaluate(Returns(value), np.zeros((2, 1)), np.zeros((2, 1))).dtype == np.float64


@pytest.mark.parametrize(
    ("value", "vectorised", "returned", "wanted"),
    [
        ([[1.0], [1.0, 2.0]], False, "a list of 2 values", r"one real number, or shape \(1,\)"),
        (np.zeros((1, 1)), False, r"an array of shape \(1, 1\)", r"one real number, or shape \(1,\)"),
        (np.zeros(2), False, r"an array of shape \(2,\)", r"one real number, or shape \(1,\)"),
        (1 + 2j, False, r"the number \(1\+2j\)", "one real number"),
        (None, False, "None", "one real number"),
        ("3", False, "the text '3'", "one real number"),
        (1.0, True, r"the number 1\.0", r"real numbers of shape \(2,\)"),
        (np.zeros((2, 1)), True, r"an array of shape \(2, 1\)", r"real numbers of shape \(2,\)"),
        (np.zeros(3), True, r"an array of shape \(3,\)", r"real numbers of shape \(2,\)"),
        (np.zeros(2, complex), True, r"an array of complex128 of shape \(2,\)", r"real numbers of shape \(2,\)"),
    ],
)
def test_anything_but_a_real_number_a_row_is_refused(value, vectorised, returned, wanted):
    with pytest.raises(ValueError, match=rf"Returns.__call__ returned {returned} for x of .*; it must return {wanted}"):
        evaluate(Returns(value, vectorised), np.zeros((2, 1)), np.zeros((2, 1)))


def test_an_optimum_is_passed_on():
    c = states(5)[1]
    x, f = solution(Quadratic(), c)
    assert np.array_equal(x, Quadratic().best(c))
    assert f.tolist() == [0.0] * 5
    assert solution(Returns(None), c) is None
    x, f = solution(Returns((np.ones((5, 1), int), [1, 2, 3, 4, 5])), c)
    assert f.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((np.zeros((3, 1)), np.zeros((3, 1))), r"returned knobs of shape \(3, 1\) and f of shape \(3, 1\)"),
        ((np.zeros((3, 1)), 0.0), r"returned knobs of shape \(3, 1\) and f of shape \(\)"),
        ((np.zeros(3), np.zeros(3)), r"returned knobs of shape \(3,\) and f of shape \(3,\)"),
        (np.zeros((3, 1)), r"returned an array of shape \(3, 1\)"),
        (([[1], [2, 3], [4]], np.zeros(3)), r"returned knobs of shape \(\) and f of shape \(3,\)"),
        ((np.zeros((3, 1)), np.full(3, np.nan)), "returned f that are not all finite numbers"),
        ((np.full((3, 1), np.inf), np.zeros(3)), "returned knobs that are not all finite numbers"),
    ],
)
def test_any_other_optimum_is_the_users_mistake(value, message):
    told = r"^--env tests\.env\.objectives\.test_evaluation:Returns: solve\(c\) for c of shape \(3, 1\) "
    wanted = r"; it must return knobs of shape \(3, 1\) and their f of shape \(3,\)"
    with pytest.raises(UsageError, match=told + message + wanted) as caught:
        solution(Returns(value), np.zeros((3, 1)))
    assert "\n" not in str(caught.value)


def test_a_search_for_the_optimum_calls_f_as_it_can_be_called():
    class Scalar(Objective):
        knobs = 1
        conditions = 1

        def __call__(self, x, c):
            return float((x[0, 0] - 0.5 * c[0, 0]) ** 2)

    x, f = solve_numerically(Scalar(), np.array([[0.4]]))
    assert x == pytest.approx(np.array([[0.2]]), abs=1e-6)
    assert f == pytest.approx(np.zeros(1), abs=1e-12)


@pytest.mark.parametrize("kind", [Failing, FailingTogether])
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("raise", "ValueError: the probe lost contact"),
        ("exit", "SystemExit: 3"),
        ("nan", "f is nan"),
        ("inf", "f is inf"),
    ],
)
def test_only_the_rows_that_fail_are_nan_where_they_may(kind, how, reason):
    x, c = states(40)
    objective, failures = kind(how), Failures()
    values = evaluate(objective, x, c, failures=failures)
    failed = objective.fails(x, c)
    assert 0 < failed.sum() < 40
    assert np.isnan(values[failed]).all()
    assert values[~failed].tobytes() == Quadratic()(x, c)[~failed].tobytes()
    assert failures.first == reason
    assert evaluate(objective, x[~failed], c[~failed]).tobytes() == values[~failed].tobytes()


@pytest.mark.parametrize("kind", [Failing, FailingTogether])
def test_what_is_no_failure_of_f_ends_it(kind):
    x, c = states(40)
    with pytest.raises(KeyboardInterrupt):
        evaluate(kind("interrupt"), x, c, failures=Failures())
    with pytest.raises(ValueError, match="the probe lost"):
        evaluate(kind("raise"), x, c)
    with pytest.raises(ValueError, match="it must return"):
        evaluate(Returns("text"), x, c, failures=Failures())
    assert np.isinf(evaluate(kind("inf"), x, c)).any()
