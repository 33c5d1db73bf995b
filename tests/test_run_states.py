"""Whatever happens to a run directory, its training comes to the one right end or says what is wrong."""

import contextlib
import hashlib
import pathlib
import shutil
import tempfile

import hypothesis
import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from env.errors import UsageError
from ppo.data.disk import Disk
from ppo.training.trainer import Trainer
from tests.simulation.disk import SimulatedDisk
from tests.simulation.fleet import Crash, World
from tests.simulation.run import MEMORY, expected, in_world, results, scenario
from tests.simulation.schedule import Fault, Schedule

FILES = ("archive.bin", "checkpoint.npz", "law.npz", "metrics.csv", "config.json")


class RunMachine(RuleBasedStateMachine):
    """A run directory on a simulated disk."""

    @initialize(number=st.integers(0, 2))
    def begin(self, number):
        self.number = number
        self.root = pathlib.Path(tempfile.mkdtemp(dir=MEMORY))
        self.run = self.root / "run"
        self.world = World(Schedule(0, number, 1, 1e-3, 0.5, ()))
        self.disk = SimulatedDisk(self.root, self.world)

    def teardown(self):
        try:
            self.go_on(99, 2)
        finally:
            shutil.rmtree(self.root)

    @contextlib.contextmanager
    def trainer(self, drivers, path=None):
        """Yields a trainer in the run directory, or in another one on the real disk."""
        config, job, environments = scenario(self.number)

        run, disk = path or self.run, Disk() if path else self.disk
        with (
            in_world(self.world, disk, job, environments, drivers),
            Trainer(config, run, resume=(run / "config.json").exists(), quiet=True) as trainer,
        ):
            yield trainer

    @rule(steps=st.integers(0, 3), drivers=st.integers(1, 5))
    def go_on(self, steps, drivers):
        self.disk.begin_life()
        with self.trainer(drivers) as trainer:
            for _ in range(steps):
                if trainer.complete:
                    break
                next(trainer)
        if trainer.complete:
            assert results(trainer) == expected(self.number)

    @rule(after=st.integers(0, 60), power=st.booleans(), drivers=st.integers(1, 3))
    def end_at_once(self, after, power, drivers):
        kind = "power loss" if power else "kill of the learner"
        fault = Fault(kind, self.world.operation + after, 0.5)
        self.world._faults[kind, fault.at] = [fault]
        with contextlib.suppress(Crash):
            self.go_on(99, drivers)
        self.world._faults.clear()
        self.disk.begin_life()

    @precondition(lambda self: (self.run / "config.json").exists())
    @rule()
    def begin_a_second_time(self):
        self.disk.begin_life()
        with self.trainer(1), pytest.raises(UsageError, match="another process"):
            before = contents(self.run)
            try:
                with self.trainer(1):
                    pass
            finally:
                assert contents(self.run) == before

    @precondition(lambda self: (self.run / "config.json").exists())
    @rule(
        name=st.sampled_from(FILES), at=st.floats(0, 1), how=st.sampled_from(("flip", "cut", "zero", "remove", "text"))
    )
    def damage(self, name, at, how):
        """Damages a copy, which then comes to the right end, or to one line that tells what is wrong."""
        copy = self.root / "copy"
        shutil.copytree(self.run, copy)
        try:
            path = copy / name
            if not path.exists():
                return
            spoil(path, at, how)
            with contextlib.suppress(UsageError), self.trainer(2, copy) as trainer:
                for _ in trainer:
                    pass
                found, wanted = results(trainer), dict(expected(self.number))
                if name == "metrics.csv":  # which holds no more than it shows
                    del found["metrics"], wanted["metrics"]
                if name != "config.json":
                    assert found == wanted
        finally:
            shutil.rmtree(copy)


def spoil(path, at, how):
    """Damages a file."""
    content = path.read_bytes()
    place = min(int(at * len(content)), max(len(content) - 1, 0))
    if how == "remove":
        path.unlink()
    elif how == "cut":
        path.write_bytes(content[:place])
    elif how == "text":
        path.write_bytes(content[:place] + b"spoilt" + content[place:])
    else:
        middle = content[place : place + 1]
        other = bytes(len(middle)) if how == "zero" else bytes(byte ^ 1 for byte in middle)
        path.write_bytes(content[:place] + other + content[place + 1 :])


def contents(directory):
    """Returns a digest of each file of a directory."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()}


settings = hypothesis.settings(
    max_examples=25, stateful_step_count=8, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)  # fmt: skip
TestRunStates = RunMachine.TestCase
TestRunStates.settings = settings
TestRunStates.pytestmark = [pytest.mark.faults]
