"""Slots whose evaluations wait go on each by itself, in whatever order these end, and give the bits of a plain f."""

import dataclasses
import random
import threading

import numpy as np
import pytest

from actors import NetworkSpec, Snapshot
from actors.job import Job, Kind, Task
from actors.rollout import Collector
from env import Problem
from tests.actors.mixtures import random_plan
from tests.chance import GlobalChance
from tests.waiting import Closed, Gate, Gated, GatedInThread, Raises

EVALUATED = np.random.default_rng(0).uniform(-1, 1, (7, 3))
FIELDS = ("slots", "versions", "evaluations", "obs", "actions", "logprobs", "rewards", "objectives", "final_obs")
ENDS = ("terminations", "truncations")
TOTAL = 12


def job(name, time_steps=3, **changes):
    problem = Problem(f"tests.waiting:{name}", time_steps=time_steps)
    made = Job(problem, "random", 16, 3, TOTAL, time_steps, EVALUATED, check_starts=EVALUATED, pairs=9)
    return dataclasses.replace(made, **changes)


def collector(a_job, objective=None, kind=Kind.COLLECT, driver=0):
    made = Collector(a_job, driver, objective)
    spec = NetworkSpec(3, (8,), "tanh", "gaussian", 2)
    theta = 0.5 * np.random.default_rng(0).normal(size=spec.size)
    plan = random_plan(a_job.slots(kind)) if kind in (Kind.DESIGN, Kind.PLAN) else None
    made.update(Snapshot(4, spec, theta, 1e-3, plan=plan))
    return made


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True) for name in (*FIELDS, *ENDS))


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind != Kind.IMAGINE])
@pytest.mark.parametrize("name", ["Waits", "WaitsInThread"])
def test_slots_of_every_kind_are_those_of_a_plain_function(name, kind):
    planned = {"planned": (5, 5)}
    expected = collector(job("Plain", **planned), kind=kind)
    found = collector(job(name, **planned), kind=kind)
    stop = found.job.slots(kind)
    for task in (Task(kind, 6, 0, stop), Task(kind, 7, 1, 4), Task(kind, 7, 4, 5)):
        assert same(found.run(task), expected.run(task))


@pytest.mark.parametrize("starts", [True, False])
@pytest.mark.parametrize("most", [None, 5, 1])
@pytest.mark.parametrize(
    "choose", [lambda names: names[0], lambda names: names[-1], random.Random(0).choice], ids=["first", "last", "any"]
)
@pytest.mark.parametrize("gated", [Gated, GatedInThread])
def test_no_slot_waits_for_another_and_no_order_changes_a_bit(gated, choose, most, starts):
    objective, task = gated(), Task(Kind.COLLECT, 6, 0, TOTAL)
    gate = objective.gate = Gate(TOTAL, 3 + starts, most or TOTAL, choose, holds=True)
    whole = collector(job("Plain", evaluate_starts=starts)).run(task)
    made = collector(job("Gated", evaluate_starts=starts), objective)
    made._at_once = most
    parts = []
    for part in made.parts(task):
        parts.append(part)
        gate.came.release()
    assert gate.most_at_once == (most or TOTAL)
    slots = np.concatenate([part.slots for part in parts])
    assert sorted(slots) == list(range(TOTAL))
    names = {float(c): slot for slot, c in enumerate(whole.obs[:, 0, 2])}
    ended = [name for i, name in enumerate(gate.order) if name not in gate.order[i + 1 :]]
    assert slots.tolist() == [names[name] for name in ended]  # each is there as soon as it has come to its end
    for part in parts:
        rows = np.isin(whole.slots, part.slots)
        assert same(part, whole.rows(made.job.layout(Kind.COLLECT), rows))


def test_the_last_first_means_slot_after_slot():
    objective = Gated()
    gate = objective.gate = Gate(TOTAL, 4, TOTAL, lambda names: names[-1], holds=True)
    for slot, part in enumerate(collector(job("Gated"), objective).parts(Task(Kind.COLLECT, 6, 0, TOTAL))):
        assert part.slots.tolist() == [TOTAL - 1 - slot]
        assert len(gate.order) == 4 * (slot + 1)  # no evaluation of another slot has ended
        gate.came.release()


@pytest.mark.parametrize(("drivers", "at_once", "each"), [(1, 7, [7]), (3, 7, [3, 2, 2]), (2, 2, [1, 1])])
def test_drivers_share_what_may_be_under_way_at_once(drivers, at_once, each):
    described = dataclasses.replace(job("Waits").description, at_once=at_once)
    shared = job("Waits", drivers=drivers)
    shared.__dict__["description"] = described
    assert [shared.at_once_of(driver) for driver in range(drivers)] == each
    assert job("Waits").at_once_of(0) is None


def test_an_exception_names_its_slot_and_ends_the_others():
    made = collector(job("Raises", evaluate_starts=False))
    task = Task(Kind.COLLECT, 6, 0, TOTAL)
    with pytest.raises(ValueError, match="the service is down") as caught:
        made.run(task)
    assert caught.traceback[-1].name == "__call__"
    assert collector(job("Plain")).run(task).obs[made.slot, 0, 2] > 0.5
    assert Raises.__name__ == made.job.problem.env.split(":")[1]


def test_failures_that_are_kept_are_those_of_a_plain_function():
    task = Task(Kind.COLLECT, 6, 0, TOTAL)
    ours, theirs = (collector(job(name, keep_failures=True)) for name in ("FailsAtTimes", "FailsAtTimesPlain"))
    assert same(ours.run(task), theirs.run(task))
    assert ours.failures.first == theirs.failures.first == "ValueError: the service is down"


def test_slots_that_are_given_up_end_and_the_next_task_is_run_whole():
    objective, task = Gated(), Task(Kind.COLLECT, 6, 0, TOTAL)
    objective.gate = Closed()
    made = collector(job("Gated"), objective)
    threading.Timer(0.05, made.give_up).start()
    assert list(made.parts(task)) == []
    objective.gate = Gate(TOTAL, 4, TOTAL, lambda names: names[0])
    assert same(made.run(task), collector(job("Plain")).run(task))


def test_a_plain_function_comes_in_one_part():
    made, task = collector(job("Plain")), Task(Kind.COLLECT, 6, 2, 7)
    (part,) = made.parts(task)
    assert same(part, made.run(task))
    made.give_up()
    assert GlobalChance().waits is False
