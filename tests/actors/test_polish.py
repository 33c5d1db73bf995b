"""A polish finds the best knobs near to where it begins, with few evaluations, and never worse ones."""

import numpy as np
import pytest

from actors.polish import polish

FREE = np.zeros(2)


def counted(f):
    """Returns f, and the list of the knobs that it was asked for."""
    asked = []

    def call(x):
        asked.append(x.copy())
        return f(x)

    return call, asked


def smooth(x):
    """A narrow oblique bowl with its minimum, 3, at (0.33, -0.27)."""
    u, v = x - [0.33, -0.27]
    return 3 + (u + v) ** 2 + 20 * (u - v) ** 2 + 5 * u**4


def decibels(x):
    """10 log10 of a squared distance from (0.31, -0.22) and a floor of -80 dB."""
    return 10 * np.log10(1e-8 + ((x - [0.31, -0.22]) ** 2).sum())


def kinked(x):
    """A valley with a kink along a line, and its minimum, 0, at (0.35, -0.2)."""
    return abs(x[0] - 0.35 + 0.5 * (x[1] + 0.2)) + 0.3 * (x[1] + 0.2) ** 2


@pytest.mark.parametrize(("f", "least", "close"), [(smooth, 3.0, 1e-6), (decibels, -80.0, 0.5), (kinked, 0.0, 5e-3)])
def test_a_valley_is_followed_to_its_end(f, least, close):
    call, asked = counted(f)
    found = polish(call, np.array([0.3, -0.2]), FREE, 25)
    assert len(asked) == found.evaluations == 25
    assert found.given == f(np.array([0.3, -0.2]))
    assert found.value == f(found.knobs) == min(map(f, asked))
    assert found.value - least < close < found.given - least
    assert (np.abs(asked) <= 1).all()


def test_one_knob_is_found_to_many_digits():
    found = polish(lambda x: float(1 - np.exp(-abs(x[0] - 0.123456))), np.array([0.11]), np.zeros(1), 30)
    assert abs(found.knobs[0] - 0.123456) < 1e-6


@pytest.mark.parametrize("budget", [1, 2, 3, 7])
def test_a_budget_is_spent_and_no_more_and_the_first_knobs_are_asked_first(budget):
    call, asked = counted(smooth)
    found = polish(call, np.array([0.9, 0.95]), FREE, budget)
    assert len(asked) == found.evaluations == budget
    assert asked[0].tolist() == [0.9, 0.95]
    assert found.value <= found.given


def test_it_is_never_worse_than_what_was_given():
    rng = np.random.default_rng(0)
    for _ in range(20):
        centre, start = rng.uniform(-1, 1, (2, 2))
        weights = rng.normal(size=(3, 2))

        def rough(x, centre=centre, weights=weights):
            return float(np.sin(9 * weights @ (x - centre)).sum())

        found = polish(rough, start, FREE, 9)
        assert found.value <= found.given == rough(start)


def test_the_same_search_gives_the_same_bits():
    first, second = (polish(smooth, np.array([0.3, -0.2]), FREE, 20) for _ in range(2))
    assert first.knobs.tobytes() == second.knobs.tobytes()


def test_knobs_that_fail_are_left_and_the_best_of_the_others_is_found():
    found = polish(lambda x: np.nan if x[0] > 0.36 else smooth(x), np.array([0.3, -0.2]), FREE, 25)
    assert found.value - 3 < 1e-3
    only_failures = polish(lambda x: np.nan, np.array([0.3, -0.2]), FREE, 6)
    assert only_failures.evaluations == 6 and only_failures.knobs.tolist() == [0.3, -0.2]


def test_a_whole_number_moves_in_steps():
    steps = np.array([0.0, 0.25])
    call, asked = counted(lambda x: (x[0] - 0.4 - 0.5 * x[1]) ** 2 + (x[1] - 0.6) ** 2)
    found = polish(call, np.array([0.3, 0.0]), steps, 25)
    assert {x[1] % 0.25 for x in asked} == {0.0}
    assert found.knobs[1] in (0.5, 0.75) and abs(found.knobs[0] - 0.4 - 0.5 * found.knobs[1]) < 1e-3


