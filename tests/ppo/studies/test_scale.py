"""What the study of scale computes is what hand arithmetic gives; its pool of echoes gives the slots that went in."""

import dataclasses
import pathlib
import sys

import pytest

from actors.job import Kind
from actors.pools.dealing import DealingPool
from env import UsageError
from ppo.experiments.costs import CONTROL, answer_bytes, trajectory_of, waiting_job
from ppo.experiments.echo import EchoFleet, OneByOne
from ppo.experiments.tables import Table
from ppo.experiments.workloads import fresh_snapshot
from ppo.studies import scale
from ppo.studies.runs import Options
from ppo.studies.scale_model import SWEEPS, Costs, Design, Work, step
from ppo.studies.scale_report import report

REFERENCE = pathlib.Path(__file__).parents[3] / "runs" / "reference" / "scale"
FREE = Costs(deal=0, call=0, look=0, pipe=0, driver=0, receive=0, store=0)
NOTHING = Work(
    "work", 3, answer=0, task=0, snapshot=0, share=0, merge=0, merge_block=0, update=0, gradient=0, gradient_steps=0
)
FAST = 1.25e9


def costing(**costs):
    return dataclasses.replace(FREE, **costs)


def doing(**work):
    return dataclasses.replace(NOTHING, **work)


@pytest.mark.parametrize(
    ("work", "costs", "design", "part", "seconds"),
    [
        (NOTHING, costing(deal=1e-3), Design("today"), "messages", 6.4),  # a message a driver
        (NOTHING, costing(deal=1e-3), Design("", merging=True), "messages", 0.1),  # one a node
        (NOTHING, costing(deal=1e-3), Design("", merging=True, fan_in=16), "messages", 7e-3),  # one of 16 nodes
        (NOTHING, costing(call=1e-3), Design("today"), "messages", SWEEPS * 0.1),
        (NOTHING, costing(look=1e-6), Design("today"), "messages", SWEEPS * 100 * 100e-6),  # each call looks at all
        (doing(merge=1e-3, merge_block=1e-4), FREE, Design("", slots=3), "messages", 6400 * 1.2e-3),
        (doing(merge=1e-3, merge_block=1e-4), FREE, Design("", slots=3, merging=True), "messages", 6400 * 3e-4),
        (doing(merge_block=1e-4), costing(pipe=1e-3), Design("", merging=True), "agent", 64 * 1.1e-3),
        (doing(update=1e-3), FREE, Design("", slots=3), "update", 19.2),
        (doing(update=1e-3), FREE, Design("", learners=4), "update", 1.6),
        (doing(gradient=1_250_000, gradient_steps=100), FREE, Design("", learners=4), "gradients", 100 * 1.5e-3),
        (doing(gradient=1_250_000, gradient_steps=100), FREE, Design("today"), "gradients", 0.0),
        (doing(answer=1_250_000), FREE, Design("today"), "answers in", 6.4),
        (doing(answer=1_250_000), costing(store=1e-9), Design("today"), "object store", 8.0),
        (doing(answer=1_250), costing(store=1e-9), Design("today"), "object store", 0.0),  # 80,000 bytes a node: inline
        (doing(snapshot=1_250_000), FREE, Design("today"), "snapshot out", 0.1),
        (doing(snapshot=1_250_000), FREE, Design("", fan_in=16), "snapshot out", (7 + 16) * 1e-3),
        (NOTHING, costing(driver=1e-3), Design("today"), "driver", 1e-3),
    ],
)
def test_a_part_alone(work, costs, design, part, seconds):
    assert step(6400, work, costs, FAST, design).parts[part] == pytest.approx(seconds)


def test_what_comes_in_at_the_same_time_is_waited_for_once_and_the_rest_in_turn():
    work = doing(answer=1_250_000, update=1e-3, share=0.5)
    made = step(6400, work, costing(deal=2e-3, store=1e-9), FAST)
    assert made.waiting == pytest.approx(0.5 + 12.8 + 6.4)  # the messages take longest of what comes in
    assert made.binds == "messages"


@pytest.mark.parametrize("slots", [1, 16])
def test_with_the_shortest_evaluation_drivers_evaluate_nine_tenths_of_the_time(slots):
    made = step(1000, doing(update=1e-3), costing(deal=1e-3), FAST, Design("", slots=slots))
    working = 3 * slots * made.shortest
    assert working / (working + made.waiting) == pytest.approx(0.9)


def test_an_answer_has_a_head_of_48_bytes_and_all_arrays():
    assert answer_bytes(CONTROL) == 48 + 4 * 8 + 1000 * (8 * (17 + 6 + 1 + 1 + 17) + 2)


def test_a_pool_of_echoes_gives_the_slots_that_went_in():
    job = waiting_job(5, 0.0)
    whole = trajectory_of(job.layout(Kind.COLLECT), range(5))
    parts = [whole.rows(job.layout(Kind.COLLECT), whole.slots == slot) for slot in range(5)]
    with DealingPool(job, EchoFleet([bytes(part.buffer) for part in parts]), 3, 0.0) as pool:
        pool.submit(0, fresh_snapshot(), Kind.COLLECT, OneByOne())
        done = pool.result()
    assert done.shares == [1] * 5
    assert bytes(done.trajectory.buffer) == bytes(whole.buffer)


def test_without_ray_one_line_says_so_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"^ppo.study: this study needs Ray; pip install 'tuninglaw\[cluster\]'$"):
        scale.run(Options(tmp_path / "out", 10, True, None))
    assert not list(tmp_path.iterdir())


def test_the_reference_is_what_its_measurements_give():
    table = Table(REFERENCE / "scale.csv", scale.COLUMNS)
    assert all(any(row["run"].startswith(f"{group}: ") for row in table.rows) for group in scale.MEASURES)
    assert (REFERENCE / "scale.md").read_text(encoding="utf-8").startswith(report(table))
