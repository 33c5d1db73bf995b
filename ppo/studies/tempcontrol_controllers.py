"""Simple controllers of the furnace: constants, controllers by tuning rules, and tuned controllers."""

import dataclasses
import json
import math
import pathlib
from typing import Any

import numpy as np

from env.controllers import PID, Constant
from env.make import Problem
from env.temp_control import AMBIENT, LINEAR_LOSS, PLANTS, QUADRATIC_LOSS, SETPOINT
from env.temp_control import LEVELS as LEVELS_OF_PLANT
from ppo.evaluation.held_out import Controller, held_out_returns
from ppo.studies.tempcontrol_problems import LEVELS, tempcontrol_config

CONSTANTS: dict[str, Controller] = {"u = 0": Constant(0.0), "u = 1": Constant(1.0)}
# The rules assume the medium level at its set-point: gain 70.6 degrees per unit, time constant 58.8 s, delay 5 s.
BY_RULE = {
    "PI (SIMC)": PID(0.083, 40.0),
    "PID (Ziegler-Nichols)": PID(0.20, 10.0, 2.5),
}
TUNED_PID, TUNED_PD = "PID (tuned)", "PD with bias (tuned)"
RISE = SETPOINT - AMBIENT
BIAS = {
    name: (LINEAR_LOSS * RISE + LEVELS_OF_PLANT[level]["high_precision"] * QUADRATIC_LOSS * RISE**2)
    / PLANTS["controllable"].heating
    for name, level in LEVELS.items()
    if name != "v0"
}
"""Action that holds the set-point, for each process whose set-point can be held."""
TUNING_SEED = 1  # seed of the episodes on which controllers are tuned; the reported episodes have another
SEARCHED = {
    TUNED_PID: ((0.02, 0.4), (math.log(5), math.log(500)), (0.0, 6.0)),
    TUNED_PD: ((0.02, 0.4), (0.9, 1.1), (0.0, 6.0)),
}
"""Ranges that are searched: of the gain; of the logarithm of the integral time, or of a factor of the bias; and of the
derivative time."""


def controllers(name: str, tuned: dict[str, dict[str, PID]]) -> dict[str, Controller]:
    """Returns all controllers of a process of the study, by label."""
    if name not in BIAS:
        return CONSTANTS | BY_RULE
    return CONSTANTS | BY_RULE | {"P with bias": PID(0.083, bias=BIAS[name])} | tuned[name]


def tuned_controllers(path: pathlib.Path, quick: bool) -> dict[str, dict[str, PID]]:
    """Returns the tuned controllers of each controllable process, by label; tunes them unless ``path`` holds them."""
    if path.is_file():
        saved: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return {name: {label: PID(**gains) for label, gains in some.items()} for name, some in saved.items()}
    found = {
        name: {label: tune(tempcontrol_config(name, load=False).problem(), name, label, quick) for label in SEARCHED}
        for name in BIAS
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    text = {name: {label: dataclasses.asdict(pid) for label, pid in some.items()} for name, some in found.items()}
    path.write_text(json.dumps(text, indent=2) + "\n", encoding="utf-8")
    return found


def tune(plant: Problem, name: str, label: str, quick: bool) -> PID:
    """Tunes a controller by SciPy's differential evolution, on 100 episodes that are not the reported ones.

    Args:
        plant: problem to tune on.
        name: name of the process in the study.
        label: kind of controller, a key of ``SEARCHED``.
        quick: whether to search only briefly.
    """
    from scipy.optimize import differential_evolution

    def controller(gains: np.ndarray) -> PID:
        gain, other, derivative = map(float, gains)
        if label == TUNED_PID:
            return PID(gain, math.exp(other), derivative)
        return PID(gain, derivative_time=derivative, bias=other * BIAS[name])

    def cost(gains: np.ndarray) -> float:
        return -float(held_out_returns(plant, controller(gains), seed=TUNING_SEED).mean())

    rounds = {"maxiter": 1, "popsize": 2} if quick else {"maxiter": 20, "popsize": 8}
    return controller(differential_evolution(cost, SEARCHED[label], rng=0, polish=False, **rounds).x)
