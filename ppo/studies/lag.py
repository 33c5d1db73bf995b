"""What ``--lag`` gains and costs: time of a training step, and final error or return over seeds, for lag 0, 1 and 2.

Times are measured one after the other with 16 drivers, on a machine that does nothing else; errors without added
latencies and without drivers, which change no result. Seeds count from 401 on.
"""

import dataclasses
import importlib.util
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from tqdm import tqdm

from env.temp_control import WITHOUT_LOAD
from ppo.config import Config, resolve
from ppo.experiments.control_benchmarks import HALF_CHEETAH
from ppo.experiments.tables import Row, Table, machine, markdown, numbers
from ppo.studies.runs import FIRST_SEED, Options, run_groups

TAKES, GROUPS = ("seeds", "quick", "only"), ("times", "errors")
LAGS, DRIVERS = (0, 1, 2), 16
SECONDS, MOST_STEPS = 10.0, 200  # of a measurement
QUICK_STEPS = 3
COLUMNS = ("run", "ms a step", "steps a second", "gain", "collect ms", "train ms", "overlapped ms")
ACKLEY = Config(env="ackley")
TEMPCONTROL = Config(env="TempControl-v1", env_kwargs={"actions": True}, training_steps=20, episodes=10, time_steps=100)
BALANCED = Config(env="ackley", episodes=64, time_steps=2, hidden_sizes=(128, 128, 128), update_epochs=400)
"""What is learned from for about as long as it is collected, once ``balanced`` has set how long evaluations take."""


def workloads() -> dict[str, Config]:
    """Returns what is timed, by name."""
    found = {f"ackley, {cost:g} ms": dataclasses.replace(ACKLEY, evaluation_cost_ms=cost) for cost in (1.0, 20.0)}
    found |= {"ackley, collecting as long as learning": BALANCED, "TempControl-v1, with its load": TEMPCONTROL}
    return found | ({"HalfCheetah-v5": HALF_CHEETAH} if _mujoco() else {})


def problems() -> dict[str, Config]:
    """Returns what is learned to the end, by name."""
    without_load = TEMPCONTROL.env_kwargs | WITHOUT_LOAD
    found = {
        "ackley": ACKLEY,
        "ackley, gae": dataclasses.replace(ACKLEY, advantages="gae"),
        "TempControl-v1": Config(env=TEMPCONTROL.env, env_kwargs=without_load, env_steps=20_000),
    }
    return found | ({"HalfCheetah-v5": HALF_CHEETAH} if _mujoco() else {})


def _mujoco() -> bool:
    return importlib.util.find_spec("mujoco") is not None


@dataclass(frozen=True)
class LateTraining:
    """A training to the end, and its score there.

    Attributes:
        problem: name of the problem.
        config: full configuration, including seed and lag.
    """

    columns: ClassVar[Sequence[str]] = ("run", "problem", "lag", "seed", "metric", "final", "policy sha256", "seconds")
    group: ClassVar[str] = "errors"
    problem: str
    config: Config

    @property
    def key(self) -> str:
        """Name of the run."""
        return f"{self.problem}/{self.config.training_steps}/lag {self.config.lag}/{self.config.seed}"

    def run(self) -> list[Any]:
        """Trains in this process, and returns the row."""
        from ppo.experiments.workloads import training  # imported here, since it imports torch

        with training(self.config) as trainer:
            for _ in trainer:
                pass
            summary = trainer.finish(pictures=False)
        score, named = summary["eval"], [self.key, self.problem, self.config.lag, self.config.seed]
        return [*named, score["metric"], score["final"], summary["policy_sha256"], f"{summary['wall_seconds']:.1f}"]


