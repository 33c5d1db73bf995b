"""What a configuration must keep to for the problem that it names."""

from env.errors import UsageError
from env.make import Problem
from ppo.config.budget import LEAST_A_COORDINATE
from ppo.config.fields import flag
from ppo.config.resolved import ResolvedConfig


def check_problem(config: ResolvedConfig, problem: Problem) -> None:
    """Checks a configuration against its problem.

    Raises:
        UsageError: they do not suit each other.
    """
    _check_bench(config, problem)
    _check_labels(config, problem)
    _check_lag(config, problem)
    if config.evaluation_cost_ms and problem.family == "tuning" and problem.describe().waits:
        raise UsageError(
            f"--evaluation-cost-ms {config.evaluation_cost_ms:g}: --env {config.env} runs many evaluations side by "
            f"side, which this latency would hold up one by one; leave it out, and let f wait by itself"
        )


def _check_bench(config: ResolvedConfig, problem: Problem) -> None:
    """Checks that a bench, and conditions that come by themselves, have a model that plans whole rounds."""
    observed = problem.describe().observed if problem.family == "tuning" else ()
    if observed and config.model == "none":
        least = LEAST_A_COORDINATE * problem.describe().obs_dim
        raise UsageError(
            f"--env {config.env}: conditions that are observed need a model, and so a budget, --evaluations N of "
            f"{least} or more"
        )
    for name in ("check", "eval_every", "step_limit") if observed else ():
        if value := getattr(config, name):
            raise UsageError(
                f"{flag(name)} {value}: --env {config.env} has conditions that are observed, so that nobody can set "
                f"those that this needs"
            )
    if problem.family == "tuning" and problem.describe().asked and config.model == "none":
        least = LEAST_A_COORDINATE * problem.describe().obs_dim
        raise UsageError(f"--env {config.env}: a bench needs a budget, --evaluations N of {least} or more")


def _check_labels(config: ResolvedConfig, problem: Problem) -> None:
    """Checks that each combination of a problem's choices has a component; with a step limit there may be none."""
    if config.step_limit is not None and problem.describe().labelled:
        raise UsageError(
            f"--step-limit {config.step_limit:g}: --env {config.env} has choices, of which no value is near to another"
        )
    if config.step_limit is not None and problem.describe().solved:
        raise UsageError(
            f"--step-limit {config.step_limit:g}: --env {config.env} tells its best knobs (best or solve), so that "
            f"scores and pictures evaluate it everywhere; leave that out"
        )
    if problem.family == "tuning" and config.components < (least := problem.describe().combinations):
        raise UsageError(
            f"--components {config.components}: --env {config.env} has {least} combinations of its choices, and each "
            f"takes a component"
        )


def _check_lag(config: ResolvedConfig, problem: Problem) -> None:
    """Checks that what is learned may be learned from slots that an older policy collected."""
    if not config.lag:
        return
    if problem.family == "tuning" and problem.describe().asked:
        raise UsageError(
            f"--lag {config.lag}: --env {config.env} is a bench, each of whose rounds is asked after the last"
        )
    if config.model != "none":
        raise UsageError(
            f"--lag {config.lag}: not with --model {config.model}, which --evaluations brings, and which plans each "
            f"round by all before it; use --model none"
        )
    if config.algo == "reinforce":
        raise UsageError(
            f"--lag {config.lag}: not with --algo reinforce, whose gradient is that of the policy which collected; use "
            f"--algo ppo"
        )
