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
