import dataclasses

import pytest

from ppo import Config
from ppo.experiments.tables import Table
from ppo.studies.training_runs import TrainingRun, decimated, evaluations_to_target, run_all, train_and_measure

SMALL = Config(env="sphere", training_steps=20, drivers=0, hidden_sizes=(8,), update_epochs=2)


def rows(errors):
    return [{"eval/error": error, "objective_evaluations": 600.0 * (i + 1)} for i, error in enumerate(errors)]


def test_solved_is_twenty_evaluations_in_a_row_below_the_target():
    assert evaluations_to_target(rows([1.0] * 5 + [0.001] * 20)) == 600 * 25
    assert evaluations_to_target(rows([0.001] * 19 + [0.01] + [0.001] * 19)) == float("inf")


def test_curves_are_decimated_to_means():
    assert decimated([1.0, 3.0]) == [1.0, 3.0]
    assert decimated([1.0, 3.0] * 50) == [2.0] * 50


def test_a_cell_is_run_once_and_its_row_says_what_came_out(tmp_path):
    cells = [TrainingRun("group", "plain", dataclasses.replace(SMALL, seed=seed)) for seed in (1, 2)]
    path = tmp_path / "group.csv"
    first = run_all(tmp_path, cells)["group"]
    assert [row["cell"] for row in first] == ["group/sphere/plain/20/1", "group/sphere/plain/20/2"]
    assert float(first[0]["last mean"]) >= float(first[0]["best"]) > 0
    assert len(first[0]["curve"].split()) == 2
    assert first[0]["policy sha256"] != first[1]["policy sha256"]
    text = path.read_text()
    assert run_all(tmp_path, [*cells, cells[0]])["group"][2] == first[0]
    assert path.read_text() == text
    again = dict(zip(Table(path, []).rows[0], train_and_measure(cells[0]), strict=True))
    assert again["policy sha256"] == first[0]["policy sha256"]


def test_a_changed_constant_changes_the_run(monkeypatch):
    import ppo.algorithm.learner

    monkeypatch.setattr(ppo.algorithm.learner, "RATE_POWER", ppo.algorithm.learner.RATE_POWER)  # put back afterwards
    plain = train_and_measure(TrainingRun("group", "plain", SMALL))
    changed = train_and_measure(
        TrainingRun("group", "changed", SMALL, constants={"ppo.algorithm.learner.RATE_POWER": 0.0})
    )
    assert ppo.algorithm.learner.RATE_POWER == 0.0
    assert plain[-3] != changed[-3]


def test_without_the_normaliser_the_learner_does_not_know_the_policy_that_acted(tmp_path):
    from ppo.studies.partial import PartialSnapshotRun

    from ppo.training.run_dir import RunDir

    config = dataclasses.replace(SMALL, norm_obs=True, training_steps=4).resolved()
    with PartialSnapshotRun(config, RunDir(tmp_path / "run"), resume=False, track=False, quiet=True) as run:
        ratios = [run.training_step()[1]["losses/initial_logratio"] for _ in range(4)]
    assert ratios[0] < 1e-9  # there are no statistics yet
    assert max(ratios[1:]) > 1e-4


@pytest.mark.parametrize("group", ["modes", "failure", "samplers", "algorithms", "ten"])
def test_every_run_of_the_thesis_study_has_a_configuration_that_works_and_a_name_of_its_own(group):
    from ppo.studies.thesis import cells

    made = cells(group, 2, quick=True)
    assert len({cell.key for cell in made}) == len(made)
    for cell in made:
        assert cell.config.resolved().training_steps in (200, 2000)
