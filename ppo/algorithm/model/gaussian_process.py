"""A Gaussian process of f(x, c), with a warp of f that is fitted together with it.

The kernel is Matern-5/2, the smoother RBF or a sum over all pairs of coordinates, with a length scale for each
coordinate (Rasmussen & Williams 2006, eq. 5.1), plus noise. The warp is monotone, so that the best knobs under the
warped f are those under f (Snelson et al. 2004): a logarithm of the distance from below or from above the evaluated
values. Mean and variance are profiled out, the rest maximises the marginal likelihood, the choice between Matern and
RBF included. Everything is computed from differences and ratios of f, so that f times a power of two gives the same
bits.
"""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dpotri

from actors.critic import Critic, stretched, unwarped
from actors.kernels import KERNEL_NAMES, KernelName
from actors.step_limit import StepLimit
from ppo.algorithm.model.frame import Frame, window_of
from ppo.algorithm.model.kernels import KERNELS, Kernel
from ppo.algorithm.model.region import Avoided

Side = Literal["low", "high"]
SIDES: tuple[Side, ...] = get_args(Side)
LEAST_NOISE, MOST_NOISE = 1e-11, 10.0
LEAST_NOISE_SHARE = 1e-6  # of the variance of the warped f: with less noise, other evaluations say little
LENGTHS = (0.02, 40.0)
WARPS = (1e-10, 1e2)
BLOCK_ENTRIES = 40_000


@dataclass(frozen=True)
class Hyperparameters:
    """What a fit chooses.

    Attributes:
        lengths: length scale of each coordinate, ``[dims]``.
        noise: variance of the noise as a share of the variance of f.
        warp: distance, as a share of the range of the values, above which they are compressed.
        side: the end of the values that the warp stretches.
        kernel: which kernel.
    """

    lengths: np.ndarray
    noise: float
    warp: float
    side: Side
    kernel: KernelName = "matern"

    @property
    def other_kernel(self) -> "Hyperparameters":
        """The same with the other kernel of the distance in all coordinates."""
        return replace(self, kernel="matern" if self.kernel == "rbf" else "rbf")

    @property
    def logs(self) -> np.ndarray:
        """Logarithms of all numbers, ``[dims + 2]``."""
        return np.log([*self.lengths, self.noise, self.warp])

    def at(self, logs: np.ndarray) -> "Hyperparameters":
        """Returns those whose logarithms are ``logs``."""
        *lengths, noise, warp = np.exp(logs)
        return replace(self, lengths=np.array(lengths), noise=float(noise), warp=float(warp))


def first_guesses(dims: int) -> list[Hyperparameters]:
    """Returns hyperparameters to start a fit from: for either side of the warp, Matern and RBF."""
    lengths = np.full(dims, dims**0.5)
    kernels: tuple[KernelName, ...] = "matern", "rbf"
    return [Hyperparameters(lengths, 1e-4, 1.0, side, kernel) for side in SIDES for kernel in kernels]


def nearly_polynomial(dims: int) -> Hyperparameters:
    """Returns those of a smooth process without noise and warp: a fit may find a polynomial from there alone."""
    return Hyperparameters(np.full(dims, 2 * dims**0.5), 1e-8, WARPS[1] / 2, "low", "rbf")


def of_pairs(dims: int) -> Hyperparameters:
    """Returns those of a sum of functions of two coordinates each, without noise and warp; of three or more alone."""
    return Hyperparameters(np.full(dims, dims**0.5), 1e-8, WARPS[1] / 2, "low", "pairs")


