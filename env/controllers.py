"""Batched controllers to compare a policy with: constant actions, P with a bias, and PID with anti-windup."""

from dataclasses import dataclass

import numpy as np


@dataclass
class Constant:
    """A controller that takes the same action in every time step.

    Attributes:
        action: action, in [-1, 1].
    """

    action: float

    def reset(self, rows: int) -> None:
        """Starts ``rows`` episodes."""

    def act(self, obs: np.ndarray) -> np.ndarray:
        """Returns actions ``[n, 1]`` for observations ``[n, obs_dim]``."""
        return np.full((len(obs), 1), self.action)


@dataclass
class PID:
    """A PID controller for observations that begin with the error and its change, as those of ``TempControl`` do.

    The action is u = gain * (e + integral(e) / integral_time + derivative_time * change of e) + bias, limited to
    [-1, 1]. Where u is at a limit, only errors that lead away from the limit are added to the integral (conditional
    integration), so that it does not wind up. A time step is one second.

    Attributes:
        gain: gain, in units of the action per degree.
        integral_time: integral time in seconds; infinite for no integral term.
        derivative_time: derivative time in seconds; 0 for no derivative term.
        bias: action where there is no error.
    """

    gain: float
    integral_time: float = np.inf
    derivative_time: float = 0.0
    bias: float = 0.0

    def reset(self, rows: int) -> None:
        """Starts ``rows`` episodes."""
        self._integral = np.zeros(rows)

    def act(self, obs: np.ndarray) -> np.ndarray:
        """Returns actions ``[n, 1]`` for observations ``[n, obs_dim]``."""
        error, change = obs[:, 0], obs[:, 1]
        integral = self._integral + error / self.integral_time
        unlimited = self.gain * (error + integral + self.derivative_time * change) + self.bias
        winds_up = (np.abs(unlimited) > 1) & (unlimited * self.gain * error > 0)
        self._integral = np.where(winds_up, self._integral, integral)
        return np.clip(unlimited, -1, 1)[:, None]
