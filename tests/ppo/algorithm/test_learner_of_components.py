"""Several components learn valleys that one Gaussian cannot, and one that the gate forgets is out of use for good."""

import numpy as np
import pytest
from scipy import stats

from actors import Law, Policy
from actors.job import Kind
from actors.policy import centre_states
from env import UsageError
from ppo import Config
from ppo.train import train
from tests.ppo.algorithm.several import SMALL, collect, learned, learner_and_collector
from tests.problems import TwoValleys

LINE = np.linspace(-1, 1, 201)[:, None]


def forget(learner, component):
    """Makes a component very unlikely under all conditions."""
    weight, bias = learner.agent.policy.views(learner.agent.theta)[-1]
    output = len(bias) - learner.agent.policy.components + component
    weight[:, output], bias[output] = 0.0, -30.0


def regret(law):
    return float(np.mean(TwoValleys()(law(LINE), LINE)))


@pytest.mark.parametrize("seed", [0, 1])
def test_crossing_valleys_are_learned_by_several_components_and_not_by_one(seed):
    """With as many evaluations, one Gaussian is not even as good as the best constant knobs yet."""
    changes = {"training_steps": 60, "seed": seed, "hidden_sizes": None, "update_epochs": None}
    regrets = []
    for components, episodes in ((3, 10), (1, 30)):
        learner, collector = learner_and_collector(components, episodes=episodes, **changes)
        learned(learner, collector, 60)
        assert learner.complete
        assert learner.evaluations == 60 * 60
        regrets.append(regret(Law(learner.snapshot())))
    constant = min(regret(lambda c, x=x: np.full_like(c, x)) for x in np.linspace(-1, 1, 101))
    assert constant > 0.1
    assert regrets[0] < 0.02 < 0.05 < regrets[1]


@pytest.mark.parametrize("changes", [{}, {"norm_obs": True}, {"gradients": "autograd", "num_minibatches": 3}])
def test_drivers_and_learner_have_equal_logprobs(changes):
    learner, collector = learner_and_collector(env="tests.problems:Quadratic", **changes)
    for _ in range(3):
        scalars = learner.learn(collect(learner, collector))
        assert scalars["losses/initial_logratio"] < 1e-5
        assert np.isfinite(scalars["losses/gate_loss"])


@pytest.mark.parametrize("live", [[True, True, True], [True, False, True]])
def test_a_batch_has_the_logprobs_of_gaussian_and_gate_apart(live):
    learner, collector = learner_and_collector(env="tests.problems:Quadratic", norm_obs=True)
    learned(learner, collector, 1)  # components do not compete yet
    learner.live = np.array(live)
    snapshot = learner.round_snapshot()
    trajectory = collect(learner, collector)
    batch = learner._batch(trajectory, learner.schedule)
    acted = np.tile(np.repeat(np.flatnonzero(live), 2), 3)[:6]
    assert batch.gate.components.tolist() == np.tile(acted, 8).tolist()
    assert batch.gate.live.tolist() == live
    rows, obs = np.arange(48), trajectory.obs.reshape(48, 3)
    gate = Policy(snapshot).gate(obs)[rows, batch.gate.components]
    assert batch.gate.logprobs == pytest.approx(gate)
    shares = np.bincount(acted, minlength=3) / 6
    assert batch.gate.weights == pytest.approx(np.exp(gate) / shares[batch.gate.components])
    means = Policy(snapshot).proposals(obs)[rows, batch.gate.components]
    assert batch.actions.shape == (48, 2)
    std = np.hypot(learner.schedule.std_floor, learner.config.init_std)  # the floor decides
    own = stats.norm.logpdf(batch.actions, means, std).sum(axis=1)
    assert batch.logprobs - batch.gate.logprobs == pytest.approx(own, abs=0.01)
    pairs = batch.advantages.reshape(-1, 2)
    assert pairs[:, 0] == pytest.approx(-pairs[:, 1])
    better = np.diff(trajectory.objectives[:, 1:].reshape(-1, 2), axis=1)[:, 0] > 0
    assert np.array_equal(pairs[:, 0] > 0, better)


