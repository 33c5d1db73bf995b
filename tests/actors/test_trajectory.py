"""The merge gives slot order whatever arrives when, and refuses what does not make up a round, naming the slot."""

import dataclasses
import itertools

import numpy as np
import pytest

from actors.trajectory import Layout, MergeError, Merger, Trajectory, merge

LAYOUT = Layout(time_steps=3, obs_dim=2, action_dim=1, objectives=True)


def trajectory(start, stop, version=5, layout=LAYOUT, driver=0):
    """Returns a trajectory whose every number is 1000 * slot + 10 * time step + position."""
    made = Trajectory.empty(layout, stop - start)
    for row, slot in enumerate(range(start, stop)):
        made.slots[row], made.versions[row], made.drivers[row], made.evaluations[row] = slot, version, driver, slot + 1
        for t in range(layout.time_steps):
            base = 1000 * slot + 10 * t
            made.obs[row, t] = base + np.arange(layout.obs_dim)
            made.final_obs[row, t] = -base - np.arange(layout.obs_dim)
            made.actions[row, t] = base + 3
            made.logprobs[row, t] = base + 4
            made.rewards[row, t] = base + 5
            made.terminations[row, t] = (slot + t) % 3 == 0
            made.truncations[row, t] = (slot + t) % 4 == 0
        made.objectives[row] = 1000 * slot + 10 * np.arange(made.objectives.shape[1]) + 6
    return made


def check_identity(merged, slots):
    whole = trajectory(0, slots)
    for name in LAYOUT.fields:
        if name != "drivers":
            assert np.array_equal(getattr(merged, name), getattr(whole, name)), name


def test_every_order_of_arrival_gives_slot_order():
    several = [trajectory(0, 2), trajectory(2, 3), trajectory(3, 6), trajectory(6, 7)]
    for order in itertools.permutations(several):
        check_identity(merge(order, LAYOUT, 7, 5), 7)


def test_rows_of_a_trajectory_may_be_out_of_order():
    made = trajectory(0, 4)
    shuffled = dataclasses.replace(made, **{name: getattr(made, name)[[2, 0, 3, 1]] for name in LAYOUT.fields})
    check_identity(merge([shuffled], LAYOUT, 4, 5), 4)


@pytest.mark.parametrize("shares", [1, 2, 3, 7, 16, 30])
def test_every_split_of_the_slots_gives_the_same(shares):
    ends = [30 * i // shares for i in range(shares + 1)]
    split = [trajectory(a, b, driver=i) for i, (a, b) in enumerate(itertools.pairwise(ends))]
    merged = merge(split[::-1], LAYOUT, 30, 5)
    check_identity(merged, 30)
    assert merged.drivers[0] == 0
    assert merged.drivers[-1] == shares - 1


@pytest.mark.parametrize(
    ("trajectories", "message"),
    [
        ([trajectory(0, 3), trajectory(2, 5)], "slot 2: its trajectory came twice"),
        ([trajectory(0, 5), trajectory(0, 5)], "slot 0: its trajectory came twice"),
        ([trajectory(0, 2), trajectory(3, 5)], "slot 2: its trajectory is missing"),
        ([], "slot 0: its trajectory is missing"),
        ([trajectory(0, 3), trajectory(3, 5, version=4)], "slot 3: collected by policy version 4, not by version 5"),
        ([trajectory(0, 3), trajectory(3, 7)], "slot 5: out of range"),
        (
            [trajectory(0, 3), trajectory(3, 5, layout=dataclasses.replace(LAYOUT, obs_dim=3))],
            r"slot 3: obs is float64 \(2, 3, 3\)",
        ),
        ([trajectory(0, 3), trajectory(3, 5, layout=dataclasses.replace(LAYOUT, time_steps=4))], "slot 3: obs"),
        (
            [trajectory(0, 3), trajectory(3, 5, layout=dataclasses.replace(LAYOUT, objectives=False))],
            "slot 3: objectives",
        ),
        (
            [trajectory(0, 3), dataclasses.replace(trajectory(3, 5), rewards=np.zeros((2, 3), np.float32))],
            "slot 3: rewards is float32",
        ),
        ([trajectory(0, 3), dataclasses.replace(trajectory(3, 5), logprobs=np.zeros((1, 3)))], "slot 3: logprobs"),
    ],
)
def test_what_does_not_fit_is_refused_by_slot(trajectories, message):
    with pytest.raises(MergeError, match=message):
        merge(trajectories, LAYOUT, 5, 5)


def test_a_trajectory_is_views_of_one_buffer():
    made = trajectory(2, 5)
    copy = Trajectory.over(LAYOUT, 3, bytes(made.buffer))
    for name in LAYOUT.fields:
        assert np.array_equal(getattr(copy, name), getattr(made, name))
    assert len(made.buffer) == 3 * LAYOUT.slot_bytes
    with pytest.raises(MergeError, match="bytes"):
        Trajectory.over(LAYOUT, 4, made.buffer)


def test_a_merger_reuses_its_arrays_and_begins_empty():
    merger = Merger(LAYOUT, 7)
    for version in (5, 6):
        merger.begin(version)
        for start, stop in ((4, 7), (0, 1), (1, 4)):
            assert not merger.complete
            merger.add(trajectory(start, stop, version))
        assert merger.complete
        first = merger.result()
        assert first.versions.tolist() == [version] * 7
    assert merger.result() is first
    merger.begin(7)
    with pytest.raises(MergeError, match="slot 0: its trajectory is missing"):
        merger.result()
