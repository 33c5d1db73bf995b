"""From the configuration as given to one with every default filled in, checked."""

import dataclasses
from typing import Any

from actors.seeding import MAX_SEED
from env.errors import UsageError
from env.make import Problem
from env.names import find_environment
from env.objectives import OBJECTIVES
from ppo.config import control, defaults
from ppo.config.budget import (
    LEAST_CHECK,
    LEAST_SLOTS,
    MODEL_COMPONENTS,
    MOST_SLOTS,
    MOST_SLOTS_OF_COMPONENTS,
    MOST_WITH_MODEL,
    model_suits_budget,
    planned_rounds,
    schedules,
    training_plan,
)
from ppo.config.drivers import check_drivers
from ppo.config.field_types import check_types
from ppo.config.fields import Config, flag
from ppo.config.problem_checks import check_problem
from ppo.config.resolved import GAEConfig, ResolvedConfig, SlotConfig, slot_evaluations

LABELLED = 2  # components of each combination of choices with a model, since each may have several valleys
MAX_TIMEOUT = 1e9  # seconds
AT_LEAST_1 = (
    *("training_steps", "episodes", "time_steps", "candidates", "torch_threads", "update_epochs", "num_minibatches"),
    *("eval_episodes", "checkpoint_every", "evaluations", "components", "env_steps"),
)
AT_LEAST_0 = (
    *("drivers", "eval_every", "evaluation_cost_ms", "driver_timeout", "std_floor", "std_floor_final", "ent_coef"),
    *("vf_coef", "max_grad_norm", "seed", "gamma", "gae_lambda", "update_damping", "warmup", "rank_fade"),
    *("learning_rate_power", "checkpoint_seconds", "check", "close_timeout", "lag"),
)
ABOVE_0 = ("learning_rate", "clip_coef", "init_std", "target_kl", "std_floor_power", "density_bandwidth")
AT_MOST_1 = ("gamma", "gae_lambda", "warmup")
MOST = dict.fromkeys(("episodes", "time_steps", "eval_episodes"), 2**31 - 1)  # as the archive counts them
MOST |= {"drivers": 10_000, "components": 1000, "torch_threads": 1024, "check": 10**9, "seed": MAX_SEED, "lag": 100}
MOST_OF_ANY = 10**12
"""What a whole number may be at the most: those above, and any other one."""


def resolve(config: Config) -> ResolvedConfig:
    """Checks every field and fills in those that are None. Resolving twice changes nothing.

    Raises:
        UsageError: a value that cannot work, by its flag.
    """
    check_types(config)
    check_ranges(config)
    problem = config.problem()
    tuning, length = problem.family == "tuning", problem.slot_length()
    if not tuning:
        length = control.slot_length(config, problem.describe(), length)
    filled = _tuning_defaults(config, length) if tuning else _control_defaults(config, length)
    filled |= _model_defaults(config, problem, filled)
    if filled["components"] > 1 and tuning:
        length = 2 * filled["components"]
    filled |= {"time_steps": length, "eval_every": 0 if config.evaluations else 10, "std_floor_power": 0.45}
    if config.algo == "reinforce":
        filled |= defaults.REINFORCE
    values = {field.name: getattr(config, field.name) for field in dataclasses.fields(Config)}
    if config.step_limit is not None:
        values["step_limit"] = float(config.step_limit)
    values |= {name: value for name, value in filled.items() if values[name] is None}
    if tuning and problem.describe().asked:
        values["on_failure"] = "infeasible"  # who measures says what failed
    if config.evaluations is not None:
        values |= _budget_fields(config, values)
    resolved = (SlotConfig if values["advantages"] == "slot" else GAEConfig)(**values)
    _check_kind(resolved, tuning)
    check_problem(resolved, problem)
    check_drivers(resolved, problem)
    _check_combinations(resolved)
    return resolved


def _model_defaults(config: Config, problem: Problem, filled: dict[str, Any]) -> dict[str, Any]:
    """Returns the defaults of the model and of the components."""
    model = config.model
    if model is None:
        suits = problem.family == "tuning" and filled["advantages"] == "slot" and config.advantages != "gae"
        suits &= config.time_steps is None and config.training_steps is None and config.noise != "independent"
        suits &= config.warm_start is None  # whose law has one component
        model = "gp" if suits and model_suits_budget(config.evaluations, problem.describe().obs_dim) else "none"
    combinations = problem.describe().combinations if problem.family == "tuning" else 1
    several = LABELLED * combinations if combinations > 1 else 1
    components = combinations if model == "none" else max(MODEL_COMPONENTS, several)
    return {"model": model, "components": config.components or components}


