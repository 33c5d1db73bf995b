"""A search with Optuna runs its trials once, goes on after a kill, and its best trial can be repeated to the bit."""

import dataclasses
import json
import shlex

import numpy as np
import pytest

from env import UsageError
from ppo import Config, resolve
from ppo.config.command_line import parse
from ppo.experiments import search as searching
from ppo.experiments.search import attribute, outcome, tune
from ppo.experiments.search_settings import FRESH_SEEDS, Search
from ppo.experiments.search_trials import AVERAGED, command, mean_of_seeds, score
from ppo.training.trainer import Trainer

optuna = pytest.importorskip("optuna", reason="the extra tune")
pytestmark = pytest.mark.filterwarnings("ignore")  # Optuna's and plotly's own
SMALL = Config(env="sphere", drivers=0, training_steps=20, eval_every=5, hidden_sizes=(8,), seed=7)


@pytest.fixture
def here(monkeypatch):
    """Lets trials run in this process, which is quicker to start."""

    def in_order(function, arguments, *_):
        return [(argument, function(argument)) for argument in arguments]

    monkeypatch.setattr(searching, "map_in_processes", in_order)


def finished(search, *states):
    return [trial for trial in search.study().get_trials() if trial.state.name in states]


def test_the_best_trial_can_be_repeated_from_its_command(tmp_path):
    search = Search(SMALL, 2, tmp_path / "study", ("update_epochs",))
    best = tune(search, 3, jobs=2, quiet=True)
    assert len(finished(search, "COMPLETE", "PRUNED")) == 3
    assert "update_epochs" not in best.params
    assert {"learning_rate", "update_damping"} <= set(best.params)
    config = parse(shlex.split(best.user_attrs["command"])[3:]).to_config()
    assert config.learning_rate == best.params["learning_rate"]
    means = []
    for seed in (7, 8):
        one = resolve(dataclasses.replace(config, seed=seed))
        with Trainer(one, tmp_path / str(seed), quiet=True) as trainer:
            scores = {step.number: step.score for step in trainer if step.score is not None}
        assert list(scores) == [5, 10, 15, 20]
        means.append(np.mean(list(scores.values())[-AVERAGED:]))
    assert np.mean(means) == pytest.approx(best.value, rel=1e-12)
    assert (tmp_path / "study" / "optimization_history.html").stat().st_size > 1000


@pytest.mark.usefixtures("here")
def test_the_first_trial_has_the_defaults(tmp_path):
    for number, base in enumerate((SMALL, Config(env="CartPole-v1", env_steps=1000, drivers=0))):
        search = Search(base, 1, tmp_path / str(number), ())
        tune(search, 1, jobs=1, quiet=True)
        (first,) = search.study().get_trials()
        assert first.params == {name: getattr(resolve(base), name) for name in search.space()}
        assert len(first.params) > 5


@pytest.mark.usefixtures("here")
def test_the_best_trial_must_be_better_with_fresh_seeds(tmp_path):
    search = Search(SMALL, 2, tmp_path, ())
    tune(search, 1, jobs=1, quiet=True)
    study = search.study()
    (first,) = study.get_trials()
    study.tell(study.ask(search.space()), -1.0)  # lucky: no error is so small
    lucky = study.best_trial
    left = tmp_path / "trials" / f"{first.number}-fresh-seed-9"
    left.mkdir()
    (left / "config.json").write_text("{}")  # a call was cut here
    chosen = searching.better_with_fresh_seeds(search, 2)
    kept = {one.number: search.study().user_attrs[attribute(one.number)] for one in (first, lucky)}
    for one in (first, lucky):
        config, seeds = dataclasses.replace(SMALL, **one.params), range(9, 9 + FRESH_SEEDS)
        assert kept[one.number] == mean_of_seeds(search, config, seeds, f"again-{one.number}")
    assert chosen.number == min(kept, key=kept.get)
    assert f"{kept[lucky.number]:.6g}, and the defaults {kept[first.number]:.6g}" in outcome(search, chosen)
    for scores, number in (((0.5, 0.1), 1), ((0.1, 0.5), 0), ((None, 0.5), 1), ((0.5, None), 0)):
        for one, found in zip((first, lucky), scores, strict=True):
            study.set_user_attr(attribute(one.number), found)
        chosen = searching.better_with_fresh_seeds(search, 1)
        assert chosen.number == number
        assert ("so the defaults are kept" in outcome(search, chosen)) == (number == 0)


