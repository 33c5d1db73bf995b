"""Losses, and their slopes at a network's outputs, compiled; the formulas are those of ``ppo.algorithm.losses``.

Of each row there are its action and its facts, ``[n, FACTS]``. What they add to the losses goes to ``stats``,
``[STATS]``, where a value that is not finite must not be lost: comparisons are such that a NaN comes out as one.
"""

from typing import NamedTuple

import numpy as np

from actors.policy import LOG_SQRT_2PI, RAW_LOG_STD_MAX
from ppo.algorithm.compiled.compiler import part
from ppo.algorithm.compiled.elementary import exp, log

FACTS = 8
LOGPROB, ADVANTAGE, RETURN, VALUE, COMPONENT, GATE_LOGPROB, GATE_ADVANTAGE, GATE_WEIGHT = range(FACTS)
"""Columns of the facts: the fields of ``Batch`` and of its gate. The log-probability is without the gate's."""
STATS = 7
POLICY_LOSS, VALUE_LOSS, GATE_LOSS, ENTROPY, APPROX_KL, CLIPFRAC, MAX_LOGRATIO = range(STATS)


class Loss(NamedTuple):
    """Settings of the loss, as ``ppo.config.Config`` has them."""

    std_floor: float
    clip_coef: float
    ent_coef: float
    vf_coef: float
    clip_vloss: bool
    reinforce: bool


@part
def gaussian_slopes(out, actions, facts, components, loss, d_out, stats):
    """Writes the slopes of the loss at the mean and the raw log std of the component that acted, ``[n, outputs]``."""
    n, dim = actions.shape
    variances, logs, logratios = np.empty(n * dim), np.empty(n * dim), np.empty(n)
    for i in range(n):
        raws = (components + int(facts[i, COMPONENT])) * dim
        for j in range(dim):
            raw = out[i, raws + j]
            variances[i * dim + j] = 2 * (RAW_LOG_STD_MAX if raw > RAW_LOG_STD_MAX else raw)
    each_exp(variances)
    for i in range(n):
        raws = (components + int(facts[i, COMPONENT])) * dim
        for j in range(dim):
            variance = variances[i * dim + j] + loss.std_floor * loss.std_floor
            d_out[i, raws + j] = variances[i * dim + j] / variance  # slope of the log std at the raw one
            variances[i * dim + j] = variance
    each_log(variances, logs)
    for i in range(n):
        means = int(facts[i, COMPONENT]) * dim
        total = 2 * dim * LOG_SQRT_2PI
        for j in range(dim):
            deviation = actions[i, j] - out[i, means + j]
            pull = deviation / variances[i * dim + j]
            d_out[i, means + j] = pull
            total += deviation * pull + logs[i * dim + j]
            stats[ENTROPY] += (0.5 * logs[i * dim + j] + LOG_SQRT_2PI + 0.5) / n
        logratios[i] = -0.5 * total - facts[i, LOGPROB]
    policy_slopes(logratios, facts, loss, stats)
    for i in range(n):
        means = int(facts[i, COMPONENT]) * dim
        raws = means + components * dim
        for j in range(dim):
            deviation, pull = actions[i, j] - out[i, means + j], d_out[i, means + j]
            at_log_std = logratios[i] * (deviation * pull - 1) - loss.ent_coef / n
            d_out[i, means + j] = logratios[i] * pull
            d_out[i, raws + j] *= 0 if out[i, raws + j] > RAW_LOG_STD_MAX else at_log_std


@part
def categorical_slopes(out, actions, facts, choices, loss, d_out, stats):
    """Writes the slopes of the loss at the logits of all choices, ``[n, outputs]``."""
    n = len(out)
    log_p, logratios = np.empty(out.shape), np.empty(n)
    for i in range(n):
        first = 0
        logratios[i] = -facts[i, LOGPROB]
        for choice in range(len(choices)):
            log_softmax(out[i, first : first + choices[choice]], log_p[i, first : first + choices[choice]])
            logratios[i] += log_p[i, first + int(actions[i, choice])]
            first += choices[choice]
    policy_slopes(logratios, facts, loss, stats)
    for i in range(n):
        first = 0
        for choice in range(len(choices)):
            end, entropy = first + choices[choice], 0.0
            for k in range(first, end):
                entropy -= exp(log_p[i, k]) * log_p[i, k]
            for k in range(first, end):
                p = exp(log_p[i, k])
                d_out[i, k] = loss.ent_coef / n * p * (log_p[i, k] + entropy) - logratios[i] * p
            d_out[i, first + int(actions[i, choice])] += logratios[i]
            stats[ENTROPY] += entropy / n
            first = end


