"""Configurations that several tests train with."""

from ppo import Config

SMALL = Config(training_steps=25, eval_every=10, hidden_sizes=(8,), update_epochs=2)
