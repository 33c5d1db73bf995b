"""Several Gaussians in one policy: what each learns from its own pairs, and what the gate learns from their difference.

In a slot each live component acts in pairs of time steps, with mirrored noise, under the same conditions. A component
learns from which of its pair was better; the gate from the means of all components, which are all there, so that its
gradient is an expectation over the components instead of a sample of one.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import torch

from actors.policy import Policy, centre_states
from actors.snapshot import NetworkSpec
from actors.trajectory import Trajectory
from env.coordinates import value_on_step
from ppo.algorithm.advantages import inverse_density_weights, leave_one_out_advantages
from ppo.algorithm.conditions import fixed_conditions
from ppo.algorithm.device import Array, sent
from ppo.algorithm.outcomes import sound_mean

GATE_CONDITIONS = (65, 64)
"""Fixed conditions, for one and for several, at which it is looked whether the gate forgets a component."""
FORGOTTEN = 1e-3


@dataclass(frozen=True)
class GateBatch:
    """What a batch of several components has beside that of one; NumPy's arrays, or tensors on a device.

    Attributes:
        components: component that acted, ``[n]``.
        logprobs: its log-probability by the gate before the update, ``[n]``.
        advantages: of the component over the others, ``[n]``.
        weights: its probability before the update over the share of the rows in which it acts, ``[n]``.
        live: components in use, ``[K]`` of bool.
    """

    components: Array
    logprobs: Array
    advantages: Array
    weights: Array
    live: Array

    def rows(self, index: Array) -> "GateBatch":
        """Returns the minibatch of these rows."""
        return GateBatch(
            self.components[index], self.logprobs[index], self.advantages[index], self.weights[index], self.live
        )

    def sent(self, device: torch.device) -> "GateBatch":
        """Returns the batch as tensors on a device."""
        return GateBatch(*(sent(getattr(self, name), device) for name in self.__dataclass_fields__))


def acted_components(actions: np.ndarray) -> np.ndarray:
    """Returns the component that acts at each time step, the same in all slots ``[E, T, knobs + 1]``, ``[T]``."""
    return actions[0, :, -1].astype(np.int64)


def pair_advantages(objectives: np.ndarray, actions: np.ndarray, rank_weight: float) -> np.ndarray:
    """Returns the advantages of each time step over the other one of its pair, ``[E, T]``.

    Args:
        objectives: f of what each action led to, ``[E, T]``.
        actions: without the component, ``[E, T, knobs]``.
        rank_weight: as ``leave_one_out_advantages`` takes it.
    """
    pairs = objectives.reshape(-1, 2)
    return leave_one_out_advantages(pairs, actions.reshape(-1, 2, actions.shape[2]), rank_weight).reshape(
        objectives.shape
    )


def component_advantages(
    objectives: np.ndarray, components: np.ndarray, count: int, rank_weight: float
) -> tuple[np.ndarray, np.ndarray]:
    """Compares the means of the components of a slot; one of which all failed is the worst.

    Args:
        objectives: f of what each action led to, NaN where it failed, ``[E, T]``.
        components: component that acted at each time step, the same in all slots, ``[T]``.
        count: number of components, K.
        rank_weight: as ``leave_one_out_advantages`` takes it.

    Returns:
        Advantages of each row's component over the others, ``[E, T]``, and the share of rows that each component has,
        ``[K]``.
    """
    live, place = np.unique(components, return_inverse=True)
    shares = np.bincount(components, minlength=count) / len(components)
    if len(live) == 1:
        return np.zeros_like(objectives), shares
    means = component_means(objectives, components, count)[:, live]
    means = np.where(np.isinf(means), np.nan, means)
    advantages = leave_one_out_advantages(means, np.zeros((*means.shape, 1)), rank_weight)
    return advantages[:, place], shares


def component_means(objectives: np.ndarray, components: np.ndarray, count: int) -> np.ndarray:
    """Returns the mean f of each component in each slot, ``[E, K]``, inf for one that did not act, or always failed.

    Args:
        objectives: f of what each action led to, NaN where it failed, ``[E, T]``.
        components: component that acted at each time step, the same in all slots, ``[T]``.
        count: number of components, K.
    """
    means = np.full((len(objectives), count), np.inf)
    for one in np.unique(components):
        means[:, one] = sound_mean(objectives[:, components == one])
    return means


def slot_weights(conditions: np.ndarray, bandwidth: float) -> np.ndarray:
    """Returns weights of slots that make all conditions count alike, ``[E, 1]``."""
    return inverse_density_weights(conditions, bandwidth)[:, None]


def slot_advantages(trajectory: Trajectory, rank_weight: float, bandwidth: float) -> np.ndarray:
    """Returns leave-one-out advantages ``[E, T]``, weighted so that all conditions count alike."""
    advantages = leave_one_out_advantages(trajectory.objectives[:, 1:], trajectory.actions, rank_weight)
    conditions = trajectory.obs[:, 0, trajectory.actions.shape[2] :]
    return advantages * slot_weights(conditions, bandwidth)


def ignore_knobs(spec: NetworkSpec, theta: np.ndarray) -> None:
    """Makes a policy the same wherever the knobs stand, in place: that says nothing about which are the best."""
    spec.views(theta)[0][0][: spec.action_dim] = 0.0


def remembered(policy: Policy) -> np.ndarray:
    """Returns which components the gate of a policy does not forget under all conditions, ``[K]`` of bool."""
    spec = policy.snapshot.spec
    conditions = fixed_conditions(spec.obs_dim - spec.action_dim, *GATE_CONDITIONS)
    logprobs = policy.gate(centre_states(conditions, spec.action_dim))
    return logprobs.max(axis=0) > np.log(FORGOTTEN)


def label_values(spec: NetworkSpec) -> np.ndarray:
    """Returns all combinations of the choices' options, normalised, ``[combinations, choices]``; one without any."""
    steps = [spec.steps[j] for j in spec.labelled]
    values = [[value_on_step(place * step - 1, step) for place in range(round(2 / step) + 1)] for step in steps]
    found = list(itertools.product(*values))
    return np.array(found, np.float64).reshape(len(found), len(spec.labelled))


