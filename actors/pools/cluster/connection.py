"""The connection to a Ray cluster, one for the whole process."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

from env.errors import UsageError

LOCAL = "local"


_ours: tuple[str | None, dict[str, Any]] | None = None  # with what this program has connected the process


def connect(address: str | None, runtime_env: dict[str, Any]) -> Any:
    """Joins a cluster, or starts one on this machine; returns ``ray``.

    Where the program has connected this process itself before, that connection is used. Ray ends a cluster that it has
    started when this process ends.

    Args:
        address: ``auto`` for the cluster of this machine, ``ray://host:port``, or host and port; None to start one that
            only this machine can reach.
        runtime_env: what is to travel to the nodes.

    Raises:
        UsageError: Ray is not installed, there is no such cluster, it asks for a token, or the modules are too large
            to travel.
    """
    global _ours
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # they would be sent to Ray's makers
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of what it may do one day
    try:
        import ray
    except ImportError:
        raise UsageError("--backend ray: Ray is not installed; pip install 'tuninglaw[cluster]'") from None
    if ray.is_initialized():
        if _ours in (None, (address, runtime_env)):
            return ray
        ray.shutdown()
    alone = {"include_dashboard": False} if address is None else {}
    with _signals_kept(), _loopback_alone() if address is None else contextlib.nullcontext():
        try:
            ray.init(address or LOCAL, logging_level="ERROR", runtime_env=dict(runtime_env), **alone)
        except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            reason = " ".join(str(error).split())
            flag = "--backend ray" if address is None else f"--ray-address {address}"
            raise UsageError(f"{flag}: no cluster can be joined ({reason})") from error
    _ours = address, runtime_env
    return ray


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Keeps this program's own handling of SIGTERM, which Ray would change."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _loopback_alone() -> Iterator[None]:
    """Lets Ray listen on this machine's loopback address alone where it starts a cluster, as it does on Windows.

    Ray replaces a loopback address that it is told by one that other machines reach.
    """
    from ray._private import ray_constants

    before, ray_constants.ENABLE_RAY_CLUSTER = ray_constants.ENABLE_RAY_CLUSTER, False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
