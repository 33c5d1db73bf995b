"""What arrives is in the archive before anything learns from it: slow slots one by one, quick ones once a round."""

import numpy as np
import pytest

from actors.job import Kind, Task
from ppo.data.archive import NAME, header, read_archive
from ppo.data.recorder import Recorder
from ppo.data.records import RecordType, scan_records
from ppo.data.replay import Replay
from ppo.data.rows import row_type
from ppo.data.run_archive import open_for_run, signature
from tests.actors.pools.rounds import snapshot
from tests.ppo.data.archives import (
    CONTROL_SNAPSHOT,
    PER_SLOT,
    collected,
    control_job,
    job,
    round_rows,
    rows_from,
    same_rows,
)

JOB = job()
QUICK, SLOW = 0.001, 0.02  # seconds of an evaluation


class Kept:
    """A recorder, what it calls paid, and what is in its file."""

    def __init__(self, run_dir, a_job=JOB, rows=None):
        self.path, self.job = run_dir / NAME, a_job
        self.paid = []
        archive = open_for_run(run_dir, a_job, None, np.empty(0, row_type(a_job)))
        replay = None if rows is None else Replay(rows, a_job, "run")
        self.recorder = Recorder(archive, a_job, replay, lambda kind, n: self.paid.append((kind, n)))

    @property
    def records(self):
        """Types of the records in the file, without those that say what is durable."""
        start = len(header(signature(self.job), row_type(self.job)))
        kinds = [kind for kind, _ in scan_records(self.path.read_bytes(), start).records]
        return [kind for kind in kinds if kind != RecordType.DURABLE]

    @property
    def contents(self):
        return read_archive(self.path, "run")

    def begin(self, kind=Kind.COLLECT, step=0, held=2):
        self.recorder.begin(kind, step, snapshot(step), held)

    def arrive(self, start, stop, seconds, step=0):
        trajectory = collected(self.job, step=step, start=start, stop=stop)
        trajectory.seconds[:] = seconds
        self.recorder.arrived(trajectory)
        return rows_from(self.job, trajectory, step=step)

    def round(self, seconds, step=0):
        self.begin(step=step)
        self.arrive(0, 10, seconds, step)
        self.recorder.end(True)


@pytest.fixture
def kept(tmp_path):
    made = Kept(tmp_path)
    yield made
    made.recorder.close()


def test_the_first_round_is_kept_slot_by_slot(kept):
    kept.begin()
    assert kept.recorder.slot_by_slot
    assert kept.records == [RecordType.BEGIN]
    for slot in range(4):
        kept.arrive(slot, slot + 1, QUICK)
        assert kept.records == [RecordType.BEGIN] + [RecordType.ROWS] * (slot + 1)
    kept.recorder.end(True)
    assert kept.records == [RecordType.BEGIN] + [RecordType.ROWS] * 4


def test_slow_evaluations_are_in_the_file_as_soon_as_they_arrived(kept):
    kept.round(SLOW)
    kept.begin(step=1)
    assert kept.recorder.slot_by_slot
    arrived = [round_rows(JOB)]
    for slots in ((3, 4), (0, 1), (4, 6)):
        arrived.append(kept.arrive(*slots, SLOW, step=1))
        rows = kept.contents.rows
        assert same_rows(rows[30:], np.concatenate(arrived[1:]))
    kept.recorder.end(True)
    assert kept.records == [RecordType.BEGIN, RecordType.ROWS, RecordType.BEGIN] + [RecordType.ROWS] * 3


def test_quick_evaluations_are_written_once_a_round(kept):
    kept.round(QUICK)
    before = kept.records
    kept.begin(step=1)
    assert not kept.recorder.slot_by_slot
    arrived = [kept.arrive(*slots, QUICK, step=1) for slots in ((5, 10), (0, 2), (2, 5))]
    assert kept.records == [*before, RecordType.BEGIN]
    kept.recorder.end(True)
    assert kept.records == [*before, RecordType.BEGIN, RecordType.ROWS]
    assert same_rows(kept.contents.rows[30:], np.concatenate(arrived))
    kept.recorder.end(True)
    assert kept.records == [*before, RecordType.BEGIN, RecordType.ROWS]


def test_what_arrived_in_a_round_that_failed_is_written(kept):
    kept.round(QUICK)
    kept.begin(step=1)
    kept.arrive(0, 5, QUICK, step=1)
    kept.recorder.end(True)
    assert len(kept.contents.rows) == 30 + 5 * PER_SLOT


