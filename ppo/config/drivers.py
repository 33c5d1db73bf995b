"""Checks of how many drivers there are to be, and where."""

from env.errors import UsageError
from env.make import Problem
from ppo.config.resolved import ResolvedConfig


def check_drivers(config: ResolvedConfig, problem: Problem) -> None:
    """Checks that there are no more drivers than the problem bears, and that they can be where they are to be.

    Raises:
        UsageError: a value that cannot work, by its flag.
    """
    if isinstance(config.drivers, int) and config.drivers > 1 and problem.family == "tuning":
        at_once = problem.describe().at_once
        if at_once is not None and config.drivers > at_once:
            raise UsageError(
                f"--drivers {config.drivers}: --env {config.env} says at_once = {at_once}, as many evaluations of it "
                f"may be under way; use --drivers {at_once} or auto"
            )
    if config.drivers == "auto" and config.backend == "thread":
        raise UsageError("--backend thread: needs a number of --drivers, auto chooses among processes")
    if config.ray_address is not None and config.backend != "ray":
        raise UsageError(f"--ray-address {config.ray_address}: only with --backend ray")
