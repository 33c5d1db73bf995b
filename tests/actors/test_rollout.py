"""A slot gives the same trajectory whichever slots run beside it, and records what happened before any clipping."""

import dataclasses
import random

import numpy as np
import pytest

from actors import NetworkSpec, Snapshot
from actors.draws import job_sampler
from actors.job import PLANNED, Job, Kind, Task
from actors.policy import centre_states
from actors.rollout import Collector
from env import Problem, UsageError
from tests.actors.mixtures import mixture, random_plan
from tests.chance import CountedEnv
from tests.problems import Quadratic


def job(env="rosenbrock", sampler="random", episodes=12, time_steps=2, **changes):
    control = {"eval_episodes": 4, "eval_time_steps": 8}
    line = centre_states(np.linspace(-1, 1, 5)[:, None], 1)
    tuning = {"eval_starts": line, "check_starts": line[:4]}
    problem = Problem(env, time_steps=time_steps)
    return Job(
        problem,
        sampler,
        16,
        3,
        episodes,
        time_steps,
        pairs=9,
        **(tuning if problem.family == "tuning" else control) | changes,
    )


def collector(a_job, version=4, seed=0):
    made = Collector(a_job)
    described = a_job.description
    head = "categorical" if described.choices else "gaussian"
    spec = NetworkSpec(described.obs_dim, (8,), "tanh", head, described.action_dim, described.choices)
    theta = 0.5 * np.random.default_rng(seed).normal(size=spec.size)
    made.update(Snapshot(version, spec, theta, 1e-3))
    return made


FIELDS = ("slots", "obs", "actions", "logprobs", "rewards", "objectives", "final_obs", "terminations", "truncations")


JOBS = [
    job(),
    job("tests.problems:Quadratic", "env", eval_starts=np.zeros((4, 3)), check_starts=np.zeros((5, 3))),
    job("CartPole-v1", "env", time_steps=40),
    job("tests.problems:CountdownEnv", "env", time_steps=8),
    job("tests.chance:GlobalChance", eval_starts=np.zeros((4, 3)), check_starts=np.zeros((5, 3))),
    job("tests.chance:OwnChance", "env", eval_starts=np.zeros((4, 3)), check_starts=np.zeros((5, 3))),
    job("tests.chance:DiceEnv", "env", time_steps=8),
    job("Pendulum-v1", "env", time_steps=300),
    job(time_steps=3, mirrored=True),
]
KINDS = {"tuning": [kind for kind in Kind if kind not in PLANNED], "control": [Kind.COLLECT, Kind.EVALUATE]}


@pytest.mark.parametrize(
    ("a_job", "kind"),
    [(a_job, kind) for a_job in JOBS for kind in KINDS[a_job.problem.family]],
    ids=lambda value: value.problem.env if isinstance(value, Job) else value.name,
)
def test_any_split_of_the_slots_gives_the_same_trajectory(a_job, kind):
    slots = a_job.slots(kind)
    whole = collector(a_job).run(Task(kind, 4, 0, slots))
    other = collector(a_job)
    for size in (1, 3, 5):
        for start in reversed(range(0, slots, size)):
            stop = min(start + size, slots)
            some = other.run(Task(kind, 4, start, stop))
            for name in FIELDS:
                a, b = getattr(some, name), getattr(whole, name)[start:stop]
                valid = slice(None)
                if kind == Kind.EVALUATE and a.ndim > 1 and name not in ("obs", "objectives") and a.shape[1] > 1:
                    valid = slice(None), slice(0, 3)  # a task may stop once all of its own episodes have ended
                    if name == "truncations":
                        continue
                if kind == Kind.EVALUATE and name == "obs":
                    a, b = a[:, :1], b[:, :1]
                assert np.array_equal(a[valid], b[valid], equal_nan=True), (name, start)