@pytest.mark.parametrize(("seconds", "slow"), [(0.0, False), (0.009, False), (0.011, True), (5.0, True)])
def test_the_last_round_says_whether_evaluations_are_slow(seconds, slow, kept):
    for last in (QUICK, 5.0, seconds):
        kept.round(last)
    kept.begin()
    assert kept.recorder.slot_by_slot == slow


def test_a_round_in_which_nothing_arrived_says_nothing_of_the_time(kept):
    kept.round(SLOW)
    kept.begin(step=1)
    kept.recorder.end(True)
    kept.begin(step=1)
    assert kept.recorder.slot_by_slot


@pytest.mark.parametrize(("last", "held", "lost"), [(SLOW, 2, 2), (SLOW, 1, 1), (SLOW, 16, 10), (QUICK, 2, 10)])
def test_what_a_kill_would_cost_is_noted_before_a_round(last, held, lost, kept):
    kept.round(last)
    kept.begin(step=1, held=held)
    assert kept.contents.lost == lost * PER_SLOT
    kept.arrive(0, 10, last, step=1)
    kept.recorder.end(True)
    assert kept.contents.lost == 0


def test_what_is_paid_is_counted_as_it_arrives(kept):
    kept.begin()
    kept.arrive(0, 1, QUICK)
    kept.arrive(1, 10, QUICK)
    kept.recorder.end(True)
    kept.begin(Kind.EVALUATE, 1)
    kept.recorder.arrived(collected(JOB, Kind.EVALUATE, 1))
    kept.recorder.end(True)
    collect, evaluate = Kind.COLLECT, Kind.EVALUATE
    assert kept.paid == [(collect, 0), (collect, 3), (collect, 27), (evaluate, 0), (evaluate, 3)]


def test_slots_that_were_recorded_are_played_back_and_counted(tmp_path):
    rows = round_rows(JOB)
    kept = Kept(tmp_path, rows=rows[np.isin(rows["slot"], [0, 1, 4])])
    kept.begin(held=4)
    assert [part.slots.tolist() for part in kept.recorder.trajectories] == [[0, 1], [4]]
    assert kept.paid == [(Kind.COLLECT, 9)]
    assert kept.contents.lost == 4 * PER_SLOT
    for slot in range(5, 10):
        kept.arrive(slot, slot + 1, QUICK)
    kept.arrive(2, 4, QUICK)
    kept.recorder.end(True)
    assert kept.contents.lost == 0
    assert sorted(set(kept.contents.rows["slot"])) == [2, 3, 5, 6, 7, 8, 9]
    kept.begin(step=1)
    assert list(kept.recorder.trajectories) == []
    kept.recorder.close()


def test_a_round_that_was_recorded_whole_writes_nothing(tmp_path):
    kept = Kept(tmp_path, rows=round_rows(JOB))
    kept.begin()
    kept.recorder.end(True)
    assert kept.records == []
    assert kept.paid == [(Kind.COLLECT, 10 * PER_SLOT)]
    kept.recorder.close()


def test_what_a_lost_driver_had_is_counted(kept):
    kept.begin()
    kept.recorder.lost_task(Task(Kind.COLLECT, 0, 2, 5))
    kept.recorder.lost_task(Task(Kind.EVALUATE, 0, 0, 2))
    assert kept.recorder.lost == 3 * PER_SLOT + 2
    assert kept.records == [RecordType.BEGIN, RecordType.LOST, RecordType.LOST]
    kept.arrive(0, 10, QUICK)
    kept.recorder.end(True)
    assert kept.contents.lost == 3 * PER_SLOT + 2


def test_of_other_environments_what_is_collected_is_kept_once_a_round(tmp_path):
    a_job = control_job()
    kept = Kept(tmp_path, a_job)
    trajectory = collected(a_job, snap=CONTROL_SNAPSHOT)
    kept.recorder.begin(Kind.COLLECT, 0, CONTROL_SNAPSHOT, 2)
    assert not kept.recorder.slot_by_slot
    kept.recorder.arrived(trajectory)
    assert kept.records == []
    kept.recorder.end(True)
    kept.recorder.begin(Kind.EVALUATE, 1, CONTROL_SNAPSHOT, 2)
    kept.recorder.arrived(collected(a_job, Kind.EVALUATE, 1, snap=CONTROL_SNAPSHOT))
    kept.recorder.end(True)
    assert kept.records == [RecordType.ROWS]
    assert same_rows(kept.contents.rows, rows_from(a_job, trajectory))
    kept.recorder.close()
