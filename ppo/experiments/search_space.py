"""What a search for hyper-parameters tries: values around the defaults, which are among them."""

from typing import Any

from ppo.config import ResolvedConfig

DISCOUNTS = (0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)
MINIBATCHES = (1, 4, 8, 16, 32, 64)


def tuning_space(resolved: ResolvedConfig) -> dict[str, Any]:
    """Returns the distributions of the fields that are searched for on a tuning problem."""
    return {
        "learning_rate": _near(resolved.learning_rate, 4),
        "warmup": _between(0.0, 0.15, resolved.warmup),
        "update_damping": _between(0.0, 0.95, resolved.update_damping),
        "std_floor": _between(max(0.1, resolved.std_floor_final), 0.6, resolved.std_floor, log=True),
        "clip_coef": _between(0.1, 0.4, resolved.clip_coef),
        "update_epochs": _whole(5, 30, resolved.update_epochs),
    }


def control_space(resolved: ResolvedConfig) -> dict[str, Any]:
    """Returns the distributions of the fields that are searched for on a control problem."""
    batch = resolved.episodes * resolved.time_steps
    counts = [count for count in MINIBATCHES if batch // count >= 2]
    return {
        "learning_rate": _near(resolved.learning_rate, 5),
        "gamma": _one_of(DISCOUNTS, resolved.gamma),
        "gae_lambda": _between(0.8, 1.0, resolved.gae_lambda),
        "clip_coef": _between(0.1, 0.4, resolved.clip_coef),
        "ent_coef": _between(0.0, 0.01, resolved.ent_coef),
        "update_epochs": _whole(3, 20, resolved.update_epochs),
        "num_minibatches": _one_of(counts, resolved.num_minibatches),
        "init_std": _near(resolved.init_std, 4),
        "norm_obs": _one_of((True, False), resolved.norm_obs),
    }


def _near(default: float, factor: float) -> Any:
    """Returns a distribution from a factor below a default to one above it."""
    return _between(default / factor, default * factor, default, log=True)


def _between(low: float, high: float, default: float, log: bool = False) -> Any:
    """Returns a distribution between two values, widened to the default."""
    from optuna.distributions import FloatDistribution

    if log and not default > 0:
        return FloatDistribution(low, high, log=True)  # the default was given, and is not searched for
    return FloatDistribution(min(low, default), max(high, default), log=log)


def _whole(low: int, high: int, default: int) -> Any:
    """Returns a distribution of whole numbers, widened to the default."""
    from optuna.distributions import IntDistribution

    return IntDistribution(min(low, default), max(high, default))


def _one_of(values: Any, default: Any) -> Any:
    """Returns a distribution over values, and the default if it is none of them."""
    from optuna.distributions import CategoricalDistribution

    return CategoricalDistribution(values if default in values else sorted([*values, default]))
