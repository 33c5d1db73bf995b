"""How much memory a configuration asks for at the least, so that an absurd size is told before anything is made."""

import itertools
import math

import psutil

from env.description import Description
from env.errors import UsageError
from ppo.config.resolved import ResolvedConfig

NUMBER = 8  # bytes
COPIES = 5  # of a parameter: itself, its gradient, two moments of Adam, and what is broadcast


def check_memory(config: ResolvedConfig, runs: int = 1) -> None:
    """Checks that the largest arrays of a run, or of the runs of several seeds, fit into this machine's memory.

    It builds the environment once, to learn its sizes, so it is for a run that is about to begin.

    Raises:
        UsageError: they do not; the text names the flag that most is due to.
    """
    most, needed = psutil.virtual_memory().total, needed_bytes(config, config.problem().describe())
    if (together := runs * sum(needed.values())) > most:
        alone = together / runs <= most
        blamed = f"--seeds with {runs} runs" if alone else max(needed, key=lambda name: needed[name])
        gibibytes = math.ceil(together / 2**30)
        raise UsageError(f"{blamed}: needs about {gibibytes:,} GiB of memory, and this machine has {most / 2**30:.3g}")


def needed_bytes(config: ResolvedConfig, described: Description) -> dict[str, int]:
    """Returns about how many bytes the largest arrays take at the least, by the flags that they are due to."""
    obs, actions, slots = described.obs_dim, described.action_dim, config.episodes
    parameters = policy_parameters(config, described)
    batch, width = slots * config.time_steps, sum(config.hidden_sizes)
    widths = " ".join(map(str, config.hidden_sizes))
    rows = batch // config.num_minibatches
    activations = NUMBER * rows * width  # due to the larger of the two
    time_step = NUMBER * (2 * obs + actions + 2)  # observations, action, log-probability and reward
    asked = {"uncertainty": slots, "heterogeneous": slots // 3}.get(config.sampler, 0)  # starts with candidates
    episode = (described.episode_limit or config.time_steps) if config.problem().family == "control" else 0
    return {
        f"--hidden-sizes {widths}": NUMBER * (COPIES + config.lag) * parameters + activations * (width > rows),
        f"--episodes {slots} --time-steps {config.time_steps}": (1 + config.lag) * batch * time_step
        + activations * (width <= rows),
        f"--candidates {config.candidates}": NUMBER * config.candidates * max(1, asked * obs),
        f"--check {config.check}": NUMBER * obs * config.check // 3,
        f"--eval-episodes {config.eval_episodes}": config.eval_episodes * episode * time_step,
    }


def policy_parameters(config: ResolvedConfig, described: Description) -> int:
    """Returns how many parameters the policy has."""
    outputs = sum(described.choices) or (2 * described.action_dim + (config.components > 1)) * config.components
    return sum((a + 1) * b for a, b in itertools.pairwise([described.obs_dim, *config.hidden_sizes, outputs]))
