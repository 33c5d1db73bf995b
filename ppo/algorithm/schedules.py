"""What changes over a training by plan: a pure function of the configuration and the training step."""

from dataclasses import dataclass

from ppo.config import ResolvedConfig, SlotConfig


@dataclass(frozen=True)
class Schedule:
    """The values of one training step.

    Attributes:
        std_floor: least standard deviation of a continuous policy.
        learning_rate: Adam's step size.
        rank_weight: weight of ranks, beside differences, in leave-one-out advantages, in [0, 1].
        update_epochs: passes over the batch.
    """

    std_floor: float
    learning_rate: float
    rank_weight: float
    update_epochs: int


def schedule(config: ResolvedConfig, step: float, head: float = 0.0) -> Schedule:
    """Returns the values of training step ``step``, counted from 0.

    What was evaluated before the run counts as ``head`` training steps before the first: the floor starts as far down
    as they would have brought it.

    The floor falls exponentially in a power of the progress. The learning rate warms up, falls with a power of the
    floor, so that a step of Adam stays within PPO's trust region as the policy narrows, and linearly if it is
    annealed. ``docs/method.md`` gives the reasons.
    """
    progress = (head + step) / (head + config.training_steps)
    first, final = config.std_floor, config.std_floor_final
    floor = first * (final / first) ** progress**config.std_floor_power if first else 0.0
    narrowing = floor / first if first else 1.0  # the floor as a share of the first one
    linear = 1 - progress if config.anneal_lr else 1.0
    warm = min(1.0, (step + 1) / (config.warmup * config.training_steps + 1))
    rate = config.learning_rate * warm * linear * narrowing**config.learning_rate_power
    return Schedule(floor, rate, _rank_weight(config, narrowing), config.update_epochs)


IMAGINED_FLOORS = (0.3, 0.03, 1e-4)
IMAGINED_EPOCHS = 4


def imagined_schedule(config: ResolvedConfig, spent: float, last: float) -> Schedule:
    """Returns the values of an imagined step: the floor falls with the budget, and after the last round to the end.

    Args:
        config: what to train.
        spent: share of the budget that is spent.
        last: share of the imagined steps after the last round that are done.
    """
    first, middle, final = IMAGINED_FLOORS
    floor = first * (middle / first) ** spent * (final / middle) ** last
    narrowing = floor / first
    rate = config.learning_rate * narrowing**config.learning_rate_power
    return Schedule(floor, rate, _rank_weight(config, narrowing), IMAGINED_EPOCHS)


def _rank_weight(config: ResolvedConfig, narrowing: float) -> float:
    """Returns 1 while the policy is wide, and then what falls with the floor."""
    if not isinstance(config, SlotConfig) or not config.rank_fade:
        return 1.0
    return min(1.0, narrowing / config.rank_fade)