@pytest.mark.parametrize("time_steps", [2, 3, 4])
def test_mirrored_noise_is_that_of_the_step_before_negated(time_steps):
    made = collector(job(time_steps=time_steps, mirrored=True))
    trajectory = made.run(Task(Kind.COLLECT, 4, 0, 12))
    means = np.stack([made.policy.mode(trajectory.obs[:, t]) for t in range(time_steps)], axis=1)
    sides = np.sign(trajectory.actions - means)[:, :, 0]
    for t in range(0, time_steps - 1, 2):
        assert (sides[:, t] == -sides[:, t + 1]).all()
    assert len(set(sides[:, 0])) == 2
    noise = made.draws.noise(Task(Kind.COLLECT, 4, 0, 12))
    assert (noise[:, 1] == -noise[:, 0]).all()
    independent = collector(job(time_steps=time_steps)).draws.noise(Task(Kind.COLLECT, 4, 0, 12))
    assert (noise[:, ::2] == independent[:, ::2]).all()  # the others stay as they are
    assert not (independent[:, 1] == -independent[:, 0]).any()


def test_an_episode_that_ends_is_followed_by_a_keyed_reset():
    trajectory = collector(job("tests.problems:CountdownEnv", "env", time_steps=8)).run(Task(Kind.COLLECT, 4, 0, 12))
    for slot in range(12):
        left, total = trajectory.obs[slot, 0]
        lengths = []
        for t in range(8):
            assert trajectory.obs[slot, t].tolist() == [left, total]
            assert trajectory.final_obs[slot, t].tolist() == [left - 1, total]  # before any reset
            assert trajectory.terminations[slot, t] == (left == 1)
            left -= 1
            if left == 0 and t < 7:
                lengths.append(total)
                left, total = trajectory.obs[slot, t + 1]
                assert left == total
        assert trajectory.truncations[slot].tolist() == [False] * 7 + [not trajectory.terminations[slot, 7]]
    firsts = trajectory.obs[:, 0, 1]
    assert len(set(firsts)) > 1  # keyed by slot


def test_trajectory_of_a_tuning_problem():
    trajectory = collector(job()).run(Task(Kind.COLLECT, 4, 3, 7))
    assert trajectory.slots.tolist() == [3, 4, 5, 6]
    assert trajectory.versions.tolist() == [4] * 4
    assert trajectory.evaluations.tolist() == [3] * 4  # f(s0), f(s1), f(s2)
    objective = Problem("rosenbrock").objective()
    assert trajectory.objectives[:, 0] == pytest.approx(objective(trajectory.obs[:, 0, :1], trajectory.obs[:, 0, 1:]))
    assert trajectory.objectives[:, 2] == pytest.approx(
        objective(trajectory.final_obs[:, 1, :1], trajectory.final_obs[:, 1, 1:])
    )
    assert trajectory.rewards == pytest.approx(trajectory.objectives[:, :-1] - trajectory.objectives[:, 1:])
    assert np.array_equal(trajectory.obs[:, 1], trajectory.final_obs[:, 0])
    assert trajectory.truncations.tolist() == [[False, True]] * 4
    assert np.array_equal(trajectory.obs[:, 1, 0], np.clip(trajectory.actions[:, 0, 0], -1, 1))
    assert (np.abs(trajectory.actions) > 1).any()  # recorded as sampled, before clipping


@pytest.mark.parametrize("sampler", ["random", "env"])
@pytest.mark.parametrize("evaluate_starts", [True, False])
def test_whoever_draws_the_starts_a_slot_takes_the_evaluations_that_the_job_says(evaluate_starts, sampler):
    a_job = job(sampler=sampler, evaluate_starts=evaluate_starts)
    trajectory = collector(a_job).run(Task(Kind.COLLECT, 4, 0, 12))
    assert trajectory.evaluations.tolist() == [a_job.evaluations(Kind.COLLECT)] * 12 == [2 + evaluate_starts] * 12
    assert (np.isfinite(trajectory.objectives[:, 0]) == evaluate_starts).all()
    assert np.isfinite(trajectory.objectives[:, 1:]).all()


