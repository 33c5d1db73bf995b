"""The time that a driver waits for a core is known, and no part of what its slots cost."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from actors.job import Kind, Task
from actors.pools import protocol, run_queue
from actors.pools.driver_process import Worker
from actors.rollout import Collector
from tests.actors.pools.rounds import job, snapshot

SPIN = "import os; os.sched_setaffinity(0, {0})\nprint(flush=True)\nwhile True: pass"


@pytest.mark.skipif(not os.path.exists(run_queue.PATH), reason="Linux counts it where schedstat is built in")
def test_waiting_for_a_core_is_counted_and_sleeping_is_not():
    queue, before = run_queue.RunQueue(), os.sched_getaffinity(0)
    busy = subprocess.Popen([sys.executable, "-c", SPIN.replace("{0}", str({min(before)}))], stdout=subprocess.PIPE)
    try:
        busy.stdout.readline()
        os.sched_setaffinity(0, {min(before)})
        started, queued = time.monotonic(), queue.seconds()
        end = time.thread_time() + 0.2  # of a core that another process wants as well
        while time.thread_time() < end:
            pass
        wall, waited = time.monotonic() - started, queue.seconds() - queued
    finally:
        os.sched_setaffinity(0, before)
        busy.kill()
        busy.wait()
        busy.stdout.close()
    assert wall > 0.25
    assert waited == pytest.approx(wall - 0.2, abs=0.05)
    queued = queue.seconds()
    time.sleep(0.2)
    assert queue.seconds() - queued < 0.1
    queue.close()
    assert queue.seconds() == 0.0


def test_where_nothing_is_counted_it_is_0(monkeypatch, tmp_path):
    monkeypatch.setattr(run_queue, "PATH", str(tmp_path / "absent"))
    assert run_queue.RunQueue().seconds() == 0.0
    (tmp_path / "absent").write_text("no numbers\n")
    assert run_queue.RunQueue().seconds() == 0.0


def test_the_cost_of_slots_leaves_it_out():
    class Queue:
        def __init__(self):
            self._seconds = iter([10.0, 12.5])

        def seconds(self):
            return next(self._seconds)

        def close(self):
            """Closes nothing."""

    clock = iter([1.0, 2.0, 5.0])
    a_job = job()
    worker = Worker(Collector(a_job), lambda: next(clock), Queue())
    content = snapshot(3).to_bytes()
    block = protocol.pack_block(1, len(content), "") + content
    (answer,) = worker.answers(protocol.pack_task(Task(Kind.COLLECT, 3, 0, 4), 1, 1, block))
    found = protocol.unpack_finished(answer)
    assert (found.held_at, found.seconds) == (1.0, 0.5)  # 3 s, of which 2.5 were others'
    assert np.frombuffer(found.trajectory[:32], np.int64).tolist() == [0, 1, 2, 3]
