"""Configurations that several tests train with."""

from ppo import Config

TEMP_CONTROL = {
    "env": "TempControl-v1",
    "env_kwargs": {"load_rounds": 0, "actions": True},
    "sampler": "lhs",
    "episodes": 5,
    "time_steps": 60,
    "eval_episodes": 3,
}
"""Changes of a configuration for a short training on the furnace."""
SMALL = Config(training_steps=25, eval_every=10, hidden_sizes=(8,), update_epochs=2)
