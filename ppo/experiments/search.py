"""A search for the hyper-parameters with which training does best, with Optuna (the extra ``tune``).

A trial trains once for each of a few seeds, so that no trial wins by a lucky seed, and stores the command that repeats
its training to the bit.
"""

import contextlib
import dataclasses
import functools
import importlib.util
import json
import pathlib
import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from env.errors import UsageError
from ppo.config import Config, ResolvedConfig, resolve
from ppo.config.command_line import WHERE_IT_RUNS, command_words
from ppo.config.fields import flag
from ppo.experiments.parallel import map_in_processes

AVERAGED = 3  # number of evaluations at the end of a run whose mean is its score
PLOTS = ("optimization_history", "param_importances", "parallel_coordinate")


@dataclass(frozen=True)
class Search:
    """Settings that all trials share: plain values, so that they can be sent to a process.

    Attributes:
        base: configuration that trials change.
        seeds: number of runs of a trial.
        out: directory of the study and of its runs.
        fixed: names of the fields that are not searched for.
    """

    base: Config
    seeds: int
    out: pathlib.Path
    fixed: tuple[str, ...]

    @functools.cached_property
    def resolved(self) -> ResolvedConfig:
        """Configuration that trials change, with its defaults filled in."""
        return resolve(self.base)

    @property
    def tuning(self) -> bool:
        """Whether the problem is a tuning problem, whose score is an error to be minimised."""
        return self.base.problem().family == "tuning"

    def space(self) -> dict[str, Any]:
        """Returns Optuna's distributions of the fields that are searched for, by name."""
        idle = set(self.fixed)
        if self.resolved.algo == "reinforce":
            idle |= {"update_epochs", "num_minibatches", "clip_coef", "gae_lambda"}
        if not self.tuning and not isinstance(self.base.problem().describe().action_space, spaces.Box):
            idle.add("init_std")
        space = _tuning_space(self.resolved) if self.tuning else _control_space(self.resolved)
        return {name: values for name, values in space.items() if name not in idle}

    def identity(self) -> dict[str, Any]:
        """Returns what comparable trials share: all settings that change results, and the names of searched fields."""
        settings = json.loads(self.resolved.to_json())
        same = {flag(name): value for name, value in settings.items() if name not in WHERE_IT_RUNS}
        return same | {"--seeds": self.seeds, "searched": sorted(self.space())}

    def study(self, sampler_seed: int = 0) -> Any:
        """Opens the study in ``out``, or creates it.

        Args:
            sampler_seed: seed of Optuna's sampler.

        Raises:
            UsageError: the study in ``out`` has other settings.
        """
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(
            storage=JournalStorage(JournalFileBackend(str(self.out / "study.journal"))),
            study_name="tuninglaw",
            direction="minimize" if self.tuning else "maximize",
            load_if_exists=True,
            sampler=optuna.samplers.TPESampler(seed=sampler_seed),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=self.resolved.training_steps // 3),
        )
        now = self.identity()
        if "search" not in study.user_attrs:
            study.set_user_attr("search", now)
            return study
        before = study.user_attrs["search"]
        for name in now:
            if before.get(name) != now[name]:
                raise UsageError(
                    f"--out {self.out}: holds a study with other settings ({name} {before.get(name)}, not "
                    f"{now[name]}); give another directory"
                )
        return study


def _tuning_space(resolved: ResolvedConfig) -> dict[str, Any]:
    """Returns the distributions of the fields that are searched for on a tuning problem."""
    from optuna.distributions import FloatDistribution, IntDistribution

    return {
        "learning_rate": FloatDistribution(1e-3, 2e-2, log=True),
        "warmup": FloatDistribution(0.0, 0.15),
        "update_damping": FloatDistribution(0.0, 0.95),
        "std_floor": FloatDistribution(max(0.1, resolved.std_floor_final), 0.6, log=True),
        "clip_coef": FloatDistribution(0.1, 0.4),
        "update_epochs": IntDistribution(5, 30),
    }


