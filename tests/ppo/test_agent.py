"""Losses against values worked out by hand, and their gradients against finite differences."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch

from actors import NetworkSpec
from ppo import Config
from ppo.agent import Agent, Batch, clipped_surrogate, normalised_advantages, reinforce_loss, value_loss
from ppo.network import forward, initial_parameters, logprobs_and_entropy


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
    normal = normalised_advantages(tensor(1.0, 2.0, 6.0))
    assert normal.mean().item() == pytest.approx(0, abs=1e-12)
    assert normal.std(correction=0).item() == pytest.approx(1)
    assert normalised_advantages(tensor(4.0)).item() == 0.0


SPECS = [NetworkSpec(3, (5, 4), "tanh", "gaussian", 2), NetworkSpec(3, (5,), "relu", "categorical", 4)]


def batch_for(spec, n=12, seed=0):
    rng = np.random.default_rng(seed)
    obs = torch.from_numpy(rng.normal(size=(n, spec.obs_dim)))
    if spec.head == "gaussian":
        actions = torch.from_numpy(rng.normal(size=(n, spec.action_dim)))
    else:
        actions = torch.from_numpy(rng.integers(0, spec.action_dim, (n, 1)).astype(float))
    numbers = [torch.from_numpy(rng.normal(size=n)) for _ in range(4)]
    return Batch(obs, actions, numbers[0] - 3, *numbers[1:])


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
    batch = batch_for(spec)
    flat = initial_parameters(spec, torch.Generator().manual_seed(0)) + 0.3 * torch.randn(
        spec.size, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    with torch.no_grad():  # old log-probabilities near the new ones, so that some ratios are clipped and some are not
        old = logprobs_and_entropy(spec, flat, 0.1, batch.obs, batch.actions)[0] + 0.1 * batch.values

    def loss_of(parameters):
        logprobs, entropy = logprobs_and_entropy(spec, parameters, 0.1, batch.obs, batch.actions)
        if loss == "entropy":
            return entropy.mean()
        if loss == "reinforce":
            return reinforce_loss(logprobs, batch.advantages)
        return clipped_surrogate(logprobs - old, batch.advantages, 0.1)

    check_gradient(loss_of, flat)


@pytest.mark.parametrize("clip_coef", [None, 0.3])
def test_value_gradients_against_finite_differences(clip_coef):
    spec = NetworkSpec(3, (5, 4), "tanh", "value", 1)
    batch = batch_for(dataclasses.replace(SPECS[0]))
    flat = initial_parameters(spec, torch.Generator().manual_seed(0))
    check_gradient(
        lambda p: value_loss(forward(spec, p, batch.obs)[:, 0], batch.values, batch.returns, clip_coef), flat
    )


def test_initial_parameters():
    spec = NetworkSpec(4, (32,), "tanh", "gaussian", 2)
    (w0, b0), (w1, b1) = spec.views(initial_parameters(spec, torch.Generator().manual_seed(0), init_std=0.5))
    assert torch.allclose(w0 @ w0.T, 2 * torch.eye(4).double())  # orthogonal, gain sqrt(2)
    assert torch.allclose(w1.T @ w1, 1e-4 * torch.eye(4).double())
    assert b0.abs().max() == 0
    assert b1.tolist() == pytest.approx([0, 0, math.log(0.5), math.log(0.5)])


def agent(**changes):
    config = Config(learning_rate=1e-2, update_epochs=4, num_minibatches=3, **changes)
    return Agent(SPECS[0], config)


def own_batch(an_agent):
    """A batch whose log-probabilities are the agent's own."""
    batch = batch_for(an_agent.policy)
    with torch.no_grad():
        own = logprobs_and_entropy(
            an_agent.policy, an_agent.parameters[: an_agent.policy.size], 0.1, batch.obs, batch.actions
        )[0]
    return dataclasses.replace(batch, logprobs=own)


def test_minibatches_are_reshuffled_each_epoch_and_cover_the_batch():
    an_agent = agent()
    batch = dataclasses.replace(batch_for(an_agent.policy), returns=torch.arange(12).double())
    epochs = [[mb.returns.tolist() for mb in an_agent._minibatches(batch, 0, epoch)] for epoch in range(3)]
    orders = [list(itertools.chain(*epoch)) for epoch in epochs]
    assert all(sorted(order) == list(range(12)) for order in orders)
    assert [len(mb) for mb in epochs[0]] == [4, 4, 4]
    assert len({tuple(order) for order in orders}) == 3
    again = [mb.returns.tolist() for mb in an_agent._minibatches(batch, 0, 1)]
    assert again == epochs[1]


def test_target_kl_ends_the_update_early():
    free, held = agent(), agent(target_kl=1e-9)
    for an_agent in (free, held):
        an_agent.update(own_batch(an_agent), 0, 1e-2, 0.1)
    assert int(free.optimizer.state[free.parameters]["step"]) == 12
    assert int(held.optimizer.state[held.parameters]["step"]) == 3


def test_the_gradients_norm_is_limited():
    an_agent = agent(max_grad_norm=1e-3)
    an_agent.update(own_batch(an_agent), 0, 1e-2, 0.1)
    assert an_agent.parameters.grad.norm().item() == pytest.approx(1e-3, rel=1e-5)


def test_an_update_raises_the_probability_of_good_actions():
    an_agent = agent(norm_adv=False)
    batch = own_batch(an_agent)
    batch = dataclasses.replace(batch, advantages=torch.where(torch.arange(12) < 6, 1.0, -1.0).double())
    stats = an_agent.update(batch, 0, 1e-2, 0.1)
    with torch.no_grad():
        new = logprobs_and_entropy(
            an_agent.policy, an_agent.parameters[: an_agent.policy.size], 0.1, batch.obs, batch.actions
        )[0]
    gain = new - batch.logprobs
    assert gain[:6].mean() > gain[6:].mean()
    assert stats["losses/initial_logratio"] == 0.0
    assert stats["losses/approx_kl"] > 0


def test_parameters_that_are_not_finite_stop_the_run():
    an_agent = agent(norm_adv=False)
    batch = dataclasses.replace(own_batch(an_agent), returns=torch.full((12,), float("inf")).double())
    with pytest.raises(FloatingPointError, match="training step 17"):
        an_agent.update(batch, 17, 1e-2, 0.1)
