"""Tries an environment before a run begins: what it gets wrong at once is told, and its time limit is found out."""

import copy
import time
from dataclasses import dataclass

from env.errors import ContractError
from env.randomness import OWN_RANDOMNESS
from env.starts import Row

SEED = 0
TIME_STEPS = 5000
"""How many are tried at the most to find a time limit."""
EPISODES = 5
"""How many truncated episodes must have the same length, if there is time for so many."""
SECONDS = 10
"""How long that may take."""


def try_once(row: Row) -> None:
    """Resets an environment and steps it once with a random action, always the same one.

    What its own code raises is left to the run, which names the slot and keeps the traceback.

    Raises:
        ContractError: it does not return what it must.
    """
    actions = copy.deepcopy(row.action_space)  # which belongs to the environment, and may be drawn from there
    actions.seed(SEED)
    try:
        with OWN_RANDOMNESS:
            row.reset(seed=SEED)
            row.step(actions.sample())
    except ContractError:
        raise
    except Exception:
        return


@dataclass(frozen=True)
class Trial:
    """What came of trying an environment that has no registered time limit.

    Attributes:
        time_steps: time steps that were tried.
        longest: time steps of the longest episode that ended by itself; 0 where none did.
        cut: after how many time steps episodes were truncated, up to five of them.
    """

    time_steps: int
    longest: int
    cut: tuple[int, ...]

    @property
    def limit(self) -> int | None:
        """After how many time steps an episode is truncated; None where none was, or it is not always as many."""
        return self.cut[0] if self.cut and min(self.cut) == max(self.cut) >= self.longest else None

    def words(self) -> str:
        """Returns why no limit was found, and what to give in its place."""
        if self.cut:
            least, most = min(self.cut), max(self.longest, *self.cut)
            return f"its episodes ended after {least} to {most} time steps; give --time-steps {most}"
        tried = f"in {self.time_steps:,} time steps with random actions its step never returned truncated = True"
        if self.longest:
            return f"{tried}, and its longest episode had {self.longest:,}; give --time-steps {self.longest} or more"
        return f"{tried}, and no episode ended; give the time steps of an episode, such as --time-steps 500"


def try_episodes(row: Row) -> Trial:
    """Runs episodes with random actions, always the same ones, until five were truncated or enough was tried.

    What the environment raises comes through.
    """
    actions = copy.deepcopy(row.action_space)
    actions.seed(SEED)
    started, done, longest, cut = time.monotonic(), 0, 0, list[int]()
    with OWN_RANDOMNESS:
        for episode in range(TIME_STEPS):
            row.reset(seed=SEED + episode)
            length, terminated, truncated = 0, False, False
            while not (terminated or truncated):
                if done == TIME_STEPS or len(cut) == EPISODES or time.monotonic() - started > SECONDS:
                    return Trial(done, longest, tuple(cut))
                _, _, terminated, truncated, _ = row.step(actions.sample())
                done, length = done + 1, length + 1
            if truncated and not terminated:
                cut.append(length)
            else:
                longest = max(longest, length)
    return Trial(done, longest, tuple(cut))
