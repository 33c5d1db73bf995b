"""A process that knows of more evaluations than it takes, which tells where f has noise.

The evaluations count as independent of each other once f is known at the states of the process: the fully independent
training conditional (FITC; Snelson & Ghahramani 2006; Quinonero-Candela & Rasmussen 2005, sect. 6). What follows from
them is written as the process writes what follows from its own, with weights and a factor, so that all that asks it may
go on as before.
"""

import copy

import numpy as np
from scipy.linalg import cho_solve, cholesky, qr, solve_triangular

from ppo.algorithm.model.gaussian_process import GaussianProcess

JITTER = 1e-10  # share of the variance
LEAST_WORTH = 1e-12  # of what is known of f in a direction, beside what is said of it
BLOCK = 2000  # evaluations at a time


def informed(process: GaussianProcess, states: np.ndarray, values: np.ndarray) -> GaussianProcess:
    """Returns a process that knows of evaluations ``[n, dims]``, ``[n]``, those that it takes among them.

    With K the correlations of what it takes, V those with all evaluations solved by the Cholesky factor L of K, and D
    the noise of an evaluation together with what is not known of it given f at the states of the process,
    G = V D^-1 V^T holds what they say. They are worth as many evaluations as the process takes, whose errors have the
    covariance L G^-1 L^T.

    Raises:
        numpy.linalg.LinAlgError: the covariance cannot be factored.
    """
    hyper, taken = process.hyperparameters, len(process.states)
    correlations = process.kernel(process.scaled, process.scaled)
    correlations[np.diag_indices_from(correlations)] = 1 + JITTER
    factor = cholesky(correlations, lower=True, check_finite=False)
    scaled, targets = process.scale(states), process.warped(values) - process.level
    said, sums = np.zeros((taken, taken)), np.zeros(taken)
    for first in range(0, len(states), BLOCK):
        rows = slice(first, first + BLOCK)
        solved = solve_triangular(factor, process.kernel(process.scaled, scaled[rows]), lower=True, check_finite=False)
        weighted = solved / (hyper.noise + np.maximum(1 - (solved * solved).sum(axis=0), 0))
        said += weighted @ solved.T
        sums += weighted @ targets[rows]
    worth, directions = np.linalg.eigh(said)
    # M = L (1 + G^-1) L^T, the covariance of f together with the errors, as a product of a matrix with its transpose
    halves = (factor @ directions) * np.sqrt(1 + 1 / np.maximum(worth, LEAST_WORTH))
    (upper,) = qr(halves.T, mode="r", check_finite=False)
    said[np.diag_indices_from(said)] += 1
    made = copy.copy(process)
    known = cho_solve((cholesky(said, lower=True, check_finite=False), True), sums, check_finite=False)
    made.weights = solve_triangular(factor, known, lower=True, trans=1, check_finite=False)
    made.factor = upper.T * np.sign(np.diag(upper))
    made.repeats = len(states) / taken
    return made
