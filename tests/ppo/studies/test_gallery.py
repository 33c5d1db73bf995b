"""A run of the gallery measures the law, and what a polish makes of it, at the same conditions."""

import pytest

from ppo.studies import gallery
from ppo.studies.gallery import PROBLEMS, GalleryRun, runs_of


def test_each_problem_is_trained_with_the_first_reported_seeds():
    runs = runs_of(3, quick=False)
    assert len(runs) == 3 * len(PROBLEMS) == len({run.key for run in runs})
    assert {run.config.seed for run in runs} == {401, 402, 403}
    assert {run.config.evaluations for run in runs} == {1000, 3000}


@pytest.mark.parametrize("name", ["segmented converter", "wind turbine"])
def test_a_run_is_a_row_and_a_polish_helps(name, little_effort, monkeypatch):
    (run,) = (one for one in runs_of(1, quick=True) if one.problem == name)
    conditions = gallery.regret_conditions
    monkeypatch.setattr(gallery, "regret_conditions", lambda count: conditions(count)[:12])
    row = dict(zip(GalleryRun.columns, run.run(), strict=True))
    assert row["run"] == f"{name}/60/401"
    assert 0 < float(row["polished median"]) < float(row["law median"])
    assert 0 <= float(row["kept"]) <= 1
