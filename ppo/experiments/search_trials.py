"""The trials of a search: trainings with what Optuna proposes, each with several seeds."""

import dataclasses
import shlex
import shutil
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppo.config import Config, resolve
from ppo.config.command_line import command_words
from ppo.experiments.search_settings import Search

AVERAGED = 3  # number of evaluations at the end of a run whose mean is its score


def run_trial(search: Search, index: int) -> None:
    """Runs a trial that the study proposes, and tells the study its outcome.

    Args:
        search: settings of the search.
        index: number of the call, from which the seed of Optuna's sampler is drawn.
    """
    import optuna

    study = search.study(int(np.random.SeedSequence((search.base.seed, index)).generate_state(1)[0]))
    trial = study.ask(search.space())
    config = dataclasses.replace(search.base, **trial.params)
    trial.set_user_attr("command", command(config))
    try:
        study.tell(trial, score(search, config, trial))
    except optuna.TrialPruned:
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    except FloatingPointError:  # the training diverged
        study.tell(trial, state=optuna.trial.TrialState.FAIL)


def score(search: Search, config: Config, trial: Any) -> float:
    """Trains each seed, side by side, and returns the mean over seeds of the mean of the last ``AVERAGED`` evaluations.

    Raises:
        optuna.TrialPruned: the best score so far is worse than the median of other trials up to the same step.
    """
    import optuna

    def report(number: int, mean: float) -> None:
        trial.report(mean, number)
        if trial.should_prune():
            raise optuna.TrialPruned

    seeds = range(config.seed, config.seed + search.seeds)
    return mean_of_seeds(search, config, seeds, str(trial.number), report)


def mean_of_seeds(
    search: Search,
    config: Config,
    seeds: Sequence[int],
    name: str,
    report: Callable[[int, float], None] = lambda number, mean: None,
) -> float:
    """Trains each seed, side by side, and returns the mean over seeds of the mean of the last ``AVERAGED`` evaluations.

    Args:
        search: settings of the search.
        config: what to train.
        seeds: the seeds.
        name: what the directories of the runs begin with.
        report: is told the number of a training step and the mean score after it, where there is one.
    """
    from ppo.training.side_by_side import SideBySide  # imported here, since it imports torch
    from ppo.training.trainer import Trainer

    trainers = [
        Trainer(
            resolve(dataclasses.replace(config, seed=seed)),
            search.out / "trials" / f"{name}-seed-{seed}",
            quiet=True,
        )
        for seed in seeds
    ]
    scores: list[list[float]] = []  # of all seeds, for each evaluation
    with SideBySide(trainers, quiet=True) as runs:
        while not runs.complete:
            steps = runs.step()
            found = [step.score for step in steps if step.score is not None]
            if found:
                scores.append(found)
                report(steps[0].number, float(np.mean(found)))
        for trainer in trainers:
            trainer.finish(pictures=False)
    return float(np.mean(scores[-AVERAGED:]))


def score_with_fresh_seeds(search: Search, number: int) -> float | None:
    """Returns the score of a trial with seeds that it was not chosen by; None where the training diverged."""
    config = dataclasses.replace(search.base, **search.study().get_trials()[number].params)
    for left in (search.out / "trials").glob(f"{number}-fresh-seed-*"):
        shutil.rmtree(left)  # of a call that was cut
    try:
        return mean_of_seeds(search, config, search.fresh_seeds, f"{number}-fresh")
    except FloatingPointError:
        return None


def command(config: Config) -> str:
    """Returns the command that trains with a configuration."""
    return shlex.join(["python", "-m", "ppo.train", *command_words(config)])
