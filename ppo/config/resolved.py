"""The configuration with every default filled in: what everything below the command line takes."""

from dataclasses import dataclass, field
from typing import Literal

from ppo.config.fields import Config


@dataclass(frozen=True, kw_only=True)
class ResolvedConfig(Config):
    """A configuration that ``ppo.config.resolve`` has checked and completed.

    The fields below are never None. Of the others None means that a field is not used: ``dims`` and ``knobs`` outside
    the built-in objectives, ``target_kl`` and ``warm_start``, and what belongs to the other kind of advantages or to
    the other family. ``Config`` says what each field means.
    """

    training_steps: int = field()
    episodes: int = field()
    time_steps: int = field()
    sampler: str = field()
    eval_every: int = field()
    hidden_sizes: tuple[int, ...] = field()
    first_layer: Literal["law", "orthogonal"] = field()
    std: Literal["state", "free"] = field()
    init_std: float = field()
    noise: Literal["mirrored", "independent"] = field()
    std_floor: float = field()
    std_floor_final: float = field()
    std_floor_power: float = field()
    learning_rate: float = field()
    warmup: float = field()
    advantages: Literal["slot", "gae"] = field()
    gae_lambda: float = field()
    update_epochs: int = field()
    num_minibatches: int = field()
    update_damping: float = field()
    components: int = field()
    model: Literal["none", "gp"] = field()
    norm_obs: bool = field()


@dataclass(frozen=True, kw_only=True)
class SlotConfig(ResolvedConfig):
    """With leave-one-out advantages within a slot: no rewards, no value network."""

    rank_fade: float = field()
    density_bandwidth: float = field()


@dataclass(frozen=True, kw_only=True)
class GAEConfig(ResolvedConfig):
    """With advantages by GAE from rewards and a value network.

    ``reward`` and ``transform`` are None outside tuning, where the environment gives the rewards.
    """

    gamma: float = field()


def slot_evaluations(time_steps: int, advantages: str, reward: str | None) -> int:
    """Returns the evaluations of f that a slot takes: one a time step, and one of its start where that is needed."""
    return time_steps + starts_are_evaluated(advantages, reward)


def starts_are_evaluated(advantages: str, reward: str | None) -> bool:
    """Returns whether f of the starts is needed: only the reward of improvement compares with it."""
    return advantages != "slot" and reward != "objective"
