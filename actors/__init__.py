"""Acting: the snapshot, the policy rebuilt from it, start samplers, rollouts, and the drivers that run them.

Needs no torch. What is imported here needs NumPy alone, so that a deployed law runs where there is nothing else.
"""

from actors.law import Law
from actors.policy import Policy
from actors.snapshot import NetworkSpec, Snapshot

__all__ = ["Law", "NetworkSpec", "Policy", "Snapshot"]
