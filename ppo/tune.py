"""``python -m ppo.tune``: searches for the hyper-parameters with which training does best, with Optuna.

A trial trains once for each of a few seeds, so that a lucky one does not win, and what it found can be repeated to the
bit with the command that is printed at the end.
"""

import contextlib
import dataclasses
import functools
import importlib.util
import json
import pathlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from actors.pools.auto import cores
from actors.seeding import MAX_SEED
from env.errors import UsageError
from ppo.config.command_line import WHERE_IT_RUNS, ConfigArguments, given_flags, parse_as, run_main
from ppo.config.fields import Config, flag
from ppo.experiments.parallel import side_by_side

AVERAGED = 3  # evaluations at the end of a run, over which its score is the mean
SHOWN = ("optimization_history", "param_importances", "parallel_coordinate")


@dataclass(frozen=True)
class Arguments(ConfigArguments):
    """Searches for the hyper-parameters with which training does best (the extra tune), several trials side by side.

    The flags of ppo.train hold for every trial, and what they set is not searched for. The study is a file: the same
    command again goes on where it was.
    """

    trials: int = 50
    """Trials in all, those of earlier calls included; pruned ones count."""
    seeds: int = 2
    """Runs a trial, with the seeds from --seed on; a trial's score is their mean."""
    jobs: int = 0
    """Trials side by side; 0 for one a core."""
    out: str | None = None
    """Directory of the study (runs/tune-<env>)."""
    quiet: bool = False
    """No output."""


@dataclass(frozen=True)
class Search:
    """What all trials share: plain values, so that it travels to a process.

    Attributes:
        base: the configuration that trials change.
        seeds: runs a trial.
        out: directory of the study; its runs go below it.
        fixed: fields that are not searched for.
    """

    base: Config
    seeds: int
    out: pathlib.Path
    fixed: tuple[str, ...]

    def space(self) -> dict[str, Any]:
        """What is searched: fields of the configuration and Optuna's distributions of their values."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        resolved = self.base.resolved()
        reinforce, tuning = resolved.algo == "reinforce", self.base.problem().family == "tuning"
        if tuning:
            space: dict[str, Any] = {
                "learning_rate": FloatDistribution(1e-3, 2e-2, log=True),
                "warmup": FloatDistribution(0.0, 0.15),
                "agreement": FloatDistribution(0.0, 0.95),
                "std_floor": FloatDistribution(max(0.1, resolved.std_floor_final or 0), 0.6, log=True),
                "clip_coef": FloatDistribution(0.1, 0.4),
                "update_epochs": IntDistribution(5, 30),
            }
        else:
            batch = (resolved.episodes or 1) * (resolved.time_steps or 1)
            space = {
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
        idle = {*self.fixed, *(("update_epochs", "num_minibatches", "clip_coef", "gae_lambda") if reinforce else ())}
        if not tuning and not isinstance(self.base.problem().action_space(), spaces.Box):
            idle.add("init_std")
        return {name: values for name, values in space.items() if name not in idle}

    @property
    def training_steps(self) -> int:
        """Of each run."""
        return self.base.resolved().training_steps or 0

    def identity(self) -> dict[str, Any]:
        """What makes trials comparable: what their results depend on, each by its flag, and what is searched."""
        settings = json.loads(self.base.resolved().to_json())
        same = {flag(name): value for name, value in settings.items() if name not in WHERE_IT_RUNS}
        return same | {"--seeds": self.seeds, "searched": sorted(self.space())}

    def study(self, sampler_seed: int = 0) -> Any:
        """The study in ``out``, made if there is none."""
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(
            storage=JournalStorage(JournalFileBackend(str(self.out / "study.journal"))),
            study_name="tuninglaw",
            direction="minimize" if self.base.problem().family == "tuning" else "maximize",
            load_if_exists=True,
            sampler=optuna.samplers.TPESampler(seed=sampler_seed),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=self.training_steps // 3),
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


def run_trial(search: Search, index: int) -> None:
    """Asks for a trial, runs it, and tells the study what came of it."""
    import optuna

    study = search.study(int(np.random.SeedSequence((search.base.seed, index)).generate_state(1)[0]))
    trial = study.ask(search.space())
    config = dataclasses.replace(search.base, **trial.params)
    trial.set_user_attr("command", command(config))
    try:
        study.tell(trial, score(search, config, trial))
    except optuna.TrialPruned:
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    except FloatingPointError:  # it diverged
        study.tell(trial, state=optuna.trial.TrialState.FAIL)


def score(search: Search, config: Config, trial: Any) -> float:
    """Mean over seeds of the mean of the last few evaluations.

    Raises:
        optuna.TrialPruned: where the best evaluation so far is worse than the median of other trials up to there.
    """
    import optuna

    from ppo.train import train

    done: list[float] = []
    for seed in range(config.seed, config.seed + search.seeds):
        scores: list[float] = []

        def scored(step: int, value: float, scores: list[float] = scores) -> None:
            scores.append(value)
            trial.report(float(np.mean([*done, value])), len(done) * search.training_steps + step)
            if trial.should_prune():
                raise optuna.TrialPruned

        where = search.out / "trials" / f"{trial.number}-seed-{seed}"
        train(dataclasses.replace(config, seed=seed), where, quiet=True, pictures=False, scored=scored)
        done.append(float(np.mean(scores[-AVERAGED:])))
    return float(np.mean(done))


def command(config: Config) -> str:
    """The command that trains with this configuration."""
    return shlex.join(["python", "-m", "ppo.train", *config.flags()])


def tune(search: Search, trials: int, jobs: int, quiet: bool = False) -> Any:
    """Runs trials until the study has so many, those that diverge apart, and draws it.

    Returns:
        The best trial.

    Raises:
        UsageError: nothing is left to search for, or no trial came to its end.
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
        study.tell(trial.number, state=TrialState.FAIL)  # of a call that was killed
    missing, first = trials - len(finished(study)), len(study.get_trials())
    for _ in side_by_side(functools.partial(run_trial, search), range(first, first + missing), jobs, "trial", quiet):
        pass  # each tells the study itself
    if not study.get_trials(states=(TrialState.COMPLETE,)):
        raise UsageError(f"ppo.tune: none of {trials} trials came to its end; see {search.out / 'trials'}")
    draw(study, search.out)
    return study.best_trial


