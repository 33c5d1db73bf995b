"""What came of a round, as it is learned from and shown.

An evaluation that failed is NaN. It counts as worse than any other, and enters no mean.
"""

import dataclasses

import numpy as np

from actors.pools.base import NotFiniteSlotError
from actors.trajectory import Trajectory
from ppo.config import GAEConfig


def check_finite(trajectory: Trajectory, step: int, starts_evaluated: bool, keep_failures: bool = False) -> None:
    """Checks that the environment gave finite values in training step ``step``.

    Where f of the starts was left out, so was the reward that would need it. Where evaluations of f may fail, neither
    f nor rewards need be finite.

    Raises:
        NotFiniteSlotError: a value is not finite; the text names the slot.
    """
    unasked = not starts_evaluated and trajectory.objectives.size > 0
    outcomes = () if keep_failures else (("objectives", unasked), ("rewards", unasked))
    constraints = () if keep_failures else (("constraints", unasked),)
    for name, skipped in (*outcomes, *constraints, ("final_obs", False), ("obs", False)):
        values = getattr(trajectory, name)[:, int(skipped) :]
        if np.isfinite(values).all():
            continue
        bad = ~np.isfinite(values.reshape(len(trajectory), -1)).all(axis=1)
        slot = int(np.argmax(bad))
        text = (
            f"slot {slot} of step {step}: the environment's {name} are not finite; its start "
            f"was {trajectory.obs[slot, 0].tolist()}, its actions {trajectory.actions[slot, :8].tolist()}"
        )
        raise NotFiniteSlotError(text, slot)


def raw_rewards(trajectory: Trajectory, config: GAEConfig) -> np.ndarray:
    """Returns rewards ``[E, T]`` before scaling: the environment's, or a tuning problem's from its objective values.

    Where f failed, the worst value of the batch stands in its place.
    """
    if config.reward is None:
        return trajectory.rewards
    values = with_worst(trajectory.objectives)
    if config.transform == "symlog":
        values = np.sign(values) * np.log1p(np.abs(values))
    return -values[:, 1:] if config.reward == "objective" else values[:, :-1] - values[:, 1:]


def collected(trajectory: Trajectory) -> dict[str, float]:
    """Returns how good the collected actions are: the mean of f, or outside tuning the mean return of an episode.

    An episode that the slot's end cuts counts as one: with long episodes, the evaluations say more.
    """
    if trajectory.objectives.size:
        values = trajectory.objectives[:, 1:]  # a point that was skipped is infinite
        mean = float(sound_mean(np.where(np.isinf(values), np.nan, values), axis=None))
        return {"charts/objective": mean if np.isfinite(mean) else np.nan}
    ends = trajectory.terminations | trajectory.truncations
    return {"charts/episodic_return": float(trajectory.rewards.sum() / ends.sum())}


def sound_mean(values: np.ndarray, axis: int | None = -1) -> np.ndarray:
    """Returns the mean of the values that did not fail along an axis, over all of them for None; inf where all did."""
    failed = np.isnan(values)
    if not failed.any():
        return values.mean(axis=axis)
    sums, counts = np.where(failed, 0.0, values).sum(axis=axis), (~failed).sum(axis=axis)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)


def with_worst(values: np.ndarray) -> np.ndarray:
    """Returns values in which the largest finite one, which is the worst, stands for all that are not; 0 if none is."""
    finite = values[np.isfinite(values)]
    return np.where(np.isfinite(values), values, finite.max() if len(finite) else 0.0)


def feasible_first(trajectory: Trajectory) -> Trajectory:
    """Returns a trajectory in whose f, which is to be least, whatever breaks a constraint is worse than what does not.

    What does not keeps its f. The others follow by how much they break the constraints (Deb 2000, "An efficient
    constraint handling method for genetic algorithms", section 3), in the unit of f.
    """
    if not trajectory.constraints.shape[2]:
        return trajectory
    return dataclasses.replace(trajectory, objectives=merits(trajectory.objectives, trajectory.constraints))


def merits(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Returns f ``[...]`` with that of whatever breaks one of the constraints ``[..., constraints]`` in its place."""
    known = np.isfinite(f)
    broken = np.maximum(np.where(known[..., None], g, 0.0), 0.0)
    largest = broken.reshape(-1, g.shape[-1]).max(axis=0)
    share = (broken / np.where(largest > 0, largest, 1.0)).sum(axis=-1)
    kept = f[known & (share == 0)]
    kept = kept if len(kept) else f[known]
    if not len(kept):
        return f
    return np.where(known & (share > 0), kept.max() + (1 + share) * (np.ptp(kept) or 1.0), f)