def test_evaluation_asks_the_law_and_evaluates_f_once():
    trajectory = collector(job()).run(Task(Kind.EVALUATE, 4, 0, 5))
    assert trajectory.obs[:, 0].tolist() == [[0.0, c] for c in np.linspace(-1, 1, 5)]
    assert trajectory.evaluations.tolist() == [1] * 5
    assert np.isfinite(trajectory.objectives[:, 1]).all()


def test_evaluation_repeats_the_same_episodes_at_every_step():
    evaluated = [collector(job("Pendulum-v1", "env"), version=v).run(Task(Kind.EVALUATE, v, 0, 4)) for v in (1, 2)]
    assert np.array_equal(evaluated[0].obs, evaluated[1].obs)


def test_training_steps_differ():
    acting = collector(job())
    a, b = (acting.run(Task(Kind.COLLECT, step, 0, 12)) for step in (0, 1))
    assert not np.isin(a.obs[:, 0], b.obs[:, 0]).any()
    assert not np.isin(a.actions, b.actions).any()


def test_bounded_actions_are_scaled_to_their_space():
    trajectory = collector(job("tests.problems:WideEnv", "env", episodes=4, time_steps=3)).run(
        Task(Kind.COLLECT, 0, 0, 4)
    )
    unit = np.clip(trajectory.actions, -1, 1)
    assert trajectory.rewards == pytest.approx(2 * unit[..., 0] + 5 * (unit[..., 1] + 1))


def test_a_sampler_needs_starts_that_can_be_set():
    with pytest.raises(UsageError, match="CountdownEnv cannot be set; use --sampler env, its own"):
        Collector(job("tests.problems:CountdownEnv", "lhs"))


def test_a_sampler_that_returns_the_wrong_rows_is_named():
    acting = collector(job(sampler="tests.problems:UnslicedSampler"))
    with pytest.raises(ValueError, match=r"UnslicedSampler.sample returned \(12, 2\) for rows 3 to 5"):
        acting.run(Task(Kind.COLLECT, 0, 3, 6))


def test_one_objective_a_run_and_one_sample_a_task(monkeypatch):
    from tests.problems import CornerSampler

    made, asked = [], []
    monkeypatch.setattr(Quadratic, "__init__", lambda self: made.append(self), raising=False)
    sample = CornerSampler.sample
    monkeypatch.setattr(CornerSampler, "sample", lambda self, *a: (asked.append(a), sample(self, *a))[1])
    acting = collector(job("tests.problems:Quadratic", "tests.problems:CornerSampler", eval_starts=np.zeros((4, 3))))
    made.clear()  # one was made for the test's own job, one for the collector
    for step in range(5):
        acting.run(Task(Kind.COLLECT, step, 0, 3 + step % 2))
    assert made == []
    assert len(asked) == 5


def test_uncertainty_needs_starts_that_are_observations():
    for sampler in ("uncertainty", "heterogeneous"):
        with pytest.raises(UsageError, match=f"--sampler {sampler}: asks the policy about starts"):
            Collector(Job(Problem("TempControl-v1", time_steps=5), sampler, 8, 0, 10, 5, eval_episodes=2))
    Collector(Job(Problem("MountainCar-v0", time_steps=5), "uncertainty", 8, 0, 10, 5, eval_episodes=2))


