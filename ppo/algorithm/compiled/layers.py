"""A multilayer perceptron on a flat vector of parameters, compiled: its outputs, and the gradient of a loss of them.

A network is given by the sizes of its input, of its hidden layers and of its output. ``kept`` holds the activations of
all hidden layers behind each other, ``[n * sum of the widths]``, and ``work`` those of two layers in turn,
``[2, n * largest width]``.
"""

import numpy as np

from ppo.algorithm.compiled.compiler import part
from ppo.algorithm.compiled.elementary import tanh


@part
def forward(flat, sizes, relu, obs, work, kept, out):
    """Evaluates a network.

    Args:
        flat: parameters, ``[size]``.
        sizes: of its layers.
        relu: whether the activation is ReLU in place of tanh.
        obs: ``[n, sizes[0]]``, of the type of ``flat``.
        work, kept: written; ``kept`` has the type of the gradient.
        out: outputs, ``[n, sizes[-1]]``; written.
    """
    n, x, at, first = len(obs), obs, 0, 0
    for layer in range(len(sizes) - 1):
        inputs, width = sizes[layer], sizes[layer + 1]
        weight = flat[at : at + inputs * width].reshape(inputs, width)
        bias = flat[at + inputs * width : at + inputs * width + width]
        hidden = layer < len(sizes) - 2
        h = work[layer % 2, : n * width].reshape(n, width) if hidden else out
        np.dot(x, weight, h)
        add_to_rows(h, bias)
        if hidden:
            activate(h.reshape(n * width), relu, kept[first : first + n * width])
        x, first, at = h, first + n * width, at + inputs * width + width


@part
def backward(flat, sizes, relu, obs, kept, slope, work, gradient):
    """Computes the gradient of a loss.

    Args:
        flat, sizes, relu, obs, kept: as ``forward`` takes or wrote them, in the type of the gradient.
        slope: of the loss at the outputs, ``[n, sizes[-1]]``.
        work: written.
        gradient: ``[size]``; written.
    """
    n, d, end, first = len(obs), slope, len(flat), len(kept)
    for layer in range(len(sizes) - 2, -1, -1):
        inputs, width = sizes[layer], sizes[layer + 1]
        at = end - inputs * width - width
        below = obs
        if layer > 0:
            first -= n * inputs
            below = kept[first : first + n * inputs].reshape(n, inputs)
        np.dot(below.T, d, gradient[at : at + inputs * width].reshape(inputs, width))
        sum_rows(d, gradient[end - width : end])
        if layer > 0:
            d_below = work[layer % 2, : n * inputs].reshape(n, inputs)
            np.dot(d, flat[at : at + inputs * width].reshape(inputs, width).T, d_below)
            through_activation(d_below.reshape(n * inputs), relu, below.reshape(n * inputs))
            d = d_below
        end = at


@part
def add_to_rows(rows, row):
    """Adds a row to rows, in place."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            rows[i, j] += row[j]


@part
def sum_rows(rows, total):
    """Writes the sum of rows."""
    for j in range(len(total)):
        total[j] = 0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            total[j] += rows[i, j]


@part
def activate(h, relu, kept):
    """Applies the activation to values, in place, and keeps what comes of it."""
    if relu:
        for i in range(len(h)):
            h[i] = 0 if h[i] < 0 else h[i]  # and not the larger of both, which would hide a NaN
    else:
        for i in range(len(h)):
            h[i] = tanh(h[i])
    for i in range(len(h)):
        kept[i] = h[i]


@part
def through_activation(d, relu, h):
    """Multiplies slopes by those of the activation where it gave ``h``, in place."""
    if relu:
        for i in range(len(d)):
            d[i] = d[i] if h[i] > 0 else 0
    else:
        for i in range(len(d)):
            d[i] *= 1 - h[i] * h[i]