def run(options: Options) -> None:
    """Does the measurements that are missing, of one group or of both, and writes the tables of what is there."""
    runs = [one for name in problems() for one in runs_of(name, options.seeds, options.quick)]
    timed = Table(options.out / "times.csv", COLUMNS)
    if options.only in (None, "times"):
        measure_times(timed, options.quick)
    complete = run_groups(options.out, {"errors": runs}, options.only)
    texts = [f"{__doc__}\n" if __doc__ else ""]
    if timed.rows:
        texts.append(timed.markdown())
    if complete:
        texts.append(errors_table(complete["errors"]))
    if not _mujoco():
        texts.append("HalfCheetah-v5 was left out, since MuJoCo is not installed (pip install 'tuninglaw[mujoco]').\n")
    text = "\n".join([*texts, f"{machine()}\n"])
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "lag.md").write_text(text, encoding="utf-8")
    print(text)


def runs_of(name: str, seeds: int, quick: bool) -> list[LateTraining]:
    """Returns the trainings of a problem, for each lag and seed; each is scored once, at its end."""
    config = resolve(problems()[name])
    steps = QUICK_STEPS if quick else config.training_steps
    config = dataclasses.replace(
        config, drivers=0, env_steps=None, training_steps=steps, eval_every=steps, eval_episodes=100
    )
    every = [(lag, seed) for lag in LAGS for seed in range(FIRST_SEED, FIRST_SEED + seeds)]
    return [LateTraining(name, dataclasses.replace(config, lag=lag, seed=seed)) for lag, seed in every]


def measure_times(table: Table, quick: bool) -> None:
    """Measures the workloads that are missing in the table."""
    for name, config in tqdm(workloads().items(), unit="workload"):
        missing = [lag for lag in LAGS if not table.has(f"{name}, lag {lag}")]
        if missing and config is BALANCED:
            config = balanced()
        for lag in missing:
            ms, medians = step_times(dataclasses.replace(config, lag=lag), quick)
            alone = next((r for r in table.rows if r["run"] == f"{name}, lag 0"), None)
            gain = float(alone["ms a step"]) / ms if alone else 1.0
            shown = (ms, 1000 / ms, gain, *(1000 * medians[part] for part in ("collect", "train", "overlapped")))
            table.add(f"{name}, lag {lag}", *(f"{x:.4g}" for x in shown))


def balanced() -> Config:
    """Returns ``BALANCED`` with evaluations that take this machine as long as it learns from them."""
    _, medians = step_times(BALANCED, True)
    resolved = resolve(BALANCED)
    in_turn = resolved.episodes * resolved.time_steps / DRIVERS  # evaluations, one after the other in each driver
    return dataclasses.replace(BALANCED, evaluation_cost_ms=round(1000 * medians["train"] / in_turn, 1))


def step_times(config: Config, quick: bool) -> tuple[float, dict[str, float]]:
    """Measures the mean milliseconds of a training step, and the median seconds of its parts."""
    from ppo.experiments.workloads import step_ms, training  # imported here, since it imports torch

    endless = dataclasses.replace(config, drivers=DRIVERS, eval_every=0, training_steps=10**6)
    with training(endless) as trainer:
        step_ms(trainer, QUICK_STEPS)  # in the first training steps, the pool measures what a slot costs
        trainer.timing.reset_medians()
        started, steps = time.perf_counter(), 0
        while steps < QUICK_STEPS or (not quick and steps < MOST_STEPS and time.perf_counter() - started < SECONDS):
            next(trainer)
            steps += 1
        return 1000 * (time.perf_counter() - started) / steps, trainer.timing.medians()


def errors_table(rows: Sequence[Row]) -> str:
    """Returns the final errors or returns of each problem and lag, as Markdown."""
    lines = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        for lag in LAGS:
            mine = [row for row in rows if (row["problem"], row["lag"]) == (problem, str(lag))]
            scores, metric = numbers(mine, "final"), mine[0]["metric"]
            worst = min(scores) if metric == "mean_return" else max(scores)
            seconds = f"{np.median(numbers(mine, 'seconds')):.0f}"
            lines.append(
                [problem, str(lag), metric, f"{np.median(scores):.3g}", f"{worst:.3g}", str(len(mine)), seconds]
            )
    return markdown(["problem", "lag", "metric", "median", "worst", "seeds", "s"], lines)