def whole(distance):
    """Returns f of whole numbers, a step of 0.1 each, whose least is so many steps away from 0 along each."""
    return lambda x: float(((np.rint(x * 10) - distance) ** 2).sum() + 0.5 * abs(np.rint(x * 10)).sum())


@pytest.mark.parametrize("knobs", [1, 2, 3])
def test_whole_numbers_are_each_evaluated_once_and_the_least_is_found(knobs):
    call, asked = counted(whole(4))
    found = polish(call, np.zeros(knobs), np.full(knobs, 0.1), 60)
    assert len({tuple(np.rint(x * 10)) for x in asked}) == len(asked) == found.evaluations <= 60
    assert np.rint(found.knobs * 10).tolist() == [4] * knobs


def test_a_polish_ends_where_all_that_is_near_was_evaluated():
    call, asked = counted(whole(0))
    found = polish(call, np.zeros(1), np.array([0.1]), 50)
    assert sorted(np.rint(x * 10).item() for x in asked) == [-1, 0, 1] and found.knobs.tolist() == [0]
    one_of_two = polish(lambda x: x[0], np.array([1.0]), np.array([2.0]), 50)
    assert (one_of_two.knobs.tolist(), one_of_two.evaluations) == ([-1], 2)


def test_noise_does_not_choose():
    """Of many evaluations with noise the least is a lucky one; the process says which knobs were the best."""
    rng, far = np.random.default_rng(1), []
    for _ in range(10):
        found = polish(lambda x: 100 * smooth(x) + rng.normal(0, 1), np.array([0.3, -0.2]), FREE, 40)
        far.append(smooth(found.knobs) - 3)
    assert np.median(far) < 0.01


@pytest.mark.parametrize("start", [(0.2, 0.2), (0.6, 0.5)], ids=["that keep the constraint", "that break it"])
def test_the_best_knobs_keep_the_constraint(start):
    """The minimum of f, (0.7, 0.7), breaks x + y <= 0.8; the best knobs that keep it are (0.4, 0.4)."""

    def f(x):
        return ((x - 0.7) ** 2).sum(), x.sum() - 0.8

    found = polish(f, np.array(start), FREE, 30)
    assert found.knobs.sum() <= 0.8
    assert found.knobs == pytest.approx([0.4, 0.4], abs=2e-3)
    assert found.value == f(found.knobs)[0]


def test_of_two_constraints_both_are_kept_and_what_fails_is_the_worst():
    def f(x):
        return (np.nan if x[0] > 0.3 else -x[0] - x[1]), [x[0] - 0.25, x[1] - 0.5]

    found = polish(f, np.array([0.2, 0.45]), FREE, 25)
    assert (found.knobs <= [0.25, 0.5]).all()
    assert found.knobs == pytest.approx([0.25, 0.5], abs=2e-3)


def test_what_fails_before_anything_is_known_of_the_constraints_is_left():
    found = polish(
        lambda x: np.nan if x[0] > 0.45 else (np.array([x[0] ** 2]), [0.3 - x[0]]), np.array([0.5]), np.zeros(1), 12
    )
    assert np.isinf(found.given) and found.knobs[0] == pytest.approx(0.3, abs=0.02) and found.knobs[0] >= 0.3


def test_where_none_keeps_the_constraint_that_is_found_which_breaks_it_least():
    found = polish(lambda x: (x[0], 1.0 - x[0]), np.array([0.5]), np.zeros(1), 8)
    assert found.knobs[0] > 0.6
    assert found.value == found.knobs[0]


def test_a_kink_that_looks_like_noise_makes_nothing_worse():
    """Of two valleys the lower one ends at a step; a process that smooths it may expect less where f is more."""

    def f(x):
        return (x[0] - 0.3) ** 2 - 0.1 * (x[0] > 0.31) + 0.02 * np.sin(400 * x[0])

    for start in np.linspace(0.2, 0.4, 41):
        for budget in (8, 20):
            found = polish(lambda x: float(f(x)), np.array([start]), np.zeros(1), budget)
            assert found.value == f(found.knobs) <= found.given
