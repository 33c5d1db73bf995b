"""The gradients derived by hand agree with autograd's, in float64 to 1e-10, and train as well."""

import dataclasses
import tracemalloc

import numpy as np
import pytest
import torch

from actors import NetworkSpec
from ppo import Config, resolve
from ppo.algorithm.losses import AutogradGradients
from ppo.algorithm.manual_gradients import ManualGradients
from ppo.algorithm.network import initial_parameters
from ppo.train import train
from tests.ppo.algorithm.batches import batch_for, gate_batch_for


def both(spec, config, seed=0, with_value=True):
    """The two backends on one vector of parameters, far from its start so that clipping and limits come into play."""
    value = NetworkSpec(spec.obs_dim, spec.hidden_sizes, spec.activation, "value", 1) if with_value else None
    rng = torch.Generator().manual_seed(seed)
    parameters = torch.cat([initial_parameters(part, rng) for part in (spec, value) if part is not None])
    parameters += 0.4 * torch.randn(len(parameters), generator=rng, dtype=torch.float64)
    reference = AutogradGradients(spec, value, parameters, config)
    return [reference, *(ManualGradients(spec, value, parameters, config, kind) for kind in (np.float64, np.float32))]


def by_autograd(reference, batch, std_floor, log):
    """The gradient of a batch as the agent's update has it from torch, as an array, and the losses."""
    gradient, losses = reference.gradient(reference.begin(batch), std_floor, log)
    return gradient.numpy(), losses


CONFIGS = [
    resolve(Config()),
    resolve(Config(clip_vloss=True, ent_coef=0.05, clip_coef=0.1, vf_coef=0.7)),
    resolve(Config(algo="reinforce", ent_coef=0.02)),
]


