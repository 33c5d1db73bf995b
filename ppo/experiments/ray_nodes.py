"""A Ray cluster of several nodes on this machine, to measure and to break."""

import contextlib
from collections.abc import Iterator
from typing import Any

import psutil

from actors.pools.cluster.connection import imported_ray

NEEDED = "ppo.study: this study needs Ray"
AGENT, RAYLET = "ray::Agent", "raylet"
"""How the names of their processes begin; the method that an agent runs may follow its own."""


class Nodes:
    """A cluster whose head runs no agent.

    Args:
        cpus: processors that each node says that it has.
    """

    def __init__(self, cpus: int):
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False}
        self._cluster, self._cpus = Cluster(initialize_head=True, head_node_args=head), cpus
        self._nodes: list[Any] = []
        self.address: str = self._cluster.address

    def add(self) -> None:
        """Adds a node."""
        self._nodes.append(self._cluster.add_node(num_cpus=self._cpus))

    def remove(self) -> None:
        """Lets the node leave that came first."""
        self._cluster.remove_node(self._nodes.pop(0))

    def kill(self) -> None:
        """Kills raylet and agent of the node that came first, with SIGKILL.

        The raylet is first: it would tell of an agent that ended before it, as of one whose node is there.
        """
        node = self._nodes.pop(0)
        (info,) = node.all_processes[RAYLET]
        raylet = psutil.Process(info.process.pid)
        agents = [child for child in raylet.children(recursive=True) if child.name().startswith(AGENT)]
        raylet.kill()
        for one in agents:
            with contextlib.suppress(psutil.NoSuchProcess):  # one that saw it end
                one.kill()

    @property
    def bytes(self) -> int:
        """Memory of this process and of all that it and the cluster have started: the sum of their proportional sets.

        What processes share, such as the pages of a module, is divided among them.
        """
        return sum(_proportional_bytes(one) for one in [psutil.Process(), *psutil.Process().children(recursive=True)])

    def close(self) -> None:
        """Ends the cluster."""
        self._cluster.shutdown()


def _proportional_bytes(process: psutil.Process) -> int:
    try:
        return process.memory_full_info().pss
    except psutil.Error:  # it has ended
        return 0


@contextlib.contextmanager
def nodes_of(cpus: list[int]) -> Iterator[Nodes]:
    """Starts a cluster on this machine, with nodes of so many processors, and ends it.

    Raises:
        UsageError: Ray is not installed.
    """
    ray = imported_ray(NEEDED)
    nodes = Nodes(cpus[0])
    try:
        for _ in cpus:
            nodes.add()
        yield nodes
    finally:
        ray.shutdown()
        nodes.close()
