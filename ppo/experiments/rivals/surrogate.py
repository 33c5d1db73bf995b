"""The rival ``surrogate``: four small networks that learn f, whose mean is minimised at each query.

A quarter of the evaluations is a Latin hypercube. The rest comes in eight rounds at random conditions: most with the
knobs where the mean less a standard deviation over the networks is least, some at random knobs.
"""

import itertools
import math

import numpy as np
import torch

from ppo.experiments.rivals.metered import Metered, RivalLaw
from ppo.experiments.rivals.warp import Warp

NETWORKS, WIDTH, HIDDEN = 4, 32, 2
ROUNDS = 8
DEVIATIONS, EXPLORED = 1.0, 0.15  # of the lower bound; share of a round at random knobs
ITERATIONS = (400, 400, 1600)  # of L-BFGS: in the first round, in later ones, and at the end
PENALTY = 1e-6  # of the squared parameters, beside the mean squared error of standardised values
CANDIDATES, RESTARTS = 256, 8  # random knobs of which the best are starts of a descent
DESCENT, DESCENT_RATE = 60, 0.03  # steps of Adam, and their size


class Ensemble(torch.nn.Module):
    """Networks of tanh units, side by side, in double precision: states ``[n, dims]`` -> values ``[networks, n]``."""

    def __init__(self, dims: int, seed: int):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        sizes = [(a, b) for a, b in itertools.pairwise((dims, *[WIDTH] * HIDDEN, 1))]
        weights = [torch.randn(NETWORKS, a, b, generator=generator) / math.sqrt(a) for a, b in sizes]
        biases = [torch.randn(NETWORKS, 1, b, generator=generator) * (b > 1) for _, b in sizes]
        self.weights = torch.nn.ParameterList(weight.double() for weight in weights)
        self.biases = torch.nn.ParameterList(bias.double() for bias in biases)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        layers = list(zip(self.weights, self.biases, strict=True))
        values = z.expand(NETWORKS, *z.shape)
        for weight, bias in layers[:-1]:
            values = torch.tanh(torch.baddbmm(bias, values, weight))
        return torch.baddbmm(layers[-1][1], values, layers[-1][0])[..., 0]

    def fit(self, z: np.ndarray, f: np.ndarray, spread: int, iterations: int) -> None:
        """Fits the networks to a log warp of f by L-BFGS, from where they are.

        Args:
            z: states, ``[n, dims]``.
            f: finite values, ``[n]``.
            spread: how many of the first evaluations are spread over all states; see ``Warp.of``.
            iterations: of L-BFGS.
        """
        states, y = torch.as_tensor(z), torch.as_tensor(Warp.of(f, spread)(f))
        parameters = list(self.parameters())
        search = torch.optim.LBFGS(
            parameters, max_iter=iterations, history_size=50, line_search_fn="strong_wolfe", tolerance_change=0
        )

        def loss() -> torch.Tensor:
            search.zero_grad()
            error = ((self(states) - y) ** 2).mean(dim=1).sum()
            total = error + PENALTY * torch.stack([(one * one).sum() for one in parameters]).sum()
            total.backward()
            return total

        search.step(loss)

    def minimise(self, c: np.ndarray, knobs: int, deviations: float, rng: np.random.Generator) -> np.ndarray:
        """Minimises the mean, less some deviations over the networks, over the knobs.

        Args:
            c: conditions, ``[m, conditions]``.
            knobs: number of knobs.
            deviations: standard deviations to take off.
            rng: draws the candidates.

        Returns:
            Knobs, ``[m, knobs]``.
        """
        m, conditions = len(c), torch.as_tensor(c)

        def bound(x: torch.Tensor, repeats: int) -> torch.Tensor:
            values = self(torch.cat([x, conditions.repeat_interleave(repeats, dim=0)], dim=1))
            return values.mean(dim=0) - deviations * values.std(dim=0)

        pool = torch.as_tensor(rng.uniform(-1, 1, (CANDIDATES, knobs)))
        with torch.no_grad():
            order = bound(pool.repeat(m, 1), CANDIDATES).reshape(m, CANDIDATES)
            x = pool[order.topk(RESTARTS, largest=False).indices].reshape(m * RESTARTS, knobs)
        x.requires_grad_(True)
        descent = torch.optim.Adam([x], DESCENT_RATE)
        slower = torch.optim.lr_scheduler.CosineAnnealingLR(descent, DESCENT)
        for _ in range(DESCENT):
            (x.grad,) = torch.autograd.grad(bound(x, RESTARTS).sum(), x)
            descent.step()
            slower.step()
            with torch.no_grad():
                x.clamp_(-1, 1)
        with torch.no_grad():
            best = bound(x, RESTARTS).reshape(m, RESTARTS).argmin(dim=1)
        return x.detach().reshape(m, RESTARTS, knobs)[torch.arange(m), best].numpy()


def surrogate(objective: Metered, evaluations: int, seed: int) -> RivalLaw:
    """Learns a law with an ensemble; see the module."""
    from scipy.stats import qmc

    torch.set_num_threads(1)
    rng, knobs = np.random.default_rng(seed), objective.knobs
    spread = max(4, evaluations // 4)
    z = 2 * qmc.LatinHypercube(objective.dims, rng=rng).random(spread) - 1
    f = objective(z[:, :knobs], z[:, knobs:])
    ensemble = Ensemble(objective.dims, seed)
    for number in range(ROUNDS):
        ensemble.fit(z, f, spread, ITERATIONS[min(number, 1)])
        n = objective.left // (ROUNDS - number)
        c = rng.uniform(-1, 1, (n, objective.conditions))
        x = ensemble.minimise(c, knobs, DEVIATIONS, rng)
        explored = rng.random(n) < EXPLORED
        x[explored] = rng.uniform(-1, 1, (explored.sum(), knobs))
        f = np.concatenate([f, objective(x, c)])
        z = np.concatenate([z, np.concatenate([x, c], axis=1)])
    ensemble.fit(z, f, spread, ITERATIONS[-1])
    return lambda c: ensemble.minimise(c, knobs, 0.0, np.random.default_rng(seed))
