"""TempControl has the returns and steady states of its equations, and the same bits batched and single."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env import Problem, TempControlEnv, TempControlVectorEnv
from env.temp_control import STEPS

QUIET = {"load_rounds": 0}


def returns(plant, control, rows=200, **kwargs):
    """Returns the return of each episode under ``control(obs) -> actions``, seeds from 1000 on."""
    env = TempControlVectorEnv(rows, plant, **QUIET, **kwargs)
    obs, _ = env.reset(seed=list(range(1000, 1000 + rows)))
    total, truncated = np.zeros(rows), np.zeros(rows, bool)
    while not truncated.any():
        obs, rewards, _, truncated, _ = env.step(control(obs))
        total += rewards
    assert truncated.all()
    return total


def constant(u):
    return lambda obs: np.full((len(obs), 1), float(u))


@pytest.mark.parametrize(("u", "mean", "sd"), [(1, -33_970, 1115), (0, -36_830, 897), (-1, -38_460, 800)])
def test_the_published_process_under_constant_actions(u, mean, sd):
    """Means over 200 seeds; within 3 standard errors of two such means."""
    assert returns("published", constant(u)).mean() == pytest.approx(mean, abs=3 * sd * (2 / 200) ** 0.5)


def test_the_controllable_process_can_be_held_at_its_set_point():
    assert returns("controllable", constant(0), 100).mean() == pytest.approx(-36_872, abs=400)
    assert returns("controllable", constant(1), 100).mean() == pytest.approx(-10_825, abs=100)
    held = returns("controllable", lambda obs: np.clip(0.083 * obs[:, :1] + 0.594, -1, 1), 100)
    assert held.mean() == pytest.approx(-2_650, abs=130)


def test_steady_states_are_where_power_and_loss_balance():
    env = TempControlVectorEnv(1, "controllable", disturbance=0, **QUIET)
    env.reset(seed=[0])
    for _ in range(STEPS):
        obs, *_ = env.step(np.array([[0.59375]]))  # 12 u = 0.02 * 75 + 0.001 * 75^2
    assert obs[0, 0] == pytest.approx(0, abs=1.5)  # noise of 0.1 a step over a time constant of a minute
    published = TempControlVectorEnv(1, "published", disturbance=0, **QUIET)
    for temperature, rises in ((46.5, True), (48.0, False)):  # full power settles at 47 C
        published._temperature[:] = temperature
        assert (published._advance(np.ones(1))[0] > temperature) == rises


def test_actions_are_late_by_five_steps_and_moves_cost():
    env = TempControlVectorEnv(2, "controllable", disturbance=0, **QUIET)
    env.reset(seed=[7, 7])  # the same noise in both rows
    gaps, costs = [], []
    for t in range(8):
        obs, rewards, *_ = env.step(np.array([[0.0], [1.0 if t == 0 else 0.0]]))
        gaps.append(obs[1, 0] - obs[0, 0])
        costs.append(rewards[0] - rewards[1])
    assert gaps[:5] == [0] * 5
    assert gaps[5] < -1  # 12 W into a capacity of 10
    assert costs[0] == pytest.approx(0.05)  # up
    assert costs[1] == pytest.approx(0.05)  # and down again
    assert costs[2] == 0


@pytest.mark.parametrize("plant", ["published", "controllable"])
@pytest.mark.parametrize("kwargs", [{}, {"history": True, "actions": True, "multiple_disturbances": True}])
def test_batched_and_single_are_the_same_bits(plant, kwargs):
    seeds = [5, 17, 4]
    batch = TempControlVectorEnv(3, plant, **QUIET, **kwargs)
    singles = [TempControlEnv(plant=plant, **QUIET, **kwargs) for _ in seeds]
    rng = np.random.default_rng(0)
    obs, _ = batch.reset(seed=seeds)
    for row, (env, seed) in enumerate(zip(singles, seeds, strict=True)):
        assert env.reset(seed=seed)[0].tobytes() == obs[row].tobytes()
    for _ in range(STEPS):
        actions = rng.uniform(-1.2, 1.2, (3, 1))
        obs, rewards, _, truncations, _ = batch.step(actions)
        for row, env in enumerate(singles):
            own, reward, _, truncated, _ = env.step(actions[row])
            assert own.tobytes() == obs[row].tobytes()
            assert (reward, truncated) == (rewards[row], truncations[row])
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"rows \[0, 1, 2\]"):
        batch.step(actions)


def test_a_masked_reset_leaves_the_other_rows_alone():
    env = TempControlVectorEnv(2, **QUIET)
    first, _ = env.reset(seed=[1, 2])
    for _ in range(3):
        before, *_ = env.step(np.ones((2, 1)))
    obs, _ = env.reset(seed=[9, 1], options={"reset_mask": np.array([False, True])})
    assert obs[0].tobytes() == before[0].tobytes()
    assert obs[1].tobytes() == first[0].tobytes()  # as seed 1 gave it before


@pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")
@pytest.mark.parametrize(("switch", "size"), [({}, 2), ({"history": True}, 12), ({"actions": True}, 7)])
def test_switches_are_keywords_of_gymnasium_make(switch, size):
    for version in (0, 1):
        env = gymnasium.make(f"TempControl-v{version}", **QUIET, **switch)
        assert env.observation_space.shape == (size,)
        check_env(env.unwrapped, skip_render_check=True)


def test_making_one_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gymnasium.make("TempControl-v1", **QUIET)


@pytest.mark.parametrize(("level", "size", "impulses"), [("low", 2, 1), ("medium", 2, 1), ("high", 12, 3)])
def test_levels_of_complexity_and_keywords_that_override_them(level, size, impulses):
    env = TempControlVectorEnv(1, level=level, **QUIET)
    assert env.single_observation_space.shape == (size,)
    assert (len(env.windows), env.high_precision) == (impulses, level != "low")
    plain = TempControlVectorEnv(1, level=level, history=False, multiple_disturbances=False, **QUIET)
    assert plain.single_observation_space.shape == (2,)
    assert len(plain.windows) == 1
    with pytest.raises(ValueError, match="'hard' is none of low, medium, high"):
        TempControlVectorEnv(1, level="hard")


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"plant": "steel"}, "plant 'steel' is none of published, controllable"),
        ({"history": "off"}, "history 'off': must be true or false"),
        ({"high_precision": 1}, "high_precision 1: must be true or false"),
        ({"actions": "no"}, "actions 'no': must be true or false"),
        ({"disturbance": float("nan")}, "disturbance nan: must be finite"),
        ({"load_rounds": -1}, "load_rounds -1: must be a whole number from 0 to"),
        ({"load_size": True}, "load_size True: must be a whole number"),
        ({"max_episode_steps": 501}, "max_episode_steps 501: must be a whole number from 1 to 500"),
    ],
)
def test_a_keyword_that_cannot_be_is_named(kwargs, message):
    with pytest.raises(ValueError, match=message):
        TempControlVectorEnv(1, **kwargs)


@pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")
@pytest.mark.parametrize("version", [0, 1])
def test_gymnasium_makes_the_native_batch(version):
    env = gymnasium.make_vec(f"TempControl-v{version}", num_envs=3, **QUIET)
    assert isinstance(env.unwrapped, TempControlVectorEnv)
    short = gymnasium.make_vec(f"TempControl-v{version}", num_envs=2, max_episode_steps=4, **QUIET)
    short.reset(seed=0)
    for t in range(4):
        *_, truncations, _ = short.step(np.zeros((2, 1)))
        assert (truncations == (t == 3)).all()


def test_one_seed_says_how_all_later_resets_go():
    first, second = (TempControlVectorEnv(3, **QUIET) for _ in range(2))
    a, b = first.reset(seed=5)[0], second.reset(seed=np.int64(5))[0]
    assert a.tobytes() == b.tobytes()
    assert a.tobytes() == TempControlVectorEnv(3, **QUIET).reset(seed=[5, 6, 7])[0].tobytes()
    c, d = first.reset()[0], second.reset()[0]
    assert c.tobytes() == d.tobytes()
    assert (c[:, 0] != a[:, 0]).all()


def test_load_changes_nothing_and_impulses_keep_their_windows():
    plain, loaded = TempControlVectorEnv(1, **QUIET), TempControlVectorEnv(1, load_size=20, load_rounds=2)
    for env in (plain, loaded):
        env.reset(seed=[3])
    assert plain.step(np.ones((1, 1)))[0].tobytes() == loaded.step(np.ones((1, 1)))[0].tobytes()
    for several, windows in ((False, ((200, 300),)), (True, ((100, 150), (200, 250), (300, 350)))):
        env = TempControlVectorEnv(50, multiple_disturbances=several, **QUIET)
        env.reset(seed=list(range(50)))
        impulses = env._shocks < -15
        assert (impulses.sum(axis=1) == len(windows)).all()
        assert impulses[:, [t for a, b in windows for t in range(a, b)]].sum() == impulses.sum()


def test_an_episode_may_start_at_any_temperature():
    start = np.array([[99.0], [21.0], [150.0]])
    env = TempControlVectorEnv(3, **QUIET)
    assert env.start_space.contains(start[0])
    assert env.start_space.contains(start[2])
    obs, _ = env.reset(seed=[1, 2, 3], options={"starts": start})
    assert obs[:, 0].tolist() == [1.0, 79.0, -50.0]
    single, _ = TempControlEnv(**QUIET).reset(seed=2, options={"start": start[1]})
    assert single.tobytes() == obs[1].tobytes()
    own, _ = env.reset(seed=[1, 2, 3])
    assert (own[:, 0] >= 60).all()  # from 25 to 40 degrees


def test_the_native_batch_is_used():
    assert isinstance(Problem("TempControl-v1").make_batch(3, None), TempControlVectorEnv)
    assert not hasattr(Problem("CartPole-v1").make_batch(3, None), "_shocks")
    assert Problem("TempControl-v0").describe().episode_limit == STEPS
