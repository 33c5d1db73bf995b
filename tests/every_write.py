"""Ends a run at every call that changes a file, and lets every such call fail; each time it must come to the same end.

    python -m tests.every_write                # all of them: some minutes
    python -m tests.every_write --sample 20    # as many as that, spread evenly
    python -m tests.every_write --bench        # of a run that is asked and told

Each call on the run directory and on shared memory is, in a run of its own, the one at which the learner is killed
before it, in the middle of it (half of what is written is there) or after it, or which fails once for want of room or
with an input/output error. The run then goes on, and its law, metrics and evaluations are compared with those of a run
that nothing happened to. Drivers change no file; ``tests/test_every_write.py`` sees that no call escapes.

Each life of the learner is a fork of this process, which has imported torch and started the fork server once.
"""

import argparse
import dataclasses
import errno
import itertools
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing import forkserver, resource_tracker
from typing import Any

import psutil

from actors.job import Job
from actors.pools import leftovers, shared_snapshot
from actors.pools.processes import ProcessPool
from env import Problem
from ppo.config import Config, resolve
from ppo.data import disk as used
from ppo.data.disk import Disk
from ppo.train import train
from ppo.training.run_dir import RunDir
from ppo.training.trainer import Trainer  # imported before the first fork
from tests.ppo.algorithm.model.quick import quick
from tests.problems import measured

CONFIG = Config(
    "tests.problems:UnknownOptimum", training_steps=10, episodes=6, hidden_sizes=(4,), update_epochs=2, eval_every=4,
    drivers=2, checkpoint_every=3, seed=4,
)  # fmt: skip
BENCH = Config("tests.problems:supply", evaluations=40, hidden_sizes=(4,), check=15, seed=4)
FAULTS = ("killed before", "killed within", "killed after", "ENOSPC", "EIO")
LIMIT_SECONDS = 60
Way = Callable[[pathlib.Path, bool], None]
"""Runs to the end in a directory; the flag says whether it goes on there."""


