"""A user's module that registers its environments when it is imported, as packages of environments do."""

import gymnasium

from tests.problems import Countdown

gymnasium.register("OnImport-v0", Countdown, max_episode_steps=4)