@pytest.mark.usefixtures("here")
def test_a_search_that_goes_on_gives_nothing_worse_than_before(tmp_path):
    search = Search(SMALL, 2, tmp_path, ())
    tune(search, 1, jobs=1, quiet=True)
    study = search.study()
    for value in (-1.0, -2.0):
        study.tell(study.ask(search.space()), value)
    for number, found in ((0, 0.5), (1, 0.1), (2, 0.3)):
        study.set_user_attr(attribute(number), found)
    chosen = searching.better_with_fresh_seeds(search, 1)
    assert (study.best_trial.number, chosen.number) == (2, 1)
    assert outcome(search, chosen).endswith("fresh seeds 0.3, and the defaults 0.5; so number 1 is kept, 0.1")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("base", [SMALL, Config(env="CartPole-v1", env_steps=1000, drivers=0)])
def test_trials_are_compared_in_their_order_until_one_is_better_than_the_defaults(base, tmp_path, monkeypatch):
    search = Search(base, 2, tmp_path, ())
    sign = 1 if search.tuning else -1
    study = search.study()
    study.enqueue_trial(search.default)
    for value in (3.0, 1.0, 2.0, 0.5, 4.0):  # of the defaults, and of trials, the last one of which is worse
        study.tell(study.ask(search.space()), sign * value)
    fresh, asked = {0: 0.5, 1: 0.6, 2: 0.4, 3: None, 4: 0.1}, []

    def score(search, number):
        asked.append(number)
        return None if fresh[number] is None else sign * fresh[number]

    monkeypatch.setattr(searching, "score_with_fresh_seeds", score)
    with monkeypatch.context() as patch:
        patch.setattr(searching, "CANDIDATES", 2)
        assert searching.better_with_fresh_seeds(search, 1).number == 0
        assert asked == [0, 3, 1]
    assert searching.better_with_fresh_seeds(search, 1).number == 2
    assert asked == [0, 3, 1, 2]  # the study knows the others


@pytest.mark.usefixtures("here")
def test_the_defaults_are_tried_again_where_their_trial_was_cut(tmp_path):
    search = Search(SMALL, 1, tmp_path, ())
    study = search.study()
    study.enqueue_trial(search.default)
    study.ask(search.space())  # killed in the middle of it
    tune(search, 1, jobs=1, quiet=True)
    assert [trial.state.name for trial in search.study().get_trials()] == ["FAIL", "COMPLETE"]
    assert searching.of_defaults(search, search.study()).number == 1
    assert outcome(search, search.study().best_trial).endswith(", the defaults")


def test_a_study_goes_on_after_it_was_killed(tmp_path):
    search = Search(SMALL, 1, tmp_path, ())
    tune(search, 2, jobs=1, quiet=True)
    search.study().ask(search.space())  # killed in the middle of a trial
    tune(search, 4, jobs=2, quiet=True)
    assert len(finished(search, "COMPLETE", "PRUNED")) == 4
    assert len(finished(search, "FAIL")) == 1
    assert len({json.dumps(trial.params) for trial in search.study().get_trials()}) == 5  # none is tried twice


def test_a_hopeless_trial_is_pruned(tmp_path):
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
    quoted = Config(env="TempControl-v1", env_kwargs={"level": "high", "label": "a b", "n": "3"})
    assert parse(shlex.split(command(quoted))[3:]).to_config() == quoted


@pytest.mark.usefixtures("here")
def test_another_study_is_not_mixed_in(tmp_path):
    tune(Search(SMALL, 1, tmp_path, ()), 1, jobs=1, quiet=True)
    with pytest.raises(UsageError, match=r"holds a study with other settings .--training-steps 20, not 30.;"):
        tune(Search(dataclasses.replace(SMALL, training_steps=30), 1, tmp_path, ()), 2, jobs=1, quiet=True)
    with pytest.raises(UsageError, match=r"other settings .searched \["):
        tune(Search(SMALL, 1, tmp_path, ("update_damping",)), 2, jobs=1, quiet=True)


@pytest.mark.usefixtures("here")
def test_a_study_goes_on_wherever_its_trials_run(tmp_path):
    tune(Search(SMALL, 1, tmp_path, ("env", "quiet")), 1, jobs=1, quiet=True)
    elsewhere = dataclasses.replace(SMALL, drivers="auto", driver_timeout=9.0, checkpoint_seconds=3.0)
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
