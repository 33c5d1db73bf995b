"""The compiled gradient steps agree with autograd's, in float64 to 1e-10, and train as well."""

import dataclasses

import numpy as np
import pytest
import torch

from actors import NetworkSpec
from ppo import Config, resolve
from ppo.algorithm.adam import Adam
from ppo.algorithm.agent import Agent
from ppo.algorithm.autograd_update import AutogradUpdate
from ppo.algorithm.compiled.imagined import correlation_sums, rolled_out
from ppo.algorithm.compiled.update import BETA1, update, values_of
from ppo.algorithm.compiled_update import CompiledUpdate
from ppo.algorithm.gradient_steps import GradientSteps
from ppo.algorithm.network import initial_parameters
from ppo.train import train
from ppo.training.trainer import Trainer
from tests.ppo.algorithm.batches import batch_for, gate_batch_for


def both(spec, config, seed=0, with_value=True):
    """The two backends on one vector of parameters, far from its start so that clipping and limits come into play."""
    value = NetworkSpec(spec.obs_dim, spec.hidden_sizes, spec.activation, "value", 1) if with_value else None
    rng = torch.Generator().manual_seed(seed)
    parameters = torch.cat([initial_parameters(part, rng) for part in (spec, value) if part is not None])
    parameters += 0.4 * torch.randn(len(parameters), generator=rng, dtype=torch.float64)
    plain = dataclasses.replace(config, norm_adv=False, max_grad_norm=0.0)  # so that the step shows the gradient
    given = spec, value, parameters, None, plain
    return [AutogradUpdate(*given), CompiledUpdate(*given, dtype=np.float64), CompiledUpdate(*given)]


def by_autograd(reference, batch, std_floor):
    """The gradient of a batch by torch, as an array, and the losses."""
    reference.parameters.copy_(reference._given)
    gradient, losses = reference.gradient(batch.sent(reference.device), std_floor, True)
    return gradient.numpy(), losses


def compiled(one, batch, std_floor):
    """The gradient of a batch by a compiled step, read from Adam's first moment, and the losses."""
    before = one._parameters.copy()
    one.adam = Adam(len(before), one.adam.exp_avg.dtype)
    taken = one.take(batch, GradientSteps(0, 1e-3, std_floor, 1, None, np.array([len(batch.obs)])))
    assert (one._parameters != before).any()
    one._parameters[:] = before
    assert taken.initial_logratio == taken.losses[0]["max_logratio"]
    return one.adam.exp_avg / (1 - BETA1), taken.losses[0]


CONFIGS = [
    resolve(Config()),
    resolve(Config(clip_vloss=True, ent_coef=0.05, clip_coef=0.1, vf_coef=0.7)),
    resolve(Config(algo="reinforce", ent_coef=0.02)),
]


