"""A race ends with the last training step, or once a policy has passed the best of its rivals."""

import pytest

from env.controllers import PID, Constant
from ppo import Config
from ppo.evaluation.held_out import held_out_returns
from ppo.studies import tempcontrol_race
from ppo.studies.tempcontrol_race import RaceRun

TEMPCONTROL = Config(
    env="TempControl-v1", env_kwargs={"load_rounds": 0}, training_steps=3, episodes=2, time_steps=50, drivers=0
)


def test_a_race_ends_with_the_last_step_or_past_the_mark():
    def raced(*rivals):
        run = RaceRun("race", "v1", "plain", TEMPCONTROL, None, rivals)
        return dict(zip(tempcontrol_race.COLUMNS, run.run(), strict=True))

    row = raced(PID(0.083, 40.0))
    assert (row["passed"], row["env steps"]) == (False, 300)
    assert float(row["return"]) < float(row["PID"])
    assert float(row["PID"]) == pytest.approx(-2800, abs=150)
    row = raced(Constant(-1.0))
    assert (row["passed"], row["env steps"]) == (True, 100)
    coldest = held_out_returns(TEMPCONTROL.problem(), Constant(-1.0), tempcontrol_race.EPISODES).mean()
    assert float(row["PID"]) == pytest.approx(coldest, abs=0.1)
    assert float(row["return"]) > coldest
