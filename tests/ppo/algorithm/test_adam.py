"""Adam takes the steps that torch's takes, and goes on in the same bits from its saved state."""

import numpy as np
import pytest
import torch

from ppo.algorithm.adam import Adam


@pytest.mark.parametrize(("dtype", "precision"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_agrees_with_torch(dtype, precision):
    rng = np.random.default_rng(0)
    ours = rng.normal(size=50)
    theirs = torch.from_numpy(ours.copy()).requires_grad_()
    adam, reference = Adam(50, dtype), torch.optim.Adam([theirs], eps=1e-5)
    for step in range(30):
        gradient = rng.normal(size=50) * 10.0 ** rng.integers(-8, 3, 50)
        learning_rate = 0.1 / (step + 1)
        adam.step(ours, gradient.astype(dtype), learning_rate)
        theirs.grad = torch.from_numpy(gradient)
        reference.param_groups[0]["lr"] = learning_rate
        reference.step()
        assert ours == pytest.approx(theirs.detach().numpy(), rel=precision, abs=precision)
    assert adam.steps == 30


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_restored_optimiser_goes_on_in_the_same_bits(dtype):
    rng = np.random.default_rng(0)
    gradients = rng.normal(size=(6, 50)).astype(dtype)
    adam, ours = Adam(50, dtype), rng.normal(size=50)
    for gradient in gradients[:3]:
        adam.step(ours, gradient, 0.1)
    state, theirs = adam.state(), ours.copy()
    kept = {name: array.copy() for name, array in state.items()}
    assert set(state) == {"steps", "exp_avg", "exp_avg_sq"}
    for gradient in gradients[3:]:
        adam.step(ours, gradient, 0.1)
    assert all(np.array_equal(state[name], array) for name, array in kept.items())  # it is a copy
    copy = Adam(50, dtype)
    copy.restore(state)
    assert copy.steps == 3
    for gradient in gradients[3:]:
        copy.step(theirs, gradient, 0.1)
    assert theirs.tobytes() == ours.tobytes()
    assert all(np.array_equal(state[name], array) for name, array in kept.items())  # and is not shared


def test_tensors_are_stepped_as_arrays_are_and_have_the_same_state():
    rng = np.random.default_rng(0)
    ours = rng.normal(size=50)
    theirs = torch.tensor(ours)
    adam, other = Adam(50), Adam(50, device=torch.device("cpu"))
    for step in range(30):
        gradient = rng.normal(size=50) * 10.0 ** rng.integers(-8, 3, 50)
        adam.step(ours, gradient, 0.1 / (step + 1))
        other.step(theirs, torch.from_numpy(gradient), 0.1 / (step + 1))
        assert theirs.numpy() == pytest.approx(ours, rel=1e-13, abs=1e-15)
        assert all(other.state()[name] == pytest.approx(array, rel=1e-13) for name, array in adam.state().items())
    again = Adam(50, device=torch.device("cpu"))
    again.restore(other.state())
    copy = theirs.clone()
    for one, parameters in ((other, theirs), (again, copy)):
        one.step(parameters, torch.ones(50, dtype=torch.float64), 0.1)
    assert torch.equal(copy, theirs)
