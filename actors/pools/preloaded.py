"""What the fork server loads last: it does once what every driver does first, so that drivers share the memory of it.

Python counts references in the objects themselves, and adapts code as it runs. Each driver would get its own copy of
the pages that this writes to, 0.3 MB; and of all pages with objects, 9 MB, as soon as unused ones are looked for.
"""

import gc
import pickle

import numpy as np

from actors.job import Job, Kind, Task
from actors.rollout import Collector
from actors.snapshot import NetworkSpec, Snapshot
from env.make import Problem

ROUNDS = 20  # until Python has adapted the code


def act_once() -> None:
    """Rolls out slots of a small problem."""
    job = Job(Problem("sphere"), "random", 1, 0, 2, 1, np.zeros((2, 2)), evaluate_starts=False)
    job.layout(Kind.COLLECT)
    collector = Collector(pickle.loads(pickle.dumps(job)))
    spec = NetworkSpec(2, (64, 64), "tanh", "gaussian", 1)
    content = Snapshot(0, spec, np.zeros(spec.size), 0.1).to_bytes()
    for _ in range(ROUNDS):
        collector.update(Snapshot.from_bytes(content))
        collector.run(Task(Kind.COLLECT, 0, 0, 1))
    collector.close()


act_once()
gc.collect()
gc.freeze()  # so that they are never looked through
