"""A user's module that registers its environments when it is imported, as packages of environments do."""

import gymnasium

from tests.problems import CountdownEnv

gymnasium.register("OnImport-v0", CountdownEnv, max_episode_steps=4)
