import numpy as np
import pytest

from ppo.advantages import gae

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


def test_lambda_1_is_the_return_minus_the_value_and_lambda_0_the_one_step_error():
    (rewards, values, final), (terminated, truncated) = (list(a) for a in arrays())
    one_step = gae(rewards, values, final, terminated, truncated, GAMMA, 0.0)
    assert one_step == pytest.approx(rewards + GAMMA * np.where(terminated, 0, final) - values)
    whole = gae(rewards, values, final, terminated, truncated, GAMMA, 1.0)
    assert whole[0, 0] == pytest.approx(1 + 0.5 * 2 + 0.25 * 3 + 0.125 * 4 - 0.5)
    assert whole[1, 0] == pytest.approx(1 + 0.5 * 2 - 0.5)


def test_a_slot_that_is_left_open_is_refused():
    with pytest.raises(ValueError, match="last step"):
        gae(*np.ones((3, 1, 2)), np.zeros((1, 2), bool), np.zeros((1, 2), bool), GAMMA, LAMBDA)