@pytest.mark.parametrize("config", CONFIGS, ids=["plain", "all terms", "reinforce"])
@pytest.mark.parametrize("hidden", [(64, 64), (16, 8, 12), (7,), ()])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize(
    "outputs", [("gaussian", 1), ("gaussian", 3), ("categorical", 1, (4,)), ("categorical", 2, (2, 3))]
)
def test_gradients_agree_with_autograd(outputs, activation, hidden, config):
    spec = NetworkSpec(5, hidden, activation, *outputs)
    reference, exact, rounded = both(spec, config)
    for n, seed in ((60, 0), (13, 1), (1, 2), (60, 3)):
        batch = batch_for(spec, n, seed)
        for std_floor in (0.3, 1e-4, 0.0):
            expected, losses = by_autograd(reference, batch, std_floor)
            gradient, own = compiled(exact, batch, std_floor)
            assert np.abs(gradient - expected).max() <= 1e-10 * np.abs(expected).max()
            assert own == pytest.approx(losses, rel=1e-9, abs=1e-12)
            low, own = compiled(rounded, batch, std_floor)
            assert np.abs(low - expected).max() <= 3e-5 * np.abs(expected).max()
            assert own["max_logratio"] == pytest.approx(losses["max_logratio"], rel=1e-9)  # in full precision
        assert exact.values(batch.obs) == pytest.approx(reference.values(batch.obs), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("config", CONFIGS[:2], ids=["plain", "all terms"])
@pytest.mark.parametrize("hidden", [(64, 64), ()])
def test_gradients_agree_without_a_value_network(hidden, config):
    spec = NetworkSpec(5, hidden, "tanh", "gaussian", 2)
    reference, exact, rounded = both(spec, config, with_value=False)
    batch = dataclasses.replace(batch_for(spec, 60), returns=None, values=None)
    expected, losses = by_autograd(reference, batch, 0.1)
    gradient, own = compiled(exact, batch, 0.1)
    assert len(gradient) == spec.size
    assert np.abs(gradient - expected).max() <= 1e-10 * np.abs(expected).max()
    assert np.abs(compiled(rounded, batch, 0.1)[0] - expected).max() <= 3e-5 * np.abs(expected).max()
    assert own == pytest.approx(losses, rel=1e-9, abs=1e-12)
    assert "value_loss" not in own


SLOT_CONFIGS = [
    resolve(Config(components=3)),
    resolve(Config(components=3, ent_coef=0.05, clip_coef=0.1)),
]


@pytest.mark.parametrize("config", SLOT_CONFIGS, ids=["plain", "all terms"])
@pytest.mark.parametrize("hidden", [(16, 8), ()])
@pytest.mark.parametrize(("components", "dead"), [(2, ()), (3, ()), (6, (0, 4))])
@pytest.mark.parametrize("knobs", [1, 3])
def test_gradients_of_several_components_agree_with_autograd(knobs, components, dead, hidden, config):
    spec = NetworkSpec(5, hidden, "tanh", "gaussian", knobs, components=components)
    reference, exact, rounded = both(spec, config, with_value=False)
    for n, seed in ((60, 0), (13, 1), (1, 2)):
        batch = gate_batch_for(spec, n, seed, dead)
        for std_floor in (0.3, 1e-4):
            expected, losses = by_autograd(reference, batch, std_floor)
            gradient, own = compiled(exact, batch, std_floor)
            assert len(gradient) == spec.size
            assert np.abs(gradient - expected).max() <= 1e-10 * np.abs(expected).max()
            assert own == pytest.approx(losses, rel=1e-9, abs=1e-12)
            assert "gate_loss" in own
            assert np.abs(compiled(rounded, batch, std_floor)[0] - expected).max() <= 3e-5 * np.abs(expected).max()
            weight, bias = spec.views(gradient)[-1]
            for component in dead:
                outputs = [*spec.own_outputs(np.array([component]))[0], len(bias) - components + component]
                assert not weight[:, outputs].any()
                assert not bias[outputs].any()


@pytest.mark.parametrize("dead", [(), (1,)])
def test_gradients_of_several_components_are_those_of_finite_differences(dead):
    spec, config = NetworkSpec(3, (4,), "tanh", "gaussian", 2, components=3), SLOT_CONFIGS[1]
    batch = gate_batch_for(spec, 40, 0, dead)
    _, exact, _ = both(spec, config, with_value=False)
    flat = exact._parameters

    def loss():
        parts = compiled(exact, batch, 0.1)[1]
        return parts["policy_loss"] + parts["gate_loss"] - config.ent_coef * parts["entropy"]

    gradient, numeric, step = compiled(exact, batch, 0.1)[0].copy(), np.empty(spec.size), 1e-6
    for i, value in enumerate(flat.copy()):
        flat[i] = value + step
        above = loss()
        flat[i] = value - step
        numeric[i] = (above - loss()) / (2 * step)
        flat[i] = value
    assert gradient == pytest.approx(numeric, rel=1e-5, abs=1e-6 * np.abs(gradient).max())


def test_the_limit_of_the_raw_log_std_stops_its_gradient():
    spec = NetworkSpec(2, (), "tanh", "gaussian", 1)
    reference, exact, _ = both(spec, resolve(Config()))
    reference._given[: spec.size] = torch.tensor([1.0, 8.0, 0.0, 0.0, 0.1, 0.0])
    batch = batch_for(spec, 40)
    assert (8 * batch.obs[:, 0] > 4).any()
    expected, gradient = by_autograd(reference, batch, 0.1)[0], compiled(exact, batch, 0.1)[0]
    assert np.abs(gradient - expected).max() <= 1e-10 * np.abs(expected).max()


def test_learning_is_the_same(tmp_path):
    config = Config(env="tests.problems:Quadratic", training_steps=40, eval_every=40, advantages="gae")
    errors = [
        train(dataclasses.replace(config, gradients=how), tmp_path / how, quiet=True, pictures=False)["eval"]["final"]
        for how in ("autograd", "compiled")
    ]
    assert errors[1] == pytest.approx(errors[0], rel=0.2)  # of an error that has fallen by four orders of magnitude


@pytest.mark.parametrize("rows", ["advantages", "returns", "obs", "values"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("outputs", [("gaussian", 2), ("categorical", 2, (2, 3))])
@pytest.mark.parametrize("minibatches", [1, 3])
def test_what_is_not_finite_is_found_and_named(minibatches, outputs, value, rows):
    spec = NetworkSpec(5, (8,), "relu", *outputs)
    an_agent = Agent(spec, resolve(Config(advantages="gae", num_minibatches=minibatches, clip_vloss=True)))
    batch = batch_for(spec, 12)
    array = getattr(batch, rows).copy()
    array.reshape(-1)[7] = value
    told = f"training step 5: not finite: the {rows} of the batch, and so the "
    with pytest.raises(FloatingPointError, match=told), np.errstate(all="ignore"):
        an_agent.update(dataclasses.replace(batch, **{rows: array}), 5, 1e-3, 0.1)


def test_a_parameter_that_is_not_finite_is_found_however_the_losses_compare():
    spec = NetworkSpec(2, (8,), "relu", "gaussian", 2)
    for place in range(0, spec.size, 7):
        an_agent = Agent(spec, resolve(Config()))
        an_agent.parameters[place] = np.nan
        batch = dataclasses.replace(batch_for(spec), returns=None, values=None)
        with pytest.raises(FloatingPointError):
            an_agent._update.take(batch, GradientSteps(0, 1e-3, 0.1, 1, None, np.array([12])))


@pytest.mark.parametrize("action", [3.0, -1.0, 1e9, np.nan])
def test_an_action_that_is_no_choice_is_refused(action):
    """Compiled code would read and write beside its arrays."""
    spec = NetworkSpec(5, (8,), "tanh", "categorical", 2, (2, 3))
    an_agent, batch = Agent(spec, resolve(Config(advantages="gae"))), batch_for(spec)
    batch.actions[5, 1] = action
    with pytest.raises(ValueError, match=r"an action that is none of \[2, 3\] choices"):
        an_agent.update(batch, 0, 1e-3, 0.1)


@pytest.mark.parametrize("component", [3, -1])
def test_a_component_that_is_none_is_refused(component):
    spec = NetworkSpec(5, (8,), "tanh", "gaussian", 2, components=3)
    an_agent, batch = Agent(spec, resolve(Config(components=3))), gate_batch_for(spec)
    batch.gate.components[5] = component
    with pytest.raises(ValueError, match="a component that is none of 3"):
        an_agent.update(batch, 0, 1e-3, 0.1)


CASES = [
    {"env": "rosenbrock"},
    {"env": "rosenbrock", "components": 3},
    {"env": "tests.problems:modes", "components": 4},
    {"env": "CartPole-v1"},
    {"env": "Pendulum-v1", "num_minibatches": 3, "target_kl": 0.1, "clip_vloss": True, "max_grad_norm": 1},
    {"env": "rosenbrock", "evaluations": 60},
]


@pytest.mark.parametrize("changes", CASES, ids=str)
def test_nothing_is_compiled_once_a_run_has_begun(changes, tmp_path):
    steps = {} if "evaluations" in changes else {"training_steps": 2}
    config = Config(hidden_sizes=(4,), drivers=0, update_epochs=2, **(steps | changes))
    with Trainer(resolve(config), tmp_path / "run", quiet=True) as trainer:
        known = [len(function.signatures) for function in (update, values_of, rolled_out, correlation_sums)]
        for _ in trainer:
            pass
    assert known[0] > 0
    assert [len(function.signatures) for function in (update, values_of, rolled_out, correlation_sums)] == known


@pytest.mark.parametrize("gradients", ["compiled", "autograd"])
def test_there_are_no_more_minibatches_than_rows(gradients):
    spec = NetworkSpec(5, (8,), "tanh", "gaussian", 2)
    an_agent = Agent(spec, resolve(Config(advantages="gae", num_minibatches=8, update_epochs=2, gradients=gradients)))
    losses = an_agent.update(batch_for(spec, 5), 0, 1e-3, 0.1)
    assert an_agent.adam.steps == 10
    assert all(map(np.isfinite, losses.values()))
