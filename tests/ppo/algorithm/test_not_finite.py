"""What was not finite first is named, and a learner of components takes in nothing of a step that is taken back."""

import dataclasses

import numpy as np
import pytest

from ppo.algorithm.agent import Agent
from ppo.algorithm.not_finite import NotFiniteError, check_minibatch
from ppo.config import Config, resolve
from tests.ppo.algorithm.batches import SPECS, batch_for
from tests.ppo.algorithm.several import collect, learned, learner_and_collector


def with_one(array, value):
    changed = array.copy()
    changed.flat[1] = value
    return changed


@pytest.mark.parametrize(
    ("arrays", "losses", "norm", "told"),
    [
        ([], {"policy_loss": np.nan, "value_loss": np.inf}, np.nan, "the policy loss"),
        ([], {"policy_loss": 1.0, "value_loss": np.inf}, np.nan, "the value loss"),
        ([], {"gate_loss": 1.0, "entropy": -np.inf}, 1.0, "the entropy"),
        ([], {}, np.inf, "the norm of the gradient"),
        (["advantages", "returns"], {}, np.nan, "the returns of the batch, and so the norm of the gradient"),
        (["obs"], {"policy_loss": np.nan}, 1.0, "the obs of the batch, and so the policy loss"),
    ],
)
def test_what_was_not_finite_first_is_named(arrays, losses, norm, told):
    batch = batch_for(SPECS[0])
    batch = dataclasses.replace(batch, **{name: with_one(getattr(batch, name), np.inf) for name in arrays})
    with pytest.raises(NotFiniteError) as caught:
        check_minibatch(7, batch, losses, norm)
    assert str(caught.value) == f"training step 7: not finite: {told}"


def test_statistics_of_the_ratio_may_be_infinite():
    check_minibatch(7, batch_for(SPECS[0]), {"policy_loss": 1.0, "approx_kl": np.inf, "max_logratio": np.inf}, 1.0)


@pytest.mark.parametrize(("size", "told"), [(1e30, "the norm of the gradient"), (1e160, "the value loss")])
def test_what_only_overflows_is_told_too(size, told):
    """The first in float32: a gradient that is scaled down by an infinite norm would be lost."""
    config = resolve(Config(advantages="gae", norm_adv=False, update_epochs=2))
    batch = dataclasses.replace(batch_for(SPECS[0]), returns=np.full(12, size), logprobs=np.zeros(12))
    with np.errstate(all="ignore"), pytest.raises(NotFiniteError, match=f"training step 3: not finite: {told}$"):
        Agent(SPECS[0], config).update(batch, 3, 1e-2, 0.1)


@pytest.mark.parametrize("on_nan", ["stop", "skip"])
def test_a_learner_of_components_takes_in_nothing_of_such_a_step(on_nan, monkeypatch):
    learner, collector = learner_and_collector(3, on_nan=on_nan)
    learned(learner, collector, 3)
    before, original = learner.state(), Agent.update

    def update(self, *arguments):
        original(self, *arguments)
        raise NotFiniteError(0, "the weather")

    monkeypatch.setattr(Agent, "update", update)
    if on_nan == "stop":
        with pytest.raises(NotFiniteError, match="the weather"):
            learned(learner, collector, 1)
    else:
        assert "losses/policy_loss" not in learned(learner, collector, 1)
        assert [one.what for one in learner.dropped] == ["the weather"]
    after = learner.state()
    assert after["counters"][0] == before["counters"][0] + (on_nan == "skip")
    assert [name for name in before if not np.array_equal(before[name], after[name])] == ["counters"] * (
        on_nan == "skip"
    )
    monkeypatch.undo()
    assert collect(learner, collector).versions[0] == after["counters"][0]
    assert "losses/policy_loss" in learned(learner, collector, 1)
