"""A name stands for an objective, a class or a registered id; others are refused with the flag that named them."""

import gymnasium
import pytest

from env import UsageError
from env.names import find_environment, import_object
from env.objectives import Sphere
from tests.problems import CornerSampler, CountdownEnv, Quadratic


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sphere", Sphere),
        ("tuninglaw/Sphere-v0", Sphere),
        ("tests.problems:Quadratic", Quadratic),
        ("tests.problems:CountdownEnv", CountdownEnv),
        ("CartPole-v1", "CartPole-v1"),
        ("gymnasium:CartPole-v1", "CartPole-v1"),
    ],
)
def test_what_a_name_stands_for(name, expected):
    assert find_environment(name) == expected


def test_a_module_registers_its_ids_when_it_is_named():
    assert find_environment("tests.late_ids:OnImport-v0") == "OnImport-v0"
    assert gymnasium.spec("OnImport-v0").max_episode_steps == 4


def test_import_object_returns_the_object_itself():
    assert import_object("--sampler", "tests.problems:CornerSampler") is CornerSampler


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("tests.problems", "must be package.module:Class"),
        ("tests.problems:", "must be package.module:Class"),
        ("tests..problems:Quadratic", "must be package.module:Class"),
        ("tests.problems:CornerSampl", "module 'tests.problems' has no 'CornerSampl' .did you mean 'CornerSampler'"),
        ("tests.nowhere:Thing", "no module named 'tests.nowhere' can be imported from here"),
        ("__main__:Thing", "drivers do not run the main program again"),
    ],
)
def test_a_path_that_cannot_be_imported_is_named_with_its_flag(path, message):
    with pytest.raises(UsageError, match=f"^--sampler {path}: .*{message}"):
        import_object("--sampler", path)
