"""The declared network, interpreted by torch: what ``actors.policy`` does in NumPy, with gradients.

One flat float64 vector holds all parameters, so that a snapshot is a slice of it and Adam has one tensor to step.
"""

import math

import numpy as np
import torch

from actors import policy
from actors.policy import LOG_SQRT_2PI, RAW_LOG_STD_MAX
from actors.snapshot import NetworkSpec
from ppo.algorithm.components import GateBatch

ACTIVATIONS = {"tanh": torch.tanh, "relu": torch.relu}
BIAS = 1.0  # largest initial bias of a law's first layer


def initial_parameters(
    spec: NetworkSpec,
    rng: torch.Generator,
    init_std: float = 1.0,
    knobs: int | None = None,
    means: np.ndarray | None = None,
    free_std: bool = False,
) -> torch.Tensor:
    """Draws orthogonal weights and zero biases, ``[spec.size]``, with gain sqrt(2), and 0.01 for a policy's last layer.

    A Gaussian policy's raw log std starts at ``log(init_std)`` in every state; with ``free_std`` its weights are zero.

    With ``knobs``, how many of the inputs are a tuning problem's knobs, the first layer gets zero weights for the knobs
    and uniform biases in [-1, 1]. ``docs/method.md`` gives the reasons. With ``means``, ``[components, action_dim]``,
    the components start there.
    """
    flat = torch.zeros(spec.size, dtype=torch.float64)
    layers = spec.views(flat)
    for number, (weight, bias) in enumerate(layers):
        last = number == len(layers) - 1
        gain = math.sqrt(2) if not last else 1.0 if spec.head == "value" else 0.01
        torch.nn.init.orthogonal_(weight, gain, generator=rng)
        if last and spec.head == "gaussian":
            width = spec.components * spec.action_dim
            bias[width : 2 * width] = math.log(init_std)
            if free_std:
                weight[:, width : 2 * width] = 0
            if means is not None:
                bias[:width] = torch.from_numpy(means.reshape(-1))
    if knobs is not None and spec.hidden_sizes:
        weight, bias = layers[0]
        weight[:knobs] = 0
        bias.uniform_(-BIAS, BIAS, generator=rng)
    return flat


def forward(spec: NetworkSpec, flat: torch.Tensor, obs: torch.Tensor) -> torch.Tensor:
    """Outputs ``[n, outputs]`` for normalised observations ``[n, obs_dim]``."""
    *hidden, (weight, bias) = spec.views(flat)
    x = obs
    for w, b in hidden:
        x = ACTIVATIONS[spec.activation](torch.addmm(b, x, w))
    return torch.addmm(bias, x, weight)


def layer_inputs(spec: NetworkSpec, theta: np.ndarray, obs: np.ndarray) -> list[np.ndarray]:
    """Returns what each layer of a network takes, in NumPy, from the observations ``[m, obs_dim]`` on."""
    inputs, activation = [obs], policy.ACTIVATIONS[spec.activation]
    for weight, bias in spec.views(theta)[:-1]:
        x = inputs[-1] @ weight + bias
        inputs.append(activation(x, out=x))
    return inputs


def gate_logprobs(spec: NetworkSpec, flat: torch.Tensor, obs: torch.Tensor, gate: GateBatch) -> torch.Tensor:
    """Log-probabilities of the components that acted by the gate, ``[n]``."""
    logits = forward(spec, flat, obs)[:, -spec.components :]
    logits = logits.masked_fill(~gate.live, -torch.inf)
    return torch.log_softmax(logits, dim=-1).gather(1, gate.components[:, None])[:, 0]


def logprobs_and_entropy(
    spec: NetworkSpec,
    flat: torch.Tensor,
    std_floor: float,
    obs: torch.Tensor,
    actions: torch.Tensor,
    components: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities ``[n]`` of actions (or choices) ``[n, action_dim]``, and entropies ``[n]``.

    Of several components, ``components`` says which one acted in each row, ``[n]``, and the gate is left out.
    """
    out = forward(spec, flat, obs)
    if components is not None:
        own = torch.from_numpy(spec.own_outputs(np.arange(spec.components))).to(out.device)
        out = out.gather(1, own[components])
    if spec.head == "categorical":
        parts = [torch.log_softmax(out[:, part], dim=-1) for part in spec.logits]
        chosen = [log_p.gather(1, actions[:, [i]].long())[:, 0] for i, log_p in enumerate(parts)]
        return torch.stack(chosen).sum(0), torch.stack([-(log_p.exp() * log_p).sum(-1) for log_p in parts]).sum(0)
    mean, raw = out[:, : spec.action_dim], out[:, spec.action_dim :].clamp(max=RAW_LOG_STD_MAX)
    log_std = 0.5 * torch.log(std_floor**2 + torch.exp(2 * raw))
    logprobs = -0.5 * ((actions - mean) / log_std.exp()) ** 2 - log_std - LOG_SQRT_2PI
    return logprobs.sum(-1), (log_std + LOG_SQRT_2PI + 0.5).sum(-1)


def layer_sizes(spec: NetworkSpec) -> np.ndarray:
    """Returns the sizes of a network's input, hidden layers and output, as compiled functions take them."""
    return np.array([spec.obs_dim, *(outputs for _, outputs in spec.layers)])
