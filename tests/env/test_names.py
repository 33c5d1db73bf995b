"""A name stands for an objective, a class or a registered id."""

import gymnasium
import pytest

from env.names import find_environment
from env.objectives import Sphere
from tests.problems import CountdownEnv, Quadratic


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
