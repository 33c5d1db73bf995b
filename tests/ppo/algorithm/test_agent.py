"""An update shuffles by key, stops early, limits its gradient, and goes on in the same bits from a saved state."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch

from actors import NetworkSpec
from actors.policy import Policy
from actors.seeding import Stream, generator
from actors.snapshot import Snapshot
from ppo import Config, resolve
from ppo.algorithm.agent import Agent
from ppo.algorithm.compiled_update import CompiledUpdate
from ppo.algorithm.device import fetched
from ppo.algorithm.gradient_steps import GradientSteps
from ppo.algorithm.network import initial_parameters, logprobs_and_entropy
from tests.ppo.algorithm.batches import SPECS, batch_for


def agent(**changes):
    plain = {"advantages": "gae", "first_layer": "orthogonal", "update_damping": 0.0}
    sizes = {"learning_rate": 1e-2, "init_std": 1.0, "update_epochs": 4, "num_minibatches": 3}
    return Agent(SPECS[0], resolve(Config(**(plain | sizes | changes))))


def logprobs(an_agent, batch):
    arrays = (torch.from_numpy(array) for array in (batch.obs, batch.actions))
    return logprobs_and_entropy(an_agent.policy, torch.from_numpy(an_agent.theta), 0.1, *arrays)[0].numpy()


def own_batch(an_agent):
    """A batch whose log-probabilities are the agent's own."""
    batch = batch_for(an_agent.policy)
    return dataclasses.replace(batch, logprobs=logprobs(an_agent, batch))


def test_minibatches_are_reshuffled_and_cover_the_batch():
    an_agent = agent()
    batch = dataclasses.replace(batch_for(an_agent.policy), returns=np.arange(12.0))
    order, ends = an_agent._order(12, 0, 3)
    steps = GradientSteps(0, 1e-3, 0.1, 3, order, ends)
    epochs = [[batch.rows(rows).returns for rows in steps.minibatches(epoch)] for epoch in range(3)]
    orders = [list(itertools.chain(*epoch)) for epoch in epochs]
    assert all(sorted(order) == list(range(12)) for order in orders)
    assert [len(mb) for mb in epochs[0]] == [4, 4, 4]
    assert an_agent._order(11, 0, 1)[1].tolist() == [4, 8, 11]
    assert len({tuple(order) for order in orders}) == 3
    assert an_agent._order(12, 0, 2)[0].tolist() == order[:2].tolist()
    assert an_agent._order(12, 1, 2)[0].tolist() != order[:2].tolist()
    assert agent(num_minibatches=1)._order(12, 0, 3)[0] is None


def test_target_kl_ends_the_update_early():
    free, held = agent(), agent(target_kl=1e-9)
    for an_agent in (free, held):
        an_agent.update(own_batch(an_agent), 0, 1e-2, 0.1)
    assert free.adam.steps == 12
    assert held.adam.steps == 3


@pytest.mark.parametrize("gradients", ["compiled", "autograd"])
def test_the_gradients_norm_is_limited(gradients):
    """The first step of Adam shows the gradient in its first moment."""
    moments = []
    for limit in (0.0, 1e-3, 1e9):
        an_agent = agent(gradients=gradients, max_grad_norm=limit, update_epochs=1, num_minibatches=1)
        an_agent.update(batch_for(SPECS[0]), 0, 1e-2, 0.1)
        moments.append(10 * fetched(an_agent.adam.exp_avg))
    assert np.linalg.norm(moments[0]) > 0.01
    assert moments[1] == pytest.approx(1e-3 * moments[0] / np.linalg.norm(moments[0]), rel=1e-5, abs=1e-12)
    assert moments[2].tolist() == moments[0].tolist()


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


@pytest.mark.parametrize("gradients", ["compiled", "autograd"])
def test_a_restored_agent_goes_on_in_the_same_bits(gradients):
    changes = {"update_damping": 0.8, "gradients": gradients}
    an_agent, batches = agent(**changes), [batch_for(SPECS[0], seed=seed) for seed in range(4)]
    for step in (0, 1):
        an_agent.update(batches[step], step, 1e-2, 0.1)
    state = an_agent.state()
    kept = {name: array.copy() for name, array in state.items()}
    moments, means = (
        {"adam.steps", "adam.exp_avg", "adam.exp_avg_sq"},
        {"damping.steps", "damping.mean", "damping.square"},
    )
    assert set(state) == {"parameters"} | moments | means
    copy = agent(seed=1, **changes)
    assert not np.array_equal(copy.parameters, an_agent.parameters)
    copy.restore(state)
    for step in (2, 3):
        an_agent.update(batches[step], step, 1e-2, 0.1)
    assert all(np.array_equal(state[name], array) for name, array in kept.items())  # it is a copy
    copy.config = an_agent.config  # the seed is the key of the shuffles
    for step in (2, 3):
        copy.update(batches[step], step, 1e-2, 0.1)
    assert copy.parameters.tobytes() == an_agent.parameters.tobytes()
    assert all(np.array_equal(copy.state()[name], array) for name, array in an_agent.state().items())


