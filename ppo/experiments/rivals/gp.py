"""The rival ``gp``: a Gaussian process over knobs and conditions together, with BoTorch (the extra ``compare``).

A third of the evaluations is a Latin hypercube. The rest comes in batches of eight, at the conditions of a Sobol
sequence, with the knobs where the mean less two standard deviations is least. The law minimises the mean.
"""

import itertools
from collections.abc import Callable

import numpy as np
import torch
from botorch.generation.gen import gen_candidates_scipy
from scipy.stats import qmc

from ppo.experiments.rivals.gp_model import KERNELS, Shape, Surface, exact, fit
from ppo.experiments.rivals.metered import Metered, RivalLaw

BATCH = 8
DEVIATIONS = 2.0  # of the lower confidence bound
CANDIDATES, NEIGHBOURS = 512, 50  # knobs among which a search picks its starts: Sobol points, and evaluated knobs
BATCH_RESTARTS, QUERY_RESTARTS = 5, 10
REFIT, RECHOOSE = 1.15, 1.6  # growth of the data after which hyper-parameters, and kernel and warp, are fitted again
SHAPES = tuple(itertools.product(KERNELS, (False, True)))
Function = Callable[[torch.Tensor], torch.Tensor]


def gp(objective: Metered, evaluations: int, seed: int) -> RivalLaw:
    """Learns a law with a Gaussian process; see the module."""
    torch.set_num_threads(1)
    with exact():
        learner = GaussianProcess(objective, evaluations, seed)
        while learner.more():
            pass
        learner.fit()

    def law(c: np.ndarray) -> np.ndarray:
        with exact():
            return learner.minimise(learner.surface.mean, c, QUERY_RESTARTS)[:, : objective.knobs]

    return law


class GaussianProcess:
    """The data so far, and the process fitted to it.

    Args:
        objective: what it asks for f.
        evaluations: what it may spend.
        seed: seed of all of its choices.

    Attributes:
        shape: kernel and warp.
        surface: the process.
    """

    shape: Shape
    surface: Surface

    def __init__(self, objective: Metered, evaluations: int, seed: int):
        self.objective = objective
        self._rng = np.random.default_rng(seed)
        self._conditions = qmc.Sobol(objective.conditions, rng=self._rng)
        self._spread = max(4, evaluations // 3)
        self._z, self._f = np.empty((0, objective.dims)), np.empty(0)
        self._ask(2 * qmc.LatinHypercube(objective.dims, rng=self._rng).random(self._spread) - 1)
        self._models: dict[Shape, dict] = {}
        self._fitted_at = 0
        self._choose()

    def more(self) -> bool:
        """Evaluates a batch; returns False where nothing is left to spend."""
        size = min(BATCH, self.objective.left)
        if size == 0:
            return False
        c = 2 * self._conditions.random(BATCH)[:size] - 1
        self._ask(self.minimise(lambda z: self.surface.lower_bound(z, DEVIATIONS), c, BATCH_RESTARTS))
        n = len(self._f)
        if n >= RECHOOSE * self._chosen_at:
            self._choose()
        elif n >= REFIT * self._fitted_at:
            self.fit()
        else:
            self.surface = self.surface.with_all(self._z, self._f)
        return True

    def fit(self) -> None:
        """Fits the hyper-parameters of the chosen kernel and warp to all data."""
        self.surface, _ = self._fitted(self.shape)

    def _fitted(self, shape: Shape) -> tuple[Surface, float]:
        """Returns the process of a kernel and warp, fitted from where it was when last fitted, and its evidence."""
        surface, evidence = fit(shape, self._z, self._f, self._spread, self._models.get(shape))
        self._models[shape] = surface.model.state_dict()
        self._fitted_at = len(self._f)
        return surface, evidence

    def _choose(self) -> None:
        """Fits each kernel with and without the warp, and keeps the pair of most marginal likelihood."""
        found = {shape: self._fitted(shape) for shape in itertools.starmap(Shape, SHAPES)}
        self.shape = max(found, key=lambda shape: found[shape][1])
        self.surface = found[self.shape][0]
        self._chosen_at = len(self._f)

    def _ask(self, z: np.ndarray) -> None:
        knobs = self.objective.knobs
        f = self.objective(z[:, :knobs], z[:, knobs:])
        self._z, self._f = np.concatenate([self._z, z]), np.concatenate([self._f, f])

    def minimise(self, function: Function, c: np.ndarray, restarts: int) -> np.ndarray:
        """Minimises a function of states over the knobs, by L-BFGS-B from several starts for each condition.

        Args:
            function: maps states ``[n, dims]`` to values ``[n]``, each row by itself.
            c: conditions, ``[m, conditions]``.
            restarts: number of starts.

        Returns:
            States, ``[m, dims]``.
        """
        knobs, m = self.objective.knobs, len(c)
        starts = torch.as_tensor(self._starts(function, c, restarts))
        bounds = torch.ones(starts.shape[2], dtype=starts.dtype)
        found, values = gen_candidates_scipy(
            starts.reshape(m * restarts, 1, -1),
            lambda z: -function(z[:, 0]),
            -bounds,
            bounds,
            fixed_features={j: starts[:, :, j].reshape(-1) for j in range(knobs, starts.shape[2])},
            options={"maxiter": 100},
        )
        best = values.reshape(m, restarts).argmax(dim=1)
        return found.reshape(m, restarts, -1)[torch.arange(m), best].detach().numpy()

    def _starts(self, function: Function, c: np.ndarray, restarts: int) -> np.ndarray:
        """Returns starts for each condition, ``[m, restarts, dims]``: the best half of them, the others from the best
        quarter of the candidates."""
        knobs, half = self.objective.knobs, restarts // 2
        sobol = 2 * qmc.Sobol(knobs, rng=self._rng).random(CANDIDATES) - 1
        starts = []
        for row in c:
            near = np.argsort(((self._z[:, knobs:] - row) ** 2).sum(axis=1), kind="stable")[:NEIGHBOURS]
            pool = np.concatenate([sobol, self._z[near, :knobs]])
            states = np.concatenate([pool, np.tile(row, (len(pool), 1))], axis=1)
            with torch.no_grad():
                order = np.argsort(function(torch.as_tensor(states)).numpy(), kind="stable")
            others = self._rng.choice(order[half : len(order) // 4], restarts - half, replace=False)
            starts.append(states[np.concatenate([order[:half], others])])
        return np.stack(starts)
