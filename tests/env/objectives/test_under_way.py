"""Evaluations that wait run side by side, in any order, and give what the same function gives without waiting."""

import asyncio
import contextlib
import random
import threading
import time

import numpy as np
import pytest

from env import Objective, Problem, Range, UsageError, objective
from env.errors import ContractError
from env.objectives import Noisy, evaluate
from env.objectives.checks import check_objective
from env.objectives.evaluation import timed_evaluation
from env.objectives.event_loop import event_loop
from env.objectives.given import objective_class
from env.objectives.returned import Failures
from env.objectives.under_way import UnderWay
from tests.problems import Quadratic
from tests.waiting import (
    FailsAtTimes,
    FailsAtTimesPlain,
    Gate,
    Gated,
    GatedInThread,
    Plain,
    Raises,
    Waits,
    WaitsInThread,
    local,
    remote,
)


def states(n, knobs=2, conditions=1):
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (n, knobs)), rng.uniform(-1, 1, (n, conditions))


def made(given):
    return check_objective("--env", objective_class("--env", given)())


@pytest.mark.parametrize("kind", [Waits, WaitsInThread])
def test_the_bits_are_those_of_a_plain_function(kind):
    x, c = states(20)
    keys = list(range(100, 120))
    assert evaluate(kind(), x, c, keys).tobytes() == evaluate(Plain(), x, c, keys).tobytes()
    assert evaluate(kind(), x[:0], c[:0]).shape == (0,)


@pytest.mark.parametrize("kind", [Gated, GatedInThread])
@pytest.mark.parametrize("most", [None, 1, 3])
@pytest.mark.parametrize(
    "choose",
    [lambda names: names[0], lambda names: names[-1], random.Random(0).choice],
    ids=["in turn", "the last first", "any"],
)
def test_the_order_in_which_they_end_changes_nothing(kind, most, choose):
    gated, n = kind(), 9
    gated.at_once, gated.gate = most, Gate(n, 1, most or n, choose)
    x, c = states(n)
    assert evaluate(gated, x, c).tobytes() == evaluate(Plain(), x, c).tobytes()
    assert gated.gate.most_at_once == (most or n)
    assert sorted(gated.gate.order) == sorted(c[:, 0])


def test_a_function_by_name_with_constraints_and_a_limit():
    x, c = states(30, 1)
    ours, theirs = (timed_evaluation(made(one), x, c, range(30)) for one in (remote, local))
    for name in ("f", "g", "c"):
        assert getattr(ours, name).tobytes() == getattr(theirs, name).tobytes()
    assert (made(remote).waits, made(remote).at_once, made(local).waits) == (True, 3, False)


def test_conditions_that_come_by_themselves():
    described = {
        "knobs": {"sail": Range(0, 1)},
        "conditions": {"load": Range(0, 1), "wind": Range(0, 20, observed=True)},
    }

    @objective(**described)
    async def drag(sail, load):
        await asyncio.sleep(0)
        return sail - load, {"wind": 20 * load}

    x, c = states(5, 1, 2)
    found = timed_evaluation(made(drag), x, c, range(5))
    assert found.c == pytest.approx(np.column_stack([c[:, 0], c[:, 0]]))


def test_a_class_whose_instances_are_called_and_one_that_takes_rng():
    @objective(knobs={"x": Range(0, 1)}, conditions={"c": Range(0, 1)})
    class Client:
        async def __call__(self, x, c, rng):
            return rng.standard_normal()

    @objective(knobs={"x": Range(0, 1)}, conditions={"c": Range(0, 1)}, thread_safe=True)
    def bench(x, c, rng):
        return rng.standard_normal()

    values = [evaluate(made(one), *states(6, 1), [3, 1, 4, 1, 5, 9]) for one in (Client, bench)]
    assert values[0].tobytes() == values[1].tobytes()
    assert values[0][1] == values[0][3]
    assert len(set(values[0])) == 5


class Draws(Quadratic):
    async def __call__(self, x, c, rng):
        drawn = rng.standard_normal()
        await asyncio.sleep(0.03)
        return drawn


def test_generators_that_are_made_while_others_wait_draw_the_same():
    (x, c), rows = states(20, 1), np.arange(20)
    found, keys = {}, range(100, 120)
    with contextlib.closing(UnderWay(Draws(), None)) as under_way:
        under_way.begin(rows, x, c, range(20))
        under_way.expect(keys[:15])
        while under_way.count:
            under_way.ended()
        assert list(under_way._generators) == [*keys[:15]]
        under_way.begin(rows, x, c, keys)
        while under_way.count:
            ended, values = under_way.ended()
            found |= dict(zip(ended.tolist(), values.f.tolist(), strict=True))
    assert [found[row] for row in rows] == [np.random.default_rng(key).standard_normal() for key in keys]


