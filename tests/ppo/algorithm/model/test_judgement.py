"""What is said of a law without paying agrees with an f that is known, and names what the model does not know."""

import dataclasses

import numpy as np
import pytest

from env import Objective
from ppo.algorithm.model.judgement import judge
from ppo.algorithm.model.surrogate import Surrogate
from tests.ppo.algorithm.model.processes import policy_of

C = np.linspace(-1, 1, 401)[:, None]


class Bowl(Objective):
    """f = 3 + (x - 0.5 c)^2, least 3 at x = 0.5 c; the best constant knob is 0, with a mean of 3 + 1/12."""

    knobs = 1
    conditions = 1

    def __call__(self, x, c):
        return 3 + (x - 0.5 * c)[:, 0] ** 2


def judged(knob, n=60, least=-1.0, gain=2.0):
    """Judges the law of one knob under all conditions, by a model of n evaluations with conditions above ``least``."""
    policy = policy_of([[knob]])
    surrogate = Surrogate(policy.spec, n)
    rng = np.random.default_rng(0)
    x, c = rng.uniform(-1, 1, (n, 1)), rng.uniform(least, 1, (n, 1))
    surrogate.evidence.add(np.concatenate([x, c], axis=1), Bowl()(x, c))
    surrogate.fit(policy, 0.3, last=True)
    surrogate.gain = gain
    return judge(surrogate, policy.snapshot)


@pytest.mark.parametrize("knob", [-0.6, 0.0, 0.3])
def test_means_are_those_of_f(knob):
    found = judged(knob)
    assert found.law == pytest.approx(Bowl()(np.full_like(C, knob), C).mean(), abs=4e-3)  # of 256 conditions
    assert found.constant == pytest.approx(3 + 1 / 12, abs=1e-3)


@pytest.mark.parametrize("knob", [-0.6, 0.3])
def test_what_is_left_is_at_least_the_regret_and_not_much_more_where_f_is_known(knob):
    regret = Bowl()(np.full_like(C, knob), C).mean() - 3
    found = judged(knob)
    assert regret * 0.95 < found.left < regret + 0.02
    assert found.more_pays  # since this law is a bad one


def test_the_best_constant_knobs_are_found_where_no_law_has_them():
    """The law's own knobs, among which they might have been looked for, are all far off."""
    assert judged(0.9).constant == pytest.approx(3 + 1 / 12, abs=1e-3)


def test_it_knows_least_where_nothing_was_evaluated():
    found = judged(0.0, least=0.0)
    assert found.least_known[0] < -0.8
    assert found.uncertainty > 10 * judged(0.0).uncertainty
    assert found.left > judged(0.0).left


def test_a_law_that_is_nearly_the_best_leaves_nothing(monkeypatch):
    from ppo.algorithm.model import judgement

    monkeypatch.setattr(
        judgement, "law_states", lambda law, conditions, limit: np.concatenate([conditions / 2, conditions], 1)
    )
    found = judged(0.0)
    assert found.law == pytest.approx(3, abs=1e-4)
    assert found.left < 0.01 * (found.constant - found.law)
    assert not found.more_pays
    assert "more evaluations would hardly pay" in found.words


def test_words_say_what_the_numbers_are():
    found = dataclasses.replace(
        judged(0.3), law=3.1234, constant=3.2, left=0.0123, uncertainty=0.5, least_known=[-0.25], where="c = (-0.25)"
    )
    assert found.words == (
        "by the model, a mean f of 3.123 beside 3.2 with the best constant knobs, and up to about 0.012 left to gain: "
        "more evaluations may pay; it knows least at c = (-0.25), f to +- 0.5"
    )
    assert found.as_json() == dataclasses.asdict(found) | {"words": found.words}


def test_words_say_that_a_model_is_doubted():
    believed, doubted = judged(0.0), judged(0.0, gain=-0.5)
    assert doubted.gain == -0.5
    assert "not to be relied on" in doubted.words and "not to be relied on" not in believed.words
