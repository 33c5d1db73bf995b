"""A search with Optuna: what it runs, that it goes on, and that its best trial can be repeated."""

import dataclasses
import json
import shlex
import subprocess
import sys

import numpy as np
import pytest

from env import UsageError
from ppo import Config
from ppo.config.command_line import parse
from ppo.train import train
from ppo.tune import AVERAGED, Search, command, main, tune

pytest.importorskip("optuna", reason="the extra tune")
pytestmark = pytest.mark.filterwarnings("ignore")  # Optuna's and plotly's own
SMALL = Config(env="sphere", drivers=0, training_steps=20, eval_every=5, hidden_sizes=(8,), seed=7)


def finished(search, *states):
    return [trial for trial in search.study().get_trials() if trial.state.name in states]


def test_the_best_trial_can_be_repeated_from_its_command(tmp_path):
    search = Search(SMALL, 2, tmp_path / "study", ("update_epochs",))
    best = tune(search, 3, jobs=2, quiet=True)
    assert len(finished(search, "COMPLETE", "PRUNED")) == 3
    assert "update_epochs" not in best.params
    assert {"learning_rate", "agreement"} <= set(best.params)
    config = parse(shlex.split(best.user_attrs["command"])[3:]).to_config()
    assert config.learning_rate == best.params["learning_rate"]
    means = []
    for seed in (7, 8):
        scores = {}
        one = dataclasses.replace(config, seed=seed)
        train(one, tmp_path / str(seed), quiet=True, pictures=False, scored=scores.__setitem__)
        assert list(scores) == [5, 10, 15, 20]
        means.append(np.mean(list(scores.values())[-AVERAGED:]))
    assert np.mean(means) == best.value
    assert (tmp_path / "study" / "optimization_history.html").stat().st_size > 1000


def test_a_study_goes_on_after_it_was_killed(tmp_path):
    search = Search(SMALL, 1, tmp_path, ())
    tune(search, 2, jobs=1, quiet=True)
    search.study().ask(search.space())  # killed in the middle of a trial
    tune(search, 4, jobs=2, quiet=True)
    assert len(finished(search, "COMPLETE", "PRUNED")) == 4
    assert len(finished(search, "FAIL")) == 1
    assert len({json.dumps(trial.params) for trial in search.study().get_trials()}) == 5  # none is tried twice


def test_a_hopeless_trial_is_pruned(tmp_path):
    import optuna

    from ppo.tune import score

    search = Search(SMALL, 1, tmp_path, ())
    study = search.study()
    for _ in range(6):
        good = study.ask(search.space())
        for step in (5, 10, 15, 20):
            good.report(-1.0, step)  # better than an error can be
        study.tell(good, -1.0)
    with pytest.raises(optuna.TrialPruned):
        score(search, SMALL, study.ask(search.space()))


def test_the_command_says_what_differs_from_the_defaults():
    config = Config(env="CartPole-v1", norm_reward=False, hidden_sizes=(8, 4), gamma=0.9)
    assert command(config) == ("python -m ppo.train --env CartPole-v1 --hidden-sizes 8 4 --gamma 0.9 --no-norm-reward")
    assert command(Config()) == "python -m ppo.train"
    odd = Config(norm_obs=False, anneal_lr=False)
    assert parse(shlex.split(command(odd))[3:]).to_config() == odd


def test_another_study_is_not_mixed_in(tmp_path):
    tune(Search(SMALL, 1, tmp_path, ()), 1, jobs=1, quiet=True)
    with pytest.raises(UsageError, match=r"holds a study with other settings .--training-steps 20, not 30.;"):
        tune(Search(dataclasses.replace(SMALL, training_steps=30), 1, tmp_path, ()), 2, jobs=1, quiet=True)
    with pytest.raises(UsageError, match=r"other settings .searched \["):
        tune(Search(SMALL, 1, tmp_path, ("agreement",)), 2, jobs=1, quiet=True)


def test_a_study_goes_on_wherever_and_however_its_trials_run(tmp_path):
    tune(Search(SMALL, 1, tmp_path, ("env", "quiet")), 1, jobs=1, quiet=True)
    elsewhere = dataclasses.replace(SMALL, drivers="auto", driver_timeout=9.0)
    tune(Search(elsewhere, 1, tmp_path, ("env", "trials")), 2, jobs=1, quiet=True)
    assert len(finished(Search(SMALL, 1, tmp_path, ()), "COMPLETE", "PRUNED")) == 2


def test_what_does_nothing_is_not_searched(tmp_path):
    reinforce = Search(Config(algo="reinforce"), 1, tmp_path, ()).space()
    assert not {"update_epochs", "clip_coef"} & set(reinforce)
    assert "init_std" not in Search(Config(env="CartPole-v1"), 1, tmp_path, ()).space()
    assert Search(Config(std_floor_final=0.2), 1, tmp_path, ()).space()["std_floor"].low == 0.2


def test_the_space_for_control_suits_the_batch(tmp_path):
    space = Search(Config(env="CartPole-v1", episodes=1, time_steps=9), 1, tmp_path, ("gamma",)).space()
    assert "gamma" not in space
    assert space["num_minibatches"].choices == (1, 4)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--trials", "0"], "--trials 0: must be at least 1"),
        (["--eval-every", "0"], "--eval-every 0: trials are judged"),
        (["--env", "rosenbrok"], "did you mean"),
        (["--trails", "3"], "unknown argument --trails"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(flags, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        main([*flags, "--out", str(tmp_path / "study")])
    assert not (tmp_path / "study").exists()


def test_the_command_line_prints_the_best(tmp_path):
    flags = ["--env", "sphere", "--training-steps", "10", "--hidden-sizes", "8", "--trials", "2", "--seeds", "1"]
    command = [sys.executable, "-m", "ppo.tune", *flags, "--jobs", "2", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0].startswith("best trial: number ")
    assert done.stdout.splitlines()[1].startswith("python -m ppo.train --env sphere")