def _control_space(resolved: ResolvedConfig) -> dict[str, Any]:
    """Returns the distributions of the fields that are searched for on a control problem."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    batch = resolved.episodes * resolved.time_steps
    return {
        "learning_rate": FloatDistribution(1e-4, 1e-2, log=True),
        "gamma": CategoricalDistribution([0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999]),
        "gae_lambda": FloatDistribution(0.8, 1.0),
        "clip_coef": FloatDistribution(0.1, 0.4),
        "ent_coef": FloatDistribution(1e-6, 1e-2, log=True),
        "update_epochs": IntDistribution(3, 20),
        "num_minibatches": CategoricalDistribution([n for n in (1, 4, 8, 16, 32, 64) if batch // n >= 2]),
        "init_std": FloatDistribution(0.2, 1.5, log=True),
        "norm_obs": CategoricalDistribution([True, False]),
    }


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

    from ppo.training.side_by_side import SideBySide  # imported here, since it imports torch
    from ppo.training.trainer import Trainer

    trainers = [
        Trainer(
            resolve(dataclasses.replace(config, seed=seed)),
            search.out / "trials" / f"{trial.number}-seed-{seed}",
            quiet=True,
        )
        for seed in range(config.seed, config.seed + search.seeds)
    ]
    scores: list[list[float]] = []  # of all seeds, for each evaluation
    with SideBySide(trainers, quiet=True) as runs:
        while not runs.complete:
            steps = runs.step()
            found = [step.score for step in steps if step.score is not None]
            if not found:
                continue
            scores.append(found)
            trial.report(float(np.mean(found)), steps[0].number)
            if trial.should_prune():
                raise optuna.TrialPruned
        for trainer in trainers:
            trainer.finish(pictures=False)
    return float(np.mean(scores[-AVERAGED:]))


def command(config: Config) -> str:
    """Returns the command that trains with a configuration."""
    return shlex.join(["python", "-m", "ppo.train", *command_words(config)])


def tune(search: Search, trials: int, jobs: int, quiet: bool = False) -> Any:
    """Runs trials until the study has ``trials`` of them, diverged ones not counted, and draws the study.

    Args:
        search: settings of the search.
        trials: number of trials, those of earlier calls included.
        jobs: number of trials at a time.
        quiet: whether to hide the progress bar.

    Returns:
        The best trial.

    Raises:
        UsageError: nothing is left to search for, the directory cannot be made, or no trial was completed.
    """
    from optuna.trial import TrialState

    if not search.space():
        raise UsageError("ppo.tune: the flags given leave nothing to search for")
    try:
        search.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {search.out}: {error.strerror}") from None
    study = search.study()
    for trial in study.get_trials(states=(TrialState.RUNNING,)):
        study.tell(trial.number, state=TrialState.FAIL)  # it belongs to a call that was killed
    missing, first = trials - len(finished(study)), len(study.get_trials())
    for _ in map_in_processes(
        functools.partial(run_trial, search), range(first, first + missing), jobs, "trial", quiet
    ):
        pass  # each trial tells the study its outcome
    if not study.get_trials(states=(TrialState.COMPLETE,)):
        raise UsageError(f"ppo.tune: none of {trials} trials came to its end; see {search.out / 'trials'}")
    draw(study, search.out)
    return study.best_trial


def finished(study: Any) -> list[Any]:
    """Returns the trials that were completed or pruned; interrupted and diverged ones are left out."""
    from optuna.trial import TrialState

    return study.get_trials(states=(TrialState.COMPLETE, TrialState.PRUNED))


def check_packages() -> None:
    """Checks that the packages of the extra ``tune`` are installed.

    Raises:
        UsageError: one of them is not installed.
    """
    for package in ("optuna", "plotly"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"{package} is not installed; pip install 'tuninglaw[tune]'")


def draw(study: Any, out: pathlib.Path) -> None:
    """Writes a page of HTML for each of Optuna's plots that the study has enough trials for."""
    import optuna.visualization

    for name in PLOTS:
        with contextlib.suppress(ValueError, RuntimeError, ImportError):  # importances need trials that differ
            figure = getattr(optuna.visualization, f"plot_{name}")(study)
            figure.write_html(out / f"{name}.html", include_plotlyjs="directory")
