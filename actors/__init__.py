"""Acting: the snapshot, the policy rebuilt from it, start samplers, rollouts, and the drivers that run them.

Learning and torch may not live here, and nothing here imports ppo. This module imports only what needs NumPy alone, so
that a law can be deployed where nothing else is installed.
"""

from actors.law import Law
from actors.policy import Policy
from actors.snapshot import NetworkSpec, Snapshot

__all__ = ["Law", "NetworkSpec", "Policy", "Snapshot"]