def test_a_component_that_the_gate_forgets_is_out_of_use_for_good():
    learner, collector = learner_and_collector()
    learned(learner, collector, 1)
    assert learner.live.all()
    assert learner.snapshot().live is None
    forget(learner, 1)
    trajectory = collect(learner, collector)
    assert set(trajectory.actions[:, :, -1].ravel()) == {0, 1, 2}  # it acts once more
    learner.learn(trajectory)
    assert learner.live.tolist() == learner.snapshot().live.tolist() == [True, False, True]
    for _ in range(2):
        trajectory = collect(learner, collector)
        assert trajectory.actions[0, :, -1].tolist() == [0, 0, 2, 2, 0, 0]
        assert learner.learn(trajectory)["losses/initial_logratio"] < 1e-5
    weight, bias = learner.agent.policy.views(learner.agent.theta)[-1]
    weight[:, -2], bias[-2] = 0.0, 50.0  # as likely as can be, which comes too late
    assert learned(learner, collector, 1)["losses/initial_logratio"] < 1e-5
    assert not learner.live[1]
    assert (learner.policy.gate(centre_states(LINE, 1))[:, 1] == -np.inf).all()


def test_the_last_component_is_never_dropped():
    learner, collector = learner_and_collector(2)
    forget(learner, 0)
    scalars = learned(learner, collector, 2)
    assert learner.live.tolist() == [False, True]
    assert scalars["losses/gate_loss"] == 0.0
    law = Law(learner.snapshot())
    assert np.array_equal(law(LINE)[:, 0], learner.policy.proposals(centre_states(LINE, 1))[:, 1, 0])


def test_state_round_trip_continues_in_the_same_bits():
    learner, collector = learner_and_collector()
    forget(learner, 2)
    learned(learner, collector, 3)
    state = learner.state()
    assert state["live"].tolist() == [True, True, False]
    copy, _ = learner_and_collector()
    assert copy.accepts(state)
    copy.restore(state)
    assert copy.snapshot().sha256 == learner.snapshot().sha256
    for one in (learner, copy):
        learned(one, collector, 2)
    assert copy.snapshot().sha256 == learner.snapshot().sha256
    assert set(copy.state()) == set(learner.state())
    assert all(np.array_equal(copy.state()[name], array) for name, array in learner.state().items())
    copy.live[:] = False
    assert state["live"].any()  # it is a copy


@pytest.mark.parametrize("components", [1, 2, 4])
def test_a_checkpoint_of_another_number_of_components_is_not_accepted(components):
    learner, _ = learner_and_collector(3)
    other, _ = learner_and_collector(components)
    assert not learner.accepts(other.state())
    assert not other.accepts(learner.state())
    assert "live" not in learner_and_collector(1)[0].state()


def test_a_warm_start_takes_over_the_components_that_are_live():
    learner, collector = learner_and_collector()
    forget(learner, 0)
    learned(learner, collector, 1)
    other, _ = learner_and_collector(seed=5)
    other.warm_start(learner.state())
    assert other.live.tolist() == [False, True, True]
    assert np.array_equal(Law(other.snapshot())(LINE), Law(learner.snapshot())(LINE))


def test_a_run_with_components_warms_up_its_like_alone(tmp_path):
    config = Config(env="tests.problems:TwoValleys", components=3, drivers=0, eval_every=0, **SMALL | {"episodes": 3})
    summary = train(config, tmp_path / "run", quiet=True, pictures=False)
    assert summary["objective_evaluations"] == 40 * 3 * 6
    law = Law.load(tmp_path / "run" / "law.npz")
    assert law(LINE).shape == (201, 1)
    for components, refused in ((3, False), (2, True)):
        changes = {"components": components, "warm_start": str(tmp_path / "run"), "training_steps": 1}
        other = Config(**{**config.changed(), **changes})
        if refused:
            with pytest.raises(UsageError, match="its networks do not have the shapes"):
                train(other, tmp_path / "other", quiet=True, pictures=False)
        else:
            train(other, tmp_path / "like", quiet=True, pictures=False)


def test_rounds_are_collected_where_there_is_no_model():
    learner, _ = learner_and_collector()
    assert learner.kind == Kind.COLLECT
    assert learner.round_snapshot().plan is None
    assert learner.snapshot().critic is None
