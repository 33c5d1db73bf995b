"""Checkpoints: written whole or not at all, read without executing anything."""

import io
import json
import pathlib
from typing import Any

import numpy as np

from env.errors import UsageError
from ppo.data.files import write_atomically


def save_checkpoint(path: pathlib.Path, state: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    """Writes a learner's state and a JSON-able dict as one ``.npz``."""
    buffer = io.BytesIO()
    np.savez(buffer, meta=np.frombuffer(json.dumps(meta, default=float).encode(), np.uint8), **state)  # type: ignore[arg-type]
    write_atomically(path, buffer.getvalue())


def load_checkpoint(
    path: pathlib.Path, flag: str, shown: pathlib.Path | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Reads what ``save_checkpoint`` wrote.

    Raises:
        UsageError: there is none, or it is damaged; the text names ``flag`` and the directory, as ``shown``.
    """
    name = f"{flag} {shown or path.parent}"
    try:
        # Opened here, since np.load leaves a file that it opened itself open where it cannot read it.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            state = {name: file[name] for name in file.files}
        return state, json.loads(state.pop("meta").tobytes())
    except FileNotFoundError:
        raise UsageError(f"{name}: there is no {path.name} in it") from None
    except Exception as error:  # a flipped byte can surface as almost anything
        raise UsageError(f"{name}: {path.name} is damaged ({error})") from None
