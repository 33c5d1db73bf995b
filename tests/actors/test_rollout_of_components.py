"""Planned slots evaluate what the plan says, sampled ones say which component acted, imagined ones have own numbers."""

import dataclasses

import numpy as np
import pytest

from actors import Policy
from actors.job import Job, Kind, Task
from actors.rollout import Collector
from actors.trajectory import Layout
from env import Problem
from tests.actors.mixtures import mixture, random_plan
from tests.problems import Quadratic

FIELDS = ("slots", "obs", "actions", "logprobs", "rewards", "objectives", "final_obs", "evaluations", "truncations")
SIZES = (1, 3, 5)  # of tasks


def job(components=3, sampler="random", evaluate_starts=False, time_steps=6):
    problem = Problem("tests.problems:Quadratic", time_steps=time_steps)
    sizes = {"components": components, "planned": (13, 7), "mirrored": True, "evaluate_starts": evaluate_starts}
    return Job(problem, sampler, 8, 3, 10, time_steps, eval_starts=np.zeros((4, 3)), **sizes)


def trajectory(a_job, kind, step=4, start=0, stop=None, **parts):
    made = Collector(a_job)
    made.update(mixture(a_job.components, **parts))
    return made.run(Task(kind, step, start, a_job.slots(kind) if stop is None else stop))


def check_splits(a_job, kind, **parts):
    """Checks that any split of the slots gives the same bits as all of them together, which are returned."""
    whole = trajectory(a_job, kind, **parts)
    made = Collector(a_job)
    made.update(mixture(a_job.components, **parts))
    for size in SIZES:
        for start in reversed(range(0, len(whole), size)):
            some = made.run(Task(kind, 4, start, min(start + size, len(whole))))
            for name in FIELDS:
                rows = getattr(whole, name)[start : start + size]
                assert np.array_equal(getattr(some, name), rows, equal_nan=True), (name, start)
    return whole


@pytest.mark.parametrize(("kind", "slots"), [(Kind.DESIGN, 13), (Kind.PLAN, 7)])
@pytest.mark.parametrize("components", [1, 3])
def test_planned_slots_evaluate_what_the_plan_says(components, kind, slots):
    a_job, plan = job(components), random_plan(slots)
    made = check_splits(a_job, kind, plan=plan)
    assert made.slots.tolist() == list(range(slots))
    assert made.rewards.shape == (slots, 1)
    assert np.array_equal(made.obs[:, 0], plan.starts)
    assert np.array_equal(made.actions[:, 0], plan.actions)  # as planned, before any clipping
    knobs, conditions = np.clip(plan.actions, -1, 1), plan.starts[:, 2:]
    assert np.array_equal(made.final_obs[:, 0], np.concatenate([knobs, conditions], axis=1))
    assert np.array_equal(made.objectives[:, 1], Quadratic()(knobs, conditions))
    assert np.isnan(made.objectives[:, 0]).all()
    assert (made.logprobs == 0).all()
    assert made.evaluations.tolist() == [1] * slots
    assert made.truncations.all()
    assert not made.terminations.any()


def test_a_planned_slot_takes_one_evaluation_where_collected_ones_take_that_of_their_start_too():
    a_job = job(evaluate_starts=True)
    planned = trajectory(a_job, Kind.PLAN, plan=random_plan(7))
    assert planned.evaluations.tolist() == [a_job.evaluations(Kind.PLAN)] * 7 == [1] * 7
    collected = trajectory(a_job, Kind.COLLECT)
    assert collected.evaluations.tolist() == [a_job.evaluations(Kind.COLLECT)] * 10 == [7] * 10
    assert job().evaluations(Kind.COLLECT) == 6


def test_a_plan_does_not_depend_on_step_and_seed():
    a_job = job()
    plain = trajectory(a_job, Kind.PLAN, plan=random_plan(7))
    other = trajectory(dataclasses.replace(a_job, seed=9), Kind.PLAN, step=5, plan=random_plan(7))
    assert other.objectives.tobytes() == plain.objectives.tobytes()


@pytest.mark.parametrize("kind", [Kind.COLLECT, Kind.IMAGINE])
@pytest.mark.parametrize(
    ("live", "acted"), [(None, [0, 0, 1, 1, 2, 2]), (np.array([True, False, True]), [0, 0, 2, 2, 0, 0])]
)
def test_pairs_of_time_steps_name_the_component_that_acted(live, acted, kind):
    made = check_splits(job(), kind, live=live)
    assert made.actions.shape == (10, 6, 3)
    assert made.actions[:, :, 2].tolist() == [acted] * 10
    policy = Policy(mixture(3, live=live))
    for t in range(0, 6, 2):  # mirrored about the component's mean at each of the two states
        means = [policy.proposals(made.obs[:, step])[:, acted[t]] for step in (t, t + 1)]
        sides = [np.sign(made.actions[:, step, :2] - mean) for step, mean in zip((t, t + 1), means, strict=True)]
        assert np.array_equal(sides[0], -sides[1])
    states = made.final_obs.reshape(-1, 3)
    assert np.array_equal(states[:, :2], np.clip(made.actions[:, :, :2].reshape(-1, 2), -1, 1))
    assert np.array_equal(made.objectives[:, 1:].reshape(-1), Quadratic()(states[:, :2], states[:, 2:]))


@pytest.mark.parametrize("sampler", ["random", "lhs", "env"])
@pytest.mark.parametrize("components", [1, 3])
def test_imagined_slots_have_other_starts_and_noise_than_collected_ones(components, sampler):
    a_job = job(components, sampler)
    collected, imagined = (trajectory(a_job, kind) for kind in (Kind.COLLECT, Kind.IMAGINE))
    assert not np.isin(imagined.obs[:, 0], collected.obs[:, 0]).any()
    noise = []
    for kind in (Kind.COLLECT, Kind.IMAGINE):
        made = Collector(a_job)
        noise.append(made.draws.noise(Task(kind, 4, 0, 10)))
    assert not np.isin(np.abs(noise[0]), np.abs(noise[1])).any()
    again = trajectory(a_job, Kind.IMAGINE)
    assert again.actions.tobytes() == imagined.actions.tobytes()
    later = trajectory(a_job, Kind.IMAGINE, step=5)
    assert not np.isin(later.obs[:, 0], imagined.obs[:, 0]).any()


@pytest.mark.parametrize(
    ("components", "kind", "slots", "layout"),
    [
        (3, Kind.COLLECT, 10, Layout(6, obs_dim=3, action_dim=3, objectives=True)),
        (3, Kind.IMAGINE, 10, Layout(6, obs_dim=3, action_dim=3, objectives=True)),
        (1, Kind.COLLECT, 10, Layout(6, obs_dim=3, action_dim=2, objectives=True)),
        (3, Kind.DESIGN, 13, Layout(1, obs_dim=3, action_dim=2, objectives=True)),
        (3, Kind.PLAN, 7, Layout(1, obs_dim=3, action_dim=2, objectives=True)),
        (3, Kind.EVALUATE, 4, Layout(1, obs_dim=3, action_dim=2, objectives=True)),
    ],
)
def test_only_sampled_slots_of_several_components_have_another_column(components, kind, slots, layout):
    a_job = job(components)
    assert (a_job.slots(kind), a_job.length(kind)) == (slots, layout.time_steps)
    assert a_job.layout(kind) == layout


def test_the_law_is_evaluated_without_a_component():
    made = trajectory(job(), Kind.EVALUATE)
    assert np.array_equal(made.actions[:, 0], Policy(mixture(3)).mode(np.zeros((4, 3))))
