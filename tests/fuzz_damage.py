"""Ways to damage valid input, and values that are often trouble, for ``tests.fuzz_targets``."""

import copy
import dataclasses
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

NUMBERS: list[Any] = [
    0,
    1,
    -1,
    2,
    3,
    0.5,
    -0.0,
    1e-300,
    1e308,
    255,
    2**31,
    2**32,
    2**63,
    2**64,
    10**12,
    10**18,
    10**400,
]
NUMBERS += [float("nan"), float("inf"), -float("inf"), True, False]
WORDS: list[Any] = [
    "",
    "x",
    "tanh",
    "auto",
    "a\0b",
    "a\nb",
    "\ud800",
    "x" * 300,
    "../..",
    "9" * 5000,
    "🎛",
    "--seed",
    "=",
    "é",
]
VALUES = [*NUMBERS, *WORDS, None, [], {}, [1, 2], [[]], {"a": 1}, [0.5], [10**9, 10**9], [-1], [True], ["x"]]
BYTES = [
    b"",
    b"\0",
    b"\xff" * 8,
    b"\0" * 64,
    b"[" * 5000,
    b"{" * 5000,
    b"9" * 5000,
    b"1e400",
    b"nan",
    b"\n",
    b",",
    b'"',
]
BYTES += [b"-1", b"PK\x01\x02", b"\x93NUMPY", b"null", struct.pack("<Q", 2**63), struct.pack("<I", 2**31), "é".encode()]


@dataclasses.dataclass(frozen=True)
class Case:
    """One case: its randomness, and a directory for its files."""

    rng: np.random.Generator
    folder: Path

    def one_of(self, choices: Any) -> Any:
        """Returns one of several things."""
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        """Returns True with this probability."""
        return bool(self.rng.random() < probability)

    def place(self, content: Any) -> int:
        """Returns a place in what has a length."""
        return int(self.rng.integers(len(content) + 1))

    def file(self, content: bytes) -> Path:
        """Writes a file, and returns its path."""
        path = self.folder / "input"
        path.write_bytes(content)
        return path


def damaged(case: Case, content: bytes) -> bytes:
    """Returns bytes after up to four changes: flipped bits, cuts, splices, and values that are often trouble."""
    changed = bytearray(content)
    for _ in range(int(case.rng.integers(5))):
        at, end = sorted((case.place(changed), case.place(changed)))
        way = case.rng.integers(6)
        if way == 0 and at < len(changed):
            changed[at] ^= 1 << int(case.rng.integers(8))
        elif way == 1:
            del changed[at:]
        elif way == 2:
            del changed[at : min(end, at + 16)]
        elif way == 3:
            changed[at:at] = changed[at:end]
        elif way == 4:
            changed[at:at] = case.one_of(BYTES)
        else:
            value = case.one_of(BYTES)
            changed[at : at + len(value)] = value
    return bytes(changed)


def changed_json(case: Case, value: Any) -> Any:
    """Returns a JSON value in which up to three parts are others, missing or new."""
    value = copy.deepcopy(value)
    for _ in range(int(case.rng.integers(4))):
        parent, inner = None, value
        while isinstance(inner, dict | list) and inner and (parent is None or case.chance(0.7)):
            key: Any = case.one_of(list(inner)) if isinstance(inner, dict) else int(case.rng.integers(len(inner)))
            parent, inner = inner, inner[key]
        if parent is None:
            return copy.deepcopy(case.one_of(VALUES))
        if case.chance(0.2):
            del parent[key]
        elif isinstance(parent, dict) and case.chance(0.1):
            parent[str(case.one_of(WORDS))] = copy.deepcopy(case.one_of(VALUES))
        else:
            parent[key] = copy.deepcopy(case.one_of(VALUES))
    return value


def json_bytes(case: Case, value: Any) -> bytes:
    """Returns the text of a changed JSON value, seldom nested beyond measure."""
    text = json.dumps(changed_json(case, value)).encode()
    return text.replace(b"1", b"[" * 3000, 1) if case.chance(0.02) else text
