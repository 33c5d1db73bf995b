"""``ppo.study`` runs a study from end to end, and answers a mistake with one line before anything is written."""

import importlib

import pytest

from env import UsageError
from ppo import Config
from ppo.config.command_line import parse_as
from ppo.study import OPTIONS, Arguments, main

STUDIES = ("scaling", "scale", "lag", "thesis", "ablation", "budget", "defaults", "tempcontrol")


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["thesis", "--only", "nonsense"], "--only nonsense: must be one of modes, failure"),
        (["defaults", "--only", "CartPole"], "--only CartPole: must be one of CartPole-v1, Pendulum-v1"),
        (["tempcontrol", "--only", "ten"], "--only ten: must be one of returns, times, race"),
        (["thesis", "--seeds", "0"], "--seeds 0: must be from 1"),
        (["thesis", "--seeds", "1001"], "--seeds 1001: must be from 1 to 1000"),
        (["thesi"], "thesi"),
        (["scaling", "--quick"], "--quick: the study scaling does not take it"),
        (["scaling", "--seeds", "3"], "--seeds: the study scaling does not take it"),
        (["scaling", "--seeds=10"], "--seeds: the study scaling does not take it"),
        (["scaling", "--only", "x"], "--only: the study scaling does not take it"),
        (["scaling", "--no-quick"], "--quick: the study scaling does not take it"),
        (["ablation", "--only", "ten"], "--only: the study ablation does not take it"),
        (["ablation", "--sedes", "3"], "--sedes"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(argv, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as error:
        main(argv)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("argv", [["scalling"], [], ["scaling", "--ouut", "x"]])
def test_arguments_that_do_not_parse_are_one_line(argv):
    with pytest.raises(UsageError) as caught:
        parse_as(Arguments, "python -m ppo.study", argv)
    assert "\n" not in str(caught.value)


def test_without_matplotlib_one_line_names_the_extra(monkeypatch):
    monkeypatch.setattr("ppo.evaluation.plots.importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'tuninglaw\[plot\]'"):
        main(["scaling"])


TAKES = {
    "scaling": set(),
    "lag": {"seeds", "quick", "only"},
    "scale": {"quick"},
    "thesis": {"seeds", "quick", "only"},
    "ablation": {"seeds", "quick"},
    "budget": {"seeds", "quick"},
    "defaults": {"seeds", "quick", "only"},
    "tempcontrol": {"seeds", "quick", "only"},
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_given_the_options_that_it_takes(name, tmp_path, monkeypatch):
    study, given = importlib.import_module(f"ppo.studies.{name}"), []
    monkeypatch.setattr(study, "run", given.append)
    assert set(study.TAKES) == TAKES[name]
    assert bool(study.GROUPS) == ("only" in TAKES[name])
    values = {"seeds": ["--seeds", "3"], "quick": ["--quick"], "only": ["--only", *study.GROUPS[-1:]]}
    for option in OPTIONS:
        argv = [name, *values[option], "--out", str(tmp_path)]
        if option in TAKES[name]:
            main(argv)
            expected = {"seeds": 3, "quick": True, "only": study.GROUPS[-1] if study.GROUPS else None}[option]
            assert getattr(given.pop(), option) == expected
        elif option != "only" or study.GROUPS:
            with pytest.raises(UsageError, match=f"^--{option}: the study {name} does not take it$"):
                main(argv)
    main([name])
    (options,) = given
    assert str(options.out) == f"runs/reference/{name}"
    assert (options.seeds, options.quick, options.only) == (10, False, None)


def test_a_quick_study_has_a_directory_of_its_own(monkeypatch):
    from ppo.studies import thesis

    given = []
    monkeypatch.setattr(thesis, "run", given.append)
    main(["thesis", "--quick"])
    assert str(given[0].out) == "runs/quick-thesis"


def test_a_quick_study_from_end_to_end(tmp_path, monkeypatch, capsys):
    from ppo.studies import thesis

    tiny = Config(drivers=0, training_steps=20, hidden_sizes=(8,), update_epochs=2, checkpoint_every=10**6)
    monkeypatch.setattr(thesis, "BUDGET", tiny)
    monkeypatch.setattr(thesis, "TRAINING_STEPS", tiny.training_steps)
    main(["thesis", "--seeds", "1", "--only", "modes", "--out", str(tmp_path / "out")])
    assert "bit for bit" in capsys.readouterr().out
    assert "bit for bit" in (tmp_path / "out" / "thesis.md").read_text()
