"""Set-points of a wind turbine of 5 MW: rotor speed and pitch are set over wind speed and density of the air."""

from typing import Any

import numpy as np

from env.kinds import Range
from env.objectives import objective

RADIUS, RATED = 63.0, 5e6  # m, W
SPEED, PITCH = (0.4, 1.27), (0.0, 30.0)
GRID, REFINEMENTS, BISECTIONS = 41, 8, 60


def power(speed: Any, pitch: Any, wind: Any, density: Any) -> Any:
    """Returns the power that the rotor takes out of the wind in W; its coefficient is that of Heier 1998, eq. 1.6."""
    ratio = speed * RADIUS / wind
    inverse = 1 / (ratio + 0.08 * pitch) - 0.035 / (pitch**3 + 1)
    coefficient = 0.5176 * (116 * inverse - 0.4 * pitch - 5) * np.exp(-21 * inverse) + 0.0068 * ratio
    return 0.5 * density * np.pi * RADIUS**2 * wind**3 * coefficient


def best(wind: Any, density: Any) -> dict[str, Any]:
    """Returns the best set-points: those of most power, or where that is too much full speed and the pitch for it."""
    given = [np.atleast_1d(one)[:, None] for one in np.broadcast_arrays(wind, density)]
    speed, pitch, most = _of_most_power(*given)
    least, largest = np.zeros(len(most)), np.full(len(most), PITCH[1])
    full = np.full(len(most), SPEED[1])
    for _ in range(BISECTIONS):
        middle = (least + largest) / 2
        enough = power(full, middle, given[0][:, 0], given[1][:, 0]) >= RATED
        least, largest = np.where(enough, middle, least), np.where(enough, largest, middle)
    too_much = (most >= RATED) & (power(full, 0.0, given[0][:, 0], given[1][:, 0]) >= RATED)
    return {"speed": np.where(too_much, full, speed), "pitch": np.where(too_much, largest, pitch)}


def _of_most_power(wind: np.ndarray, density: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns speed, pitch and power ``[m]`` of most power for wind and density ``[m, 1]``: on grids, ever finer."""
    low, high = np.array([[SPEED[0], PITCH[0]]] * len(wind)), np.array([[SPEED[1], PITCH[1]]] * len(wind))
    unit = np.linspace(0, 1, GRID)
    for _ in range(REFINEMENTS):
        speed, pitch = (low[:, [j]] + (high - low)[:, [j]] * unit for j in range(2))
        found = power(speed[:, :, None], pitch[:, None], wind[:, :, None], density[:, :, None])
        place = found.reshape(len(wind), -1).argmax(axis=1)
        at = np.column_stack([place // GRID, place % GRID])
        best = np.column_stack([np.take_along_axis(one, at[:, [j]], axis=1) for j, one in enumerate((speed, pitch))])
        step = (high - low) / (GRID - 1)
        low, high = np.maximum(best - step, [SPEED[0], PITCH[0]]), np.minimum(best + step, [SPEED[1], PITCH[1]])
    return best[:, 0], best[:, 1], found.reshape(len(wind), -1).max(axis=1)


KNOBS = {"speed": Range(*SPEED, unit="rad/s"), "pitch": Range(*PITCH, unit="deg")}
CONDITIONS = {"wind": Range(4, 20, unit="m/s"), "density": Range(1.0, 1.3, unit="kg/m3")}


def _surplus(speed: Any, wind: Any, density: Any) -> Any:
    """Returns what a slow rotor costs where the wind gives the rated power at full speed."""
    return np.where(power(SPEED[1], 0.0, wind, density) >= RATED, 0.01 * (1 - speed / SPEED[1]) ** 2, 0.0)


@objective(knobs=KNOBS, conditions=CONDITIONS, vectorised=True, constraints=1, best=best)
def limited(speed: Any, pitch: Any, wind: Any, density: Any) -> Any:
    """Minus the power as a share of the rated one, and by how much of that it is more, which is a constraint."""
    share = power(speed, pitch, wind, density) / RATED
    return -share + _surplus(speed, wind, density), share - 1


@objective(knobs=KNOBS, conditions=CONDITIONS, vectorised=True, best=best)
def lost(speed: Any, pitch: Any, wind: Any, density: Any) -> Any:
    """Minus the power up to the rated one, as a share of it; more is punished, and a slow rotor at full power."""
    share = power(speed, pitch, wind, density) / RATED
    return -np.minimum(share, 1) + 5 * np.maximum(0, share - 1) + _surplus(speed, wind, density)
