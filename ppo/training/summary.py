"""What ``summary.json`` holds of a finished run."""

from typing import Any

from actors.snapshot import Snapshot
from actors.step_limit import StepLimit
from ppo.algorithm.learner import Learner
from ppo.config import ResolvedConfig
from ppo.evaluation.check import Check
from ppo.evaluation.regret import known_regret
from ppo.processor import kernels


def summarise(
    config: ResolvedConfig,
    learner: Learner,
    law: Snapshot,
    spent: dict[str, Any],
    check: Check | None,
    limit: StepLimit | None = None,
) -> dict[str, Any]:
    """Returns the summary of a run.

    Args:
        config: what was trained.
        learner: its state.
        law: the law or policy that came of it.
        spent: what the run took, and its scores, by name.
        check: what a check of the law found; None where there was none.
        limit: how far the law's knobs may lie from those of a start law; None for no limit.
    """
    summary: dict[str, Any] = {
        "policy_sha256": law.sha256,
        "training_steps": learner.step,
        "env_steps": learner.env_steps,
        "objective_evaluations": learner.evaluations,
        "kernels": kernels(),
        **spent,
    }
    if check is not None:
        summary["check"] = check.as_json()
    if (judgement := learner.judgement()) is not None:
        summary["model"] = judgement.as_json()
    return summary | known_regret(config, law, limit)


def evaluations_of(summary: dict[str, Any]) -> int:
    """Returns how many evaluations of f a run has made: to train, for its scores, and for its check."""
    of_check = summary["check"]["evaluations"] if "check" in summary else 0
    return summary["objective_evaluations"] + summary["eval_evaluations"] + of_check


def all_failed(summary: dict[str, Any]) -> bool:
    """Returns whether every evaluation of f failed, so that nothing was learned."""
    failed = summary.get("failed_evaluations", 0)  # none in a run of an earlier version
    return failed > 0 and failed == evaluations_of(summary)
