"""Without a model, components learn where they are the best, the needless ones are dropped, and the gate is exact."""

import numpy as np
import pytest

from actors import Law
from actors.policy import centre_states
from ppo.algorithm import valleys
from ppo.algorithm.components import acted_components, component_means
from ppo.algorithm.state import part_of
from ppo.algorithm.valleys import ComponentsLearner
from tests.ppo.algorithm.several import collect, learned, learner_and_collector
from tests.problems import TwoValleys

LINE = np.linspace(-1, 1, 201)[:, None]


def placed(*means, steps=40, **changes):
    """Returns a learner whose components have these means everywhere, and what collects for it."""
    learner, collector = learner_and_collector(len(means), training_steps=steps, **changes)
    for number, mean in enumerate(means):
        learner.agent.policy.place(learner.agent.theta, number, np.array([mean]), 0.02)
    return learner, collector


def test_only_several_components_are_learned_so():
    assert isinstance(learner_and_collector(2)[0], ComponentsLearner)
    assert not isinstance(learner_and_collector(1)[0], ComponentsLearner)


@pytest.mark.parametrize("step", [1, 2])
def test_from_a_share_of_the_steps_on_only_the_best_component_of_a_slot_learns_from_it(step):
    """At 0.05 of 40 training steps."""
    learner, collector = placed(-0.5, 0.5)
    trajectory = collect(learner, collector)
    now = learner.schedule
    plain = learner._batch(trajectory, now)
    learner.step = step
    found = learner._batch(trajectory, now)
    acted = acted_components(trajectory.actions)
    left_is_best = trajectory.obs[:, 0, 1] < 0
    best = (acted == 0) == left_is_best[:, None]
    assert 0 < best.sum() < best.size
    weights = best.astype(float) if step == 2 else np.ones(best.shape)
    assert (plain.advantages != 0).mean() > 0.9
    assert found.advantages == pytest.approx(plain.advantages * (weights / weights.mean()).reshape(-1))
    assert np.array_equal(found.gate.advantages, plain.gate.advantages)


def proposals_at(learner, knob):
    """Returns what all components propose along the line, from where the knob stands, ``[201, K, 1]``."""
    return learner.policy.proposals(np.column_stack([np.full(len(LINE), knob), LINE]))


@pytest.mark.parametrize("changes", [{}, {"norm_obs": True}, {"first_layer": "orthogonal"}])
def test_components_do_not_depend_on_where_the_knobs_stand(changes):
    learner, collector = learner_and_collector(3, learning_rate=0.01, **changes)
    before = proposals_at(learner, 0.0)
    learned(learner, collector, 5)
    assert np.abs(proposals_at(learner, 0.0) - before).max() > 0.02
    assert np.array_equal(proposals_at(learner, 1.0), proposals_at(learner, 0.0))
    assert np.array_equal(proposals_at(learner, -1.0), proposals_at(learner, 0.0))


def test_components_that_start_from_others_do_not_either():
    learner, other = learner_and_collector(3)[0], learner_and_collector(3, seed=5)[0]
    other.agent.theta[:] = np.random.default_rng(0).normal(size=len(other.agent.theta))
    learner.warm_start(other.state())
    assert np.array_equal(proposals_at(learner, 0.0), proposals_at(other, 0.0))
    assert np.array_equal(proposals_at(learner, 1.0), proposals_at(learner, 0.0))


@pytest.mark.parametrize("norm_obs", [False, True])
def test_needless_components_are_dropped_and_the_others_stay(norm_obs):
    """The second component is in the valley of the first one, and the last one in none."""
    learner, collector = placed(-0.6, -0.6, 0.6, 0.0, steps=40, norm_obs=norm_obs, learning_rate=1e-9, episodes=50)
    learned(learner, collector, 15)
    assert learner.live.all()
    learned(learner, collector, 1)
    assert learner.live[2] and learner.live[:2].sum() == 1 and not learner.live[3]
    assert set(acted_components(collect(learner, collector).actions)) == set(np.flatnonzero(learner.live))


@pytest.mark.parametrize("norm_obs", [False, True])
def test_the_gate_of_a_law_chooses_the_best_component_at_any_time(norm_obs):
    learner, collector = placed(-0.6, 0.6, steps=40, norm_obs=norm_obs, learning_rate=1e-9, episodes=50)
    far = np.abs(LINE[:, 0]) > 0.05

    def right():
        return (np.sign(Law(learner.snapshot())(LINE)) == np.sign(LINE))[far].mean()

    assert right() < 1
    learned(learner, collector, 12)
    assert right() == 1
    theta = learner.agent.theta.copy()
    assert not np.array_equal(learner.snapshot().theta, theta)
    assert np.array_equal(learner.round_snapshot().theta, theta)


def test_what_it_remembers_are_the_last_slots(monkeypatch):
    monkeypatch.setattr(valleys, "REMEMBERED", 20)
    learner, collector = learner_and_collector(3)
    rounds = []
    for _ in range(4):
        rounds.append(collect(learner, collector))
        learner.learn(rounds[-1])
    state = learner.state()
    remembered = part_of("remembered", state)
    conditions = np.concatenate([one.obs[:, 0, 1:] for one in rounds])[-20:]
    acted = acted_components(rounds[0].actions)
    means = np.concatenate([component_means(one.objectives[:, 1:], acted, 3) for one in rounds])[-20:]
    assert np.array_equal(remembered["conditions"], conditions)
    assert np.array_equal(remembered["means"], means)
    copy, _ = learner_and_collector(3)
    copy.restore(state)
    assert all(np.array_equal(copy.state()[name], array) for name, array in state.items())


@pytest.mark.parametrize("factor", [0.25, 8.0])
def test_f_times_a_power_of_two_drops_the_same_and_gives_the_same_bits(factor, monkeypatch):
    laws = []
    for scale in (1.0, factor):
        original = TwoValleys.__call__
        with monkeypatch.context() as patch:
            patch.setattr(TwoValleys, "__call__", lambda self, x, c, f=original, scale=scale: scale * f(self, x, c))
            learner, collector = learner_and_collector(4, training_steps=20)
            learned(learner, collector, 20)
        laws.append((learner.snapshot().sha256, learner.live.tolist()))
    assert laws[0] == laws[1]


def test_a_law_of_needed_components_is_as_good_as_the_best_of_them():
    learner, collector = learner_and_collector(4, training_steps=60, episodes=10, hidden_sizes=None, update_epochs=None)
    learned(learner, collector, 60)
    knobs = np.clip(learner.policy.proposals(centre_states(LINE, 1))[:, learner.live], -1, 1)
    each = np.stack([TwoValleys()(knobs[:, one], LINE) for one in range(knobs.shape[1])])
    assert learner.live.sum() < 4
    assert TwoValleys()(Law(learner.snapshot())(LINE), LINE).mean() < each.min(axis=0).mean() + 0.01
