"""Slots that are imagined, compiled: a policy's actions, and what a Gaussian process expects of where they lead."""

import numpy as np

from actors.policy import LOG_SQRT_2PI, RAW_LOG_STD_MAX
from ppo.algorithm.compiled.compiler import entry, part
from ppo.algorithm.compiled.elementary import exp, log
from ppo.algorithm.compiled.heads import log_softmax
from ppo.algorithm.compiled.layers import forward
from ppo.algorithm.compiled.update import memory


@entry
def rolled_out(theta, sizes, relu, components, live, std_floor, starts, noise, low, high, steps):
    """Rolls out slots of a tuning problem, in which a time step does not depend on what f is.

    Args:
        theta: the policy's parameters, ``[size]``.
        sizes: of its layers.
        relu: whether the activation is ReLU in place of tanh.
        components: their number.
        live: numbers of those in use, which take turns by pairs of time steps, ``[k]``.
        std_floor: least standard deviation of an action.
        starts: states, knobs first, ``[n, dims]``.
        noise: standard normals, ``[n, T, knobs]``.
        low, high: bounds of the knobs, ``[n, knobs]``.
        steps: of the knobs, as ``env.coordinates.snapped`` takes them, ``[knobs]``.

    Returns:
        The states before each time step and after the last, ``[n, T + 1, dims]``; actions, before they were clipped,
        ``[n, T, knobs]``; and their log-probabilities, ``[n, T]``.
    """
    n, length, knobs = noise.shape
    states, actions, logprobs = np.empty((n, length + 1, starts.shape[1])), np.empty(noise.shape), np.empty((n, length))
    obs, out = np.empty(starts.shape), np.empty((n, sizes[-1]))
    work, kept = memory(sizes, n, np.float64)
    for i in range(n):
        for j in range(starts.shape[1]):
            states[i, 0, j] = starts[i, j]
    for t in range(length):
        component = live[(t // 2) % len(live)]
        for i in range(n):
            for j in range(starts.shape[1]):
                obs[i, j] = states[i, t, j]
        forward(theta, sizes, relu, obs, work, kept, out)
        for i in range(n):
            logprobs[i, t] = act(out[i], component, components, live, std_floor, noise[i, t], actions[i, t])
            for j in range(starts.shape[1]):
                states[i, t + 1, j] = states[i, t, j]
            for j in range(knobs):
                states[i, t + 1, j] = max(min(valid(actions[i, t, j], steps[j]), high[i, j]), low[i, j])
    return states, actions, logprobs


@part
def act(out, component, components, live, std_floor, noise, action):
    """Writes the action of a component for the policy's outputs, and returns its log-probability."""
    knobs = len(noise)
    logprob = 0.0
    for j in range(knobs):
        mean, raw = out[component * knobs + j], out[(components + component) * knobs + j]
        variance = std_floor * std_floor + exp(2 * min(raw, RAW_LOG_STD_MAX))
        action[j] = mean + np.sqrt(variance) * noise[j]
        # Of the rounded action, as in the learner: at a tiny std it differs from mean + std * noise.
        logprob -= 0.5 * ((action[j] - mean) ** 2 / variance + log(variance)) + LOG_SQRT_2PI
    if components > 1:
        logits, log_p = np.full(components, -np.inf), np.empty(components)
        for k in range(len(live)):
            logits[live[k]] = out[2 * components * knobs + live[k]]
        log_softmax(logits, log_p)
        logprob += log_p[component]
    return logprob


@part
def valid(knob, step):
    """Returns the nearest value to a knob in [-1, 1] that it can have."""
    inside = max(min(knob, 1.0), -1.0)
    return min(np.rint((inside + 1) / step) * step - 1, 1.0) if step > 0 else inside


@entry
def correlation_sums(points, centres, weights, kernel):
    """Returns the weighted sums of correlations with the evaluations of a Gaussian process, ``[m]``.

    Args:
        points: in units of the length scales, ``[m, dims]``.
        centres: the evaluations, ``[n, dims]``.
        weights: ``[n]``.
        kernel: its number in ``actors.kernels.KERNEL_NAMES``.
    """
    (m, dims), n = points.shape, len(centres)
    columns, found, row = np.empty((dims, n)), np.empty((m, n)), np.empty(n)
    for i in range(n):
        for j in range(dims):
            columns[j, i] = centres[i, j]
    for i in range(m):
        if kernel == 2:
            correlate_pairs(points[i], columns, row, found[i])
        else:
            correlate(points[i], columns, kernel == 0, row, found[i])
    return np.dot(found, weights)


@part
def correlate(point, columns, matern, radius, found):
    """Writes the correlations of a kernel of the distance, ``[n]``, as ``actors.kernels`` has them."""
    for i in range(len(found)):
        found[i] = 0
    for j in range(len(point)):
        column, at = columns[j], point[j]
        for i in range(len(found)):
            found[i] += (at - column[i]) * (at - column[i])
    if matern:
        for i in range(len(found)):
            radius[i] = np.sqrt(5 * found[i])
        for i in range(len(found)):
            found[i] = (1 + radius[i] + 5 / 3 * found[i]) * exp(-radius[i])
    else:
        for i in range(len(found)):
            found[i] = exp(-0.5 * found[i])


@part
def correlate_pairs(point, columns, squares, found):
    """Writes those of the sum over all pairs of coordinates."""
    count = len(point)
    for i in range(len(found)):
        found[i], squares[i] = 0, 0
    for j in range(count):
        column, at = columns[j], point[j]
        for i in range(len(found)):
            one = 1 / (1 + 0.5 * (at - column[i]) * (at - column[i]))
            found[i] += one
            squares[i] += one * one
    for i in range(len(found)):
        found[i] = (found[i] * found[i] - squares[i]) / (count * (count - 1))
