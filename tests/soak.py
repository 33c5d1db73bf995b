"""Keeps runs going for a long time under kills, and sees that nothing grows: memory, descriptors, processes, files.

    python -m tests.soak --minutes 30

Three things at once:

* a learner that trains all the time, of whose drivers one is killed every half second or so;
* runs whose drivers are killed, and whose learner every few seconds, and which go on to the end that is known;
* a program that opens and closes 200 pools.

Of the first and the third, medians over the last quarter are compared with those over the first, after a warm-up; they
may differ by 2 %.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import psutil

from actors.pools import leftovers

LEARNER = """
import faulthandler, signal, sys
faulthandler.register(signal.SIGUSR1)
from ppo.config import Config
from ppo.train import train
train(
    Config("tests.problems:Quadratic", training_steps=10**7, episodes=24, evaluation_cost_ms=0.2, drivers=3, seed=5,
           hidden_sizes=(8,), update_epochs=2, eval_every=0, checkpoint_every=10**6, checkpoint_seconds=2.0),
    sys.argv[1], quiet=True, pictures=False,
)
"""
KILLED = """
import os, sys
from ppo.config import Config
from ppo.train import train
train(
    Config("tests.problems:UnknownOptimum", training_steps=int(sys.argv[2]), episodes=12, evaluation_cost_ms=2.0,
           drivers=int(sys.argv[3]), seed=6, hidden_sizes=(8,), update_epochs=2, eval_every=0, checkpoint_every=40),
    sys.argv[1], resume=os.path.exists(sys.argv[1] + "/config.json"), quiet=True, pictures=False,
)
"""
POOLS = """
import json, os, sys, time
import psutil
from tests.actors.pools.rounds import job, run
from actors.pools.processes import ProcessPool
me = psutil.Process()
for step in range(int(sys.argv[1])):
    with ProcessPool(job(), 2, 60) as pool:
        run(pool, step % 3)
    print(json.dumps({"memory": me.memory_full_info().uss, "descriptors": me.num_fds(), "threads": me.num_threads(),
                      "processes": len(me.children(recursive=True)), "blocks": 0}), flush=True)
"""
ALLOWED = 0.02
WARM_UP = 0.1  # of the samples, which are left out
KILL_SECONDS = 0.5
LIFE_SECONDS = (2.0, 8.0)
HUNG_SECONDS = 60.0
"""How long a learner may be without drivers; it tells then where it is."""


@dataclasses.dataclass
class Samples:
    """What was sampled of a process, by name."""

    values: dict[str, list[float]] = dataclasses.field(default_factory=dict)

    def add(self, sample: dict[str, float]) -> None:
        for name, value in sample.items():
            self.values.setdefault(name, []).append(value)

    def growth(self) -> dict[str, tuple[float, float, bool]]:
        """Returns for each name the medians of the first and of the last quarter, and whether they are the same."""
        found = {}
        for name, values in self.values.items():
            kept = values[int(WARM_UP * len(values)) :]
            quarter = max(1, len(kept) // 4)
            first, last = statistics.median(kept[:quarter]), statistics.median(kept[-quarter:])
            found[name] = first, last, abs(last - first) <= ALLOWED * max(first, 1e-9)
        return found


def sample(process: psutil.Process) -> dict[str, float]:
    """Samples a learner and what belongs to it."""
    family = process.children(recursive=True)
    memory = process.memory_full_info().uss
    blocks = sum("tuninglaw-" in file.path for file in process.memory_maps())
    return {
        "memory": memory,
        "descriptors": process.num_fds(),
        "threads": process.num_threads(),
        "processes": len(family),
        "blocks": blocks,
    }


def drivers_of(process: psutil.Process) -> list[psutil.Process]:
    """Returns the driver processes of a learner: the children of its fork server, but for the keeper, the oldest."""
    with contextlib.suppress(psutil.NoSuchProcess):  # one that ends meanwhile: there is a next time
        family = [child for one in process.children() for child in one.children()]
        return sorted(family, key=lambda child: (child.create_time(), child.pid))[1:]
    return []


def kill_a_driver(process: psutil.Process, rng: random.Random) -> bool:
    """Kills one of the drivers of a learner; returns whether there was one."""
    with contextlib.suppress(psutil.NoSuchProcess):
        if drivers := drivers_of(process):
            rng.choice(drivers).kill()
            return True
    return False


def steadily(folder: pathlib.Path, until: float, samples: Samples, counts: dict[str, int]) -> None:
    """Lets a learner train, and kills its drivers."""
    command = [sys.executable, "-c", LEARNER, str(folder / "steady")]
    log = folder / "steady.log"
    with log.open("w") as file:
        learner = subprocess.Popen(command, stderr=file, start_new_session=True)
    process, rng, next_sample = psutil.Process(learner.pid), random.Random(1), time.monotonic() + 10
    seen = time.monotonic()
    try:
        while time.monotonic() < until and learner.poll() is None:
            time.sleep(KILL_SECONDS * rng.uniform(0.5, 1.5))
            if kill_a_driver(process, rng):
                counts["driver kills"] += 1
                seen = time.monotonic()
            elif time.monotonic() > seen + HUNG_SECONDS:
                learner.send_signal(signal.SIGUSR1)
                time.sleep(1.0)
                counts["the learner hung"] += 1
                break
            if time.monotonic() > next_sample and len(drivers_of(process)) == 3:
                with contextlib.suppress(psutil.NoSuchProcess):
                    samples.add(sample(process))
                next_sample = time.monotonic() + 1
        counts["the learner ended by itself"] += learner.poll() is not None
    finally:
        os.killpg(learner.pid, signal.SIGKILL)
        learner.wait()
        print(log.read_text(), end="")


def killed(folder: pathlib.Path, until: float, counts: dict[str, int]) -> None:
    """Kills a run's drivers, and its learner again and again, and lets the run come to its end."""
    rng, run, steps, log = random.Random(2), folder / "killed", 200, folder / "killed.log"
    wanted = law(folder / "untouched", steps)
    while time.monotonic() < until:
        with log.open("w") as file:
            life = subprocess.Popen(
                [sys.executable, "-c", KILLED, str(run), str(steps), str(rng.choice((1, 2, 3)))],
                stderr=file, start_new_session=True,
            )  # fmt: skip
        if kills_drivers(life, time.monotonic() + rng.uniform(*LIFE_SECONDS), rng, counts):
            counts["runs that came to their end"] += 1
            if life.returncode:
                counts["runs that failed"] += 1
                print(log.read_text(), end="")
            elif json.loads((run / "summary.json").read_text())["policy_sha256"] != wanted:
                counts["runs that came to another end"] += 1
            run = folder / f"killed-{counts['runs that came to their end']}"
            continue
        family = psutil.Process(life.pid).children(recursive=True)
        os.killpg(life.pid, signal.SIGKILL) if rng.random() < 0.5 else life.kill()
        life.wait()
        counts["learner kills"] += 1
        _, left = psutil.wait_procs(family, timeout=5)
        counts["orphans"] += sum(one.status() != psutil.STATUS_ZOMBIE for one in left)


