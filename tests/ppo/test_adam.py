import numpy as np
import pytest
import torch

from ppo.adam import Adam


def test_agrees_with_torch():
    rng = np.random.default_rng(0)
    ours = rng.normal(size=50)
    theirs = torch.from_numpy(ours.copy()).requires_grad_()
    adam, reference = Adam(50), torch.optim.Adam([theirs], eps=1e-5)
    for step in range(30):
        gradient = rng.normal(size=50) * 10.0 ** rng.integers(-8, 3, 50)
        learning_rate = 0.1 / (step + 1)
        adam.step(ours, gradient, learning_rate)
        theirs.grad = torch.from_numpy(gradient)
        reference.param_groups[0]["lr"] = learning_rate
        reference.step()
        assert ours == pytest.approx(theirs.detach().numpy(), rel=1e-12, abs=1e-14)
    assert adam.steps == 30