def test_a_warm_start_takes_over_the_parameters_alone():
    an_agent, copy = agent(update_damping=0.8), agent(seed=1, update_damping=0.8)
    an_agent.update(batch_for(SPECS[0]), 0, 1e-2, 0.1)
    copy.warm_start(an_agent.state())
    assert copy.parameters.tobytes() == an_agent.parameters.tobytes()
    assert (copy.adam.steps, copy.damping.steps, copy.adam.exp_avg.any()) == (0, 0, False)


def test_without_a_value_network_only_the_policy_has_parameters():
    config = resolve(Config(update_epochs=2))
    an_agent = Agent(SPECS[0], config)
    assert an_agent.value is None
    assert len(an_agent.parameters) == SPECS[0].size
    assert agent().value is not None
    assert len(agent().parameters) > SPECS[0].size


def test_updates_are_damped_once_a_training_step():
    damped, free = agent(update_damping=0.8), agent()
    for an_agent in (damped, free):
        for step in range(3):
            an_agent.update(batch_for(SPECS[0], seed=step), step, 1e-2, 0.1)
    assert (damped.damping.steps, free.damping.steps) == (3, 0)
    assert not np.array_equal(damped.parameters, free.parameters)


def test_an_update_may_have_passes_of_its_own():
    an_agent = agent()
    an_agent.update(batch_for(SPECS[0]), 0, 1e-2, 0.1, epochs=1)
    assert an_agent.adam.steps == 3  # one for each minibatch
    an_agent.update(batch_for(SPECS[0]), 1, 1e-2, 0.1)
    assert an_agent.adam.steps == 3 + 12


def test_components_start_with_means_apart_and_equally_likely():
    spec, config = NetworkSpec(3, (16,), "tanh", "gaussian", 2, components=4), resolve(Config(components=4))
    weight, bias = spec.views(Agent(spec, config).theta)[-1]
    assert np.sort(bias[:8].reshape(4, 2), axis=0) == pytest.approx(np.repeat([[-0.75], [-0.25], [0.25], [0.75]], 2, 1))
    assert bias[8:16] == pytest.approx(np.full(8, np.log(config.init_std)))
    assert bias[16:].tolist() == [0] * 4
    assert np.abs(weight).max() <= 0.01  # so that neither means nor gate depend much on the state
    other = Agent(spec, dataclasses.replace(config, seed=1))
    assert not np.array_equal(spec.views(other.theta)[-1][1][:8], bias[:8])


def test_a_single_gaussian_starts_as_it_did_before_there_were_components():
    spec, config = NetworkSpec(3, (16,), "tanh", "gaussian", 2), resolve(Config(seed=3))
    rng = torch.Generator().manual_seed(int(generator(3, 0, Stream.INIT).integers(2**62)))
    expected = initial_parameters(spec, rng, config.init_std, knobs=2)
    assert Agent(spec, config).theta.tobytes() == expected.numpy().tobytes()


def test_torch_has_parameters_of_its_own_and_takes_over_the_agents_each_time():
    """As on a device whose memory is another one: nothing goes there or comes back but by a transfer."""
    changes = {"gradients": "autograd", "update_damping": 0.8}
    an_agent, other, batch = agent(**changes), agent(seed=1, **changes), batch_for(SPECS[0])
    obs, before = batch.obs, an_agent.parameters.copy()
    an_agent._update.parameters += 1
    assert an_agent.parameters.tobytes() == before.tobytes()
    other.parameters[:] = before  # as a warm start and a model do
    assert other.values(obs).tobytes() == an_agent.values(obs).tobytes()
    other.config = an_agent.config  # the seed is the key of the shuffles
    for one in (an_agent, other):
        one.update(batch, 0, 1e-2, 0.1)
    assert an_agent.parameters.tobytes() == other.parameters.tobytes() != before.tobytes()


@pytest.mark.parametrize("changes", [{}, {"num_minibatches": 1}, {"norm_adv": False, "max_grad_norm": 1e-3}])
def test_an_update_by_torch_is_the_compiled_one_in_full_precision(changes):
    ours, theirs = (agent(gradients=how, **changes) for how in ("compiled", "autograd"))
    given = ours.policy, ours.value, torch.from_numpy(ours.parameters), None, ours.config
    ours._update = CompiledUpdate(*given, dtype=np.float64)
    for step in range(3):
        losses = [one.update(batch_for(SPECS[0], seed=step), step, 1e-2, 0.1) for one in (ours, theirs)]
        assert losses[1] == pytest.approx(losses[0], rel=1e-8, abs=1e-10)
        assert theirs.parameters == pytest.approx(ours.parameters, rel=1e-8, abs=1e-10)


def test_a_free_std_is_the_same_in_all_states_and_is_learned():
    an_agent = agent(std="free", update_epochs=20)
    states = np.random.default_rng(1).normal(size=(50, 3))

    def stds():
        return policy_of(an_agent).act(states, np.ones((50, 2)))[0] - policy_of(an_agent).mode(states)

    assert stds() == pytest.approx(np.ones((50, 2)))
    an_agent.update(own_batch(an_agent), 0, 1e-2, 0.0)
    assert np.ptp(stds(), axis=0) == pytest.approx([0, 0], abs=1e-12)
    assert (np.abs(stds()[0] - 1) > 1e-3).all()
    assert np.ptp(policy_of(an_agent).mode(states), axis=0).min() > 0


def policy_of(an_agent):
    return Policy(Snapshot(0, an_agent.policy, an_agent.theta.copy()))