def label_components(spec: NetworkSpec, theta: np.ndarray) -> None:
    """Gives the components their labels in every state, in place: the combinations in turn."""
    weight, bias = spec.views(theta)[-1]
    values = label_values(spec)
    for component in range(spec.components):
        own = spec.own_outputs(np.array([component]))[0]
        weight[:, own[_label_outputs(spec)]] = 0.0
        bias[own[list(spec.labelled)]] = values[component % len(values)]


def frozen(spec: NetworkSpec, free_std: bool = False) -> np.ndarray | None:
    """Returns which parameters are not trained, ``[size]`` of bool; None where there are none.

    They are those that give labels, and, of a std that is the same in all states, its weights.
    """
    free_std &= spec.head == "gaussian"
    if not spec.labelled and not free_std:
        return None
    found = np.zeros(spec.size, bool)
    weight, bias = spec.views(found)[-1]
    own = spec.own_outputs(np.arange(spec.components))
    if spec.labelled:
        columns = own[:, _label_outputs(spec)].reshape(-1)
        weight[:, columns], bias[columns] = True, True
    if free_std:
        weight[:, own[:, spec.action_dim :].reshape(-1)] = True
    return found


def label_of(spec: NetworkSpec, theta: np.ndarray, component: int) -> np.ndarray:
    """Returns a component's label, ``[choices]``."""
    return spec.views(theta)[-1][1][spec.own_outputs(np.array([component]))[0, list(spec.labelled)]]


def _label_outputs(spec: NetworkSpec) -> list[int]:
    """Returns which of a component's means and raw log stds belong to its label."""
    return [*spec.labelled, *(spec.action_dim + j for j in spec.labelled)]


def first_means(count: int, knobs: int, rng: np.random.Generator) -> np.ndarray:
    """Returns where the means of components start, apart from each other, ``[count, knobs]``: a Latin hypercube."""
    from scipy.stats import qmc  # imported here, since it is slow to load

    return 2 * qmc.LatinHypercube(knobs, scramble=False, rng=rng).random(count) - 1