def kills_drivers(life: subprocess.Popen, until: float, rng: random.Random, counts: dict[str, int]) -> bool:
    """Kills drivers of a life until it ends by itself, or until its time is over; returns whether it ended."""
    process = psutil.Process(life.pid)
    while time.monotonic() < until:
        with contextlib.suppress(subprocess.TimeoutExpired):
            life.wait(KILL_SECONDS * rng.uniform(0.1, 0.7))
            return True
        counts["driver kills in runs with an end"] += kill_a_driver(process, rng)
    return False


def law(run: pathlib.Path, steps: int) -> str:
    """Returns the digest of the law of a run that nothing happens to."""
    subprocess.run([sys.executable, "-c", KILLED, str(run), str(steps), "2"], check=True)
    return json.loads((run / "summary.json").read_text())["policy_sha256"]


def pools(count: int, samples: Samples) -> None:
    """Lets a program open and close pools."""
    done = subprocess.run([sys.executable, "-c", POOLS, str(count)], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        samples.add(json.loads(line))


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--pools", type=int, default=200)
    arguments = parser.parse_args()
    until, samples, opened = time.monotonic() + 60 * arguments.minutes, Samples(), Samples()
    names = ("driver kills", "driver kills in runs with an end", "learner kills", "runs that came to their end")
    wrongs = (
        "runs that came to another end",
        "runs that failed",
        "orphans",
        "the learner ended by itself",
        "the learner hung",
        "left in /dev/shm and /tmp",
    )
    counts = dict.fromkeys((*names, *wrongs), 0)
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        os.environ["TMPDIR"] = path  # what is left there is ours
        with ThreadPoolExecutor() as threads:
            work = [
                threads.submit(steadily, folder, until, samples, counts),
                threads.submit(killed, folder, until, counts),
                threads.submit(pools, arguments.pools, opened),
            ]
        for part in work:
            part.result()
        tempfile.tempdir = path
        leftovers.sweep()
        counts["left in /dev/shm and /tmp"] = len(list(folder.glob(f"{leftovers.PREFIX}*")))
    flat = True
    for title, one in (("a learner whose drivers are killed", samples), ("a program that opens pools", opened)):
        print(title)
        for name, (first, last, same) in one.growth().items():
            print(f"  {name:12} {first:14,.0f} {last:14,.0f}  {'flat' if same else 'NOT FLAT'}")
            flat &= same
    print(", ".join(f"{name}: {count:,}" for name, count in counts.items()))
    happened = samples.values and opened.values and all(counts[name] for name in names)
    return 0 if flat and happened and not any(counts[name] for name in wrongs) else 1


if __name__ == "__main__":
    sys.exit(main())