class GaussianProcess:
    """A fitted process: predicts the warped f, which orders knobs as f does.

    Args:
        states: where f was evaluated, knobs and conditions, ``[n, dims]`` in [-1, 1].
        values: finite f there, ``[n]``.
        hyperparameters: as ``fit`` chooses them.
        frame: coordinates in which it is a process; None for the states themselves.

    Attributes:
        level, variance: profiled mean and variance of the warped f.
        scaled: ``states`` in the frame, in units of the length scales.
        targets: warped values, ``[n]``.
        factor: lower Cholesky factor of their covariance, as a share of the variance, ``[n, n]``.
        weights: what the kernel at each state is multiplied with, ``[n]``.
        repeats: evaluations for each state that it knows of, in the mean: 1, or more where ``informed`` made it.
        limit: how far knobs may lie from those of a start law; None for no limit.
        region: where f is likely to fail or to break a constraint, and its mean is as bad as can be, that with a std
            excepted; None for none.
    """

    repeats = 1.0
    limit: StepLimit | None = None
    region: Avoided | None = None

    def __init__(
        self, states: np.ndarray, values: np.ndarray, hyperparameters: Hyperparameters, frame: Frame | None = None
    ):
        self.states, self.hyperparameters, self.frame = states, hyperparameters, frame
        self.scaled = self.scale(states)
        self.low, self.range = float(values.min()), float(np.ptp(values)) or 1.0
        self.targets = self.warped(values)
        covariance = self._kernel.within(self.scaled)
        covariance[np.diag_indices_from(covariance)] = 1 + hyperparameters.noise
        self.factor = cholesky(covariance, lower=True, overwrite_a=True, check_finite=False)
        ones = cho_solve((self.factor, True), np.ones(len(values)), check_finite=False)
        self.level = float(ones @ self.targets / ones.sum())
        self.weights = cho_solve((self.factor, True), self.targets - self.level, check_finite=False)
        self.variance = max(float((self.targets - self.level) @ self.weights) / len(values), 1e-300)

    def kernel(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Returns the correlation of scaled states ``[m, dims]`` and ``[n, dims]``, ``[m, n]``."""
        return self._kernel.between(a, b)

    @property
    def _kernel(self) -> Kernel:
        return KERNELS[self.hyperparameters.kernel]

    def scale(self, states: np.ndarray) -> np.ndarray:
        """Returns states ``[m, dims]`` in the frame, in units of the length scales."""
        return (states if self.frame is None else self.frame.coordinates(states)) / self.hyperparameters.lengths

    def window(self, conditions: np.ndarray, knobs: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns between which knobs it predicts at conditions ``[m, conditions]``, ``[m, knobs]`` each."""
        return window_of(self.frame, self.limit, conditions, knobs)

    def warped(self, values: np.ndarray) -> np.ndarray:
        """Returns the warp of values of f; it goes on linearly beyond those that were evaluated."""
        place = (values - self.low) / self.range
        warp = self.hyperparameters.warp
        if self.hyperparameters.side == "low":
            return stretched(place, warp)
        return -stretched(1 - place, warp)

    def unwarped(self, warped: np.ndarray) -> np.ndarray:
        """Returns f for its warped values."""
        hyper = self.hyperparameters
        return unwarped(warped, hyper.warp, hyper.side == "low", self.low, self.range)

    @property
    def noisy(self) -> bool:
        """Whether f has noise, as the process sees it, or is less regular than it."""
        return bool(self.variance * self.hyperparameters.noise >= LEAST_NOISE_SHARE * self.targets.var())

    def noise_of(self, value: float) -> float:
        """Returns the standard deviation of the noise about a value of f, in the unit of f."""
        warped = self.warped(np.array([value]))
        step = (self.hyperparameters.noise * self.variance) ** 0.5
        return float((self.unwarped(warped + step) - self.unwarped(warped))[0])

    def mean(self, states: np.ndarray) -> np.ndarray:
        """Returns the posterior mean of the warped f at ``[m, dims]``, ``[m]``."""
        scaled, found = self.scale(states), np.empty(len(states))
        for rows in self._blocks(len(states)):
            found[rows] = self.kernel(scaled[rows], self.scaled) @ self.weights
        found += self.level
        return found if self.region is None else self.region.raised(found, states, self.targets)

    def mean_and_slope(self, states: np.ndarray, knobs: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the posterior mean of the warped f at ``[m, dims]``, ``[m]``, and its slope by the knobs."""
        lengths = self.hyperparameters.lengths * (1.0 if self.frame is None else self.frame.radius)
        scaled, found = self.scale(states), np.empty(len(states))
        places = self.weights[:, None] * np.column_stack([np.ones(len(self.weights)), self.scaled[:, :knobs]])
        slope = np.empty((len(states), knobs))
        for rows in self._blocks(len(states)):
            found[rows], slope[rows] = self._kernel.weighted(scaled[rows], self.scaled, self.weights, places)
        found += self.level
        slope /= lengths[:knobs]
        return (found, slope) if not self.region else self.region.raised_with_slope(found, slope, states, self.targets)

    def _blocks(self, count: int) -> list[slice]:
        """Returns slices of so many rows: a block's correlations, or one factor of them, fit into a core's cache."""
        size = max(1, BLOCK_ENTRIES // len(self.weights))
        return [slice(first, first + size) for first in range(0, count, size)]

    def mean_and_std(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the posterior mean of the warped f at ``[m, dims]``, ``[m]``, and its std without noise, ``[m]``."""
        covariance = self.kernel(self.scale(states), self.scaled)
        solved = solve_triangular(self.factor, covariance.T, lower=True, check_finite=False)
        share = np.maximum(1 - (solved * solved).sum(axis=0), 1e-12)
        return self.level + covariance @ self.weights, np.sqrt(self.variance * share)

    def left_out_density(self) -> np.ndarray:
        """Returns the density of each evaluation as the others predict it (ibid., eq. 5.10 to 5.12), ``[n]``."""
        assert self.repeats == 1, "it knows of others than those it takes"
        halves = solve_triangular(self.factor, np.eye(len(self.targets)), lower=True, check_finite=False)
        precision = (halves * halves).sum(axis=0)
        return self._density(self.targets, self.targets - self.weights / precision, self.variance / precision)

    def density(self, states: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Returns the logarithm of the density of values of f ``[m]`` at states ``[m, dims]``, ``[m]``.

        A constant is left out that is the same for all processes of f.
        """
        mean, std = self.mean_and_std(states)
        return self._density(self.warped(values), mean, std**2 + self.variance * self.hyperparameters.noise)

    def density_unknown(self, values: np.ndarray) -> np.ndarray:
        """Returns the same for who knows only the mean and the variance of the warped f, ``[m]``."""
        return self._density(self.warped(values), self.targets.mean(), self.targets.var() or 1.0)

    def _density(self, warped: np.ndarray, mean: np.ndarray, variance: np.ndarray | float) -> np.ndarray:
        hyper = self.hyperparameters
        from_end = np.maximum(warped if hyper.side == "low" else -warped, 0)
        log_slope = -np.log(hyper.warp) - from_end - np.log(self.range)  # of the warp, at f
        return log_slope - 0.5 * np.log(variance) - 0.5 * (warped - mean) ** 2 / variance

    def critic(self) -> Critic:
        """Returns what predicts the same in NumPy alone; it has no frame."""
        assert self.frame is None, "a law of one component needs no critic"
        hyper = self.hyperparameters
        side = 1.0 if hyper.side == "low" else -1.0
        number = KERNEL_NAMES.index(hyper.kernel)
        noise = hyper.noise / self.repeats
        scalars = [self.level, self.variance, noise, hyper.warp, side, self.low, self.range, number]
        return Critic(self.states.copy(), self.weights, hyper.lengths, np.array(scalars))

    def loss_and_slopes(self) -> tuple[float, np.ndarray]:
        """Returns the loss and its slopes by the logarithms of the hyperparameters, ``[dims + 2]``."""
        hyper, n = self.hyperparameters, len(self.targets)
        place = self._place
        log_slope = -np.log(hyper.warp + place)  # of the warp, up to a constant
        loss = 0.5 * n * np.log(self.variance) + np.log(np.diag(self.factor)).sum() - log_slope.sum()
        inverse, _ = dpotri(self.factor, lower=True)
        inverse += np.tril(inverse, -1).T  # only the lower triangle was computed
        outer = inverse - np.outer(self.weights, self.weights / self.variance)
        by_lengths = self._kernel.length_slopes(self.scaled, outer)
        slopes = [*by_lengths, 0.5 * hyper.noise * np.trace(outer)]
        # The warp moves the targets and the slope of the warp. Of a place p: log(1 + p / w).
        moved = -place / (hyper.warp + place)
        moved = moved if hyper.side == "low" else -moved
        by_warp = self.weights @ moved / self.variance + (hyper.warp / (hyper.warp + place)).sum()
        beside, beside_slopes = prior(hyper)
        return float(loss + beside), np.array([*slopes, by_warp]) + beside_slopes

    @property
    def _place(self) -> np.ndarray:
        """Returns how far the values lie from the end that the warp stretches, as shares of their range, ``[n]``."""
        return self.hyperparameters.warp * np.expm1(np.abs(self.targets))


def factored(
    states: np.ndarray, values: np.ndarray, hyper: Hyperparameters, frame: Frame | None = None
) -> GaussianProcess:
    """Returns the process; its noise is larger where the covariance cannot be factored otherwise."""
    while True:
        try:
            return GaussianProcess(states, values, hyper, frame)
        except np.linalg.LinAlgError:
            hyper = replace(hyper, noise=10 * hyper.noise)


def prior(hyper: Hyperparameters) -> tuple[float, np.ndarray]:
    """Returns the loss of a log-normal prior of the length scales, wider in more dimensions, and its slopes."""
    dims = len(hyper.lengths)
    offset = (np.log(hyper.lengths) - np.log(2 * dims**0.5)) / 3**0.5
    slopes = np.zeros(dims + 2)
    slopes[:dims] = offset / 3**0.5
    return float(0.5 * (offset * offset).sum()), slopes
