"""CleanRL's script ``ppo.py``, which is no package: it is run as it is, and looked at where it logs."""

import contextlib
import io
import pathlib
import runpy
import sys
import types
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import torch

LAST_LOGGED = "charts/SPS"  # of an update


class _ReachedError(Exception):
    """The script is to end."""


def run_cleanrl(
    script: pathlib.Path, seed: int, updated: Callable[[Callable[[np.ndarray], np.ndarray], int], bool]
) -> None:
    """Runs the script with its defaults, which are for CartPole-v1, until it is to end.

    Args:
        script: the file.
        seed: its seed.
        updated: is called after each update with what takes the likeliest actions for observations ``[n, obs_dim]``,
            and with the time steps so far; returns whether the script is to end.
    """

    class Writer:
        def __init__(self, directory: str) -> None:
            """Writes nothing there."""

        def add_text(self, *args: Any) -> None:
            """Drops it."""

        def add_scalar(self, name: str, value: float, step: int) -> None:
            if name == LAST_LOGGED:
                agent = sys._getframe(1).f_globals["agent"]
                if updated(lambda obs: _likeliest(agent, obs), step):
                    raise _ReachedError

        def close(self) -> None:
            """Closes nothing."""

    tensorboard: Any = types.ModuleType("torch.utils.tensorboard")
    tensorboard.SummaryWriter = Writer
    with (
        mock.patch.dict(sys.modules, {"torch.utils.tensorboard": tensorboard}),
        mock.patch.object(sys, "argv", [str(script), "--seed", str(seed), "--no-cuda"]),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.suppress(_ReachedError),
    ):
        runpy.run_path(str(script), run_name="__main__")


def _likeliest(agent: Any, obs: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return agent.actor(torch.as_tensor(obs, dtype=torch.float32)).argmax(dim=1).numpy()
