"""A stand-in for Ray in one process: what this program uses of it, its clock, and nodes that make trouble."""

import dataclasses
import types

from actors.pools import protocol
from tests.actors.pools.test_dealing import FakeHandle


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class RayActorError(RayError):
    pass


class ActorDiedError(RayActorError):
    pass


class ActorUnavailableError(RayActorError):
    pass


class ObjectLostError(RayError):
    pass


class LocalFleet:
    """Drivers of an agent, in this process: each answers at once, unless its node is slow.

    Attributes:
        slow: whether no driver answers.
    """

    def __init__(self, job, timeout, patience):
        self.job, self.handles, self.slow, self.closed = job, [], False, None
        self._edition, self._content = 0, b""

    def start(self, place):
        self.handles.append(FakeHandle(place, self.job))
        return self.handles[-1]

    def wait(self, patience):
        due = [one for one in self.handles if one.answers and not one.ended and not self.slow]
        return [types.SimpleNamespace(handle=one, message=one.answers.pop(0)) for one in due]

    def share(self, snapshot):
        if snapshot != self._content:
            self._content, self._edition = snapshot, self._edition + 1
        return protocol.pack_block(self._edition, len(snapshot), "") + snapshot, self._edition

    def close(self, drivers):
        self.closed = list(drivers)


class Reference:
    """Of something in the store, or of a call, which is made, after the one before, when somebody waits for it."""

    def __init__(self, node=None, call=None, value=None, before=None):
        self.node, self.call, self.value, self.error, self.before = node, call, value, None, before

    def settle(self):
        """Makes the call, if its node lets it; returns whether its end is known."""
        if self.call is None:
            return True
        if self.before is not None:
            self.before.settle()
            self.before = None
        if self.node.error is not None:
            self.error = self.node.error
        elif self.node.silent:
            return False
        else:
            try:
                self.value = self.call()
            except Exception as error:
                self.error = RayTaskError(f"Traceback ...\n{type(error).__name__}: {error}")
        self.call = None
        return True


@dataclasses.dataclass
class FakeNode:
    """A node, as a test sees it.

    Attributes:
        alive: whether Ray lists it as alive.
        error: what all calls of its agents end in; None for none.
        silent: whether its agents do not answer.
        versions: of its packages, as far as they are not the learner's.
        agents: what its agents were made with: options, the agent, arguments of their calls by method.
    """

    identifier: str
    cpus: int
    alive: bool = True
    error: Exception | None = None
    silent: bool = False
    versions: dict = dataclasses.field(default_factory=dict)
    agents: list = dataclasses.field(default_factory=list)

    @property
    def agent(self):
        return self.agents[-1].agent

    @property
    def calls(self):
        return self.agents[-1].calls


class FakeActor:
    """The handle of an agent."""

    def __init__(self, ray, node, options, made):
        self.node, self.options, self.agent = node, options, made()
        self.calls, self.killed, self.ended, self.last = [], 0, False, None
        for name in ("begin", "exchange", "close", "__ray_terminate__"):
            setattr(self, name, types.SimpleNamespace(remote=self._method(ray, name)))
        node.agents.append(self)

    def _method(self, ray, name):
        def remote(*arguments):
            assert not self.killed, "a call of an agent that was killed"
            self.calls.append((name, arguments))
            reference = Reference(self.node, lambda: self._run(name, values), before=self.last)
            values = [ray.get(one) if isinstance(one, Reference) else one for one in arguments]
            self.last = reference
            return reference

        return remote

    def _run(self, name, values):
        if name == "__ray_terminate__":
            self.ended = True
            return None
        answer = getattr(self.agent, name)(*values)
        return answer | self.node.versions if name == "begin" else answer


class FakeRay:
    """The module.

    Args:
        cpus: of each node there is at first.

    Attributes:
        time: of its clock, s.
        stored: what was put into the store.
    """

    exceptions = types.SimpleNamespace(
        RayError=RayError,
        RayTaskError=RayTaskError,
        ActorUnavailableError=ActorUnavailableError,
        ObjectLostError=ObjectLostError,
    )

    def __init__(self, *cpus):
        self.time, self.found, self.stored, self.timeline = 100.0, [], [], []
        self.util = types.SimpleNamespace(
            scheduling_strategies=types.SimpleNamespace(NodeAffinitySchedulingStrategy=self._there)
        )
        for one in cpus:
            self.join(one)

    def join(self, cpus):
        """Adds a node."""
        self.found.append(FakeNode("abcdefgh"[len(self.found)], cpus))
        return self.found[-1]

    def plan(self, seconds, action):
        """Lets something happen later."""
        self.timeline.append((self.time + seconds, action))

    def pass_time(self, seconds):
        self.time += seconds
        due = [action for at, action in self.timeline if at <= self.time]
        self.timeline = [one for one in self.timeline if one[0] > self.time]
        for action in due:
            action()

    @staticmethod
    def _there(identifier, soft):
        assert soft is False
        return identifier

    def nodes(self):
        return [
            {
                "NodeID": one.identifier,
                "NodeManagerAddress": f"10.0.0.{ord(one.identifier) - ord('a') + 1}",
                "Alive": one.alive,
                "Resources": {"CPU": float(one.cpus)} if one.cpus else {},
            }
            for one in self.found
        ]

    def cluster_resources(self):
        return {"CPU": float(sum(one.cpus for one in self.found if one.alive))}

    def put(self, value):
        self.stored.append(value)
        return Reference(value=value)

    def get(self, reference):
        assert reference.settle()
        if reference.error is not None:
            raise reference.error
        return reference.value

    def wait(self, references, num_returns, timeout):
        """Returns those that are done; if they are too few, time passes."""
        assert len(set(references)) == len(references) >= num_returns > 0
        done = []
        for one in references:
            if len(done) < num_returns and one.settle():
                done.append(one)
        self.pass_time(0.001 if len(done) == num_returns or timeout == 0 else timeout)
        return done, [one for one in references if one not in done]

    def kill(self, actor):
        actor.killed += 1

    def remote(self, scheduling_strategy, **options):
        node = next(one for one in self.found if one.identifier == scheduling_strategy)
        return lambda made: types.SimpleNamespace(remote=lambda: FakeActor(self, node, options, made))
