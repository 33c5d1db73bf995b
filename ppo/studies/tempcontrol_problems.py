"""Problems and models of the study of ``TempControl``."""

import dataclasses

from ppo.config import Config
from ppo.experiments.stable_baselines3 import PEER_LABEL

LEVELS = {"v0": "medium", "v1 low": "low", "v1 medium": "medium", "v1 high": "high"}
MODELS = ("Base", "Optuna", "Parallel", "Parallel + Optuna", PEER_LABEL)
STEPS = 20_000
"""The article's budget of time steps."""
BASE: dict[str, Config] = {
    "v0": Config(env="TempControl-v0", env_steps=STEPS),
    # Starts at any temperature let the training see the process near its set-point from the first training step on.
    "v1": Config(env="TempControl-v1", env_kwargs={"actions": True}, env_steps=STEPS, sampler="lhs"),
}


def tempcontrol_config(name: str, load: bool) -> Config:
    """Returns the configuration that the models share on a problem, with or without the load."""
    base = BASE[name.split()[0]]
    keywords = {"level": LEVELS[name], **base.env_kwargs, **({} if load else {"load_rounds": 0})}
    return dataclasses.replace(base, env_kwargs=keywords, drivers=0, eval_every=0)
