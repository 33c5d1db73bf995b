"""With a lag the learner keeps the policies that act in the steps to come, and learns against what they recorded."""

import dataclasses

import numpy as np
import pytest

from actors import Policy
from actors.job import Kind, Task
from ppo.algorithm.advantages import gae, v_trace
from ppo.algorithm.agent import Agent
from ppo.algorithm.device import fetched
from ppo.algorithm.outcomes import raw_rewards
from tests.ppo.algorithm.several import learner_and_collector as several
from tests.ppo.algorithm.test_learner import learner_and_collector


def collect(learner, collector):
    """Collects the learner's training step by the policy that is to act in it."""
    collector.update(learner.round_snapshot())
    return collector.run(Task(Kind.COLLECT, learner.step, 0, learner.config.episodes))


def flat(array):
    return array.reshape(-1, *array.shape[2:])


@pytest.mark.parametrize("lag", [0, 1, 3])
def test_the_policies_of_the_steps_to_come_are_those_of_so_many_steps_before(lag):
    learner, collector = learner_and_collector(lag=lag, training_steps=8)
    digests = []
    for step in range(6):
        digests.append(learner.snapshot().sha256)
        due = [learner.round_snapshot(ahead) for ahead in range(lag + 1)]
        assert [one.version for one in due] == [max(0, step + ahead - lag) for ahead in range(lag + 1)]
        assert [one.sha256 for one in due] == [digests[one.version] for one in due]
        learner.learn(collect(learner, collector))
    assert len(set(digests)) == 6


@pytest.mark.parametrize("lag", [1, 2])
@pytest.mark.parametrize("steps", [0, 1, 5])
def test_a_saved_state_has_them(steps, lag):
    learner, collector = learner_and_collector(lag=lag)
    for _ in range(steps):
        learner.learn(collect(learner, collector))
    copy, _ = learner_and_collector(lag=lag)
    assert copy.accepts(learner.state())
    copy.restore(learner.state())
    for ahead in range(lag + 1):
        assert copy.round_snapshot(ahead).to_bytes() == learner.round_snapshot(ahead).to_bytes()
    assert set(copy.state()) == set(learner.state())


@pytest.mark.parametrize("wrong", ["missing", "cut", "other network"])
def test_a_state_without_them_is_refused(wrong):
    learner, collector = learner_and_collector(lag=2)
    for _ in range(3):
        learner.learn(collect(learner, collector))
    state = learner.state()
    if wrong == "missing":
        del state["past.1"]
    elif wrong == "cut":
        state["past.2"] = state["past.2"][:-8]
    else:
        state["past.2"] = np.frombuffer(learner_and_collector(hidden_sizes=(3,))[0].snapshot().to_bytes(), np.uint8)
    with pytest.raises(ValueError, match=r"before training step 3|a snapshot with"):
        learner_and_collector(lag=2)[0].restore(state)


@pytest.mark.parametrize("env", ["rosenbrock", "CartPole-v1"])
def test_values_and_advantages_are_those_of_v_trace_by_the_policy_that_learns(env):
    sizes = {"env": env, "advantages": "gae", "gamma": 0.9, "norm_reward": False, "time_steps": 4, "episodes": 12}
    learner, collector = learner_and_collector(lag=1, num_minibatches=1, learning_rate=0.05, **sizes)
    for _ in range(3):
        learner.learn(collect(learner, collector))
    trajectory, now, config = collect(learner, collector), learner.schedule, learner.config
    batch = learner._batch(trajectory, now)
    assert np.array_equal(batch.logprobs, flat(trajectory.logprobs))  # PPO's ratio is over what was recorded
    policy, obs = Policy(learner.snapshot()), flat(trajectory.obs)
    if env == "rosenbrock":
        mean, log_std = policy._gaussian(policy._forward(obs)[: len(obs)], 0)
        z = (flat(trajectory.actions) - mean) / np.exp(log_std)
        logprobs = (-0.5 * z**2 - log_std - 0.5 * np.log(2 * np.pi)).sum(axis=1)
    else:
        logits = policy._forward(obs)[: len(obs)]
        logprobs = np.log(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))
        logprobs = np.take_along_axis(logprobs, flat(trajectory.actions).astype(int), axis=1)[:, 0]
    ratios = np.exp(logprobs - batch.logprobs).reshape(trajectory.rewards.shape)
    assert np.abs(np.log(ratios)).max() > 1e-3
    values = batch.values.reshape(ratios.shape)
    ends = trajectory.terminations | trajectory.truncations
    final = np.concatenate([values[:, 1:], values[:, :1]], axis=1)
    mean, var = learner.obs_moments.mean, learner.obs_moments.var
    ended = np.clip((trajectory.final_obs[ends] - mean) / np.sqrt(var + 1e-8), -10, 10)
    final[ends] = learner.agent.values(ended)
    facts = raw_rewards(trajectory, config), values, final, trajectory.terminations, trajectory.truncations
    targets, advantages = v_trace(*facts, ratios, 0.9, config.gae_lambda)
    assert batch.returns == pytest.approx(targets.reshape(-1), abs=1e-6)
    assert batch.advantages == pytest.approx(advantages.reshape(-1), abs=1e-6)
    assert batch.advantages != pytest.approx(gae(*facts, 0.9, config.gae_lambda).reshape(-1), abs=1e-3)


def test_the_gate_is_compared_with_that_of_the_policy_that_acted():
    learner, collector = several(lag=1, learning_rate=0.05)
    for _ in range(2):
        learner.learn(collect(learner, collector))
    acting, trajectory = learner.round_snapshot(), collect(learner, collector)
    assert acting.version == 1
    batch = learner._batch(trajectory, learner.schedule)
    gate = Policy(acting).gate(flat(trajectory.obs))[np.arange(len(batch.obs)), batch.gate.components]
    assert batch.gate.logprobs == pytest.approx(gate)
    means = Policy(acting).proposals(flat(trajectory.obs))[np.arange(len(batch.obs)), batch.gate.components]
    std = np.hypot(acting.std_floor, learner.config.init_std)  # the floor decides
    own = (-0.5 * ((batch.actions - means) / std) ** 2 - np.log(std) - 0.5 * np.log(2 * np.pi)).sum(axis=1)
    assert batch.logprobs - batch.gate.logprobs == pytest.approx(own, abs=0.01)


def test_a_component_that_is_dropped_while_its_slots_are_under_way_changes_nothing_else():
    learner, collector = several(lag=1)
    for _ in range(2):
        learner.learn(collect(learner, collector))
    trajectory = collect(learner, collector)
    learner.live = np.array([True, False, True])
    gradients = {}
    for how in ("compiled", "autograd"):
        agent = Agent(
            learner.agent.policy, dataclasses.replace(learner.config, gradients=how, update_epochs=1, max_grad_norm=0.0)
        )
        agent.warm_start(learner.agent.state())
        losses = agent.update(learner._batch(trajectory, learner.schedule), 2, 1e-3, learner.schedule.std_floor)
        gradients[how] = 10 * fetched(agent.adam.exp_avg).astype(np.float64)  # as the first step has it
        assert np.isfinite(gradients[how]).all() and all(map(np.isfinite, losses.values()))
    assert gradients["compiled"] == pytest.approx(gradients["autograd"], abs=1e-5)
    output = len(learner.agent.policy.views(gradients["compiled"])[-1][1]) - 2  # the dropped one's logit of the gate
    assert learner.agent.policy.views(gradients["autograd"])[-1][1][output] == 0
    learner.learn(trajectory)
    assert np.isfinite(learner.agent.parameters).all()
