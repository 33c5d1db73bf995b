"""The model's best knobs at many conditions, learned by the policy's components.

For each of many conditions the model is searched for its best knobs. They are assigned to the component whose mean is
nearest; where none is near, a component that nothing was assigned to starts anew. The means are then fitted to what is
assigned to them (Amos 2023, arXiv 2202.00665: amortisation by regression). Beyond the conditions at which a component
is the best one it is fitted to its own valley, so that it is as good there where another one takes over.
"""

from dataclasses import dataclass

import numpy as np

from actors.policy import Policy, centre_states
from actors.snapshot import NetworkSpec, Snapshot
from ppo.algorithm.gate import fit_gate
from ppo.algorithm.model.gaussian_process import GaussianProcess
from ppo.algorithm.model.regression import Regression
from ppo.algorithm.model.search import expected, polished

OTHER_LABEL = 100.0  # added to the distance from a component of another label, more than knobs can lie apart
FAR = 0.05  # distance in knobs from which another component is worth having
ASSIGNMENTS, ASSIGNMENT_STEPS = 3, 10
VALLEY = 0.3  # distance in knobs within which a minimum belongs to the same valley
NEARLY = 0.03  # of the std of the warped f: by so much a valley may be above the best one
FOLLOWED = 2  # times that one component is fitted to its valley, which is searched from where it stands


@dataclass(frozen=True)
class Targets:
    """Knobs that components are to give.

    Attributes:
        conditions: ``[m, conditions]``.
        components: ``[m]``.
        knobs: ``[m, knobs]``.
    """

    conditions: np.ndarray
    components: np.ndarray
    knobs: np.ndarray


def assigned(
    targets: np.ndarray, means: np.ndarray, live: np.ndarray, labelled: tuple[int, ...] = ()
) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Assigns targets to the nearest components of the same label.

    Args:
        targets: ``[m, knobs]``.
        means: of the components at the targets' conditions, ``[m, K, knobs]``.
        live: components in use, ``[K]`` of bool.
        labelled: which knobs are choices.

    Returns:
        Component of each target, ``[m]``, and the components that start anew with the knobs at which they do.
    """
    distances = _distances(targets, means, labelled)
    distances[:, ~live] = np.inf
    anew: dict[int, np.ndarray] = {}
    names, in_use = [tuple(mean) for mean in means[0][:, labelled].tolist()], set(np.flatnonzero(live).tolist())
    for _ in range(means.shape[1]):
        counts, nearest = np.bincount(distances.argmin(axis=1), minlength=means.shape[1]), distances.min(axis=1)
        farthest = int(nearest.argmax())
        # Of the components that others can stand for, the one with the fewest targets.
        sole = [one in in_use and sum(names[one] == names[other] for other in in_use) == 1 for one in range(len(names))]
        free = sorted((one for one in range(len(names)) if one not in anew), key=lambda one: (sole[one], counts[one]))
        if not free or nearest[farthest] < FAR or (counts[free[0]] and nearest[farthest] < OTHER_LABEL):
            break
        anew[free[0]], names[free[0]] = targets[farthest], tuple(targets[farthest, labelled].tolist())
        in_use.add(free[0])
        distances[:, free[0]] = _distances(targets, targets[None, farthest : farthest + 1], labelled)[:, 0]
    return distances.argmin(axis=1), anew


def _distances(targets: np.ndarray, means: np.ndarray, labelled: tuple[int, ...]) -> np.ndarray:
    """Returns distances of targets ``[m, knobs]`` from means ``[m or 1, K, knobs]``, ``[m, K]``."""
    offsets = means - targets[:, None]
    other = (np.abs(offsets[..., labelled]) > 1e-6).any(axis=2) if labelled else 0.0
    return np.sqrt((offsets**2).sum(axis=2)) + OTHER_LABEL * other


def several(
    snapshot: Snapshot, model: GaussianProcess, knobs: np.ndarray, conditions: np.ndarray, std: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Fits as many components as it takes to the best knobs.

    Args:
        snapshot: the policy to start from.
        model: gives the components' own valleys.
        knobs: best ones, ``[m, knobs]``.
        conditions: at which they are, ``[m, conditions]``.
        std: of a component that starts anew.
        steps: of the last regression.

    Returns:
        Parameters of the policy, ``[size]``, and the component of each of the best knobs, ``[m]``.
    """
    spec, theta = snapshot.spec, snapshot.theta.copy()
    live = np.ones(spec.components, bool) if snapshot.live is None else snapshot.live.copy()
    for _ in range(ASSIGNMENTS):
        components, anew = assigned(knobs, proposals(spec, theta, conditions), live, spec.labelled)
        for component, place in anew.items():
            spec.place(theta, component, place, std)
            live[component] = True
        theta = regressed(spec, theta, Targets(conditions, components, knobs), ASSIGNMENT_STEPS)
    targets = overlapping(spec, theta, model, Targets(conditions, components, knobs))
    theta = regressed(spec, theta, targets, steps)
    fit_gate(spec, theta, centre_states(conditions, spec.action_dim), components)
    return theta, components


def overlapping(spec: NetworkSpec, theta: np.ndarray, model: GaussianProcess, best: Targets) -> Targets:
    """Adds to the best knobs those of the other components' valleys where they are nearly as good."""
    means = np.clip(proposals(spec, theta, best.conditions), -1, 1)
    limit = expected(model, best.knobs, best.conditions) + NEARLY * model.targets.std()
    rows = [best]
    for component in np.unique(best.components):
        others = np.flatnonzero(best.components != component)
        if len(others):
            start, conditions = means[others, component], best.conditions[others]
            found = polished(model, start, conditions, spec)
            nearly = expected(model, found, conditions) < limit[others]
            nearly &= np.abs(found - start).max(axis=1) < VALLEY
            nearly &= np.abs(found - best.knobs[others]).max(axis=1) > FAR  # else it is the same valley
            rows.append(Targets(conditions[nearly], np.full(nearly.sum(), component), found[nearly]))
    parts = ((row.conditions, row.components, row.knobs) for row in rows)
    return Targets(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def alone(
    spec: NetworkSpec, theta: np.ndarray, model: GaussianProcess, component: int, conditions: np.ndarray, steps: int
) -> np.ndarray:
    """Returns parameters under which one component gives the best knobs of the valley that it is in."""
    for _ in range(FOLLOWED):
        start = np.clip(proposals(spec, theta, conditions)[:, component], -1, 1)
        targets = Targets(conditions, np.full(len(start), component), polished(model, start, conditions, spec))
        theta = regressed(spec, theta, targets, steps)
    return theta


def regressed(spec: NetworkSpec, theta: np.ndarray, targets: Targets, steps: int) -> np.ndarray:
    """Returns parameters under which the components' means are near their targets."""
    free = spec.unlabelled
    if not free:
        return theta
    outputs = spec.own_outputs(targets.components)[:, free]
    obs = centre_states(targets.conditions, spec.action_dim)
    return Regression(spec, obs, outputs, targets.knobs[:, free]).fitted(theta, steps)


def proposals(spec: NetworkSpec, theta: np.ndarray, conditions: np.ndarray) -> np.ndarray:
    """Returns the components' means at conditions ``[m, conditions]``, ``[m, K, knobs]``."""
    return Policy(Snapshot(0, spec, theta)).proposals(centre_states(conditions, spec.action_dim))
