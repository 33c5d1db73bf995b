"""Controllers of the furnace: what a search finds is at least as good as the rules, where it was not tuned."""

import json

import pytest

from env.controllers import PID
from ppo.evaluation.held_out import held_out_returns
from ppo.studies.tempcontrol_controllers import BY_RULE, SEARCHED, TUNED_PID, controllers, tune, tuned_controllers
from ppo.studies.tempcontrol_problems import tempcontrol_config


def test_tuning_finds_again_what_it_saved(tmp_path):
    path = tmp_path / "made" / "controllers.json"
    found = tuned_controllers(path, quick=True)
    assert set(found) == {"v1 low", "v1 medium", "v1 high"}
    assert all(set(some) == set(SEARCHED) for some in found.values())
    assert tuned_controllers(path, quick=True) == found
    assert json.loads(path.read_text())["v1 low"][TUNED_PID]["bias"] == 0


def test_each_process_has_its_controllers():
    tuned = {name: {"tuned": PID(0.1)} for name in ("v1 low", "v1 medium", "v1 high")}
    assert list(controllers("v0", tuned)) == ["u = 0", "u = 1", *BY_RULE]
    low, medium = (controllers(name, tuned) for name in ("v1 low", "v1 medium"))
    assert list(low) == ["u = 0", "u = 1", *BY_RULE, "P with bias", "tuned"]
    # The power that holds 100 degrees, of 12 at the most: 0.02 * 75, and 0.001 * 75^2 where losses are quadratic too.
    assert (low["P with bias"].bias, medium["P with bias"].bias) == (0.125, 0.59375)


@pytest.mark.slow
def test_a_tuned_pid_beats_the_rules_on_other_episodes():
    plant = tempcontrol_config("v1 medium", load=False).problem()
    tuned = tune(plant, "v1 medium", TUNED_PID, quick=False)
    by_rule = [held_out_returns(plant, pid).mean() for pid in BY_RULE.values()]
    assert held_out_returns(plant, tuned).mean() > max(by_rule)
