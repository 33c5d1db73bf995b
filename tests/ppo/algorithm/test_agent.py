"""The update: minibatches, early stopping, limits."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch

from ppo import Config
from ppo.algorithm.agent import Agent
from ppo.algorithm.network import logprobs_and_entropy
from tests.ppo.algorithm.batches import SPECS, batch_for


def agent(**changes):
    config = Config(learning_rate=1e-2, init_std=1.0, update_epochs=4, num_minibatches=3, **changes)
    return Agent(SPECS[0], config)


def logprobs(an_agent, batch):
    arrays = (torch.from_numpy(array) for array in (batch.obs, batch.actions))
    return logprobs_and_entropy(an_agent.policy, torch.from_numpy(an_agent.theta), 0.1, *arrays)[0].numpy()


def own_batch(an_agent):
    """A batch whose log-probabilities are the agent's own."""
    batch = batch_for(an_agent.policy)
    return dataclasses.replace(batch, logprobs=logprobs(an_agent, batch))


def test_minibatches_are_reshuffled_each_epoch_and_cover_the_batch():
    an_agent = agent()
    batch = dataclasses.replace(batch_for(an_agent.policy), returns=np.arange(12.0))
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
    assert free.adam.steps == 12
    assert held.adam.steps == 3


def test_the_gradients_norm_is_limited():
    an_agent = agent(max_grad_norm=1e-3)
    assert an_agent._limited(np.array([3.0, 4.0])) == pytest.approx([0.6e-3, 0.8e-3])
    assert an_agent._limited(np.array([3e-4, 4e-4])).tolist() == [3e-4, 4e-4]
    assert agent(max_grad_norm=0.0)._limited(np.array([3.0, 4.0])).tolist() == [3.0, 4.0]


def test_an_update_raises_the_probability_of_good_actions():
    an_agent = agent(norm_adv=False)
    batch = own_batch(an_agent)
    batch = dataclasses.replace(batch, advantages=np.where(np.arange(12) < 6, 1.0, -1.0))
    stats = an_agent.update(batch, 0, 1e-2, 0.1)
    gain = logprobs(an_agent, batch) - batch.logprobs
    assert gain[:6].mean() > gain[6:].mean()
    assert stats["losses/initial_logratio"] < 1e-12
    assert stats["losses/approx_kl"] > 0


def test_parameters_that_are_not_finite_stop_the_run():
    an_agent = agent(norm_adv=False)
    batch = dataclasses.replace(own_batch(an_agent), returns=np.full(12, np.inf))
    with pytest.raises(FloatingPointError, match="training step 17"), np.errstate(all="ignore"):
        an_agent.update(batch, 17, 1e-2, 0.1)
