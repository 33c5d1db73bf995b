"""The table at the end of a run prints scores so that they can be told apart; the bar shows the use of a GPU."""

import types

import pytest

from ppo import resolve
from ppo.training.progress import Progress, _results
from ppo.training.timing import Timing
from tests.ppo.configs import SMALL

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


@pytest.mark.parametrize(
    ("gpu", "end"), [("", "0/0/0 %"), ("35 % GPU, 812 MB on it", "0/0/0 %, 35 % GPU, 812 MB on it")]
)
def test_the_bar_shows_the_use_of_a_gpu_where_one_is_used(gpu, end):
    learner = types.SimpleNamespace(step=0, evaluations=0)
    progress = Progress(resolve(SMALL), learner, "eval/error", quiet=False)
    progress.step(60, Timing(), gpu)
    assert progress._bar.postfix.endswith(f"collect/train/broadcast {end}")
    progress.close()
