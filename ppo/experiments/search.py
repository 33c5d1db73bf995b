"""A search for the hyper-parameters with which training does best, with Optuna (the extra ``tune``).

A trial trains once for each of a few seeds, so that no trial wins by a lucky seed, and stores the command that repeats
its training to the bit.
"""

import contextlib
import functools
import importlib.util
import pathlib
from typing import Any

from env.errors import UsageError
from ppo.experiments.parallel import map_in_processes
from ppo.experiments.search_settings import Search
from ppo.experiments.search_trials import run_trial, score_with_fresh_seeds

FRESH = "score with fresh seeds of trial"
CANDIDATES = 5  # most trials that are compared with the defaults in a call
PLOTS = ("optimization_history", "param_importances", "parallel_coordinate")


def tune(search: Search, trials: int, jobs: int, quiet: bool = False) -> Any:
    """Runs trials until the study has ``trials`` of them, diverged ones not counted, and draws the study.

    Args:
        search: settings of the search.
        trials: number of trials, those of earlier calls included.
        jobs: number of trials at a time.
        quiet: whether to hide the progress bar.

    Returns:
        The best trial that is better than the first one, of the defaults, with fresh seeds, or else that one.

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
    if of_defaults(search, study) is None:
        study.enqueue_trial(search.default)
    missing, first = trials - len(finished(study)), len(study.get_trials())
    for _ in map_in_processes(
        functools.partial(run_trial, search), range(first, first + missing), jobs, "trial", quiet
    ):
        pass  # each trial tells the study its outcome
    if not study.get_trials(states=(TrialState.COMPLETE,)):
        raise UsageError(f"ppo.tune: none of {trials} trials came to its end; see {search.out / 'trials'}")
    draw(study, search.out)
    return better_with_fresh_seeds(search, jobs)


def of_defaults(search: Search, study: Any) -> Any:
    """Returns the trial that had the defaults; None where there is none yet, or it was cut or diverged."""
    return next((trial for trial in finished(study) if trial.params == search.default), None)


def better_with_fresh_seeds(search: Search, jobs: int) -> Any:
    """Returns the best trial by seeds that no trial was chosen by, among that of the defaults and the best ones.

    Of many trials the best by a few seeds is often a lucky one. So the trials are compared in the order of their
    scores, until one is better than the defaults, and at most ``CANDIDATES`` of them. The study keeps the scores with
    fresh seeds, and a trial that diverges has none. Trials that were compared in earlier calls count as well, so that
    a search that goes on gives nothing worse than before.
    """
    study = search.study()
    first, best = of_defaults(search, study), study.best_trial
    if first is None or best.number == first.number:
        return best
    sign = 1 if search.tuning else -1

    def cost(one: Any) -> float:
        found = study.user_attrs[attribute(one.number)]
        return float("inf") if found is None else sign * found

    for candidate in better_than(first, study, sign)[:CANDIDATES]:
        known = study.user_attrs
        missing = [one.number for one in (first, candidate) if attribute(one.number) not in known]
        calls = map_in_processes(functools.partial(score_with_fresh_seeds, search), missing, jobs, "trial", True)
        for number, found in calls:
            study.set_user_attr(attribute(number), found)
        if cost(candidate) < cost(first):
            break
    known = study.user_attrs
    others = (one for one in finished(study) if attribute(one.number) in known and one.number != first.number)
    return min((first, *others), key=cost)


def better_than(first: Any, study: Any, sign: int) -> list[Any]:
    """Returns the completed trials whose scores are better than that of the trial ``first``, the best one first.

    The best score is the least of those multiplied by ``sign``. Where ``first`` was pruned, all trials are better.
    """
    from optuna.trial import TrialState

    trials = sorted(study.get_trials(states=(TrialState.COMPLETE,)), key=lambda one: sign * one.value)
    numbers = [one.number for one in trials]
    return trials[: numbers.index(first.number)] if first.number in numbers else trials


def outcome(search: Search, chosen: Any) -> str:
    """Returns what is to be said of the trial that came out of a search."""
    study = search.study()
    first, best = of_defaults(search, study), study.best_trial
    if first is None or best.number == first.number:
        return f"best trial: number {best.number}, {best.value:.6g}{', the defaults' if first is not None else ''}"
    fresh = {one.number: study.user_attrs[attribute(one.number)] for one in (first, best, chosen)}
    scores = {number: "diverged" if found is None else f"{found:.6g}" for number, found in fresh.items()}
    told = f"with fresh seeds {scores[best.number]}, and the defaults {scores[first.number]}"
    verdicts = {best.number: "", first.number: "; so the defaults are kept"}
    verdict = verdicts.get(chosen.number, f"; so number {chosen.number} is kept, {scores[chosen.number]}")
    return f"best trial: number {best.number}, {best.value:.6g}; {told}{verdict}"


def attribute(number: int) -> str:
    """Returns the name under which a study keeps a trial's score with fresh seeds."""
    return f"{FRESH} {number}"


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
