"""Models that several test files ask: fitted once, and never changed."""

import pytest

from tests.ppo.algorithm.model.processes import Crossing, fitted
from tests.problems import Quadratic


@pytest.fixture(scope="session")
def model():
    return fitted(Quadratic(), 60)


@pytest.fixture(scope="session")
def valleys():
    return fitted(Crossing(), 60)
