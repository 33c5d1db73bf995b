"""Where learner, network and object store saturate for very many drivers: computed from what is measured here."""

import dataclasses
import functools
from collections.abc import Callable

from actors.pools.cluster.connection import imported_ray
from actors.snapshot import NetworkSpec
from ppo.config import Config, resolve
from ppo.experiments import costs
from ppo.experiments.cluster_costs import on_nodes, over_pipes, over_ray
from ppo.experiments.ray_nodes import NEEDED
from ppo.experiments.tables import Table, machine
from ppo.experiments.workloads import STANDARD, fresh_snapshot
from ppo.studies.runs import Options
from ppo.studies.scale_model import NODE_DRIVERS
from ppo.studies.scale_report import CHECKED, DRIVERS, MEASURED, report, shape

TAKES, GROUPS = ("quick",), ()
COLUMNS = ("run", "value", "unit", "measured")
WIDTHS = (64, 256, 1024)
SILENT = 157
"""Nodes of 10,000 drivers."""
CONTROL = Config(env="Pendulum-v1", episodes=8, time_steps=1000, num_minibatches=32)
"""Settings of the update; its data has HalfCheetah's shapes."""

Measured = dict[str, tuple[float, str, str]]
"""Values, units, and how they were measured, by name."""


def run(options: Options) -> None:
    """Measures the rows that are missing, and writes the tables.

    Raises:
        UsageError: Ray is not installed.
    """
    table = Table(options.out / "scale.csv", COLUMNS)
    missing = [group for group in MEASURES if not any(row["run"].startswith(f"{group}: ") for row in table.rows)]
    if missing:
        imported_ray(NEEDED)
    for group in missing:
        for name, (value, unit, how) in MEASURES[group](options.quick).items():
            table.add(f"{group}: {name}", f"{value:.0f}" if unit == "bytes" else f"{value:.4g}", unit, how)
    text = report(table)
    (options.out / "scale.md").write_text(f"{text}\n{machine(('ray',))}\n", encoding="utf-8")
    print(text)


def messages(quick: bool) -> Measured:
    """Measures what the learner pays for a message, whatever brings it, and the bytes."""
    found, how = Measured(), "real pool; drivers that answer at once, in this process"
    for drivers in DRIVERS:
        found[f"{drivers:,} drivers"] = _us(costs.dealing(drivers, 3 if quick else max(3, 30_000 // drivers)), how)
    return found | {
        "a task": (costs.task_bytes(), "bytes", "in a call of an agent"),
        "an answer, tuning": (costs.answer_bytes(costs.TUNING), "bytes", "T = 2, 2-D Ackley"),
        "an answer, control": (costs.answer_bytes(costs.CONTROL), "bytes", "T = 1,000, 17 observations, 6 actions"),
    }


def slots(quick: bool) -> Measured:
    """Measures merging, the archive and the update."""
    rounds, found = 3 if quick else 50, Measured()
    for block, how in ((1, "one by one"), (NODE_DRIVERS, "64 at once")):
        for name, layout in (("tuning", costs.TUNING), ("control", costs.CONTROL)):
            found[f"merged, {name}, {how}"] = _us(costs.merging(layout, 64, block, rounds), "checked and copied")
        found[f"kept, {how}"] = _us(costs.keeping(block, rounds), "archive, 3 evaluations a slot")
    for width, many in ((64, 512), (1024, 64)):
        config = dataclasses.replace(resolve(STANDARD), hidden_sizes=(width, width))
        spec = NetworkSpec(2, config.hidden_sizes, "tanh", "gaussian", 1)
        how = f"T = 2, 10 epochs, a batch of {many} slots"
        found[f"learned from, tuning, {shape(width)}"] = _us(costs.updating(config, spec, costs.TUNING, many, 3), how)
    spec = NetworkSpec(17, (64, 64), "tanh", "gaussian", 6)
    seconds = costs.updating(resolve(CONTROL), spec, costs.CONTROL, CONTROL.episodes or 1, 3)
    return found | {"learned from, control, 64 x 64": _us(seconds, "T = 1,000, 10 epochs, 32 minibatches of 250")}


def snapshots(quick: bool) -> Measured:
    """Measures what a snapshot takes on a machine."""
    found = Measured()
    for width in WIDTHS:
        snapshot = fresh_snapshot(0, (width, width))
        found[shape(width)] = (len(snapshot.to_bytes()), "bytes", "float64")
        seconds = costs.sharing(snapshot, 3 if quick else 30)
        found[f"{shape(width)}, shared"] = _us(seconds, "packed, compared with the last, put into shared memory")
    return found


def pipes(quick: bool) -> Measured:
    """Measures a task over pipes."""
    found = over_pipes(MEASURED, 10 if quick else 400)
    how = f"a task, {MEASURED} drivers, evaluations of 5 ms"
    return {part: _us(seconds, how) for part, seconds in found.items()}


def ray(drivers: int, quick: bool) -> Measured:
    """Measures a task on two nodes of a Ray cluster."""
    found = over_ray(drivers, 10 if quick else 200)
    how = "a task, two nodes, evaluations of 5 ms"
    return {"calls": (found.pop("calls"), "", how), **{part: _us(seconds, how) for part, seconds in found.items()}}


def bytes_over_ray(quick: bool) -> Measured:
    """Measures what bytes, and silent nodes, cost over Ray."""
    contents = {shape(width): fresh_snapshot(0, (width, width)).to_bytes() for width in WIDTHS}
    found = on_nodes(contents, costs.CONTROL.slot_bytes, SILENT, 3 if quick else 20)
    named = {
        "a call": _us(found["call"], "that does nothing, the learner's side"),
        "a silent node": _us(found["look"], f"at each wait; {SILENT} waited for, and 2"),
        "a byte in, learner": (1e9 * found["receive"], "ns", "64 slots of control at once"),
        "a byte in, its raylet": (1e9 * found["store"], "ns", "the same"),
        "a byte in, other raylets": (1e9 * found["send"], "ns", "the same"),
    }
    for name in contents:
        named[f"{name}, put"] = _us(found[f"put {name}"], "into Ray's store")
        named[f"{name}, fetched"] = _us(found[f"fetch {name}"], "the agent's side, its call included")
    return named


def _us(seconds: float, how: str) -> tuple[float, str, str]:
    return 1e6 * seconds, "us", how


MEASURES: dict[str, Callable[[bool], Measured]] = {
    "message": messages,
    "slot": slots,
    "snapshot": snapshots,
    "pipes": pipes,
    **{f"Ray, {drivers} drivers": functools.partial(ray, drivers) for drivers in (MEASURED, CHECKED)},
    "bytes over Ray": bytes_over_ray,
}
"""What is measured together; the names of its rows begin with that."""