@part
def gate_slopes(out, facts, live, loss, d_out, stats):
    """Writes the slopes of the gate's loss at its logits, which are the last outputs."""
    n, first = len(out), out.shape[1] - len(live)
    logits, log_p = np.empty(len(live)), np.empty(len(live))
    for i in range(n):
        for k in range(len(live)):
            logits[k] = out[i, first + k] if live[k] else -np.inf
        log_softmax(logits, log_p)
        acted = int(facts[i, COMPONENT])
        ratio = exp(log_p[acted] - facts[i, GATE_LOGPROB])
        weight = facts[i, GATE_ADVANTAGE] * facts[i, GATE_WEIGHT] / -n
        slope = surrogate_slope(ratio, weight, loss.clip_coef, stats, GATE_LOSS)
        for k in range(len(live)):
            d_out[i, first + k] = -slope * exp(log_p[k])
        d_out[i, first + acted] += slope


@part
def value_slopes(values, facts, loss, d_values, stats):
    """Writes the slopes of the weighted value loss at the values, ``[n, 1]``."""
    n = len(values)
    for i in range(n):
        slope = values[i, 0] - facts[i, RETURN]
        squared = slope * slope
        if loss.clip_vloss:
            change = values[i, 0] - facts[i, VALUE]
            moved = facts[i, VALUE] + max(min(change, loss.clip_coef), -loss.clip_coef) - facts[i, RETURN]
            if not moved * moved <= squared:
                squared, slope = moved * moved, moved if abs(change) <= loss.clip_coef else 0.0
        stats[VALUE_LOSS] += 0.5 * squared / n
        d_values[i, 0] = slope * loss.vf_coef / n


@part
def policy_slopes(logratios, facts, loss, stats):
    """Replaces log importance ratios ``[n]`` by the slopes of the policy loss at the log-probabilities."""
    n, ratios = len(logratios), logratios.copy()
    each_exp(ratios)
    for i in range(n):
        weight = facts[i, ADVANTAGE] / -n
        stats[APPROX_KL] += (ratios[i] - 1 - logratios[i]) / n
        stats[CLIPFRAC] += (abs(ratios[i] - 1) > loss.clip_coef) / n
        stats[MAX_LOGRATIO] = max(stats[MAX_LOGRATIO], abs(logratios[i]))
        if loss.reinforce:
            stats[POLICY_LOSS] += weight * (logratios[i] + facts[i, LOGPROB])
            logratios[i] = weight
        else:
            logratios[i] = surrogate_slope(ratios[i], weight, loss.clip_coef, stats, POLICY_LOSS)


@part
def surrogate_slope(ratio, weight, clip_coef, stats, name):
    """Returns the slope of PPO's clipped surrogate at the log-probability of a row; adds to the loss ``name``.

    Args:
        ratio: of its probabilities.
        weight: its advantage, divided by minus the number of rows.
    """
    free = weight * ratio
    clipped = weight * max(min(ratio, 1 + clip_coef), 1 - clip_coef)
    if free < clipped:
        stats[name] += clipped
        return 0.0
    stats[name] += free
    return free


@part
def log_softmax(logits, log_p):
    """Writes the log-probabilities of logits, ``[k]``; one of minus infinity keeps it."""
    largest, total = logits[0], 0.0
    for k in range(len(logits)):
        largest = max(largest, logits[k])
    for k in range(len(logits)):
        total += exp(logits[k] - largest)
    for k in range(len(logits)):
        log_p[k] = logits[k] - largest - log(total)


@part
def each_exp(values):
    """Replaces each value by its exponential."""
    for i in range(len(values)):
        values[i] = exp(values[i])


@part
def each_log(values, logs):
    """Writes the logarithm of each value."""
    for i in range(len(values)):
        logs[i] = log(values[i])
