"""Objectives and environments that make trouble, as users name them: ``tests.hostile:Class``.

What they start notes its process id in the directory that TUNINGLAW_TEST_PIDS names.
"""

import ctypes
import multiprocessing
import os
import pathlib
import subprocess
import sys
import threading
import time

import gymnasium
import numpy as np
from gymnasium import spaces

from tests.problems import Quadratic


def note(pid):
    """Notes a process id; a second one of the same number is noted once."""
    pathlib.Path(os.environ["TUNINGLAW_TEST_PIDS"], str(pid)).touch()


def sleeper():
    """Starts a process that sleeps for an hour, and notes it."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    note(process.pid)
    return process


class Blocks(Quadratic):
    """Waits for an hour in every evaluation, with a process of its own beside it."""

    def __call__(self, x, c):
        sleeper()
        note(os.getpid())
        time.sleep(3600)


class HoldsTheGIL(Quadratic):
    """Waits for an hour in every evaluation, in a library that lets no other thread of Python run."""

    def __call__(self, x, c):
        note(os.getpid())
        ctypes.PyDLL(None).sleep(3600)


class HasAThread(Quadratic):
    """Starts a thread that keeps its process from ending, and answers."""

    def __call__(self, x, c):
        note(os.getpid())
        threading.Thread(target=time.sleep, args=(3600,), daemon=False).start()
        return super().__call__(x, c)


class WaitsForever(Quadratic):
    """Waits for an hour in every evaluation; a thread that does so for ever holds nothing that others need."""

    vectorised = True

    def __call__(self, x, c):
        time.sleep(3600)


class Exits(Quadratic):
    """Ends the program with exit code 0."""

    def __call__(self, x, c):
        sys.exit(0)


class StopsIteration(Quadratic):
    """Raises StopIteration."""

    def __call__(self, x, c):
        raise StopIteration("the list of set-points is empty")


class SimulatorEnv(gymnasium.Env):
    """Has a process of its own, which it takes 0.3 s to end. An episode has 5 time steps."""

    observation_space = spaces.Box(-1, 1, (2,), np.float64)
    action_space = spaces.Box(-1, 1, (1,), np.float64)

    def __init__(self):
        self.process = sleeper()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 5
        return self.np_random.uniform(-1, 1, 2), {}

    def step(self, action):
        self.left -= 1
        return self.np_random.uniform(-1, 1, 2), 1.0, False, self.left == 0, {}

    def close(self):
        time.sleep(0.3)
        self.process.kill()
        self.process.wait()


class ParentEnv(gymnasium.Env):
    """Lets a process that it starts with multiprocessing say what the first reward is: 7."""

    observation_space = spaces.Box(-1, 1, (2,), np.float64)
    action_space = spaces.Box(-1, 1, (1,), np.float64)

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=theirs.send, args=(7.0,))
        process.start()
        self.first = ours.recv()
        process.join()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2), {}

    def step(self, action):
        return np.zeros(2), self.first, False, False, {}
