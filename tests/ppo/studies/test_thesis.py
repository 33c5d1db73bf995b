"""Every run of the thesis's study has a configuration that works, a name of its own, and the thesis's budget."""

import dataclasses

import pytest

from ppo import resolve
from ppo.studies.runs import FIRST_SEED
from ppo.studies.thesis import GROUPS, runs_of


@pytest.mark.parametrize("group", GROUPS)
def test_every_run_has_a_configuration_that_works_and_a_name(group):
    made = runs_of(group, 2, quick=True)
    assert len({run.key for run in made}) == len(made)
    for run in made:
        assert run.group == group
        assert resolve(run.config).training_steps in (200, 2000) or group == "budget"


def test_the_groups_are_these():
    assert GROUPS == ("modes", "failure", "samplers", "algorithms", "budget", "ten")


@pytest.mark.parametrize(("quick", "evaluations"), [(True, 12_000), (False, 300_000)])
def test_a_budget_is_as_many_evaluations_as_the_others_make(quick, evaluations):
    made = [resolve(run.config) for run in runs_of("budget", 1, quick)]
    assert {config.evaluations for config in made} == {evaluations}
    assert [config.model for config in made] == ["gp", "none"] * 4
    assert all(config.eval_every > config.training_steps for config in made)


def test_the_budget_of_ten_dimensions_chooses_no_model_and_the_defaults_of_a_large_one():
    made = [run for run in runs_of("ten", 1, quick=False) if run.variant.startswith("--evaluations")]
    assert [run.config.env for run in made] == ["rosenbrock", "shifted-ackley"]
    for run in made:
        assert run.variant == f"--evaluations {run.config.evaluations}"
        config = resolve(dataclasses.replace(run.config, model=None))
        assert config == resolve(run.config)
        assert (config.training_steps, config.episodes, config.hidden_sizes) == (50_000, 30, (64, 64, 64))


def test_a_whole_run_has_the_thesis_budget():
    for run in runs_of("samplers", 2, quick=False):
        config = resolve(run.config)
        assert (config.training_steps, config.episodes, config.time_steps) == (5000, 30, 2)
        assert config.seed in (FIRST_SEED, FIRST_SEED + 1)


def test_half_of_the_failure_lacks_the_normaliser_alone():
    made = runs_of("failure", 2, quick=False)
    whole, partial = ([run for run in made if run.without_normaliser is without] for without in (False, True))
    assert [run.config for run in whole] == [run.config for run in partial]
    assert all(run.config.norm_obs for run in made)
    assert {run.variant for run in partial} == {"normaliser left out"}
