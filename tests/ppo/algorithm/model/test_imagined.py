"""Imagined slots are those that a collector runs over the model, whoever rolls them out."""

import dataclasses

import numpy as np
import pytest

from actors import Snapshot
from actors.job import Kind, Task
from actors.kernels import KERNEL_NAMES
from actors.policy import Policy
from actors.step_limit import StepLimit
from env import Choice, Integer, Range, objective
from ppo import Config, resolve
from ppo.algorithm.learner import policy_spec
from ppo.algorithm.model.gaussian_process import GaussianProcess
from ppo.algorithm.model.imagined import IMAGINED_SLOTS, expected, imagining_collector
from ppo.algorithm.model.surrogate import Surrogate
from ppo.training.job import make_job
from tests.ppo.algorithm.model.processes import HYPER, drawn


@objective(knobs={"a": Range(0, 1), "b": Integer(0, 5), "m": Choice("x", "y")}, conditions={"t": Range(-40, 85)})
def mixed(a, b, m, t):
    return (a - 0.3) ** 2 + 0.1 * (b - 2) ** 2 + (m == "x") * t / 100


def trajectories(env, components, limited=False, **changes):
    """Returns the imagined slots of a training step, by a collector and by compiled functions."""
    config = resolve(Config(env=env, evaluations=100, components=components, hidden_sizes=(7, 5), **changes))
    described = config.problem().describe()
    spec, job = policy_spec(config, described), make_job(config, np.zeros((1, described.obs_dim)))
    if limited:
        start = Snapshot(
            0, dataclasses.replace(spec, components=1), np.zeros(dataclasses.replace(spec, components=1).size)
        )
        job = dataclasses.replace(job, limit=StepLimit.about(start, None, 0.1, spec))
    surrogate = Surrogate(spec, 200)
    surrogate.take_coordinates(job.description.coordinates)
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (40, spec.obs_dim))
    surrogate.evidence.add(states, (states**2).sum(axis=1) + states[:, 0])
    theta = 0.7 * rng.normal(size=spec.size)
    live = np.array([True, False, True]) if components == 3 else None
    snapshot = Snapshot(3, spec, theta, 0.05, live=live)
    surrogate.fit(Policy(snapshot), 0.05)
    made = []
    for gradients in ("autograd", "compiled"):
        collector = imagining_collector(job, components, surrogate, gradients, IMAGINED_SLOTS)
        collector.prepare(Policy(snapshot))
        collector.update(snapshot)
        made.append(collector.run(Task(Kind.IMAGINE, 5, 0, IMAGINED_SLOTS)))
    return made


@pytest.mark.parametrize(
    ("components", "changes"),
    [
        (1, {}),
        (3, {}),
        (3, {"activation": "relu"}),
        (1, {"limited": True}),
        (3, {"sampler": "env"}),
    ],
)
@pytest.mark.parametrize("env", ["rosenbrock", f"{__name__}:mixed"])
def test_compiled_slots_are_those_of_a_collector(env, components, changes):
    if components == 1 and "mixed" in env:
        components = 2  # a component has one option of each choice
    plain, compiled = trajectories(env, components, **changes)
    assert np.array_equal(plain.obs[:, 0], compiled.obs[:, 0])
    for name in ("obs", "actions", "logprobs", "final_obs", "objectives", "rewards"):
        assert getattr(compiled, name) == pytest.approx(getattr(plain, name), rel=1e-9, abs=1e-9, nan_ok=True), name
    for name in ("slots", "versions", "truncations", "terminations"):
        assert np.array_equal(getattr(compiled, name), getattr(plain, name)), name
    assert np.ptp(plain.objectives[:, 1:]) > 1e-3


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_the_expectation_is_that_of_the_process(kernel):
    hyper = dataclasses.replace(HYPER["low"], kernel=kernel)
    process = GaussianProcess(*drawn(60), hyper)
    states = np.random.default_rng(1).uniform(-1.2, 1.2, (33, 3))
    assert expected(process, states) == pytest.approx(process.mean(states), rel=1e-12)
