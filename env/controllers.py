"""Controllers to compare a trained policy with, batched: constants, P with a bias, and PID with anti-windup."""

from dataclasses import dataclass

import numpy as np


@dataclass
class Constant:
    """The same action always.

    Attributes:
        action: in [-1, 1].
    """

    action: float

    def reset(self, rows: int) -> None:
        """Starts ``rows`` episodes."""

    def act(self, obs: np.ndarray) -> np.ndarray:
        """Actions ``[n, 1]`` for observations ``[n, obs_dim]``."""
        return np.full((len(obs), 1), self.action)


@dataclass
class PID:
    """A PID controller of what observes its error and the error's change first, as ``TempControl`` does.

    u = gain * (e + integral(e) / integral_time + derivative_time * change of e) + bias, limited to [-1, 1]. Where u is
    at a limit, the integral only takes in errors that lead away from it (conditional integration), so that it does not
    wind up. Time steps are seconds.

    Attributes:
        gain: actions per degree.
        integral_time: seconds; infinite for no integral part.
        derivative_time: seconds; 0 for no derivative part.
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
        """Actions ``[n, 1]`` for observations ``[n, obs_dim]``."""
        error, change = obs[:, 0], obs[:, 1]
        integral = self._integral + error / self.integral_time
        wanted = self.gain * (error + integral + self.derivative_time * change) + self.bias
        winds_up = (np.abs(wanted) > 1) & (wanted * self.gain * error > 0)
        self._integral = np.where(winds_up, self._integral, integral)
        return np.clip(wanted, -1, 1)[:, None]
