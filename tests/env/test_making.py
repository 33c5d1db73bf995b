"""What cannot be made says what to install; observations of several parts are made flat."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from env import Problem, UsageError
from env.making import EXTRAS, with_own_extra
from tests.observing import SeesParts, SeesTuple


def lacks_package(**kwargs):
    raise gymnasium.error.DependencyNotInstalled('MuJoCo is not installed, run `pip install "gymnasium[mujoco]"`')


def test_a_missing_package_names_this_packages_extra():
    gymnasium.register("LacksPackage-v0", lacks_package, max_episode_steps=3)
    try:
        with pytest.raises(UsageError, match=r"cannot be made: MuJoCo is .* `pip install 'tuninglaw\[mujoco\]'`$"):
            Problem("LacksPackage-v0").describe()
    finally:
        del gymnasium.registry["LacksPackage-v0"]


@pytest.mark.parametrize("given", ['pip install "gymnasium[box2d]"', "pip install swig", "pip install gymnasium[all]"])
def test_an_extra_of_gymnasiums_alone_stays(given):
    assert with_own_extra(f"run `{given}`") == f"run `{given}`"


def test_the_extras_are_those_of_the_package():
    import configparser
    import pathlib

    setup = configparser.ConfigParser(interpolation=None)
    setup.read(pathlib.Path(__file__).parents[2] / "setup.cfg")
    for extra in EXTRAS:
        assert f"gymnasium[{extra}]" in setup["options.extras_require"][extra]


@pytest.mark.parametrize("kind", [SeesParts, SeesTuple])
def test_parts_are_made_flat_as_the_space_flattens_them(kind):
    problem = Problem(f"tests.observing:{kind.__name__}")
    assert problem.describe().shown_space == kind.observation_space
    assert problem.describe().obs_dim == spaces.flatdim(kind.observation_space) == 4 + 3 + 5 + 2
    batch, single = problem.make_batch(2, None), kind()
    obs = batch.reset(seed=[3, 4])[0]
    assert np.array_equal(obs[1], spaces.flatten(kind.observation_space, single.reset(seed=4)[0]))
    assert (obs[0] != obs[1]).any()
