"""What an error of a user's function says beside what happened: where, and how to go on."""

import pickle
import re

import pytest

from actors.pools.base import DriverError, NotFiniteSlotError
from ppo import Config
from ppo.config.command_line import run_main
from ppo.train import main
from ppo.training.hints import hint_at_replay


def test_what_is_not_finite_is_told_in_units_with_what_to_do(tmp_path, monkeypatch, capsys):
    flags = ["--env", "tests.problems:sometimes_nan", "--training-steps", "3", "--drivers", "0", "--quiet"]
    monkeypatch.setattr("sys.argv", ["ppo.train", *flags, "--run-dir", str(tmp_path / "run")])
    with pytest.raises(SystemExit) as end:
        run_main(main)
    assert end.value.code == 1
    told, where, alone, on = capsys.readouterr().err.splitlines()
    assert re.match(r"error: slot \d+ of step 0: the environment's objectives are not finite", told)
    flow = re.fullmatch(r"f was asked for flow = (\S+) m3/h, outside = \S+ C", where)
    assert flow and float(flow[1]) > 5
    assert alone.startswith(
        f"run this slot alone with python -m ppo.replay {tmp_path / 'run'} --training-step 0 --slot "
    )
    assert on.endswith("; --on-failure infeasible beside it keeps such an evaluation as failed")


def test_it_comes_whole_from_another_process():
    error = NotFiniteSlotError("it is not finite", 3)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.number) == ("it is not finite", 3)


@pytest.mark.parametrize(("config", "keeps"), [({}, True), ({"on_failure": "infeasible"}, False)])
@pytest.mark.parametrize("error", [DriverError("it raised"), NotFiniteSlotError("it is not finite", 3)])
def test_what_a_program_defines_goes_on_in_the_program(error, config, keeps, monkeypatch):
    monkeypatch.setattr("ppo.training.hints._may_keep", lambda trained: trained.on_failure == "stop")
    error.__notes__ = []
    with pytest.raises(type(error)), hint_at_replay("runs/a", Config(env="__main__:cost", **config)):
        raise error
    keeps_words = 'Config(on_failure="infeasible") keeps such an evaluation as failed, and ' if keeps else ""
    assert error.__notes__ == [f'{keeps_words}train(config, "runs/a", resume=True) goes on']
