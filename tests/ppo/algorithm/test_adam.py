"""Adam takes the steps that torch's takes, compiled or not, and goes on in the same bits from its saved state."""

import numba
import numpy as np
import pytest
import torch

from ppo.algorithm.adam import Adam
from ppo.algorithm.compiled.compiler import SETTINGS
from ppo.algorithm.compiled.update import adam_step
from ppo.algorithm.device import fetched

CPU = torch.device("cpu")


@numba.njit(**SETTINGS)
def compiled_step(parameters, gradient, exp_avg, exp_avg_sq, scale, rates):
    adam_step(parameters, gradient, exp_avg, exp_avg_sq, scale, rates)


def stepped(adam, parameters, gradient, learning_rate):
    """Takes a step of either kind; parameters are an array, or a tensor on the device."""
    if isinstance(adam.exp_avg, torch.Tensor):
        adam.step(parameters, torch.from_numpy(gradient), learning_rate)
        return
    rates = np.array(adam.rates(learning_rate, 1))[0]
    compiled_step(parameters, gradient, adam.exp_avg, adam.exp_avg_sq, 1.0, rates)
    adam.steps += 1


KINDS = [(np.float64, CPU, 1e-12), (np.float64, None, 1e-12), (np.float32, None, 1e-4)]


@pytest.mark.parametrize(("dtype", "device", "precision"), KINDS)
def test_agrees_with_torch(dtype, device, precision):
    rng = np.random.default_rng(0)
    start = rng.normal(size=50)
    ours = start.copy() if device is None else torch.tensor(start)
    theirs = torch.tensor(start).requires_grad_()
    adam, reference = Adam(50, dtype, device), torch.optim.Adam([theirs], eps=1e-5)
    for step in range(30):
        gradient = rng.normal(size=50) * 10.0 ** rng.integers(-8, 3, 50)
        learning_rate = 0.1 / (step + 1)
        stepped(adam, ours, gradient.astype(dtype), learning_rate)
        theirs.grad = torch.from_numpy(gradient)
        reference.param_groups[0]["lr"] = learning_rate
        reference.step()
        assert fetched(ours) == pytest.approx(theirs.detach().numpy(), rel=precision, abs=precision)
    assert adam.steps == 30


@pytest.mark.parametrize(("dtype", "device", "precision"), KINDS)
def test_a_restored_optimiser_goes_on_in_the_same_bits(dtype, device, precision):
    rng = np.random.default_rng(0)
    gradients = rng.normal(size=(6, 50)).astype(dtype)
    start = rng.normal(size=50)
    adam, ours = Adam(50, dtype, device), start.copy() if device is None else torch.tensor(start)
    for gradient in gradients[:3]:
        stepped(adam, ours, gradient, 0.1)
    state, theirs = adam.state(), ours.copy() if device is None else ours.clone()
    kept = {name: array.copy() for name, array in state.items()}
    assert set(state) == {"steps", "exp_avg", "exp_avg_sq"}
    for gradient in gradients[3:]:
        stepped(adam, ours, gradient, 0.1)
    assert all(np.array_equal(state[name], array) for name, array in kept.items())  # it is a copy
    copy = Adam(50, dtype, device)
    copy.restore(state)
    assert copy.steps == 3
    for gradient in gradients[3:]:
        stepped(copy, theirs, gradient, 0.1)
    assert fetched(theirs).tobytes() == fetched(ours).tobytes()
    assert all(np.array_equal(state[name], array) for name, array in kept.items())  # and is not shared
