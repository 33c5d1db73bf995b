"""Losses have the values that are worked out by hand, and gradients those of finite differences."""

import math

import numpy as np
import pytest
import torch

from actors import NetworkSpec
from ppo.algorithm.losses import clipped_surrogate, normalised_advantages, reinforce_loss, value_loss
from ppo.algorithm.network import forward, initial_parameters, logprobs_and_entropy
from tests.ppo.algorithm.batches import SPECS, batch_for


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_clipped_surrogate_by_hand():
    logratio = tensor(math.log(1.5), math.log(1.5), math.log(0.5), math.log(0.5), math.log(1.1))
    advantages = tensor(2.0, -2.0, 2.0, -2.0, 3.0)
    # min(r A, clip(r) A): 1.2 * 2, 1.5 * -2, 0.5 * 2, 0.8 * -2, 1.1 * 3
    assert clipped_surrogate(logratio, advantages, 0.2).item() == pytest.approx(-(2.4 - 3.0 + 1.0 - 1.6 + 3.3) / 5)


def test_reinforce_by_hand():
    assert reinforce_loss(tensor(-1.0, -2.0), tensor(3.0, -0.5)).item() == pytest.approx((3.0 - 1.0) / 2)


def test_value_loss_by_hand():
    values, old, returns = tensor(2.0, 0.0), tensor(1.0, 0.0), tensor(3.0, 1.0)
    assert value_loss(values, old, returns, None).item() == pytest.approx(0.5 * (1.0 + 1.0) / 2)
    # Clipped to 1.2: (1.2 - 3)^2 is the worse of the two; the second one did not move.
    assert value_loss(values, old, returns, 0.2).item() == pytest.approx(0.5 * (3.24 + 1.0) / 2)


def test_normalised_advantages():
    normal = normalised_advantages(np.array([1.0, 2.0, 6.0]))
    assert normal.mean() == pytest.approx(0, abs=1e-12)
    assert normal.std() == pytest.approx(1)
    assert normalised_advantages(np.array([4.0])).item() == 0.0


def tensors(batch):
    return (torch.from_numpy(array) for array in (batch.obs, batch.actions, batch.advantages, batch.values))


def check_gradient(loss_of, flat, step=1e-6):
    """Compares autograd's gradient of ``loss_of(flat)`` with central differences in every coordinate."""
    flat = flat.clone().requires_grad_()
    loss_of(flat).backward()
    with torch.no_grad():
        numeric = torch.stack(
            [(loss_of(flat + step * e) - loss_of(flat - step * e)) / (2 * step) for e in torch.eye(len(flat)).double()]
        )
    assert flat.grad.abs().max() > 1e-3
    assert torch.allclose(flat.grad, numeric, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.head)
@pytest.mark.parametrize("loss", ["clipped_surrogate", "reinforce", "entropy"])
def test_policy_gradients_against_finite_differences(spec, loss):
    obs, actions, advantages, noise = tensors(batch_for(spec))
    flat = initial_parameters(spec, torch.Generator().manual_seed(0)) + 0.3 * torch.randn(
        spec.size, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    with torch.no_grad():  # old log-probabilities near the new ones, so that some ratios are clipped and some are not
        old = logprobs_and_entropy(spec, flat, 0.1, obs, actions)[0] + 0.1 * noise

    def loss_of(parameters):
        logprobs, entropy = logprobs_and_entropy(spec, parameters, 0.1, obs, actions)
        if loss == "entropy":
            return entropy.mean()
        if loss == "reinforce":
            return reinforce_loss(logprobs, advantages)
        return clipped_surrogate(logprobs - old, advantages, 0.1)

    check_gradient(loss_of, flat)


@pytest.mark.parametrize("clip_coef", [None, 0.3])
def test_value_gradients_against_finite_differences(clip_coef):
    spec = NetworkSpec(3, (5, 4), "tanh", "value", 1)
    batch = batch_for(SPECS[0])
    obs, old_values, returns = (torch.from_numpy(array) for array in (batch.obs, batch.values, batch.returns))
    flat = initial_parameters(spec, torch.Generator().manual_seed(0))
    check_gradient(lambda p: value_loss(forward(spec, p, obs)[:, 0], old_values, returns, clip_coef), flat)


def test_initial_parameters():
    spec = NetworkSpec(4, (32,), "tanh", "gaussian", 2)
    (w0, b0), (w1, b1) = spec.views(initial_parameters(spec, torch.Generator().manual_seed(0), init_std=0.5))
    assert torch.allclose(w0 @ w0.T, 2 * torch.eye(4).double())  # orthogonal, gain sqrt(2)
    assert torch.allclose(w1.T @ w1, 1e-4 * torch.eye(4).double())
    assert b0.abs().max() == 0
    assert b1.tolist() == pytest.approx([0, 0, math.log(0.5), math.log(0.5)])
