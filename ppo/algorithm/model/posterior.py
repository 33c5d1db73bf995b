"""A Gaussian process with evaluations that are planned and not made yet: they narrow it down, and leave its mean."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from ppo.algorithm.model.gaussian_process import GaussianProcess


@dataclass
class Watched:
    """States whose uncertainty is kept up to date.

    Attributes:
        scaled: ``[m, dims]``.
        solved: their covariances with what was evaluated or planned, solved by the Cholesky factor, ``[n, m]``.
        share: their variance as a share of that of f, ``[m]``.
        variance: that of f.
    """

    scaled: np.ndarray
    solved: np.ndarray
    share: np.ndarray
    variance: float

    @property
    def std(self) -> np.ndarray:
        """Standard deviations of the warped f, ``[m]``."""
        return np.sqrt(self.variance * np.maximum(self.share, 1e-12))


class Posterior:
    """A process together with evaluations that are planned: they narrow it down, and do not move its mean.

    Args:
        model: fitted to what was evaluated.
        most: number of evaluations that can be planned.
    """

    def __init__(self, model: GaussianProcess, most: int):
        n = len(model.states)
        self._model, self._count = model, n
        self._factor = np.zeros((n + most, n + most), order="F")
        self._factor[:n, :n] = model.factor
        self._scaled = np.concatenate([model.scaled, np.zeros((most, model.scaled.shape[1]))])
        self._watched: list[Watched] = []

    def watch(self, states: np.ndarray) -> Watched:
        """Returns the stds at states ``[m, dims]``, which are kept up to date."""
        scaled = self._model.scale(states)
        solved = self._solved(self._model.kernel(scaled, self._scaled[: self._count]))
        self._watched.append(Watched(scaled, solved, 1 - (solved * solved).sum(axis=0), self._model.variance))
        return self._watched[-1]

    def mean_and_std(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns means and stds of the warped f at ``[m, dims]``, ``[m]`` each."""
        covariance = self._model.kernel(self._model.scale(states), self._scaled[: self._count])
        solved = self._solved(covariance)
        share = np.maximum(1 - (solved * solved).sum(axis=0), 1e-12)
        mean = self._model.level + covariance[:, : len(self._model.states)] @ self._model.weights
        return mean, np.sqrt(self._model.variance * share)

    def believe(self, state: np.ndarray) -> None:
        """Takes the evaluation at a state ``[dims]`` for made, with the value that the model expects."""
        n, scaled = self._count, self._model.scale(state[None])
        column = self._solved(self._model.kernel(scaled, self._scaled[:n]))[:, 0]
        pivot = max(1 + self._model.hyperparameters.noise - float(column @ column), 1e-12) ** 0.5
        self._factor[n, :n], self._factor[n, n], self._scaled[n] = column, pivot, scaled[0]
        self._count += 1
        for watched in self._watched:
            added = (self._model.kernel(scaled, watched.scaled)[0] - column @ watched.solved) / pivot
            watched.solved = np.concatenate([watched.solved, added[None]])
            watched.share = watched.share - added * added

    def _solved(self, covariance: np.ndarray) -> np.ndarray:
        n = self._count
        return solve_triangular(self._factor[:n, :n], covariance.T, lower=True, check_finite=False)
