"""What the study of scale shows: its measurements, and what the model computes from them."""

from collections.abc import Mapping

from actors.snapshot import NetworkSpec
from ppo.experiments.tables import Table, markdown
from ppo.studies.scale_model import DESIGNS, Costs, Step, Work, step

DRIVERS = (100, 1000, 10_000)
LINKS = {"1 Gbit/s": 1.25e8, "10 Gbit/s": 1.25e9}
MEASURED, CHECKED = 32, 64
"""Drivers by which a call of an agent is measured, and by which that is checked."""
UNITS = {"us": 1e-6, "ns": 1e-9}


def shape(width: int) -> str:
    """Returns the name of a network of two layers."""
    return f"{width:,} x {width:,}"


def values_of(table: Table) -> dict[str, float]:
    """Returns the values of the table, in seconds, bytes and numbers, by name."""
    return {row["run"]: float(row["value"]) * UNITS.get(row["unit"], 1.0) for row in table.rows}


def costs_of(value: Mapping[str, float]) -> Costs:
    """Returns the costs; ``value`` holds seconds, bytes and numbers by name."""
    deal, name = value["message: 1,000 drivers"], f"Ray, {MEASURED} drivers"
    return Costs(
        deal=deal,
        call=(value[f"{name}: learner"] - deal) / value[f"{name}: calls"],
        look=2 * value["bytes over Ray: a silent node"],  # an answer takes two waits
        pipe=value["pipes: learner"],
        driver=value["pipes: driver"],
        receive=value["bytes over Ray: a byte in, learner"],
        store=value["bytes over Ray: a byte in, its raylet"],
    )


def works_of(value: Mapping[str, float]) -> list[Work]:
    """Returns what is learned, with its costs."""
    control = _work(value, "control, T = 1,000", "control", 64, evaluations=1000, gradient_steps=320)
    tuning = [_work(value, "tuning, T = 2", "tuning", width, evaluations=3, gradient_steps=10) for width in (64, 1024)]
    return [*tuning, control]


def _work(value: Mapping[str, float], name: str, kind: str, width: int, evaluations: int, gradient_steps: int) -> Work:
    network, merged = shape(width), f"slot: merged, {kind}"
    kept = {how: value[f"slot: kept, {how}"] if kind == "tuning" else 0.0 for how in ("one by one", "64 at once")}
    alone = value[f"{merged}, one by one"] - value["slot: merged, tuning, one by one"]  # which a message has in it
    obs, actions = (2, 1) if kind == "tuning" else (17, 6)
    return Work(
        f"{name}, {network}",
        evaluations,
        answer=int(value[f"message: an answer, {kind}"]),
        task=int(value["message: a task"]),
        snapshot=int(value[f"snapshot: {network}"]),
        share=2 * value[f"snapshot: {network}, shared"]  # here and on the node
        + value[f"bytes over Ray: {network}, put"]
        + value[f"bytes over Ray: {network}, fetched"],
        merge=alone + kept["one by one"],
        merge_block=value[f"{merged}, 64 at once"] + kept["64 at once"],
        update=value[f"slot: learned from, {kind}, {network}"],
        gradient=8 * _parameters(obs, actions, width),
        gradient_steps=gradient_steps,
    )


def _parameters(obs: int, actions: int, width: int) -> int:
    """Returns the number of parameters of policy and value network."""
    sizes = obs, (width, width), "tanh"
    return NetworkSpec(*sizes, "gaussian", actions).size + NetworkSpec(*sizes, "value", 1).size  # type: ignore[arg-type]


def report(table: Table) -> str:
    """Returns what is measured, and what is computed from it, as Markdown."""
    value = values_of(table)
    costs, works = costs_of(value), works_of(value)
    name = f"Ray, {CHECKED} drivers"
    expected, found = costs.deal + value[f"{name}: calls"] * costs.call, value[f"{name}: learner"]
    check = (
        f"A call of an agent costs the learner {1e6 * costs.call:.0f} us, computed from {MEASURED} drivers. By that a "
        f"task costs it {1e6 * expected:.0f} us with {CHECKED} drivers, of which {1e6 * found:.0f} us were measured."
    )
    parts = ("## Measured", table.markdown(), check, "## Computed: today", today(works, costs))
    return "\n\n".join(part.strip() for part in (*parts, "## Computed: designs", designs(works, costs))) + "\n"


def today(works: list[Work], costs: Costs) -> str:
    """Returns a table of a training step as it is run today; what goes over the link with the first link's seconds."""
    names = ("messages", "update", "agent", "snapshot out", "answers in", "object store")
    header = ("work", "drivers", *names, *(f"shortest, {link}" for link in LINKS))
    lines = []
    for work in works:
        for drivers in DRIVERS:
            steps = [step(drivers, work, costs, speed) for speed in LINKS.values()]
            sizes = dict(zip(names[3:], (steps[0].bytes_out, steps[0].bytes_in, steps[0].stored), strict=True))
            parts = [_seconds(steps[0].parts[name]) for name in names[:3]]
            parts += [f"{_bytes(size)}, {_seconds(steps[0].parts[name])}" for name, size in sizes.items()]
            lines.append((work.name, f"{drivers:,}", *parts, *map(_shortest, steps)))
    return markdown(header, lines)


def designs(works: list[Work], costs: Costs) -> str:
    """Returns a table of the shortest evaluations of all designs."""
    header = ("work", "design", *(f"{drivers:,} drivers, {link}" for drivers in DRIVERS[1:] for link in LINKS))
    lines = []
    for work in works:
        for design in DESIGNS:
            steps = [step(n, work, costs, speed, design) for n in DRIVERS[1:] for speed in LINKS.values()]
            lines.append((work.name, design.name, *map(_shortest, steps)))
    return markdown(header, lines)


def _shortest(one: Step) -> str:
    return f"{_seconds(one.shortest)} ({one.binds})"


def _seconds(value: float) -> str:
    """Returns seconds with two digits."""
    return f"{float(f'{value:.2g}'):,g} s" if value >= 1 else f"{float(f'{1000 * value:.2g}'):,g} ms"


def _bytes(value: float) -> str:
    return f"{float(f'{value / 1e6:.2g}'):,g} MB"
