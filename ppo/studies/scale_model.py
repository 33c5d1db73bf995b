"""What a training step of very many drivers takes, computed from what its parts cost: pure functions.

A step of one learner, for a driver that has one task in it:

    snapshot out | task, evaluations, answer of the driver | answers in, taken in and merged | update
      waits      |  works                                  |   waits                         |  waits

All drivers work as long, so that their answers come together: the case in which they wait most.
"""

import math
from dataclasses import dataclass

NODE_DRIVERS = 64
BUSY = 0.9
SWEEPS = 2
"""Calls of each agent at the end of a step: one is under way when the last answer comes, and one more brings it."""
INLINE_BYTES = 100_000
"""Above this, Ray carries bytes through its object stores."""


@dataclass(frozen=True)
class Costs:
    """Seconds of a core, measured.

    Attributes:
        deal: of the learner for a message, whatever brings it.
        call: of the learner for a call of an agent.
        look: of the learner for each node at each call.
        pipe: of an agent for a message of one of its drivers.
        driver: of a driver for a task, beside its evaluations.
        receive: of the learner for a byte that comes through Ray's object store.
        store: of the raylet of the learner's node for such a byte.
    """

    deal: float
    call: float
    look: float
    pipe: float
    driver: float
    receive: float
    store: float


@dataclass(frozen=True)
class Work:
    """What is learned.

    Attributes:
        name: of it.
        evaluations: of a slot, one after another.
        answer: bytes of a slot's trajectory.
        task: bytes of a task.
        snapshot: bytes of the policy.
        share: seconds to pack, put, fetch and share the policy, one after another.
        merge: seconds of the learner to merge and keep a slot that comes alone.
        merge_block: the same for a slot that comes with those of its node.
        update: seconds of the learner to learn from a slot.
        gradient: bytes of a gradient.
        gradient_steps: in a training step.
    """

    name: str
    evaluations: int
    answer: int
    task: int
    snapshot: int
    share: float
    merge: float
    merge_block: float
    update: float
    gradient: int
    gradient_steps: int


@dataclass(frozen=True)
class Design:
    """How a step is run.

    Attributes:
        name: of it.
        slots: of a task.
        merging: whether an agent merges the slots of its node into one message.
        fan_in: agents that one agent of a tree takes in; 0 for no tree.
        learners: each with its share of the nodes and of the gradient.
    """

    name: str
    slots: int = 1
    merging: bool = False
    fan_in: int = 0
    learners: int = 1


TODAY = Design("today")
DESIGNS = (
    TODAY,
    Design("16 slots a task", slots=16),
    Design("agents that merge", merging=True),
    Design("a tree of merging agents, 16 a knot", merging=True, fan_in=16),
    Design("16 learners, agents that merge", merging=True, learners=16),
)


@dataclass(frozen=True)
class Step:
    """A training step.

    Attributes:
        parts: seconds that each part takes, by name.
        bytes_out, bytes_in: of the busiest learner's link.
        stored: bytes in the object store of the learner's node.
        waiting: seconds in which a driver has nothing to evaluate.
        shortest: seconds of the shortest evaluation for which drivers evaluate ``BUSY`` of the time.
    """

    parts: dict[str, float]
    bytes_out: float
    bytes_in: float
    stored: float
    waiting: float
    shortest: float

    @property
    def binds(self) -> str:
        """The part that takes longest."""
        return max(self.parts, key=lambda name: self.parts[name])


def step(drivers: int, work: Work, costs: Costs, bandwidth: float, design: Design = TODAY) -> Step:
    """Computes a training step of one task a driver.

    Args:
        drivers: how many there are, ``NODE_DRIVERS`` a node.
        work: what is learned.
        costs: what is measured.
        bandwidth: of the link of any machine, each way, bytes/s.
        design: how it is run.
    """
    nodes = math.ceil(math.ceil(drivers / NODE_DRIVERS) / design.learners)
    own = math.ceil(drivers / design.learners)
    slots = own * design.slots
    senders = math.ceil(nodes / design.fan_in) if design.fan_in else nodes
    copies = senders + min(nodes, design.fan_in)  # sent one after another along a path of the tree
    bytes_in, bytes_out = slots * work.answer, own * work.task + nodes * work.snapshot
    if design.fan_in:
        bytes_out = own * work.task + senders * work.snapshot
    messages = senders if design.merging else own
    stored_in = bytes_in if _stored(senders, bytes_in) else 0
    parts = {
        "snapshot out": work.share + (own * work.task + copies * work.snapshot) / bandwidth,
        "answers in": bytes_in / bandwidth,
        "messages": _taking_in(senders, messages, slots, work, costs, design) + stored_in * costs.receive,
        "object store": stored_in * costs.store,
        "agent": _agent(min(drivers, NODE_DRIVERS), nodes, work, costs, design),
        "update": slots * work.update,
        "gradients": _exchange(work, design.learners, bandwidth),
        "driver": costs.driver,
    }
    together = max(parts[name] for name in ("answers in", "messages", "object store", "agent"))
    waiting = parts["snapshot out"] + parts["driver"] + together + parts["update"] + parts["gradients"]
    stored_out = work.snapshot if work.snapshot > INLINE_BYTES else 0
    shortest = waiting * BUSY / (1 - BUSY) / (work.evaluations * design.slots)
    return Step(parts, bytes_out, bytes_in, stored_out + stored_in, waiting, shortest)


def _stored(senders: int, bytes_in: float) -> bool:
    """Returns whether what one sender sends at once goes through the object store."""
    return bytes_in / senders > INLINE_BYTES


def _taking_in(senders: int, messages: int, slots: int, work: Work, costs: Costs, design: Design) -> float:
    """Returns the learner's seconds for calls, messages and merging."""
    calls = SWEEPS * senders * (costs.call + costs.look * senders)
    alone = 0 if design.merging else messages  # the first slot of a task costs as one that comes alone
    return calls + messages * costs.deal + alone * work.merge + (slots - alone) * work.merge_block


def _agent(drivers: int, nodes: int, work: Work, costs: Costs, design: Design) -> float:
    """Returns the seconds of the busiest agent; in a tree, it takes in those of other nodes as a learner does."""
    seconds = drivers * costs.pipe
    if design.merging:
        seconds += drivers * design.slots * work.merge_block
    if design.fan_in:
        others = min(nodes, design.fan_in)
        seconds += _taking_in(others, others, others * drivers * design.slots, work, costs, design)
    return seconds


def _exchange(work: Work, learners: int, bandwidth: float) -> float:
    """Returns the seconds in which learners add up their gradients.

    Learner i sums the i-th part of all gradients, in the order of learners, and sends the sum to the others: each sends
    2 (L - 1) / L of a gradient in a gradient step.
    """
    return work.gradient_steps * 2 * (learners - 1) / learners * work.gradient / bandwidth
