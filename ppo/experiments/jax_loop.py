"""A training step of which all is compiled by JAX, in the manner of PureJaxRL (Lu et al. 2022): as fast as it gets.

Environment, rollout, advantages and update are one function, in float32, that XLA compiles for the processor at hand.
That takes an f that is written in JAX, so it is no way to train on a black box: it says what the arithmetic costs. The
work is that of ``ppo.experiments.workloads.STANDARD``.
"""

import os
import time
from typing import Any

FLAGS = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["XLA_FLAGS"] = FLAGS  # one thread, as on the other side; read as JAX is loaded

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

EPISODES, TIME_STEPS, EPOCHS, SIZES = 64, 2, 10, (64, 64)
RATE, CLIP, VALUE_WEIGHT, LIMIT, STD_FLOOR, GAMMA, GAE_LAMBDA = 6e-3, 0.2, 0.5, 0.5, 0.3, 0.99, 0.95
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-5
STEPS = 100  # training steps of a call
Layers = list[tuple[Any, Any]]


class JaxLoop:
    """Trains a policy and a value network on 2-D Ackley, ``STEPS`` training steps a call."""

    def __init__(self) -> None:
        key, *keys = jax.random.split(jax.random.PRNGKey(0), 3)
        networks = tuple(_layers(one, (2, *SIZES, outputs)) for one, outputs in zip(keys, (2, 1), strict=True))
        zeros = jax.tree.map(jnp.zeros_like, networks)
        self._state = networks, (zeros, zeros), 1.0, key
        self._run = jax.jit(lambda state: jax.lax.scan(_training_step, state, None, STEPS))
        self.step_ms()  # compiles it

    def step_ms(self) -> float:
        """Returns the milliseconds that a training step takes."""
        started = time.perf_counter()
        self._state, rewards = self._run(self._state)
        jax.block_until_ready(rewards)
        return 1000 * (time.perf_counter() - started) / STEPS


def _layers(key: Any, sizes: tuple[int, ...]) -> Layers:
    """Draws the parameters of a network."""
    keys = jax.random.split(key, len(sizes))
    pairs = zip(keys, sizes[:-1], sizes[1:], strict=False)
    return [(jax.random.normal(one, (i, o)) / i**0.5, jnp.zeros(o)) for one, i, o in pairs]


def _forward(layers: Layers, x: Any) -> Any:
    *hidden, (weight, bias) = layers
    for w, b in hidden:
        x = jnp.tanh(x @ w + b)
    return x @ weight + bias


def _gaussian(layers: Layers, obs: Any) -> tuple[Any, Any]:
    """Returns mean and log std of the action."""
    out = _forward(layers, obs)
    return out[..., :1], 0.5 * jnp.log(jnp.exp(2 * jnp.minimum(out[..., 1:], 4.0)) + STD_FLOOR**2)


def _logprob(mean: Any, log_std: Any, action: Any) -> Any:
    return (-0.5 * ((action - mean) / jnp.exp(log_std)) ** 2 - log_std - 0.5 * jnp.log(2 * jnp.pi)).sum(-1)


def _ackley(states: Any) -> Any:
    z = 32.768 * states
    ripple = jnp.cos(2 * jnp.pi * z).mean(-1)
    return -20 * jnp.exp(-0.2 * jnp.sqrt((z * z).mean(-1))) - jnp.exp(ripple) + 20 + jnp.e


def _loss(networks: tuple[Layers, Layers], obs: Any, actions: Any, logprobs: Any, advantages: Any, returns: Any) -> Any:
    policy, value = networks
    ratio = jnp.exp(_logprob(*_gaussian(policy, obs), actions) - logprobs)
    clipped = jnp.clip(ratio, 1 - CLIP, 1 + CLIP)
    errors = (_forward(value, obs)[:, 0] - returns) ** 2
    return jnp.maximum(-advantages * ratio, -advantages * clipped).mean() + VALUE_WEIGHT * 0.5 * errors.mean()


def _gradient_step(state: tuple[Any, Any, Any], batch: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Takes a step of Adam along the gradient, whose norm is limited."""
    networks, (first, second), number = state
    gradient = jax.grad(_loss)(networks, *batch)
    norm = jnp.sqrt(sum((one * one).sum() for one in jax.tree.leaves(gradient)))
    gradient = jax.tree.map(lambda g: g * jnp.minimum(1.0, LIMIT / norm), gradient)
    first = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, first, gradient)
    second = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, second, gradient)

    def moved(p: Any, m: Any, v: Any) -> Any:
        root = jnp.sqrt(v / (1 - BETA2**number)) + EPSILON
        return p - RATE * m / (1 - BETA1**number) / root

    return jax.tree.map(moved, networks, first, second), (first, second), number + 1


def _training_step(state: tuple[Any, ...], _: None) -> tuple[tuple[Any, ...], Any]:
    """Collects, estimates advantages and takes the gradient steps; returns the new state and the mean reward."""
    (policy, value), moments, number, key = state
    key, of_starts, of_noise = jax.random.split(key, 3)
    starts = jax.random.uniform(of_starts, (EPISODES, 2), minval=-1.0, maxval=1.0)

    def time_step(states: Any, noise: Any) -> tuple[Any, tuple[Any, ...]]:
        mean, log_std = _gaussian(policy, states)
        actions = mean + jnp.exp(log_std) * noise
        after = jnp.concatenate([jnp.clip(actions, -1, 1), states[:, 1:]], axis=1)
        return after, (states, actions, _logprob(mean, log_std, actions), _ackley(states) - _ackley(after))

    last, facts = jax.lax.scan(time_step, starts, jax.random.normal(of_noise, (TIME_STEPS, EPISODES, 1)))
    obs, actions, logprobs, rewards = facts
    values = _forward(value, jnp.concatenate([obs, last[None]]))[..., 0]
    deltas = rewards + GAMMA * values[1:] - values[:-1]
    later = deltas[1]
    advantages = jnp.stack([deltas[0] + GAMMA * GAE_LAMBDA * later, later])
    returns = advantages + values[:-1]
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    batch = tuple(one.reshape(-1, *one.shape[2:]) for one in (obs, actions, logprobs, advantages, returns))
    begun = (policy, value), moments, number
    (networks, moments, number), _ = jax.lax.scan(lambda s, _: (_gradient_step(s, batch), None), begun, None, EPOCHS)
    return (networks, moments, number, key), rewards.mean()