def test_all_coroutines_run_on_one_loop_for_as_long_as_the_process_lives():
    loops = set()

    class Notes(Plain):
        async def __call__(self, x, c):
            loops.add(asyncio.get_running_loop())
            return 0.0

    evaluate(Notes(), *states(3))
    evaluate(Notes(), *states(3))
    assert loops == {event_loop()}


def test_failures_are_kept_where_they_may_be():
    x, c = states(20)
    ours, theirs = Failures(), Failures()
    assert np.array_equal(
        evaluate(FailsAtTimes(), x, c, failures=ours), evaluate(FailsAtTimesPlain(), x, c, failures=theirs), True
    )
    assert ours.first == theirs.first == "ValueError: the service is down"


def test_an_exception_has_its_own_traceback_and_ends_the_others():
    with pytest.raises(ValueError, match="the service is down") as caught:
        evaluate(Raises(), *states(20))
    assert caught.traceback[-1].name == "__call__"
    assert all(task.done() for task in _tasks())


def _tasks():
    """Returns the tasks of the event loop."""
    return asyncio.run_coroutine_threadsafe(_others(), event_loop()).result(5)


async def _others():
    return asyncio.all_tasks() - {asyncio.current_task()}


class Cancels(Quadratic):
    async def __call__(self, x, c):
        task = asyncio.ensure_future(asyncio.sleep(30))
        await asyncio.sleep(0)
        task.cancel()
        await task


class Interrupts(Quadratic):
    thread_safe = True

    def __call__(self, x, c):
        raise KeyboardInterrupt("of f")


@pytest.mark.parametrize(("kind", "told"), [(Cancels, "CancelledError"), (Interrupts, "KeyboardInterrupt: of f")])
def test_what_looks_like_the_end_of_the_program_ends_an_evaluation_alone(kind, told):
    with pytest.raises(RuntimeError, match=f"^{told}$") as caught:
        evaluate(kind(), *states(3))
    assert caught.value.__cause__ is not None
    failures = Failures()
    assert np.isnan(evaluate(kind(), *states(3), failures=failures)).all()
    assert failures.first == f"RuntimeError: {told}"


class ExitsInTask(Quadratic):
    async def __call__(self, x, c):
        async def call():
            await asyncio.sleep(0.001)
            if x[0, 0] < 0:
                raise SystemExit("no licence")
            return 1.0

        return await asyncio.wait_for(call(), 30)


def test_sys_exit_in_a_task_of_fs_leaves_the_loop_running():
    x, c = states(10)
    found = evaluate(ExitsInTask(), x, c, failures=Failures())
    assert np.isnan(found).tolist() == (x[:, 0] < 0).tolist()
    with pytest.raises(SystemExit, match="no licence"):
        evaluate(ExitsInTask(), x, c)


def test_what_had_ended_before_it_is_given_up_is_kept():
    x, c = states(3)
    with contextlib.closing(UnderWay(WaitsInThread(), None)) as under_way:
        under_way.begin(np.arange(2), x[:2], c[:2], [0, 1])
        while under_way._outcomes.qsize() < 2:
            time.sleep(0.001)
        under_way.give_up()
        assert sorted(under_way.ended()[0].tolist()) == [0, 1]
        under_way.begin(np.array([2]), x[2:], c[2:], [2])
        assert not under_way.count and not len(under_way.ended()[0])


