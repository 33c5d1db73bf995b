"""Joining a cluster or starting one: once for the whole process, with this program's own handling of signals."""

import builtins
import os
import signal
import socket
import sys
import types

import pytest

from actors.pools.cluster import connection
from actors.pools.cluster.connection import connect
from env import UsageError


class RayError(Exception):
    pass


class RuntimeEnvSetupError(RayError):
    pass


class FakeRay(types.ModuleType):
    """Keeps how it was called.

    Attributes:
        error: what the next start raises; None for nothing.
    """

    exceptions = types.SimpleNamespace(RayError=RayError, RuntimeEnvSetupError=RuntimeEnvSetupError)

    def __init__(self):
        super().__init__("ray")
        self.connected, self.error, self.calls = False, None, []
        self._private = types.ModuleType("ray._private")
        self._private.ray_constants = types.SimpleNamespace(ENABLE_RAY_CLUSTER=True)

    def is_initialized(self):
        return self.connected

    def init(self, address, **options):
        self.calls.append((address, options))
        self.listens_to_the_network = self._private.ray_constants.ENABLE_RAY_CLUSTER
        signal.signal(signal.SIGTERM, lambda *_: None)  # as Ray does
        self.connected = True
        if self.error is not None:
            raise self.error

    def shutdown(self):
        self.calls.append("shutdown")
        self.connected = False


@pytest.fixture
def ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", fake := FakeRay())
    monkeypatch.setitem(sys.modules, "ray._private", fake._private)
    monkeypatch.setattr(connection, "_ours", None)
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
        monkeypatch.delenv(name, raising=False)
    return fake


@pytest.fixture
def listening():
    """Returns the port of a socket that listens on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_without_an_address_a_cluster_is_started_that_only_this_machine_can_reach(ray):
    assert connect(None, {"py_modules": ["/a"]}) is ray
    address, options = ray.calls.pop()
    assert address == "local"  # whatever RAY_ADDRESS says
    assert not ray.listens_to_the_network and options["include_dashboard"] is False
    assert ray._private.ray_constants.ENABLE_RAY_CLUSTER  # as it was
    assert options["runtime_env"] == {"py_modules": ["/a"]}
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


@pytest.mark.parametrize("address", ["auto", "127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_a_cluster_is_joined_as_it_is(address, ray, listening):
    connect(address.format(listening), {})
    assert ray.listens_to_the_network
    assert ray.calls == [(address.format(listening), {"logging_level": "ERROR", "runtime_env": {}})]


def test_a_cluster_is_joined_once(ray):
    for _ in range(3):
        connect("auto", {"py_modules": ["/a"]})
    assert len(ray.calls) == 1
    connect("auto", {"py_modules": ["/a", "/b"]})  # of modules that have been loaded since
    assert ray.calls[1] == "shutdown" and len(ray.calls) == 3


def test_a_connection_of_the_programs_own_is_used(ray):
    ray.connected = True
    assert connect("auto", {"py_modules": ["/a"]}) is ray
    assert ray.calls == []


def test_the_handling_of_signals_is_left_as_it_was(ray):
    before = signal.getsignal(signal.SIGTERM)
    connect(None, {})
    assert signal.getsignal(signal.SIGTERM) is before


FAILURES = [
    (None, RuntimeError("no\nroom"), "--backend ray: no cluster can be started on this machine (no room)"),
    ("auto", ConnectionError("none found"), "--ray-address auto: no cluster can be joined (none found)"),
    ("nonsense", ValueError("Invalid format"), "--ray-address nonsense: no cluster can be joined (Invalid format)"),
    (
        "auto",
        RuntimeEnvSetupError("Package size (600MiB)\nexceeds the maximum"),
        "--backend ray: what is to travel to the nodes cannot; what may stay can be named in a .rayignore file "
        "(Package size (600MiB) exceeds the maximum)",
    ),
]


@pytest.mark.parametrize(("address", "error", "told"), FAILURES)
def test_what_hinders_it_is_one_line(address, error, told, ray):
    before, ray.error = signal.getsignal(signal.SIGTERM), error
    with pytest.raises(UsageError) as caught:
        connect(address, {})
    assert str(caught.value) == told
    assert signal.getsignal(signal.SIGTERM) is before and not ray.connected
    ray.error = None
    connect(address, {})  # nothing of the failure stays
    assert ray.connected


@pytest.mark.parametrize(
    "address", ["127.0.0.1:{}", "ray://127.0.0.1:{}", "[::1]:{}", "nohost.invalid:6379", "a:99999999"]
)
def test_an_address_where_nothing_answers_is_told_at_once(address, ray, listening):
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    with pytest.raises(
        UsageError, match=r"^--ray-address .*: nothing answers there \(.*\); it is auto for the cluster"
    ):
        connect(address.format(free), {})
    assert ray.calls == []


def test_without_ray_it_is_said_how_to_install_it(monkeypatch):
    imported = builtins.__import__

    def missing(name, *arguments):
        if name == "ray":
            raise ModuleNotFoundError("No module named 'ray'", name="ray")
        return imported(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UsageError, match=r"^--backend ray: Ray is not installed; pip install 'tuninglaw\[cluster\]'$"):
        connect(None, {})
