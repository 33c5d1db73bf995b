"""Loads what a run trained: the law of a tuning problem, or the policy of any other environment."""

import os
import pathlib
from typing import TYPE_CHECKING

from actors.law import Law
from actors.law_file import read_law

if TYPE_CHECKING:
    from actors.control_policy import ControlPolicy

NAME = "law.npz"


def load(path: str | os.PathLike[str]) -> "Law | ControlPolicy":
    """Returns the law of a tuning problem, or the policy of any other environment.

    Args:
        path: directory of a run, its ``law.npz``, or a file that ``Law.save`` wrote.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is damaged, or no law.
    """
    file = pathlib.Path(path)
    if file.is_dir():
        if not (file / NAME).is_file():
            raise FileNotFoundError(f"{file}: there is no {NAME} in it; a run has one once a training step is done")
        file = file / NAME
    snapshot, about = read_law(file)
    if about.actions is None:
        return Law(snapshot, about)
    from actors.control_policy import ControlPolicy  # Gymnasium comes with it, which a law does without

    try:
        return ControlPolicy(snapshot, about)
    except ValueError as error:
        raise ValueError(f"{file} is damaged, or no law ({error})") from None
