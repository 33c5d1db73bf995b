"""The thesis's failure, re-enacted: a snapshot that lacks the observation normaliser."""

import dataclasses

from actors.rollout import Kind
from actors.snapshot import Snapshot
from ppo.training.trainer import Run


class PartialSnapshotRun(Run):
    """Sends the drivers the policy's trainable parameters alone, as the thesis's multi-process mode likely did.

    Its law is evaluated whole: what suffers is learning, from data of a policy that the learner does not know.
    """

    def snapshot_for(self, kind: Kind) -> Snapshot:
        whole = super().snapshot_for(kind)
        return dataclasses.replace(whole, obs_mean=None, obs_var=None) if kind == Kind.COLLECT else whole