@dataclasses.dataclass
class Shim:
    """Counts the calls, and does something to one of them.

    Attributes:
        at: number of the call; -1 for none.
        fault: what happens to it, one of ``FAULTS``.
        log: file to which the name of each call is written; None for none.
    """

    at: int
    fault: str
    log: pathlib.Path | None = None
    count: int = 0

    def around(self, name: str, call: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        """Makes a call, of which ``half`` is the first half."""
        number, self.count = self.count, self.count + 1
        if self.log:
            with self.log.open("a") as file:
                file.write(f"{name}\n")
        if number != self.at:
            return call()
        if self.fault in ("ENOSPC", "EIO"):
            raise OSError(getattr(errno, self.fault), os.strerror(getattr(errno, self.fault)))
        if self.fault == "killed within" and half:
            half()
        if self.fault == "killed after":
            call()
        os.kill(os.getpid(), signal.SIGKILL)
        return None


class ShimmedDisk(Disk):
    """The disk, each of whose calls goes through a shim."""

    def __init__(self, shim: Shim):
        self.shim = shim

    def write(self, file: int, content: bytes | memoryview) -> int:
        real = super().write
        half = content[: len(content) // 2]
        return self.shim.around("write", lambda: real(file, content), lambda: real(file, half))


for changing in ("create", "sync", "rename", "rename_new", "remove", "truncate", "make_directory", "sync_directory"):

    def through_shim(self: ShimmedDisk, *arguments: Any, name: str = changing) -> Any:
        return self.shim.around(name, lambda: getattr(Disk, name)(self, *arguments))

    setattr(ShimmedDisk, changing, through_shim)


def shim_shared_memory(shim: Shim, names: pathlib.Path) -> None:
    """Lets the making and removing of shared memory go through a shim too, and notes the names."""
    make, unlink = leftovers.make_shared_memory, shared_snapshot.SharedMemory.unlink

    def make_noted(size: int) -> Any:
        made = make(size)
        with names.open("a") as file:
            file.write(f"{made[0].name}\n")
        return made

    shared_snapshot.make_shared_memory = lambda size: shim.around("make shared memory", lambda: make_noted(size))
    shared_snapshot.SharedMemory.unlink = lambda self: shim.around("unlink shared memory", lambda: unlink(self))


def trained(run: pathlib.Path, resume: bool) -> None:
    """Trains to the end."""
    train(resolve(CONFIG), run, resume=resume, quiet=True, pictures=False)


def told(run: pathlib.Path, resume: bool) -> None:
    """Tells a bench's run what it asks, some points at a time, to the end."""
    with Trainer(BENCH, RunDir(run), resume=resume, quiet=True) as trainer:
        while points := trainer.ask():
            trainer.tell({point.id: measured(**point.knobs, **point.conditions) for point in points[:16]})
        trainer.finish(pictures=False)


def live(run: pathlib.Path, shim: Shim, way: Way = trained) -> int:
    """Lives in a fork of this process until the run ends or something happens; returns the exit code, -9 if killed."""
    sys.stdout.flush()
    life = os.fork()
    if life == 0:
        code = 1
        try:
            forkserver._forkserver.ensure_running = lambda: None  # it runs, though it is no child of this process
            used.disk = ShimmedDisk(shim)
            shim_shared_memory(shim, run.parent / "memory")
            signal.alarm(LIMIT_SECONDS)
            os.dup2(os.open(run.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            way(run, (run / "config.json").exists())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(life, 0)
    return os.waitstatus_to_exitcode(status)


def results(run: pathlib.Path) -> dict[str, Any]:
    """Returns what may depend on nothing that happens."""
    from tests.conftest import metrics_without_times

    summary = json.loads((run / "summary.json").read_text())
    names = ("policy_sha256", "training_steps", "objective_evaluations", "eval_evaluations", "check")
    metrics = metrics_without_times(run) if (run / "metrics.csv").exists() else None  # a bench's run has no scores
    left = [path.name for path in run.iterdir() if path.name.startswith(".")]
    return {name: summary.get(name) for name in names} | {"metrics": metrics, "unfinished": left}


def interrupted(folder: pathlib.Path, wanted: dict[str, Any], at: int, fault: str, way: Way) -> str | None:
    """Runs with a fault in call ``at``, goes on until the run ends, and returns what is wrong; None if ``at`` is past
    the last call."""
    run = folder / f"{at}-{fault.replace(' ', '-')}"
    code = live(run, Shim(at, fault), way)
    if code == 0 and fault.startswith("killed"):
        return None
    if code not in (0, 1, -signal.SIGKILL):
        return f"the first life ended with {code}"
    if code != 0 and (code := live(run, Shim(-1, ""), way)):
        return f"it did not go on, but ended with {code}\n{run.with_suffix('.log').read_text()}"
    found = results(run)
    return ", ".join(f"other {name}: {found[name]}" for name in wanted if found[name] != wanted[name])


def start_servers() -> None:
    """Starts the fork server, and the resource tracker, whose complaints of killed lives nobody needs to see."""
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    resource_tracker.ensure_running()
    os.dup2(stderr, 2)
    ProcessPool(Job(Problem("sphere"), "lhs", 8, 0, 2, 2), 1, 60).close()


def left_processes(seconds: float = 5.0) -> list[psutil.Process]:
    """Returns the drivers and keepers that are still there after so many seconds."""
    server, deadline = psutil.Process(forkserver._forkserver._forkserver_pid), time.monotonic() + seconds
    while (left := server.children(recursive=True)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def cases(calls: int, sample: int | None) -> Iterator[tuple[int, str]]:
    """Yields call and fault of each case, or of so many of them."""
    everything = list(itertools.product(range(calls), FAULTS))
    step = len(everything) / sample if sample else 1.0
    yield from (everything[int(i * step)] for i in range(sample or len(everything)))


def main(arguments: list[str]) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.every_write", description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="run so many cases, spread evenly, in place of all")
    parser.add_argument("--bench", action="store_true", help="of a run that is asked and told")
    given = parser.parse_args(arguments)
    sample, way = given.sample, told if given.bench else trained
    if given.bench:
        quick(setattr)
    start_servers()
    started, wrong, count = time.perf_counter(), [], 0
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        assert live(folder / "untouched", Shim(-1, "", folder / "calls"), way) == 0
        wanted, calls = results(folder / "untouched"), (folder / "calls").read_text().split("\n")[:-1]
        for at, fault in cases(len(calls), sample):
            count += 1
            if problem := interrupted(folder, wanted, at, fault, way):
                wrong.append(problem)
                print(f"{fault} call {at} ({calls[at]}): {problem}", flush=True)
        noted = folder / "memory"
        names = noted.read_text().split() if noted.exists() else []
        leftovers.sweep()  # as the next run does
    orphans, memory = left_processes(), [name for name in names if (leftovers.SHARED_MEMORY / name).exists()]
    print(
        f"{len(calls)} calls, {count:,} cases in {time.perf_counter() - started:.0f} s: {len(wrong)} came to another "
        f"end; {len(orphans)} processes and {len(memory)} blocks of shared memory are left"
    )
    return 1 if wrong or orphans or memory else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
