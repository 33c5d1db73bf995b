"""Defaults that depend on the family of the problem, on the kind of advantages or on the algorithm."""

from typing import Any

TUNING: dict[str, Any] = {
    "training_steps": 5000,
    "episodes": 30,
    "sampler": "random",
    "hidden_sizes": (32, 32, 32),
    "first_layer": "law",
    "init_std": 0.01,
    "std": "state",
    "std_floor": 0.3,
    "std_floor_final": 1e-4,
    "learning_rate": 6e-3,
    "warmup": 0.1,
    "update_damping": 0.8,
    "update_epochs": 20,
    "num_minibatches": 1,
    "gae_lambda": 0.95,
    "norm_obs": False,
}
TUNING_SLOT: dict[str, Any] = {
    "advantages": "slot",
    "noise": "mirrored",
    "rank_fade": 0.03,
    "density_bandwidth": 0.2,
}
TUNING_GAE: dict[str, Any] = {
    "advantages": "gae",
    "noise": "independent",
    "gamma": 0.0,
    "reward": "objective",
    "transform": "symlog",
}
TUNING_LARGE: dict[str, Any] = {"hidden_sizes": (64, 64, 64), "learning_rate": 2e-3}
"""Those of a budget that is too large for a model."""
CONTROL: dict[str, Any] = {
    "hidden_sizes": (64, 64),
    "first_layer": "orthogonal",
    "noise": "independent",
    "std_floor": 0.0,
    "std_floor_final": 0.0,
    "warmup": 0.0,
    "advantages": "gae",
    "gamma": 0.99,
    "update_damping": 0.0,
    "update_epochs": 10,
    "norm_obs": True,
}
"""Those that ``ppo.config.control`` has no rule for."""
REINFORCE: dict[str, Any] = {"update_epochs": 1, "num_minibatches": 1, "update_damping": 0.0, "warmup": 0.0}

SLOT_ONLY = ("rank_fade", "density_bandwidth")
"""Fields that only leave-one-out advantages use."""
GAE_ONLY = ("gamma", "reward", "transform")
"""Fields that only GAE uses; one of them given asks for it."""
TUNING_ONLY = (
    *("reward", "transform", "evaluation_cost_ms", "evaluations", "check", "reuse", "on_failure"),
    *("model", "components", "start_law", "step_limit"),
)
"""Fields that only a tuning problem uses."""
CONTROL_ONLY = ("env_steps",)
"""Fields that a tuning problem does not use."""
WITHOUT_TUNING = {"model": "none", "components": 1, "on_failure": "stop"}
"""What those of them that are never None are in any other problem."""
