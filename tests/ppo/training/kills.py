"""Trains in a directory, killed again and again: a program of its own, ``kills RUN_DIR CONFIG.json KILLS [quick]``,
with ``quick`` for less effort of a model.

Each life of the learner is a fork of this process, which has imported torch and started the fork server once. Every
second time a driver is killed in the middle of its work, and the learner a little later.
"""

import os
import pathlib
import random
import signal
import sys
import time
from multiprocessing import forkserver

import psutil

from actors.job import Job
from actors.pools.processes import ProcessPool
from env import Problem
from ppo.config.file import read_config
from ppo.data.archive import NAME
from ppo.train import train
from ppo.training import trainer as imported_before_the_first_fork  # noqa: F401
from tests.ppo.algorithm.model.quick import quick


def live(run_dir: pathlib.Path, config_path: str) -> None:
    """One life of the learner, to the end of the run if it is left alone."""
    forkserver._forkserver.ensure_running = lambda: None  # it runs, though it is no child of this process
    resume = (run_dir / "config.json").exists()
    train(read_config(config_path), run_dir, resume=resume, quiet=True, pictures=False)


def size(archive: pathlib.Path) -> int:
    return archive.stat().st_size if archive.exists() else 0


def kill(life: int, archive: pathlib.Path, with_driver: bool) -> None:
    """Kills a life once it has written a random number of bytes, with or without one of its drivers before it."""
    enough, deadline = size(archive) + random.randrange(1000), time.monotonic() + 30
    while size(archive) <= enough and time.monotonic() < deadline:
        time.sleep(0.002)
    drivers = psutil.Process(forkserver._forkserver._forkserver_pid).children()
    if with_driver and drivers:
        random.choice(drivers).kill()
        time.sleep(0.05)
    os.kill(life, signal.SIGKILL)


def main(run_dir: str, config_path: str, kills: str, effort: str = "") -> None:
    """Gives the run so many lives; none of them may come to its end."""
    random.seed(0)
    if effort == "quick":
        quick(setattr)
    ProcessPool(Job(Problem("sphere"), "lhs", 8, 0, 2, 2), 1, 60).close()
    for number in range(int(kills)):
        life = os.fork()
        if life == 0:
            live(pathlib.Path(run_dir), config_path)
            os._exit(0)
        kill(life, pathlib.Path(run_dir) / NAME, number % 2 == 1)
        _, status = os.waitpid(life, 0)
        assert os.WIFSIGNALED(status), f"life {number} ended by itself"


if __name__ == "__main__":
    main(*sys.argv[1:])
