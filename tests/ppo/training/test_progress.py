"""The table at the end of a run prints scores so that they can be told apart."""

import pytest

from ppo.training.progress import _results

EVAL = {"metric": "mean_objective", "first_1000_mean": 9.0, "last_1000_mean": 7.0}


@pytest.mark.parametrize(
    ("final", "best", "mean", "words"),
    [
        (2.34567, 1.0, 3.0, "2.346 (best 1, mean of all training steps 3)"),
        (1e6 + 0.25, 1e6, 1e6 + 0.5, "1000000.25 (best 1000000, mean of all training steps 1000000.5)"),
        (1e6 + 0.25, 1e6, None, "1000000.25 (best 1000000, mean of all training steps not finite)"),
    ],
)
def test_scores_are_told_apart(final, best, mean, words):
    score = EVAL | {"final": final, "best": best, "last_1000_mean": mean}
    summary = {"eval": score, "training_steps": 20, "failed_evaluations": 0, "objective_evaluations": 40}
    assert _results(summary | {"eval_evaluations": 0}) == [("result", f"mean_objective {words}")]
