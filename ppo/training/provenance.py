"""What the file of a law says of itself: what it is of, and how it came about."""

from typing import Any

from actors.job import Job
from actors.law_file import About
from actors.snapshot import Snapshot
from env.spaces import space_as_json
from ppo.config import ResolvedConfig
from ppo.data.run_archive import signature
from ppo.training.soundness import result_fields

OF_SUMMARY = ("training_steps", "env_steps", "objective_evaluations", "eval_evaluations", "failed_evaluations")
"""What the file repeats of ``summary.json``, beside what was judged."""


def about_law(config: ResolvedConfig, job: Job, law: Snapshot, summary: dict[str, Any] | None = None) -> About:
    """Returns what the file of a law says of itself.

    Args:
        config: what was trained.
        job: what the drivers ran.
        law: the law or policy.
        summary: of the finished run; None while it is under way.
    """
    described, found = job.description, summary or {}
    provenance: dict[str, Any] = {"policy_sha256": law.sha256, "training_steps": law.version}
    provenance |= {name: found[name] for name in OF_SUMMARY if name in found}
    provenance |= {name: found[name]["words"] for name in ("check", "model") if name in found}
    provenance["config"] = result_fields(config)
    problem = signature(job)
    if described.coordinates is not None:
        knobs, conditions = described.coordinates
        return About(problem, knobs, conditions, provenance=provenance, limit=job.limit)
    assert described.shown_space is not None, "an environment shows its observations in some space"
    shown, actions = space_as_json(described.shown_space), space_as_json(described.action_space)
    return About(problem, observations=shown, actions=actions, provenance=provenance)
