"""Checkpoints: written whole or not at all, read without executing anything."""

import io
import json
import os
import pathlib
import tempfile
from typing import Any

import numpy as np

from env.errors import UsageError


def write_atomically(path: pathlib.Path, content: bytes) -> None:
    """Writes a file so that a crash at any moment leaves the old one or the new one, never a part."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    if hasattr(os, "O_DIRECTORY"):  # make the rename itself durable, where a directory can be opened
        directory = os.open(path.parent, os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _umask() -> int:
    mask = os.umask(0)  # the only way to read it is to set it
    os.umask(mask)
    return mask


def save_checkpoint(path: pathlib.Path, state: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    """Writes a learner's state and a JSON-able dict as one ``.npz``."""
    buffer = io.BytesIO()
    np.savez(buffer, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **state)  # type: ignore[arg-type]
    write_atomically(path, buffer.getvalue())


def load_checkpoint(path: pathlib.Path, flag: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Reads what ``save_checkpoint`` wrote.

    Raises:
        UsageError: there is none, or it is damaged; the text names ``flag``.
    """
    try:
        # Opened here, since np.load leaves a file that it opened itself open where it cannot read it.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            state = {name: file[name] for name in file.files}
        return state, json.loads(state.pop("meta").tobytes())
    except FileNotFoundError:
        raise UsageError(f"{flag} {path.parent}: there is no {path.name} in it") from None
    except Exception as error:  # a flipped byte can surface as almost anything
        raise UsageError(f"{flag} {path.parent}: {path.name} is damaged ({error})") from None
