"""Choices are labels of components: the law jumps among them as is best, and no component has half an option."""

import dataclasses

import numpy as np
import pytest

import tuninglaw
from actors.law_file import load_snapshot
from env import UsageError
from ppo import Config, resolve
from ppo.algorithm.components import frozen, label_values
from ppo.data.archive import NAME, read_archive
from ppo.train import train
from tests.ppo.algorithm.model.quick import quick
from tests.ppo.training.test_archiving import facts, law_of, without
from tests.ppo.training.test_resume import killed_at
from tests.problems import modes

CONFIGS = {
    "with a model": Config(env="tests.problems:modes", evaluations=120, hidden_sizes=(8, 8), drivers=0),
    "without": Config(
        env="tests.problems:modes", evaluations=1200, hidden_sizes=(8, 8), drivers=0, model="none", eval_every=10
    ),
}
LOADS = np.linspace(-1, 1, 21)[
    [0, 2, 4, 5, 7, 8, 10, 12, 13, 15, 16, 18, 20]
].tolist()  # away from the changes at +-0.4


def run(config, path, **options):
    return train(config, path, quiet=True, pictures=False, **options)


@pytest.fixture(scope="module", params=CONFIGS)
def trained(request, tmp_path_factory):
    """A run in this process: its configuration, its directory and its summary."""
    path = tmp_path_factory.mktemp("choices") / "run"
    with pytest.MonkeyPatch.context() as patch:
        quick(patch.setattr)
        yield CONFIGS[request.param], path, run(CONFIGS[request.param], path)


def test_the_law_takes_the_best_option_under_each_condition(trained):
    law = tuninglaw.load(trained[1])
    found = [law(load=load) for load in LOADS]
    assert [one["mode"] for one in found] == ["a" if load < -0.4 else "b" if load < 0.4 else "c" for load in LOADS]
    for load, one in zip(LOADS, found, strict=True):
        least = min(modes(mode, trim, load) for mode in "abc" for trim in np.linspace(-1, 1, 401))
        assert modes(**one, load=load) < least + 0.01


def test_no_component_has_half_an_option(trained):
    """Its label is the same in every state, and all options have a component."""
    snapshot = load_snapshot(trained[1] / "law.npz")
    spec, kept = snapshot.spec, frozen(snapshot.spec)
    weight, bias = spec.views(snapshot.theta)[-1]
    outputs = spec.own_outputs(np.arange(spec.components))
    assert spec.labelled == (0,) and (weight[:, outputs[:, 0]] == 0).all()
    assert set(bias[outputs[:, 0]].tolist()) == {-1.0, 0.0, 1.0}
    assert kept.sum() == spec.components * 2 * (len(weight) + 1)


def test_every_evaluation_is_of_an_option(trained):
    rows = read_archive(trained[1] / NAME, "").rows
    assert set(rows["x"][:, 0].tolist()) == {-1.0, 0.0, 1.0}
    assert len(set(rows["x"][:, 1].tolist())) > 50


def test_the_same_bits_with_two_drivers(trained, tmp_path):
    config, path, summary = trained
    drivers = run(dataclasses.replace(config, drivers=2), tmp_path / "run")
    assert drivers["drivers"] == 2 and drivers["policy_sha256"] == summary["policy_sha256"]
    assert facts(tmp_path / "run") == facts(path) and law_of(tmp_path / "run") == law_of(path)


def test_a_run_goes_on_from_its_archive_alone(trained, tmp_path):
    config, path, summary = trained
    (tmp_path / "run").mkdir()
    for name in ("config.json", NAME):
        (tmp_path / "run" / name).write_bytes((path / name).read_bytes())
    assert run(config, tmp_path / "run", resume=True)["policy_sha256"] == summary["policy_sha256"]


def test_a_killed_run_goes_on_from_its_checkpoint(tmp_path):
    from ppo.algorithm.valleys import ComponentsLearner

    config = dataclasses.replace(CONFIGS["without"], evaluations=360, checkpoint_every=2)
    whole = run(config, tmp_path / "whole")
    killed_at(3, config, tmp_path / "cut", ComponentsLearner)
    without(tmp_path / "cut", "law.npz")
    assert run(config, tmp_path / "cut", resume=True)["policy_sha256"] == whole["policy_sha256"]


@pytest.mark.parametrize(
    ("changes", "components"),
    [({"model": "none"}, 3), ({"model": "gp"}, 6), ({"evaluations": None}, 3), ({"model": "none", "components": 5}, 5)],
)
def test_each_combination_has_a_component(changes, components):
    config = dataclasses.replace(CONFIGS["with a model"], **changes)
    assert resolve(config).components == components


def test_with_more_combinations_a_model_has_two_components_of_each():
    from tests.problems import switches

    assert resolve(Config(env=switches, evaluations=300)).components == 24
    assert resolve(Config(env=switches, evaluations=3000, model="none")).components == 12
    spec_steps = Config(env=switches).problem().describe()
    assert (spec_steps.combinations, spec_steps.labelled) == (12, (0, 2))


def test_too_few_components_are_told():
    config = dataclasses.replace(CONFIGS["without"], components=2)
    message = "--components 2: --env tests.problems:modes has 3 combinations of its choices, and each takes a component"
    with pytest.raises(UsageError, match=message):
        resolve(config)


def test_labels_of_several_choices_are_all_combinations():
    from ppo.algorithm.learner import policy_spec
    from tests.problems import switches

    config = resolve(Config(env=switches, evaluations=300))
    values = label_values(policy_spec(config, config.problem().describe()))
    assert len(set(map(tuple, values.tolist()))) == len(values) == 12
    assert set(values[:, 0].tolist()) == {-1, 1} and values[:, 1] == pytest.approx(np.tile(np.linspace(-1, 1, 6), 2))
