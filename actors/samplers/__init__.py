"""Start samplers, which choose where the episodes of a training step begin; one strategy a file.

A sampler draws starts and nothing else: running slots, and anything that knows of drivers, may not live here.
"""

from actors.samplers.base import Sampler
from actors.samplers.latin_hypercube import LatinHypercube
from actors.samplers.mix import Mix, make_sampler
from actors.samplers.random import Random
from actors.samplers.uncertainty import Uncertainty

__all__ = ["LatinHypercube", "Mix", "Random", "Sampler", "Uncertainty", "make_sampler"]