@pytest.mark.parametrize("env", ["MountainCarContinuous-v0", "TempControl-v1"])
def test_samplers_work_where_starts_can_be_set(env):
    a_job = Job(Problem(env, time_steps=5), "lhs", 8, 0, 10, 5, eval_episodes=2, eval_time_steps=5)
    made = collector(a_job)
    trajectory = made.run(Task(Kind.COLLECT, 0, 0, 10))
    sampler = job_sampler(a_job)
    low, high = sampler.l_bounds, sampler.u_bounds
    first = trajectory.obs[:, 0, 0] if env.startswith("Mountain") else 100 - trajectory.obs[:, 0, 0]
    strata = np.floor((first - low[0]) / (high[0] - low[0]) * 10).astype(int)
    assert sorted(strata) == list(range(10))  # one design over the whole step
    other = Collector(a_job)
    other.update(made.policy.snapshot)
    assert other.run(Task(Kind.COLLECT, 0, 3, 6)).obs.tobytes() == trajectory.obs[3:6].tobytes()


def noise(a_job, kind, step, seed=0):
    """Returns what chance added to the last values of f in a round, ``[slots]``."""
    made = Collector(a_job)
    made.update(dataclasses.replace(mixture(1, seed=seed), plan=random_plan(a_job.slots(kind))))
    trajectory = made.run(Task(kind, step, 0, a_job.slots(kind)))
    last = trajectory.final_obs[:, -1]
    return trajectory.objectives[:, -1] - Quadratic()(last[:, :2], last[:, 2:])


@pytest.mark.parametrize("env", ["tests.chance:GlobalChance", "tests.chance:OwnChance"])
def test_what_f_draws_is_keyed_by_the_step_in_training_and_is_the_same_in_every_evaluation(env):
    a_job = job(env, planned=(13, 7), eval_starts=np.zeros((4, 3)), check_starts=np.zeros((5, 3)))
    for kind in (Kind.DESIGN, Kind.PLAN, Kind.COLLECT):
        first, second = noise(a_job, kind, 4), noise(a_job, kind, 5)
        assert len(np.unique(np.concatenate([first, second]).round(9))) == 2 * a_job.slots(kind)
        assert np.array_equal(noise(a_job, kind, 4), first)
        assert noise(dataclasses.replace(a_job, seed=9), kind, 4) != pytest.approx(first, abs=1e-6)
    for kind in (Kind.EVALUATE, Kind.CHECK, Kind.CHECK_CONSTANT, Kind.CHECK_MEAN):
        first = noise(a_job, kind, 4)
        assert noise(a_job, kind, 5, seed=1) == pytest.approx(first, abs=1e-12)  # though the law is another one
        assert len(np.unique(first.round(9))) == a_job.slots(kind)


def test_the_callers_random_numbers_go_on_as_if_nothing_had_run():
    drawn = []
    for runs in (False, True):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        if runs:
            for env, sampler in (("tests.chance:GlobalChance", "random"), ("tests.chance:DiceEnv", "env")):
                collector(job(env, sampler, eval_starts=np.zeros((4, 3)))).run(Task(Kind.COLLECT, 0, 0, 12))
        drawn.append((random.random(), np.random.random()))  # noqa: NPY002
    assert drawn[0] == drawn[1]


def test_an_environment_is_built_once_for_tasks_of_any_size_and_all_are_closed(monkeypatch):
    monkeypatch.setattr(CountedEnv, "made", [])
    monkeypatch.setattr(CountedEnv, "closed", [])
    a_job = job("tests.chance:CountedEnv", "env", episodes=14, time_steps=3)
    described = a_job.description
    CountedEnv.made.clear()
    CountedEnv.closed.clear()
    acting = collector(a_job)
    assert described.obs_dim == 2
    whole = acting.run(Task(Kind.COLLECT, 0, 0, 14))
    for size in range(13, 0, -1):
        some = acting.run(Task(Kind.COLLECT, 0, 14 - size, 14))
        assert some.obs.tobytes() == whole.obs[14 - size :].tobytes()
    assert CountedEnv.made == list(range(14))
    assert CountedEnv.closed == []
    with pytest.raises(OSError, match="the simulator of environment"):
        acting.close()
    assert sorted(CountedEnv.closed) == list(range(14))
    acting.close()
    assert len(CountedEnv.closed) == 14