@pytest.mark.parametrize("config", CONFIGS, ids=["plain", "all terms", "reinforce"])
@pytest.mark.parametrize("hidden", [(64, 64), (16, 8, 12), (7,), ()])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize(
    "outputs", [("gaussian", 1), ("gaussian", 3), ("categorical", 1, (4,)), ("categorical", 2, (2, 3))]
)
def test_gradients_agree_with_autograd(outputs, activation, hidden, config):
    spec = NetworkSpec(5, hidden, activation, *outputs)
    reference, manual, rounded = both(spec, config)
    for n, seed in ((60, 0), (13, 1), (1, 2), (60, 3)):
        batch = batch_for(spec, n, seed)
        for std_floor in (0.3, 1e-4, 0.0):
            expected, losses = by_autograd(reference, batch, std_floor, True)
            gradient, own = manual.gradient(batch, std_floor, True)
            assert np.abs(gradient - expected).max() <= 1e-10 * np.abs(expected).max()
            assert own == pytest.approx(losses, rel=1e-9, abs=1e-12)
            low, own = rounded.gradient(batch, std_floor, True)
            assert np.abs(low - expected).max() <= 3e-5 * np.abs(expected).max()
            assert own["max_logratio"] == pytest.approx(losses["max_logratio"], rel=1e-9)  # in full precision
            quiet, nothing = manual.gradient(batch, std_floor, False)
            assert nothing == {}
            assert quiet.tobytes() == manual.gradient(batch, std_floor, True)[0].tobytes()
        assert manual.values(batch.obs) == pytest.approx(reference.values(batch.obs), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("config", CONFIGS[:2], ids=["plain", "all terms"])
@pytest.mark.parametrize("hidden", [(64, 64), ()])
def test_gradients_agree_without_a_value_network(hidden, config):
    spec = NetworkSpec(5, hidden, "tanh", "gaussian", 2)
    reference, manual, rounded = both(spec, config, with_value=False)
    batch = dataclasses.replace(batch_for(spec, 60), returns=None, values=None)
    expected, losses = by_autograd(reference, batch, 0.1, True)
    gradient, own = manual.gradient(batch, 0.1, True)
    assert len(gradient) == spec.size
    assert np.abs(gradient - expected).max() <= 1e-10 * np.abs(expected).max()
    assert np.abs(rounded.gradient(batch, 0.1, False)[0] - expected).max() <= 3e-5 * np.abs(expected).max()
    assert own == pytest.approx(losses, rel=1e-9, abs=1e-12)
    assert "value_loss" not in own


SLOT_CONFIGS = [
    resolve(Config(components=3)),
    resolve(Config(components=3, ent_coef=0.05, clip_coef=0.1)),
]


@pytest.mark.parametrize("config", SLOT_CONFIGS, ids=["plain", "all terms"])
@pytest.mark.parametrize("hidden", [(16, 8), ()])
@pytest.mark.parametrize(("components", "dead"), [(2, ()), (3, ()), (6, (0, 4))])
@pytest.mark.parametrize("knobs", [1, 3])
def test_gradients_of_several_components_agree_with_autograd(knobs, components, dead, hidden, config):
    spec = NetworkSpec(5, hidden, "tanh", "gaussian", knobs, components=components)
    reference, manual, rounded = both(spec, config, with_value=False)
    for n, seed in ((60, 0), (13, 1), (1, 2)):
        batch = gate_batch_for(spec, n, seed, dead)
        for std_floor in (0.3, 1e-4):
            expected, losses = by_autograd(reference, batch, std_floor, True)
            gradient, own = manual.gradient(batch, std_floor, True)
            assert len(gradient) == spec.size
            assert np.abs(gradient - expected).max() <= 1e-10 * np.abs(expected).max()
            assert own == pytest.approx(losses, rel=1e-9, abs=1e-12)
            assert "gate_loss" in own
            assert (
                np.abs(rounded.gradient(batch, std_floor, False)[0] - expected).max() <= 3e-5 * np.abs(expected).max()
            )
            weight, bias = spec.views(gradient)[-1]
            for component in dead:
                outputs = [*spec.own_outputs(np.array([component]))[0], len(bias) - components + component]
                assert not weight[:, outputs].any()
                assert not bias[outputs].any()


@pytest.mark.parametrize("dead", [(), (1,)])
def test_gradients_of_several_components_are_those_of_finite_differences(dead):
    spec, config = NetworkSpec(3, (4,), "tanh", "gaussian", 2, components=3), SLOT_CONFIGS[1]
    batch = gate_batch_for(spec, 40, 0, dead)
    rng = torch.Generator().manual_seed(0)
    parameters = initial_parameters(spec, rng) + 0.3 * torch.randn(spec.size, generator=rng, dtype=torch.float64)
    flat = parameters.numpy()  # the same memory
    manual = ManualGradients(spec, None, parameters, config, np.float64)

    def loss():
        parts = manual.gradient(batch, 0.1, True)[1]
        return parts["policy_loss"] + parts["gate_loss"] - config.ent_coef * parts["entropy"]

    gradient, numeric, step = manual.gradient(batch, 0.1, False)[0].copy(), np.empty(spec.size), 1e-6
    for i, value in enumerate(flat.copy()):
        flat[i] = value + step
        above = loss()
        flat[i] = value - step
        numeric[i] = (above - loss()) / (2 * step)
        flat[i] = value
    assert gradient == pytest.approx(numeric, rel=1e-5, abs=1e-6 * np.abs(gradient).max())


def test_the_limit_of_the_raw_log_std_stops_its_gradient():
    spec = NetworkSpec(2, (), "tanh", "gaussian", 1)
    reference, manual, _ = both(spec, resolve(Config()))
    reference._given[: spec.size] = torch.tensor([1.0, 8.0, 0.0, 0.0, 0.1, 0.0])
    batch = batch_for(spec, 40)
    assert (8 * batch.obs[:, 0] > 4).any()
    expected, gradient = by_autograd(reference, batch, 0.1, False)[0], manual.gradient(batch, 0.1, False)[0]
    assert np.abs(gradient - expected).max() <= 1e-10 * np.abs(expected).max()


def test_learning_is_the_same(tmp_path):
    config = Config(env="tests.problems:Quadratic", training_steps=40, eval_every=40, advantages="gae")
    errors = [
        train(dataclasses.replace(config, gradients=how), tmp_path / how, quiet=True, pictures=False)["eval"]["final"]
        for how in ("autograd", "manual")
    ]
    assert errors[1] == pytest.approx(errors[0], rel=0.2)  # of an error that has fallen by four orders of magnitude


def test_memory_is_that_of_the_largest_batch_and_no_bit_depends_on_those_before():
    spec = NetworkSpec(5, (64, 64), "tanh", "gaussian", 2)
    _, _, manual = both(spec, CONFIGS[1])
    manual.values(batch_for(spec, 4000).obs)
    tracemalloc.start()
    try:
        for n in range(0, 4000, 40):
            manual.values(np.zeros((n, 5)))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000  # bytes; for each number of rows of its own it would be 400 MB
    for n in (60, 0, 13, 61, 1, 4001, 60):
        batch, (_, _, fresh) = batch_for(spec, n, seed=n), both(spec, CONFIGS[1])
        assert manual.values(batch.obs).tobytes() == fresh.values(batch.obs).tobytes()
        if n:
            assert manual.gradient(batch, 0.1, True)[0].tobytes() == fresh.gradient(batch, 0.1, True)[0].tobytes()