def finished(study: Any) -> list[Any]:
    """Trials that came to their end or were pruned; what an interruption or a divergence ended is none."""
    from optuna.trial import TrialState

    return study.get_trials(states=(TrialState.COMPLETE, TrialState.PRUNED))


def check_packages() -> None:
    """Raises UsageError where the extra is missing."""
    for package in ("optuna", "plotly"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"{package} is not installed; pip install 'tuninglaw[tune]'")


def draw(study: Any, out: pathlib.Path) -> None:
    """Writes a page for each of Optuna's plots that the study has enough trials for."""
    import optuna.visualization

    for name in SHOWN:
        with contextlib.suppress(ValueError, RuntimeError, ImportError):  # importances need trials that differ
            figure = getattr(optuna.visualization, f"plot_{name}")(study)
            figure.write_html(out / f"{name}.html", include_plotlyjs="directory")


def main(argv: Sequence[str]) -> None:
    """Runs the command."""
    arguments = parse_as(Arguments, "python -m ppo.tune", argv)
    check_packages()
    for name, least in (("trials", 1), ("seeds", 1), ("jobs", 0)):
        if getattr(arguments, name) < least:
            raise UsageError(f"--{name} {getattr(arguments, name)}: must be at least {least}")
    if arguments.seed + arguments.seeds - 1 > MAX_SEED:
        raise UsageError(f"--seeds {arguments.seeds}: with --seed {arguments.seed} the last one is above {MAX_SEED}")
    jobs = arguments.jobs or cores()
    base = arguments.to_config()
    if base.drivers == "auto" and jobs > 1:
        base = dataclasses.replace(base, drivers=0)  # the trials have the cores
    if not base.eval_every:
        raise UsageError("--eval-every 0: trials are judged by their evaluations")
    base.resolved()
    out = pathlib.Path(arguments.out or f"runs/tune-{base.env.replace('/', '-').replace(':', '-')}")
    search = Search(base, arguments.seeds, out, tuple(given_flags(argv)))
    best = tune(search, arguments.trials, jobs, arguments.quiet)
    if not arguments.quiet:
        print(f"best trial: number {best.number}, {best.value:.6g}; the study is in {out}")
        print(best.user_attrs["command"])


if __name__ == "__main__":
    run_main(main)
