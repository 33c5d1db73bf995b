"""What must be the same on all machines of a run, so that a message and a last bit mean the same everywhere."""

import importlib.metadata
import platform
import sys

PACKAGES = ("numpy", "scipy", "gymnasium")


def versions() -> dict[str, str]:
    """Returns the versions of Python and of what a driver computes with, and the kind of processor."""
    found = {"Python": f"{sys.version_info.major}.{sys.version_info.minor}", "machine": platform.machine()}
    return found | {name: importlib.metadata.version(name) for name in PACKAGES}


def difference(theirs: dict[str, str], ours: dict[str, str]) -> str:
    """Returns how another machine's versions differ from ours, in words; empty where they are the same."""
    return ", ".join(
        f"{name} {theirs.get(name)} instead of {ours[name]}" for name in ours if theirs.get(name) != ours[name]
    )
