"""The learn-to-optimise MDP: absolute actions, rewards f(s) - f(s'), one evaluation of each state, rows apart."""

import time

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env import OBJECTIVES, Objective, TuningEnv, TuningVectorEnv
from tests.chance import GlobalChance

IDS = [f"tuninglaw/{objective.__name__}-v0" for objective in OBJECTIVES.values()]


class Counting(Objective):
    """f = x - c; records every row that is evaluated."""

    knobs = 1
    conditions = 1

    def __init__(self):
        self.rows = []

    def __call__(self, x, c):
        self.rows += np.concatenate([x, c], axis=1).tolist()
        return x[:, 0] - c[:, 0]


@pytest.mark.parametrize("name", IDS)
def test_registered_ids_pass_gymnasiums_checker(name):
    sizes = {} if name in ("tuninglaw/Branin-v0", "tuninglaw/Noisy-v0") else {"dims": 3, "knobs": 2}
    check_env(gymnasium.make(name, **sizes).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", IDS)
def test_make_vec_gives_the_native_batch(name):
    batch = gymnasium.make_vec(name, num_envs=5)
    assert isinstance(batch.unwrapped, TuningVectorEnv)
    obs, _ = batch.reset(seed=3)
    assert obs.shape == (5, 6 if name == "tuninglaw/Hartmann-v0" else 2)
    assert batch.observation_space.contains(obs)


def test_one_episode_by_hand():
    env = TuningVectorEnv(Counting(), num_envs=2, time_steps=2)
    obs, infos = env.reset(options={"starts": [[0.5, 0.1], [-0.5, 0.2]]})
    assert infos["objective"].tolist() == [0.4, -0.7]
    obs, rewards, terminations, truncations, infos = env.step(np.array([[0.25], [-1.0]]))
    assert obs.tolist() == [[0.25, 0.1], [-1.0, 0.2]]  # the action is the knob itself; conditions stay
    assert rewards == pytest.approx([0.4 - 0.15, -0.7 + 1.2])
    assert not terminations.any()
    assert not truncations.any()
    obs, rewards, terminations, truncations, infos = env.step(np.array([[9.0], [0.0]]))
    assert obs[0, 0] == 1.0  # clipped: f is never asked outside the bounds
    assert rewards == pytest.approx([0.15 - 0.9, -1.2 + 0.2])
    assert truncations.all()
    assert not terminations.any()


def test_each_state_is_evaluated_once_and_counted_row_by_row():
    objective = Counting()
    env = TuningVectorEnv(objective, num_envs=3, time_steps=4)
    env.reset(seed=0)
    for t in range(4):
        env.step(np.full((3, 1), t / 10))
    assert len(objective.rows) == 3 * 5 == env.evaluations.sum()
    assert len({tuple(row) for row in objective.rows}) == 15
    env.reset(options={"starts": np.zeros((3, 2)), "evaluate_starts": False})
    assert env.evaluations.sum() == 0
    env.step(np.ones((3, 1)))
    assert env.evaluations.tolist() == [1, 1, 1]


def test_reset_mask_touches_only_its_rows():
    env = TuningVectorEnv(Counting(), num_envs=2, time_steps=1)
    env.reset(options={"starts": np.zeros((2, 2))})
    env.step(np.array([[0.5], [0.6]]))
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"rows \[0, 1\]"):
        env.step(np.zeros((2, 1)))
    obs, _ = env.reset(options={"starts": np.full((2, 2), 0.1), "reset_mask": np.array([True, False])})
    assert obs.tolist() == [[0.1, 0.1], [0.6, 0.0]]


def test_starts_outside_the_bounds_are_refused():
    env = TuningVectorEnv(Counting(), num_envs=1)
    with pytest.raises(ValueError, match=r"\[-1, 1\]"):
        env.reset(options={"starts": [[0.0, 1.5]]})


def test_single_is_one_row_of_the_batch():
    rng = np.random.default_rng(0)
    starts, actions = rng.uniform(-1, 1, (7, 2)), rng.uniform(-1, 1, (7, 1))
    batch = TuningVectorEnv("rosenbrock", num_envs=7)
    batch.reset(options={"starts": starts})
    _, rewards, *_ = batch.step(actions)
    for start, action, reward in zip(starts, actions, rewards, strict=True):
        single = TuningEnv("rosenbrock")
        single.reset(options={"starts": start})
        assert single.step(action)[1] == reward


def test_latency_is_added_for_each_row(monkeypatch):
    slept = []
    monkeypatch.setattr("env.tuning.time.sleep", slept.append)
    env = TuningVectorEnv("sphere", num_envs=4, evaluation_cost_ms=5)
    env.reset(seed=0)
    env.step(np.zeros((4, 1)))
    assert slept == [0.02, 0.02]


def test_rows_that_are_evaluated_apart_are_timed_apart():
    class Slow(Objective):
        knobs = 1
        conditions = 1

        def __call__(self, x, c):
            time.sleep(0.3 if x[0, 0] > 0 else 0)
            return x[:, 0]

    env = TuningVectorEnv(Slow(), num_envs=3, evaluation_cost_ms=2)
    env.reset(options={"starts": np.array([[-0.5, 0], [0.5, 0], [-0.5, 0]])})
    assert env.seconds[1] >= 0.302
    assert (env.seconds >= 0.002).all()
    assert env.seconds[[0, 2]].max() < 0.3  # which is what each of them would show of a shared time of all


def values(env, seed, starts=None):
    """Returns f over an episode whose state does not change, ``[3, num_envs]``."""
    options = {"starts": np.zeros((env.num_envs, 3)) if starts is None else starts}
    found = [env.reset(seed=seed, options=options)[1]["objective"]]
    found += [env.step(np.zeros((env.num_envs, 2)))[4]["objective"] for _ in range(2)]
    return np.array(found)


def test_what_f_draws_depends_on_the_rows_seed_and_the_time_step():
    env, other = TuningVectorEnv(GlobalChance(), num_envs=3), TuningVectorEnv(GlobalChance(), num_envs=2)
    found = values(env, [7, 8, 9])
    assert len(np.unique(found)) == 9
    assert np.array_equal(values(env, [7, 8, 9]), found)
    assert np.array_equal(values(other, [9, 7]), found[:, [2, 0]])
    assert np.array_equal(values(env, 5), values(env, 5))
    assert not np.isin(values(env, None), values(env, 5)).any()


def test_a_row_that_is_reset_alone_takes_its_new_seed_alone():
    env = TuningVectorEnv(GlobalChance(), num_envs=2, time_steps=9)
    zeros = {"starts": np.zeros((2, 3))}
    found = values(env, [7, 8])
    mask = np.array([True, False])
    again = env.reset(seed=[7, 9], options=zeros | {"reset_mask": mask})[1]["objective"]
    assert again.tolist() == [found[0, 0], found[2, 1]]
    after = env.step(np.zeros((2, 2)))[4]["objective"]
    assert after[0] == found[1, 0]
    assert not np.isin(after[1], found)
