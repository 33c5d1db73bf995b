"""The policy rebuilt from a snapshot, in NumPy and in float64.

Batches are padded to blocks of ``BLOCK`` rows, so that every matrix product has the same shape and a row's action has
the same bits whichever rows it is batched with. ``docs/architecture.md`` gives the reasons.
"""

from collections.abc import Callable

import numpy as np

from actors.snapshot import Snapshot
from env.coordinates import snapped

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


def centre_states(conditions: np.ndarray, knobs: int) -> np.ndarray:
    """Returns the states ``[m, knobs + conditions]`` at which a law is evaluated, with the knobs at 0."""
    return np.concatenate([np.zeros((len(conditions), knobs)), conditions], axis=1)


class Policy:
    """Chooses actions for observations ``[n, obs_dim]``; a row's bits do not depend on the other rows."""

    def __init__(self, snapshot: Snapshot):
        self.snapshot = snapshot
        self.spec = snapshot.spec
        self._layers = self.spec.views(snapshot.theta)
        self._activation = ACTIVATIONS[self.spec.activation]
        live = snapshot.live
        self.live = np.arange(self.spec.components) if live is None else np.flatnonzero(live)

    def act(self, obs: np.ndarray, noise: np.ndarray, pair: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Samples actions.

        Args:
            obs: raw observations, ``[n, obs_dim]``.
            noise: standard normals (Gaussian) or uniforms (categorical), ``[n, action_dim]``.
            pair: for several components, which pair of time steps of the slot this is: the live ones take turns.

        Returns:
            Actions before any clipping (Gaussian) or choices (categorical), ``[n, action_dim]``, and their
            log-probabilities ``[n]``. Of several components, the number of the one that acts follows the action,
            ``[n, action_dim + 1]``, and its probability by the gate counts.
        """
        out = self._forward(obs)
        padded = _pad(noise)
        if self.spec.head == "categorical":
            chosen = [_choose(out[:, part], padded[:, [i]]) for i, part in enumerate(self.spec.logits)]
            actions = np.concatenate([choice for choice, _ in chosen], axis=1)
            logprobs = np.sum([logprob for _, logprob in chosen], axis=0)
        else:
            component = int(self.live[pair % len(self.live)])
            mean, log_std = self._gaussian(out, component)
            std = np.exp(log_std)
            actions = mean + std * padded
            # Computed from the rounded action, as in the learner: at a tiny std it differs from mean + std * noise.
            logprobs = np.sum(-0.5 * ((actions - mean) / std) ** 2 - log_std - LOG_SQRT_2PI, axis=-1)
            if self.spec.components > 1:
                logprobs += self._gate(out)[:, component]
                actions = np.concatenate([actions, np.full((len(actions), 1), float(component))], axis=1)
        return actions[: len(obs)], logprobs[: len(obs)]

    def mode(self, obs: np.ndarray) -> np.ndarray:
        """Returns the likeliest actions, ``[n, action_dim]``; for a Gaussian, the means.

        Of several components the critic chooses one, by its mean at the conditions of ``obs``, or else the gate does.
        """
        out = self._forward(obs)[: len(obs)]
        if self.spec.components > 1:
            means = self._means(out)
            best = np.argmax(self._gate(out), axis=1) if self.snapshot.critic is None else self._judged(obs, means)
            return means[np.arange(len(obs)), best]
        if self.spec.head == "categorical":
            return np.stack([np.argmax(out[:, part], axis=-1) for part in self.spec.logits], axis=1).astype(np.float64)
        return out[:, : self.spec.action_dim]

    def valid(self, knobs: np.ndarray) -> np.ndarray:
        """Returns the nearest knobs ``[..., action_dim]`` that a tuning problem can have."""
        inside = np.clip(knobs, -1, 1)
        return snapped(inside, np.array(self.spec.steps)) if self.spec.steps else inside

    def proposals(self, obs: np.ndarray) -> np.ndarray:
        """Returns the mean of each component, ``[n, components, action_dim]``, for a policy of Gaussians."""
        return self._means(self._forward(obs)[: len(obs)])

    def gaussians(self, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns means and standard deviations of the components in use, ``[n, live, action_dim]`` each."""
        out = self._forward(obs)[: len(obs)]
        means, log_stds = zip(*(self._gaussian(out, component) for component in self.live.tolist()), strict=True)
        return np.stack(means, axis=1), np.exp(np.stack(log_stds, axis=1))

    def gate(self, obs: np.ndarray) -> np.ndarray:
        """Returns the log-probability of each component, ``[n, components]``; of those not in use, minus infinity."""
        return self._gate(self._forward(obs)[: len(obs)])

    def _means(self, out: np.ndarray) -> np.ndarray:
        width = self.spec.components * self.spec.action_dim
        return out[:, :width].reshape(len(out), self.spec.components, self.spec.action_dim)

    def _gate(self, out: np.ndarray) -> np.ndarray:
        """Returns log-probabilities of the components, ``[n, components]``."""
        logits = np.full((len(out), self.spec.components), -np.inf)
        if self.spec.components > 1:
            logits[:, self.live] = out[:, -self.spec.components :][:, self.live]
        else:
            logits[:] = 0.0
        return _log_softmax(logits)

    def _judged(self, obs: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Returns the component whose mean the critic expects the least f of, ``[n]``."""
        assert self.snapshot.critic is not None
        conditions, expected = obs[:, self.spec.action_dim :], np.full(means.shape[:2], np.inf)
        for component in self.live:
            states = np.concatenate([self.valid(means[:, component]), conditions], axis=1)
            expected[:, component] = self.snapshot.critic.mean(states)
        return np.argmin(expected, axis=1)

    def uncertainty(self, candidates: np.ndarray) -> np.ndarray:
        """Measures how uncertain the policy is at candidates ``[n, m, obs_dim]``: the action's entropy, ``[n, m]``.

        For a Gaussian it is the sum of the raw log stds, which is the entropy up to a constant, without the floor and
        the limit under which different states would tie. It is computed in float32, with m rows in each matrix product,
        so that it does not depend on n.
        """
        *hidden, (weight, bias) = self.spec.views(self.snapshot.theta.astype(np.float32))
        if self.spec.head == "gaussian":  # only the stds are needed
            raw = self.spec.own_outputs(self.live)[:, self.spec.action_dim :].reshape(-1)
            weight, bias = np.ascontiguousarray(weight[:, raw]), bias[raw]
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
        return (np.matmul(x, weight) + bias).reshape(len(rows), len(bias))

    @property
    def _raw_part(self) -> slice:
        """Outputs that are raw log stds."""
        width = self.spec.components * self.spec.action_dim
        return slice(width, 2 * width)

    def _gaussian(self, out: np.ndarray, component: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns means and log stds of a component, ``[n, action_dim]`` each.

        The floor is smooth, std^2 = floor^2 + exp(raw)^2, and lets gradients pass.
        """
        dim, first = self.spec.action_dim, self._raw_part.start + component * self.spec.action_dim
        raw = np.minimum(np.ascontiguousarray(out[:, first : first + dim]), RAW_LOG_STD_MAX)
        log_std = 0.5 * np.log(self.snapshot.std_floor**2 + np.exp(2 * raw))
        return np.ascontiguousarray(out[:, component * dim : (component + 1) * dim]), log_std


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
