"""Defaults of an environment that is no tuning problem, by rules; ``docs/method.md`` gives the reasons.

They depend on what the environment says of itself, its time limit and its spaces, and on the budget of time steps.
"""

from typing import Any

from actors.samplers.mix import asks_policy
from env.description import Description
from env.errors import UsageError
from ppo.config.defaults import CONTROL
from ppo.config.fields import Config

BUDGET = 1_000_000
"""Time steps of a training, where nothing else is said; those below are for it."""
BATCH, BATCH_POWER = 4000, 1 / 2
LEARNING_RATE, RATE_POWER, FEW_RATE_POWER, LARGEST_RATE = 6e-4, -0.3, -1 / 4, 3e-3
MINIBATCH = 64
FEW = 100_000
"""Time steps below which there are few."""
INIT_STD, INIT_STD_OF_STARTS = 1.0, 0.7
"""Initial std, and that where a sampler draws the starts, which explore as well."""
GAE_LAMBDA, GAE_LAMBDA_OF_SEVERAL, LAMBDA_POWER = 0.95, 0.9, 1 / 2
"""Lambda, and that where an action has several values, whose noise adds variance to a return; where a sampler draws the
starts, it is nearer to 1 with few time steps, by that power, so that less depends on values that are inaccurate."""
SLOTS_OF_EPISODE = 5
"""How many slots an episode would fill where a sampler draws the starts, and no slot need be a whole episode."""
OWN_STARTS = "env"
SET_BY_ENV_STEPS = ("training_steps", "episodes", "num_minibatches", "learning_rate", "gae_lambda")
"""Fields that a budget of time steps sets, where they are not given."""


def slot_length(config: Config, described: Description, longest: int) -> int:
    """Returns the time steps of a slot, of at most ``longest``.

    It is a part of an episode only where the environment says how long that is, so that evaluations have it whole.
    """
    limit = described.episode_limit
    if config.time_steps is not None or not draws_starts(config.sampler or OWN_STARTS) or limit is None:
        return longest
    return -(-limit // SLOTS_OF_EPISODE)


def draws_starts(sampler: str) -> bool:
    """Returns whether a sampler draws the starts, and not the environment itself."""
    return sampler != OWN_STARTS


def needs_std_of_state(sampler: str) -> bool:
    """Returns whether a sampler of starts asks the policy where it is uncertain."""
    return draws_starts(sampler) and asks_policy(sampler)


def control_defaults(config: Config, described: Description, time_steps: int) -> dict[str, Any]:
    """Returns the defaults, for slots of ``time_steps``.

    Raises:
        UsageError: ``--env-steps`` does not suffice for a training step, or ``--training-steps`` is another number than
            it sets.
    """
    steps = config.env_steps or BUDGET
    share, few = steps / BUDGET, min(1.0, steps / FEW)
    slots = config.episodes or max(1, round(BATCH * share**BATCH_POWER / time_steps))
    batch = slots * time_steps
    sampler = config.sampler or OWN_STARTS
    init_std = INIT_STD
    gae_lambda = GAE_LAMBDA_OF_SEVERAL if described.action_dim > 1 else GAE_LAMBDA
    if draws_starts(sampler):
        init_std = INIT_STD_OF_STARTS
        gae_lambda = 1 - few**LAMBDA_POWER * (1 - gae_lambda)
    return CONTROL | {
        "training_steps": _training_steps(config, steps, batch),
        "episodes": slots,
        "num_minibatches": max(1, batch // MINIBATCH),
        "learning_rate": min(LEARNING_RATE * max(1.0, share**RATE_POWER) * few**FEW_RATE_POWER, LARGEST_RATE),
        "sampler": sampler,
        "std": "state" if needs_std_of_state(sampler) else "free",
        "init_std": init_std * max(1, described.action_dim) ** -0.5,
        "gae_lambda": gae_lambda,
    }


def _training_steps(config: Config, steps: int, batch: int) -> int:
    """Returns how many training steps of ``batch`` time steps a training takes."""
    if config.env_steps is None:
        return max(1, steps // batch)
    if steps < batch:
        raise UsageError(
            f"--env-steps {steps}: a training step has {batch} time steps; give as many, or fewer or smaller slots"
        )
    if config.training_steps not in (None, steps // batch):
        raise UsageError(
            f"--env-steps {steps}: sets the training steps by itself ({steps // batch}), so --training-steps "
            f"{config.training_steps} cannot be given"
        )
    return steps // batch
