"""Settings that the trials of a search share, and the study that keeps them, with Optuna (the extra ``tune``)."""

import functools
import json
import pathlib
from dataclasses import dataclass
from typing import Any

from gymnasium import spaces

from env.errors import UsageError
from ppo.config import Config, ResolvedConfig, resolve
from ppo.config.command_line import WHERE_IT_RUNS
from ppo.config.fields import flag
from ppo.experiments.search_space import control_space, tuning_space

FRESH_SEEDS = 5  # number of them


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
        space = tuning_space(self.resolved) if self.tuning else control_space(self.resolved)
        return {name: values for name, values in space.items() if name not in idle}

    @property
    def fresh_seeds(self) -> range:
        """Seeds that no trial is chosen by: those after the seeds of the trials."""
        return range(self.base.seed + self.seeds, self.base.seed + self.seeds + FRESH_SEEDS)

    @property
    def default(self) -> dict[str, Any]:
        """The defaults of the fields that are searched for, by name: the first trial."""
        return {name: getattr(self.resolved, name) for name in self.space()}

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