def test_threads_that_the_system_has_no_room_for_are_told(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(UsageError, match=r"the system has no room for .*; limit them with at_once"):
        evaluate(WaitsInThread(), *states(300))


def test_what_ended_at_the_same_time_as_a_mistake_is_taken_in_before():
    class Mistaken(Plain):
        thread_safe = True

        def __call__(self, x, c):
            return "0.5" if c[0, 0] > 0 else 1.0

    with contextlib.closing(UnderWay(Mistaken(), None)) as under_way:
        under_way.begin(np.array([4, 7, 9]), np.zeros((3, 2)), np.array([[-1.0], [1.0], [-1.0]]), [0, 0, 0])
        while under_way._outcomes.qsize() < 3:
            threading.Event().wait(1e-3)
        rows, values = under_way.ended()
        assert sorted(rows) == [4, 9]
        assert values.f.tolist() == [1.0, 1.0]
        with pytest.raises(ContractError, match=r"returned the text '0\.5'"):
            under_way.ended()
        assert under_way.row == 7


def test_coroutines_that_are_given_up_are_cancelled_and_may_clean_up():
    begun, cleaned = threading.Event(), []

    class Hangs(Plain):
        async def __call__(self, x, c):
            try:
                begun.set()
                await asyncio.sleep(3600)
            finally:
                cleaned.append(float(c[0, 0]))

    with contextlib.closing(UnderWay(Hangs(), None)) as under_way:
        under_way.begin(np.arange(3), *states(3), [0, 0, 0])
        assert begun.wait(10)
        threading.Timer(0.01, under_way.give_up).start()
        assert len(under_way.ended()[0]) == 0
    assert sorted(cleaned) == sorted(states(3)[1][:, 0])


def test_threads_that_never_end_hold_up_nothing():
    stuck = threading.Event()

    class Hangs(Plain):
        thread_safe = True

        def __call__(self, x, c):
            stuck.wait()

    with contextlib.closing(UnderWay(Hangs(), None)) as under_way:
        under_way.begin(np.arange(5), *states(5), [0] * 5)
    assert evaluate(WaitsInThread(), *states(5)).shape == (5,)
    stuck.set()


def test_a_generator_of_the_caller_goes_on_as_it_was():
    class Draws(Plain):
        async def __call__(self, x, c):
            return random.random()

    random.seed(2)
    expected = random.random()
    random.seed(2)
    evaluate(Draws(), *states(3))
    assert random.random() == expected


class Forgets(Objective):
    """Returns what nothing awaits."""

    knobs = 2
    conditions = 1

    async def _ask(self):
        return 0.0

    def __call__(self, x, c):
        return self._ask()


class ForgetsToAwait(Forgets):
    """The same in a coroutine."""

    async def __call__(self, x, c):
        return self._ask()


@pytest.mark.parametrize("kind", [Forgets, ForgetsToAwait])
@pytest.mark.filterwarnings("error")
def test_a_coroutine_that_nothing_awaits_is_one_line(kind):
    told = rf"{kind.__name__}.__call__ returned a coroutine, which nothing awaits; it must be an async def"
    with pytest.raises(ContractError, match=told):
        evaluate(kind(), *states(2), failures=Failures())


@pytest.mark.filterwarnings("error")
def test_nor_one_of_a_function_whose_conditions_are_observed():
    async def ask():
        return 0.0, {"wind": 1.0}

    @objective(knobs={"sail": Range(0, 1)}, conditions={"wind": Range(0, 20, observed=True)})
    def drag(sail):
        return ask()

    with pytest.raises(ContractError, match="drag returned a coroutine, which nothing awaits"):
        evaluate(made(drag), *states(2, 1, 1))


class AsyncVectorised(Quadratic):
    """Two ways at once."""

    vectorised = True

    async def __call__(self, x, c):
        return 0.0


class ThreadsVectorised(Quadratic):
    """Two other ways."""

    vectorised = thread_safe = True

    def __call__(self, x, c):
        return x[:, 0]


class AsyncSolve(Plain):
    """Solves as a coroutine."""

    async def solve(self, c):
        return None


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("AsyncVectorised", "AsyncVectorised has vectorised = True and an async __call__; "),
        ("ThreadsVectorised", "ThreadsVectorised has vectorised = True and thread_safe = True; "),
        ("AsyncSolve", "AsyncSolve.solve is an async def; it must be a def"),
    ],
)
def test_what_cannot_work_is_told(name, told):
    with pytest.raises(UsageError, match=f"^--env {__name__}:{name}: {told}"):
        Problem(f"{__name__}:{name}").objective()


def test_noise_is_added_in_threads_and_not_to_coroutines(monkeypatch):
    monkeypatch.setattr("env.objectives.noisy.POINTS", 16)  # at which f, which waits, is asked for its scale
    assert Noisy(of="tests.waiting:WaitsInThread", level=0.0).waits
    assert Noisy(of="tests.waiting:OneAtATime", level=0.0).at_once == 1
    with pytest.raises(UsageError, match=r"^--env-kwargs of=tests\.waiting:Waits: has an async __call__"):
        Noisy(of="tests.waiting:Waits")


def test_the_best_knobs_are_no_coroutine():
    async def best(c):
        return {"x": c}

    with pytest.raises(UsageError, match=r"^best: is an async def; it must be a def"):
        objective(knobs={"x": Range(0, 1)}, conditions={"c": Range(0, 1)}, best=best)


def test_a_subclass_declares_it_anew():
    class Heavier(WaitsInThread):
        def __call__(self, x, c):
            return 2.0

    class Named(WaitsInThread):
        bound = 2

    assert (Heavier().waits, Named().waits) == (False, True)
