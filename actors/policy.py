"""The policy rebuilt from a snapshot, in NumPy and in float64.

Batches are padded to blocks of ``BLOCK`` rows, so that every matrix product has the same shape and a row's action has
the same bits whichever rows it is batched with. ``docs/architecture.md`` gives the reasons.
"""

from collections.abc import Callable

import numpy as np

from actors.snapshot import Snapshot

BLOCK = 16
OBS_CLIP = 10.0
OBS_EPSILON = 1e-8
RAW_LOG_STD_MAX = 4.0
LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


def _relu(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0, out=out)


ACTIVATIONS: dict[str, Callable[..., np.ndarray]] = {"tanh": np.tanh, "relu": _relu}


def normalise(obs: np.ndarray, mean: np.ndarray | None, var: np.ndarray | None) -> np.ndarray:
    """Returns observations normalised and clipped to 10 standard deviations; without statistics, unchanged."""
    if mean is None or var is None:
        return obs
    return np.clip((obs - mean) / np.sqrt(var + OBS_EPSILON), -OBS_CLIP, OBS_CLIP)


class Policy:
    """Chooses actions for observations ``[n, obs_dim]``; a row's bits do not depend on the other rows."""

    def __init__(self, snapshot: Snapshot):
        self.snapshot = snapshot
        self.spec = snapshot.spec
        self._layers = self.spec.views(snapshot.theta)
        self._activation = ACTIVATIONS[self.spec.activation]

    def act(self, obs: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Samples actions.

        Args:
            obs: raw observations, ``[n, obs_dim]``.
            noise: standard normals (Gaussian) or uniforms (categorical), ``[n, action_dim]``.

        Returns:
            Actions before any clipping (Gaussian) or choices (categorical), ``[n, action_dim]``, and their
            log-probabilities ``[n]``.
        """
        out = self._forward(obs)
        padded = _pad(noise)
        if self.spec.head == "categorical":
            chosen = [_choose(out[:, part], padded[:, [i]]) for i, part in enumerate(self.spec.logits)]
            actions = np.concatenate([choice for choice, _ in chosen], axis=1)
            logprobs = np.sum([logprob for _, logprob in chosen], axis=0)
        else:
            mean, log_std = self._gaussian(out)
            std = np.exp(log_std)
            actions = mean + std * padded
            # Computed from the rounded action, as in the learner: at a tiny std it differs from mean + std * noise.
            logprobs = np.sum(-0.5 * ((actions - mean) / std) ** 2 - log_std - LOG_SQRT_2PI, axis=-1)
        return actions[: len(obs)], logprobs[: len(obs)]

    def mode(self, obs: np.ndarray) -> np.ndarray:
        """Returns the likeliest actions, ``[n, action_dim]``; for a Gaussian, the means."""
        out = self._forward(obs)[: len(obs)]
        if self.spec.head == "categorical":
            return np.stack([np.argmax(out[:, part], axis=-1) for part in self.spec.logits], axis=1).astype(np.float64)
        return out[:, : self.spec.action_dim]

    def uncertainty(self, candidates: np.ndarray) -> np.ndarray:
        """Measures how uncertain the policy is at candidates ``[n, m, obs_dim]``: the action's entropy, ``[n, m]``.

        For a Gaussian it is the sum of the raw log stds, which is the entropy up to a constant, without the floor and
        the limit under which different states would tie. It is computed in float32, with m rows in each matrix product,
        so that it does not depend on n.
        """
        *hidden, (weight, bias) = self.spec.views(self.snapshot.theta.astype(np.float32))
        if self.spec.head == "gaussian":  # only the stds are needed
            weight, bias = np.ascontiguousarray(weight[:, self.spec.action_dim :]), bias[self.spec.action_dim :]
        obs = normalise(candidates, self.snapshot.obs_mean, self.snapshot.obs_var).astype(np.float32)
        ranks = np.empty(obs.shape[:2])
        buffers = [np.empty((obs.shape[1], width), np.float32) for width in self.spec.hidden_sizes]
        for row, x in zip(ranks, obs, strict=True):
            for (w, b), h in zip(hidden, buffers, strict=True):
                x = np.matmul(x, w, out=h)
                x += b
                x = self._activation(x, out=x)
            out = x @ weight
            out += bias
            if self.spec.head == "gaussian":
                np.sum(out, axis=-1, out=row)
            else:
                row[:] = sum(_entropy(out[:, part]) for part in self.spec.logits)
        return ranks

    def _forward(self, obs: np.ndarray) -> np.ndarray:
        """Returns the network's outputs, ``[n padded to whole blocks, outputs]``."""
        rows = _pad(np.asarray(obs, np.float64))
        x = normalise(rows, self.snapshot.obs_mean, self.snapshot.obs_var).reshape(-1, BLOCK, rows.shape[1])
        *hidden, (weight, bias) = self._layers
        for w, b in hidden:
            x = np.matmul(x, w)
            x += b
            x = self._activation(x, out=x)
        return (np.matmul(x, weight) + bias).reshape(len(rows), -1)

    def _gaussian(self, out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns means and log stds; the floor is smooth, std^2 = floor^2 + exp(raw)^2, and lets gradients pass."""
        raw = np.minimum(np.ascontiguousarray(out[:, self.spec.action_dim :]), RAW_LOG_STD_MAX)
        log_std = 0.5 * np.log(self.snapshot.std_floor**2 + np.exp(2 * raw))
        return np.ascontiguousarray(out[:, : self.spec.action_dim]), log_std


def _pad(rows: np.ndarray) -> np.ndarray:
    """Pads rows with zeros to whole blocks."""
    missing = -len(rows) % BLOCK
    return np.concatenate([rows, np.zeros((missing, *rows.shape[1:]))]) if missing else np.ascontiguousarray(rows)


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    """Returns log-probabilities over the last axis."""
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def _entropy(logits: np.ndarray) -> np.ndarray:
    """Returns the entropy over the last axis."""
    logprobs = _log_softmax(logits)
    return -np.sum(np.exp(logprobs) * logprobs, axis=-1)


def _choose(logits: np.ndarray, uniforms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Samples by the inverse CDF; returns choices ``[n, 1]`` and their log-probabilities ``[n]``."""
    logprobs = _log_softmax(logits)
    cumulative = np.cumsum(np.exp(logprobs), axis=-1)
    choices = np.sum(uniforms >= cumulative[:, :-1], axis=-1, keepdims=True)
    return choices.astype(np.float64), np.take_along_axis(logprobs, choices, axis=-1)[:, 0]
