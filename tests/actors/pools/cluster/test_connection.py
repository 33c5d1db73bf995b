"""What Ray says when it cannot be joined, in one line."""

import sys
import types

import pytest

from actors.pools.cluster.connection import connect
from env import UsageError


class RayError(Exception):
    """The base of Ray's own exceptions, which is no other one's."""


@pytest.mark.parametrize("kind", [ConnectionError, ValueError, RuntimeError, RayError])
@pytest.mark.parametrize(("address", "flag"), [("auto", "--ray-address auto"), (None, "--backend ray")])
def test_why_a_cluster_cannot_be_joined_is_told_in_one_line(address, flag, kind, monkeypatch):
    def init(*_, **__):
        raise kind("no token,\n  or another one")

    constants = types.SimpleNamespace(ENABLE_RAY_CLUSTER=True)
    exceptions = types.SimpleNamespace(RayError=RayError)
    ray = types.SimpleNamespace(is_initialized=lambda: False, init=init, exceptions=exceptions)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray._private", types.SimpleNamespace(ray_constants=constants))
    with pytest.raises(UsageError) as raised:
        connect(address, {})
    assert str(raised.value) == f"{flag}: no cluster can be joined (no token, or another one)"
    assert constants.ENABLE_RAY_CLUSTER
