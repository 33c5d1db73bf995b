"""Checkpoints: written whole or not at all, read without executing anything."""

import io
import json
import pathlib
from typing import Any

import numpy as np

from actors.npz import NpzError, read_npz
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
        state = read_npz(path, f"{name}: {path.name} is damaged")
        return state, json.loads(state.pop("meta").tobytes())
    except FileNotFoundError:
        raise UsageError(f"{name}: there is no {path.name} in it") from None
    except NpzError as error:
        raise UsageError(str(error)) from None
    except (OSError, ValueError, KeyError, RecursionError) as error:
        raise UsageError(f"{name}: {path.name} is damaged ({error})") from None
