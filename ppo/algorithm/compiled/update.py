"""The gradient steps of one training step, compiled into one function."""

from typing import NamedTuple

import numpy as np

from ppo.algorithm.adam import Adam
from ppo.algorithm.compiled.compiler import entry, part
from ppo.algorithm.compiled.heads import (
    ADVANTAGE,
    APPROX_KL,
    ENTROPY,
    STATS,
    categorical_slopes,
    gate_slopes,
    gaussian_slopes,
    value_slopes,
)
from ppo.algorithm.compiled.layers import backward, forward

BETA1, BETA2 = Adam.beta1, Adam.beta2


class Limits(NamedTuple):
    """Settings of the gradient steps, as ``ppo.config.Config`` has them."""

    norm_adv: bool
    max_grad_norm: float
    target_kl: float


@entry
def update(
    parameters, exp_avg, exp_avg_sq, policy, value, relu, choices, live, frozen,
    obs, actions, facts, order, ends, loss, limits, rates,
):  # fmt: skip
    """Takes the gradient steps of a training step. What is None is not there, and is not compiled.

    Args:
        parameters: the policy's and then the value's, ``[size]``, float64; written.
        exp_avg, exp_avg_sq: Adam's moments, ``[size]``, in the type of the gradient; written.
        policy, value: sizes of the layers of the networks; ``value`` may be None.
        relu: whether the activation is ReLU in place of tanh.
        choices: numbers of options of a categorical policy, or None.
        live: which of several components are in use, ``[K]``, or None.
        frozen: which of the policy's parameters are not trained, ``[size of the policy]``, or None.
        obs: ``[n, obs_dim]``.
        actions: ``[n, action_dim]``.
        facts: what else there is of the rows, ``[n, FACTS]``; written.
        order, ends: as in ``GradientSteps``.
        loss, limits: settings.
        rates: for each step the factor of Adam's direction and what is added to its root, ``[steps, 2]``.

    Returns:
        The losses of each step, ``[steps, STATS]``; the number of steps that were taken; and the norm of the last
        gradient. If a loss or the norm is not finite, it is that of the step behind those.
    """
    stats, norm, divergence = np.zeros((len(rates), STATS)), 0.0, 0.0
    rounded, gradient = np.empty(len(parameters), exp_avg.dtype), np.empty(len(parameters), exp_avg.dtype)
    if order is None and limits.norm_adv:
        normalise(facts)
    for step in range(len(rates)):
        k = step % len(ends)
        mb_obs, mb_actions, mb_facts = obs, actions, facts
        if order is not None:
            index = order[step // len(ends), (ends[k - 1] if k else 0) : ends[k]]
            mb_obs, mb_actions, mb_facts = taken(obs, index), taken(actions, index), taken(facts, index)
            if limits.norm_adv:
                normalise(mb_facts)
        gradient_of(
            parameters, rounded, policy, value, relu, choices, live, frozen,
            mb_obs, mb_actions, mb_facts, loss, gradient, stats[step],
        )  # fmt: skip
        norm = np.sqrt(np.float64(np.dot(gradient, gradient)))
        if not all_finite(norm, stats[step]):
            return stats, step, norm
        scale = limits.max_grad_norm / norm if 0 < limits.max_grad_norm < norm else 1.0
        adam_step(parameters, gradient, exp_avg, exp_avg_sq, scale, rates[step])
        divergence = stats[step, APPROX_KL] / len(ends) + (divergence if k else 0.0)
        if k == len(ends) - 1 and divergence > limits.target_kl:
            return stats, step + 1, norm
    return stats, len(rates), norm


@entry
def values_of(parameters, sizes, relu, obs):
    """Returns the outputs ``[n]`` of a value network for observations, all of one type."""
    work, kept = memory(sizes, len(obs), parameters.dtype)
    out = np.empty((len(obs), 1), parameters.dtype)
    forward(parameters, sizes, relu, obs, work, kept, out)
    return out[:, 0]


@part
def gradient_of(
    parameters, rounded, policy, value, relu, choices, live, frozen, obs, actions, facts, loss, gradient, stats
):
    """Writes the gradient of the loss over a minibatch, and adds to the losses; ``rounded`` is written first."""
    for i in range(len(parameters)):
        rounded[i] = parameters[i]
    policy_gradient(parameters, rounded, policy, relu, choices, live, obs, actions, facts, loss, gradient, stats)
    if value is not None:
        value_gradient(rounded, value, relu, obs, facts, loss, gradient, stats)
    if frozen is not None:
        for i in range(len(frozen)):
            gradient[i] = 0 if frozen[i] else gradient[i]


@part
def policy_gradient(parameters, rounded, sizes, relu, choices, live, obs, actions, facts, loss, gradient, stats):
    """Writes the policy's part of the gradient of the loss, and adds to the losses."""
    n, size = len(obs), size_of(sizes)
    wide, _ = memory(sizes, n, parameters.dtype)
    work, kept = memory(sizes, n, gradient.dtype)
    out, d_out = np.empty((n, sizes[-1])), np.zeros((n, sizes[-1]))
    forward(parameters[:size], sizes, relu, obs, wide, kept, out)
    if choices is not None:
        categorical_slopes(out, actions, facts, choices, loss, d_out, stats)
    elif live is not None:
        gaussian_slopes(out, actions, facts, len(live), loss, d_out, stats)
        gate_slopes(out, facts, live, loss, d_out, stats)
    else:
        gaussian_slopes(out, actions, facts, 1, loss, d_out, stats)
    slope, low = as_type_of(gradient, d_out), as_type_of(gradient, obs)
    backward(rounded[:size], sizes, relu, low, kept, slope, work, gradient[:size])


@part
def value_gradient(rounded, sizes, relu, obs, facts, loss, gradient, stats):
    """Writes the value's part of the gradient of the loss, which is the last, and adds to the losses."""
    n, size = len(obs), size_of(sizes)
    work, kept = memory(sizes, n, gradient.dtype)
    values, low = np.empty((n, 1), gradient.dtype), as_type_of(gradient, obs)
    forward(rounded[-size:], sizes, relu, low, work, kept, values)
    value_slopes(values, facts, loss, values, stats)
    backward(rounded[-size:], sizes, relu, low, kept, values, work, gradient[-size:])


@part
def size_of(sizes):
    """Returns the number of parameters of a network."""
    total = 0
    for layer in range(len(sizes) - 1):
        total += (sizes[layer] + 1) * sizes[layer + 1]
    return total


@part
def memory(sizes, n, kind):
    """Returns what ``ppo.algorithm.compiled.layers`` calls ``work`` and ``kept``, for n rows."""
    widest, total = 1, 0
    for layer in range(1, len(sizes) - 1):
        widest, total = max(widest, sizes[layer]), total + sizes[layer]
    return np.empty((2, n * widest), kind), np.empty(n * total, kind)


@part
def as_type_of(one, rows):
    """Returns rows ``[n, k]`` in the type of another array."""
    result = np.empty(rows.shape, one.dtype)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            result[i, j] = rows[i, j]
    return result


@part
def taken(rows, index):
    """Returns the rows ``index``."""
    result = np.empty((len(index), rows.shape[1]))
    for i in range(len(index)):
        for j in range(rows.shape[1]):
            result[i, j] = rows[index[i], j]
    return result


@part
def normalise(facts):
    """Gives the advantages mean 0 and standard deviation 1."""
    n, mean, square = len(facts), 0.0, 0.0
    for i in range(n):
        mean += facts[i, ADVANTAGE] / n
    for i in range(n):
        square += (facts[i, ADVANTAGE] - mean) ** 2 / n
    for i in range(n):
        facts[i, ADVANTAGE] = (facts[i, ADVANTAGE] - mean) / (np.sqrt(square) + 1e-8)


@part
def all_finite(norm, stats):
    """Returns whether the norm of the gradient and the losses are finite."""
    finite = norm - norm == 0
    for name in range(ENTROPY + 1):
        finite = finite and stats[name] - stats[name] == 0
    return finite


@part
def adam_step(parameters, gradient, exp_avg, exp_avg_sq, scale, rates):
    """Takes the step of ``ppo.algorithm.adam``; ``scale`` is what the gradient is multiplied by."""
    one = gradient.dtype.type
    by, new, new_sq, factor, small = one(scale), one(1 - BETA1), one(1 - BETA2), one(rates[0]), one(rates[1])
    for i in range(len(parameters)):
        slope = gradient[i] * by
        exp_avg[i] += new * (slope - exp_avg[i])
        exp_avg_sq[i] += new_sq * (slope * slope - exp_avg_sq[i])
        parameters[i] -= factor * (exp_avg[i] / (np.sqrt(exp_avg_sq[i]) + small))