def _tuning_defaults(config: Config, time_steps: int) -> dict[str, Any]:
    """Returns the defaults of a tuning problem."""
    for name in defaults.CONTROL_ONLY:
        if (value := getattr(config, name)) is not None:
            raise UsageError(
                f"{flag(name)} {value}: a tuning problem does not take it, and --env {config.env} is one; "
                f"--evaluations N says what it may spend"
            )
    gae_given = any(getattr(config, name) is not None for name in defaults.GAE_ONLY)
    gae_needed = config.algo == "reinforce" or time_steps == 1 or gae_given
    kind = config.advantages or ("gae" if gae_needed else "slot")
    sizes = {}
    if find_environment(config.env) in OBJECTIVES.values():
        objective = config.problem().objective()
        sizes = {name: getattr(objective, name) for name in ("dims", "knobs") if name not in config.env_kwargs}
    if kind != "slot":
        return defaults.TUNING | sizes | defaults.TUNING_GAE
    large = defaults.TUNING_LARGE if (config.evaluations or 0) > MOST_WITH_MODEL else {}
    return defaults.TUNING | sizes | defaults.TUNING_SLOT | large


def _budget_fields(config: Config, values: dict[str, Any]) -> dict[str, Any]:
    """Returns what ``--evaluations`` sets, where it is not given, out of all values with their defaults filled in."""
    assert config.evaluations is not None, "there is a budget"
    per_slot = slot_evaluations(values["time_steps"], values["advantages"], values["reward"])
    least_slots = 2 if values["time_steps"] == 1 else 1  # advantages are normalised over at least two time steps
    if values["model"] == "none":
        most_slots = MOST_SLOTS if values["components"] == 1 else MOST_SLOTS_OF_COMPONENTS
        steps, episodes = training_plan(config.evaluations, per_slot, config.episodes, least_slots, most_slots)
    else:
        _, each, steps = planned_rounds(config.evaluations, config.problem().describe().obs_dim)
        episodes = config.episodes or max(LEAST_SLOTS, each // per_slot)
    if config.training_steps not in (None, steps):
        raise UsageError(
            f"--evaluations {config.evaluations}: sets the training steps by itself ({steps}), so --training-steps "
            f"{config.training_steps} cannot be given"
        )
    slots = config.evaluations // per_slot if values["model"] != "none" else steps * episodes
    fields = {"training_steps": steps, "episodes": episodes} | schedules(slots, config.std_floor)
    used = {name: value for name, value in fields.items() if getattr(config, name) is None and values[name] is not None}
    return {name: value for name, value in used.items() if config.algo == "ppo" or name not in defaults.REINFORCE}


def _control_defaults(config: Config, time_steps: int) -> dict[str, Any]:
    """Returns the defaults of a control problem."""
    for name in defaults.TUNING_ONLY:
        value = getattr(config, name)
        if value and value != defaults.WITHOUT_TUNING.get(name):
            what = f"{flag(name)} {' '.join(value) if isinstance(value, tuple) else value}"
            raise UsageError(f"{what}: only a tuning problem takes it, and --env {config.env} is none")
    return control.control_defaults(config, config.problem().describe(), time_steps)


def check_ranges(config: Config) -> None:
    """Checks each field alone.

    Raises:
        UsageError: a value that cannot work, by its flag.
    """
    for names, least, what in ((AT_LEAST_1, 1, "at least 1"), (AT_LEAST_0, 0, "0 or more")):
        for name in names:
            value = getattr(config, name)
            if isinstance(value, int | float) and not least <= value < float("inf"):
                raise UsageError(f"{flag(name)} {value}: must be {what}")
    for name in ABOVE_0:
        value = getattr(config, name)
        if value is not None and not 0 < value < float("inf"):
            raise UsageError(f"{flag(name)} {value}: must be above 0")
    if config.step_limit is not None and not 0 < config.step_limit <= 1:
        raise UsageError(f"--step-limit {config.step_limit:g}: must be above 0 and at most 1, a share of the range")
    if (config.start_law is None) != (config.step_limit is None):
        given, other = ("start_law", "--step-limit R") if config.step_limit is None else ("step_limit", "--start-law")
        raise UsageError(f"{flag(given)} {getattr(config, given)}: needs {other} beside it")
    if 0 < config.check < LEAST_CHECK:
        raise UsageError(f"--check {config.check}: must be at least {LEAST_CHECK}, or 0 for no check")
    _check_largest(config)


def _check_largest(config: Config) -> None:
    """Checks fields against what they may be at the most; whole numbers, so that no sum of them is absurd later on."""
    for name in AT_MOST_1:
        if (getattr(config, name) or 0) > 1:
            raise UsageError(f"{flag(name)} {getattr(config, name)}: must be from 0 to 1")
    if (config.update_damping or 0) >= 1:
        raise UsageError(f"--update-damping {config.update_damping}: must be from 0 to below 1")
    if config.driver_timeout > MAX_TIMEOUT:
        raise UsageError(f"--driver-timeout {config.driver_timeout}: must be at most {MAX_TIMEOUT}; 0 is no limit")
    for field in dataclasses.fields(Config):
        value, most = getattr(config, field.name), MOST.get(field.name, MOST_OF_ANY)
        if isinstance(value, int) and value > most:
            raise UsageError(f"{flag(field.name)} {value}: must be at most {most}")
    widths = config.hidden_sizes or ()
    if not all(1 <= size <= MOST_OF_ANY for size in widths):
        words = " ".join(map(str, widths))
        raise UsageError(f"--hidden-sizes {words}: every width must be at least 1, and at most {MOST_OF_ANY}")


def _check_kind(config: ResolvedConfig, tuning: bool) -> None:
    """Checks what only a tuning problem takes, and what only one of the two kinds of advantages does."""
    if not tuning:
        for name, value in (("advantages", "slot"), ("first_layer", "law")):
            if getattr(config, name) == value:
                what = f"{flag(name)} {value}"
                raise UsageError(f"{what}: only a tuning problem takes it, and --env {config.env} is none")
    if config.std == "free" and control.needs_std_of_state(config.sampler):
        raise UsageError(
            f"--std free: is the same in all states, and --sampler {config.sampler} asks in which it is large"
        )
    if config.noise == "mirrored" and config.advantages != "slot":
        raise UsageError("--noise mirrored: only with --advantages slot, which compares the time steps of a slot")
    if config.advantages == "slot" and config.time_steps == 1:
        raise UsageError("--advantages slot: compares the time steps of a slot, and --time-steps is 1")
    _check_components(config)
    foreign, wanted = (defaults.GAE_ONLY, "gae") if config.advantages == "slot" else (defaults.SLOT_ONLY, "slot")
    for name in foreign:
        if getattr(config, name) is not None:
            raise UsageError(f"{flag(name)} {getattr(config, name)}: only with --advantages {wanted}")


def _check_components(config: ResolvedConfig) -> None:
    """Checks what several components and a model need."""
    if config.step_limit is not None and config.model == "none":
        raise UsageError(
            f"--step-limit {config.step_limit:g}: only with a model, which a budget brings: --evaluations N"
        )
    if config.model != "none":  # before the components, which it may have set
        if config.evaluations is None:
            raise UsageError(f"--model {config.model}: needs a budget, --evaluations N")
        if config.norm_obs:
            raise UsageError(f"--norm-obs True: not with --model {config.model}, whose states are in [-1, 1]")
        if config.advantages != "slot" or config.noise != "mirrored":
            raise UsageError(f"--model {config.model}: needs --advantages slot and --noise mirrored")
    if config.components > 1:
        if config.reuse and config.model == "none":
            raise UsageError(f"--reuse: with --components {config.components} only where there is a --model")
        if config.advantages != "slot" or config.noise != "mirrored":
            raise UsageError(f"--components {config.components}: needs --advantages slot and --noise mirrored")
        if config.time_steps != 2 * config.components:
            raise UsageError(
                f"--time-steps {config.time_steps}: with --components {config.components} a slot has "
                f"{2 * config.components}, two for each"
            )


def _check_combinations(config: ResolvedConfig) -> None:
    """Checks fields that limit each other."""
    if config.reuse and config.warm_start is not None:
        raise UsageError("--reuse and --warm-start: both say where the law starts from; give one of them")
    batch, least = config.episodes * config.time_steps, 2 if config.norm_adv else 1
    if batch // config.num_minibatches < least:
        sizes = f"--episodes {config.episodes} --time-steps {config.time_steps}"
        what = sizes if config.num_minibatches == 1 else f"--num-minibatches {config.num_minibatches}"
        needed = "two, so that its advantages can be normalised" if config.norm_adv else "one"
        raise UsageError(f"{what}: a batch has only {batch} time steps, and a minibatch needs {needed}")
    if config.algo == "reinforce" and (config.update_epochs, config.num_minibatches) != (1, 1):
        raise UsageError(
            "--algo reinforce: uses each batch once and whole, so --update-epochs and --num-minibatches must be 1"
        )
    if (config.std_floor == 0) != (config.std_floor_final == 0) or config.std_floor_final > config.std_floor:
        raise UsageError(
            f"--std-floor-final {config.std_floor_final}: must be above 0 and at most --std-floor {config.std_floor}, "
            f"or both 0"
        )
