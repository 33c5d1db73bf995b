"""The connection to a Ray cluster, one for the whole process."""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any

from env.errors import UsageError

LOCAL, NOT_INSTALLED = "local", "--backend ray: Ray is not installed"
CONNECT_SECONDS = 10.0
"""How long a cluster may take to answer at its address."""
WHY_MILLISECONDS = "100"
"""How long Ray waits, once an agent cannot be reached, to be told why before it says so."""

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
    os.environ.setdefault("RAY_timeout_ms_task_wait_for_death_info", WHY_MILLISECONDS)  # 1000 unless it is set
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of what it may do one day
    ray = imported_ray(NOT_INSTALLED)
    if ray.is_initialized():
        if _ours in (None, (address, runtime_env)):
            return ray
        ray.shutdown()
    _check_answers(address)
    alone = {"include_dashboard": False} if address is None else {}
    with _signals_kept(), _loopback_alone() if address is None else contextlib.nullcontext():
        try:
            ray.init(address or LOCAL, logging_level="ERROR", runtime_env=dict(runtime_env), **alone)
        except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            ray.shutdown()  # it may have come half way
            raise UsageError(f"{_told(address, ray, error)} ({' '.join(str(error).split())})") from error
    _ours = address, runtime_env
    return ray


def check_reachable(address: str | None) -> None:
    """Checks that Ray is installed, and that something answers at an address.

    Raises:
        UsageError: it is not, or nothing does.
    """
    imported_ray(NOT_INSTALLED)
    _check_answers(address)


def imported_ray(told: str) -> Any:
    """Returns ``ray``, which sends nothing to its makers.

    Args:
        told: how an error message says that it is not installed.

    Raises:
        UsageError: it is not.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise UsageError(f"{told}; pip install 'tuninglaw[cluster]'") from None
    return ray


def _told(address: str | None, ray: Any, error: Exception) -> str:
    """Returns how to say that a cluster could not be joined or started."""
    if isinstance(error, ray.exceptions.RuntimeEnvSetupError):
        return "--backend ray: what is to travel to the nodes cannot; what may stay can be named in a .rayignore file"
    if address is None:
        return "--backend ray: no cluster can be started on this machine"
    return f"--ray-address {address}: no cluster can be joined"


def _check_answers(address: str | None) -> None:
    """Checks that something answers at an address; Ray itself would try for minutes, and say so again and again.

    Raises:
        UsageError: nothing does.
    """
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not (host and port.isdigit()):  # auto, or what Ray itself refuses
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"--ray-address {address}: nothing answers there ({error}); it is auto for the cluster of this machine, "
            f"ray://host:10001 or host:6379"
        ) from None


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
