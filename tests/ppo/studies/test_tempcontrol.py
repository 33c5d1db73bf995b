"""The models of the article's study differ in settings and drivers alone, for as many time steps on each process."""

from ppo import resolve
from ppo.studies import tempcontrol
from ppo.studies.tempcontrol_problems import MODELS, tempcontrol_config

FOUND = {"v0": {"learning_rate": 0.01}, "v1": {"gamma": 0.9}}


def test_models_differ_in_settings_and_drivers_alone():
    runs = tempcontrol.runs_of("returns", 2, FOUND, (), quick=False)
    assert len(runs) == 4 * 5 * 2
    assert len({run.key for run in runs}) == len(runs)
    by_model = {run.variant: run.config for run in runs if run.problem == "v1 high" and run.config.seed == 402}
    assert [by_model[name].drivers for name in MODELS] == [0, 0, 2, 2, 0]
    assert by_model["Optuna"].gamma == 0.9
    assert by_model["Base"].gamma is None
    for name in MODELS:
        config = resolve(by_model[name])
        assert config.env_steps == 20_000
        assert 19_000 < config.training_steps * config.episodes * config.time_steps <= 20_000
        assert config.env_kwargs == {"level": "high", "actions": True, "load_rounds": 0}
    assert [run.peer is not None for run in runs[:5]] == [False, False, False, False, True]


def test_times_have_the_load():
    times = tempcontrol.runs_of("times", 5, FOUND, (), False)
    assert len(times) == 3 * 2 * 5
    assert all("load_rounds" not in run.config.env_kwargs for run in times)


def test_a_race_is_run_with_the_load_against_its_rivals():
    races = tempcontrol.runs_of("race", 5, FOUND, ("a rival",), quick=False)
    assert {run.variant for run in races} == {"Parallel + Optuna", "Stable-Baselines3"}
    assert all(run.rivals == ("a rival",) and "load_rounds" not in run.config.env_kwargs for run in races)
    assert len(races) == 2 * 3


def test_the_load_is_left_out_where_it_is_not_measured():
    assert tempcontrol_config("v0", load=False).env_kwargs == {"level": "medium", "load_rounds": 0}
    assert tempcontrol_config("v1 low", load=True).env_kwargs == {"level": "low", "actions": True}


def test_a_quick_search_is_never_taken_for_a_whole_one(tmp_path):
    paths = {tempcontrol.saved(tmp_path, "search-v0", quick) for quick in (True, False)}
    assert len(paths) == 2
    path = tempcontrol.saved(tmp_path, "search-v0", quick=False)
    path.write_text('{"settings": {"gamma": 0.5}}')
    assert tempcontrol.searched(tmp_path, "v0", quick=False) == {"settings": {"gamma": 0.5}}  # as it was found before
