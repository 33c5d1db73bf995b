"""Simple controllers of the furnace: by the rules of the textbooks, and the best that a search finds."""

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
# For the medium level around its set-point: a gain of 70.6 degrees per unit, a time constant of 58.8 s, a delay of 5 s.
BY_RULE = {
    "PI (SIMC)": PID(0.083, 40.0),
    "PID (Ziegler-Nichols)": PID(0.20, 10.0, 2.5),
}
TUNED_PID, TUNED_PD = "PID (tuned)", "PD with bias (tuned)"
ABOVE = SETPOINT - AMBIENT
BIAS = {
    name: (LINEAR_LOSS * ABOVE + LEVELS_OF_PLANT[level]["high_precision"] * QUADRATIC_LOSS * ABOVE**2)
    / PLANTS["controllable"].heating
    for name, level in LEVELS.items()
    if name != "v0"
}
"""The action that holds the set-point of each process that can be held at it."""
TUNING_SEED = 1  # of the episodes on which they are tuned; those reported have another
SEARCHED = {
    TUNED_PID: ((0.02, 0.4), (math.log(5), math.log(500)), (0.0, 6.0)),
    TUNED_PD: ((0.02, 0.4), (0.9, 1.1), (0.0, 6.0)),
}
"""What is searched: the gain, the logarithm of the integral time or a factor of the bias, the derivative time."""


def controllers(name: str, tuned: dict[str, dict[str, PID]]) -> dict[str, Controller]:
    """All of them on a process of the study, by label."""
    if name not in BIAS:
        return CONSTANTS | BY_RULE
    return CONSTANTS | BY_RULE | {"P with bias": PID(0.083, bias=BIAS[name])} | tuned[name]


def tuned_controllers(path: pathlib.Path, quick: bool) -> dict[str, dict[str, PID]]:
    """The tuned ones of each controllable process by label, searched for unless they are in the file ``path``."""
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
    """The best that differential evolution finds, over 100 episodes that are not the reported ones."""
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
