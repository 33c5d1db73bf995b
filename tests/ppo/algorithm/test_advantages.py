"""GAE, V-trace, leave-one-out advantages and inverse-density weights have the values that are worked out by hand."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from ppo.algorithm.advantages import (
    _median,
    _squared_distances,
    gae,
    inverse_density_weights,
    leave_one_out_advantages,
    v_trace,
)

GAMMA, LAMBDA = 0.5, 0.5
#            continues  terminated  truncated   both
REWARDS = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
VALUES = [[0.5, 1.0, 1.5], [0.5, 1.0, 1.5], [0.5, 1.0, 1.5], [0.5, 1.0, 1.5]]
# What each step led to; where an episode ends in step 1, that is not the next value.
FINAL = [[1.0, 1.5, 4.0], [1.0, 8.0, 4.0], [1.0, 8.0, 4.0], [1.0, 8.0, 4.0]]
TERMINATED = [[0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 1, 1]]
TRUNCATED = [[0, 0, 1], [0, 0, 1], [0, 1, 1], [0, 1, 0]]
# Worked out by hand: delta = r + 0.5 V' - V (V' = 0 if terminated), A_t = delta_t + 0.25 A_t+1 within an episode.
EXPECTED = [
    # deltas 1.0, 1.75, 3.5: A2 = 3.5, A1 = 1.75 + 0.875 = 2.625, A0 = 1 + 0.65625
    [1.65625, 2.625, 3.5],
    # step 1 terminates: delta1 = 2 - 1 = 1 and nothing behind it counts; A0 = 1 + 0.25
    [1.25, 1.0, 3.5],
    # step 1 is truncated: delta1 = 2 + 0.5 * 8 - 1 = 5, the recursion is cut all the same; A0 = 1 + 1.25
    [2.25, 5.0, 3.5],
    # both: no bootstrap; the last step terminates: delta2 = 3 - 1.5
    [1.25, 1.0, 1.5],
]


def arrays():
    return (np.array(a, float) for a in (REWARDS, VALUES, FINAL)), (np.array(a, bool) for a in (TERMINATED, TRUNCATED))


def test_against_a_table_worked_out_by_hand():
    numbers, ends = arrays()
    assert gae(*numbers, *ends, GAMMA, LAMBDA).tolist() == EXPECTED


def test_lambda_1_gives_returns_and_lambda_0_one_step_errors():
    (rewards, values, final), (terminated, truncated) = (list(a) for a in arrays())
    one_step = gae(rewards, values, final, terminated, truncated, GAMMA, 0.0)
    assert one_step == pytest.approx(rewards + GAMMA * np.where(terminated, 0, final) - values)
    whole = gae(rewards, values, final, terminated, truncated, GAMMA, 1.0)
    assert whole[0, 0] == pytest.approx(1 + 0.5 * 2 + 0.25 * 3 + 0.125 * 4 - 0.5)
    assert whole[1, 0] == pytest.approx(1 + 0.5 * 2 - 0.5)


def test_a_slot_that_is_left_open_is_refused():
    with pytest.raises(ValueError, match="last step"):
        gae(*np.ones((3, 1, 2)), np.zeros((1, 2), bool), np.zeros((1, 2), bool), GAMMA, LAMBDA)


def random_slots(seed, slots=40, steps=9):
    """Returns rewards, values, values of what each step led to, and ends, with every kind of end."""
    rng = np.random.default_rng(seed)
    rewards, values, final = rng.normal(size=(3, slots, steps))
    terminated, truncated = rng.random((2, slots, steps)) < 0.2
    truncated[:, -1] |= ~terminated[:, -1]
    ends = terminated | truncated
    final[:, :-1] = np.where(ends[:, :-1], final[:, :-1], values[:, 1:])
    return rewards, values, final, terminated, truncated


def summed_v_trace(rewards, values, final, terminated, truncated, ratios, gamma, lam):
    """Eq. 1 of the paper for each step of one slot, as a sum to the end of the episode; and q - V of section 4.2."""
    steps = len(rewards)
    after = [0.0 if terminated[t] else final[t] for t in range(steps)]
    last = [next(t for t in range(s, steps) if terminated[t] or truncated[t]) for s in range(steps)]
    targets = []
    for s in range(steps):
        total = values[s]
        for t in range(s, last[s] + 1):
            traces = np.prod([lam * min(1.0, ratios[i]) for i in range(s, t)])
            delta = min(1.0, ratios[t]) * (rewards[t] + gamma * after[t] - values[t])
            total += gamma ** (t - s) * traces * delta
        targets.append(total)
    following = [after[s] if s == last[s] else targets[s + 1] for s in range(steps)]
    return targets, [rewards[s] + gamma * following[s] - values[s] for s in range(steps)]


@pytest.mark.parametrize(("gamma", "lam"), [(0.9, 1.0), (0.99, 0.95), (0.0, 0.95), (1.0, 0.0)])
def test_v_trace_is_the_sum_of_the_paper_over_whole_trajectories(gamma, lam):
    facts, ratios = random_slots(3), np.exp(np.random.default_rng(4).normal(0, 0.7, (40, 9)))
    targets, advantages = v_trace(*facts, ratios, gamma, lam)
    for slot in range(40):
        wanted = summed_v_trace(*(array[slot] for array in facts), ratios[slot], gamma, lam)
        assert targets[slot] == pytest.approx(wanted[0])
        assert advantages[slot] == pytest.approx(wanted[1])


@pytest.mark.parametrize("lam", [0.0, 0.9, 1.0])
def test_without_a_lag_v_trace_is_gae(lam):
    facts = random_slots(5)
    targets, advantages = v_trace(*facts, np.ones((40, 9)), 0.97, lam)
    assert targets == pytest.approx(gae(*facts, 0.97, lam) + facts[1])
    if lam == 1:
        assert advantages == pytest.approx(gae(*facts, 0.97, lam))


def test_v_trace_by_hand():
    """Two steps: the first is half as likely, the second twice as likely as where it was sampled."""
    arrays = [np.array([row]) for row in ([1.0, 2.0], [0.5, 1.0], [1.0, 4.0])]
    ends = np.array([[False, False]]), np.array([[False, True]])
    targets, advantages = v_trace(*arrays, *ends, np.array([[0.5, 2.0]]), 0.5, 0.8)
    # delta: 0.5 (1 + 0.5 - 0.5) = 0.5 and 1 (2 + 2 - 1) = 3; trace: 0.5 * 0.8 * 0.5 = 0.2
    assert targets.tolist() == [[pytest.approx(0.5 + 0.5 + 0.2 * 3), 4.0]]
    assert advantages.tolist() == [[1 + 0.5 * 4 - 0.5, 3.0]]


def test_v_trace_refuses_a_slot_that_is_left_open_too():
    with pytest.raises(ValueError, match="last step"):
        v_trace(*np.ones((3, 1, 2)), *np.zeros((2, 1, 2), bool), np.ones((1, 2)), GAMMA, LAMBDA)


INSIDE = np.zeros((3, 2, 1))


def unit(values):
    return values / np.sqrt(np.mean(np.square(values)))


def test_differences_within_a_slot_by_hand():
    f = np.array([[3.0, 1.0], [0.0, 4.0], [7.0, 7.0]])
    expected = np.log1p([[2 / 3, 2 / 3], [4 / 3, 4 / 3], [0, 0]]) * [[-1, 1], [1, -1], [0, 0]]  # the median is 3
    assert leave_one_out_advantages(f, INSIDE, 0.0) == pytest.approx(unit(expected))


def test_ranks_within_a_batch_by_hand():
    f = np.array([[3.0, 1.0], [0.0, 4.0], [7.0, 7.0]])  # so many are better: 2 1, 0 3, 4 4
    expected = np.log([[1.5 / 2.5, 2.5 / 1.5], [3.5 / 0.5, 0.5 / 3.5], [1, 1]])
    assert leave_one_out_advantages(f, INSIDE, 1.0) == pytest.approx(unit(expected))
    mixed = 0.25 * leave_one_out_advantages(f, INSIDE, 1.0) + 0.75 * leave_one_out_advantages(f, INSIDE, 0.0)
    assert leave_one_out_advantages(f, INSIDE, 0.25) == pytest.approx(mixed)


def test_each_outcome_is_compared_with_the_mean_of_the_others():
    f = np.array([[1.0, 2.0, 6.0]])  # minus the others' means: -3, -1.5, 4.5
    expected = unit(np.log1p([[1, 0.5, 1.5]]) * [1, 1, -1])
    assert leave_one_out_advantages(f, np.zeros((1, 3, 2)), 0.0) == pytest.approx(expected)


@pytest.mark.parametrize("rank_weight", [0.0, 0.4, 1.0])
def test_advantages_do_not_depend_on_scale_and_zero_of_f(rank_weight):
    f = np.random.default_rng(0).normal(size=(3, 2))
    expected = leave_one_out_advantages(f, INSIDE, rank_weight)
    assert leave_one_out_advantages(1024 * f, INSIDE, rank_weight).tobytes() == expected.tobytes()
    assert leave_one_out_advantages(1e-3 * f + 500, INSIDE, rank_weight) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("rank_weight", [0.0, 1.0])
def test_of_equal_outcomes_the_action_less_out_of_bounds_wins(rank_weight):
    f = np.array([[5.0, 5.0], [5.0, 5.0], [1.0, 2.0]])
    actions = np.array([[[1.5], [3.0]], [[-4.0], [0.0]], [[9.0], [0.0]]])
    advantages = leave_one_out_advantages(f, actions, rank_weight)
    assert advantages[:2].tolist() == [[1, -1], [-1, 1]]
    assert advantages[2, 0] > 0 > advantages[2, 1]  # f comes first
    assert leave_one_out_advantages(np.ones((3, 2)), INSIDE, rank_weight).tolist() == np.zeros((3, 2)).tolist()


@pytest.mark.parametrize("rank_weight", [0.0, 1.0])
def test_ties_among_several_time_steps_are_ties(rank_weight):
    f = np.array([[0.1, 0.1, 0.1], [1.0, 2.0, 3.0], [5.0, 5.0, 7.0]])
    actions = np.array([[[1.5], [1.2], [1.1]], [[0.0], [2.0], [0.0]], [[1.1], [0.0], [0.0]]])
    advantages = leave_one_out_advantages(f, actions, rank_weight)
    assert advantages[0].tolist() == [-1, 0, 1]  # by how far out of bounds, no rounding errors beside
    inside = leave_one_out_advantages(f, 0 * actions, rank_weight)
    assert advantages[1].tolist() == inside[1].tolist()  # no ties, no look at bounds
    assert advantages[2, 1] - advantages[2, 0] == pytest.approx(1)  # the tied ones, half each against the third


def test_crowded_conditions_count_as_much_as_sparse_ones():
    crowd, grid = np.full((10, 1), 0.9), np.linspace(-0.95, 0.95, 20)[:, None]
    weights = inverse_density_weights(np.concatenate([crowd, grid]), 0.2)
    assert weights.mean() == pytest.approx(1)
    assert np.ptp(weights[:10]) < 1e-12
    assert weights[0] < 0.5 * weights[15]
    right = weights[:10].sum() + weights[10:][grid[:, 0] > 0.45].sum()
    left = weights[10:][grid[:, 0] < -0.45].sum()
    assert right == pytest.approx(left, rel=0.3)  # of 16 slots there and 6 here


@pytest.mark.parametrize("conditions", [1, 3])
def test_even_conditions_have_even_weights_up_to_the_bounds(conditions):
    n = 40 if conditions == 1 else 8
    axes = np.meshgrid(*[(np.arange(n) + 0.5) * 2 / n - 1] * conditions)  # the middles of equal cells
    weights = inverse_density_weights(np.stack([axis.ravel() for axis in axes], axis=1), 0.2)
    assert weights == pytest.approx(np.ones(len(weights)), abs=0.15)
    assert inverse_density_weights(np.array([[0.3] * conditions]), 0.2) == pytest.approx([1])


@pytest.mark.parametrize("rank_weight", [0.0, 0.4, 1.0])
def test_an_outcome_that_failed_is_the_worst_of_its_slot_by_ranks(rank_weight):
    """Its partner has the rank advantage over the worst; the differences of the other slots are as they were."""
    f = np.array([[3.0, 1.0], [np.nan, 4.0], [7.0, 7.5], [np.nan, np.nan]])
    actions = np.full((4, 2, 1), 1.5)
    actions[3, 0] = 9.0  # further out, which is no tie where both failed
    found = leave_one_out_advantages(f, actions, rank_weight)
    ranks = np.log([[1.5, 0.5], [5.5, 2.5], [3.5, 4.5], [5.5, 5.5]])
    ranked = unit(np.column_stack([ranks[:, 1] - ranks[:, 0], ranks[:, 0] - ranks[:, 1]]))
    scale = np.median([2.0, 2.0, 0.5, 0.5])
    sizes = [np.log1p(2 / scale), 0.0, np.log1p(0.5 / scale), 0.0]
    by_size = unit(np.column_stack([np.multiply(sizes, [-1, 0, 1, 0]), np.multiply(sizes, [1, 0, -1, 0])]))
    expected = rank_weight * ranked + (1 - rank_weight) * by_size
    expected[[1, 3]] = ranked[[1, 3]]
    assert found == pytest.approx(expected)
    assert found[1, 1] > 0 > found[1, 0]
    assert found[3].tolist() == [0, 0]


def test_where_all_failed_nothing_is_learned():
    assert leave_one_out_advantages(np.full((3, 2), np.nan), INSIDE, 0.5).tolist() == np.zeros((3, 2)).tolist()


@pytest.mark.parametrize("dims", [1, 2, 3, 7, 12])
def test_distances_have_the_bits_of_scipys(dims):
    points = np.random.default_rng(dims).uniform(-1, 1, (64, dims))
    assert np.array_equal(_squared_distances(points), cdist(points, points, "sqeuclidean"))


@pytest.mark.parametrize("count", [1, 2, 3, 8, 101])
def test_the_median_has_the_bits_of_numpys(count):
    values = np.random.default_rng(count).exponential(size=count)
    assert _median(values) == np.median(values)
