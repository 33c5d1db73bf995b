"""The snapshot: everything an action depends on, and nothing else. The one thing that is broadcast.

Bytes: magic, length of the JSON header, version, std floor, the header (the network, and whether there is a
normaliser), then float64 arrays: theta, and the observation normaliser's mean and variance. Reading them executes
nothing.
"""

import functools
import hashlib
import itertools
import json
import struct
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

PREFIX = struct.Struct("<4sIQd")
MAGIC = b"TLS2"


@dataclass(frozen=True)
class NetworkSpec:
    """A declared multilayer perceptron, interpreted by torch in the learner and by NumPy in the drivers.

    Attributes:
        obs_dim: size of an observation.
        hidden_sizes: widths of the hidden layers.
        activation: between layers.
        head: ``gaussian`` (a mean and a raw log std for each action), ``categorical`` (logits) or ``value``.
        action_dim: numbers in an action, one for each choice to be made; 1 for a value.
        choices: of a categorical head, among how many each of these chooses, ``[action_dim]``; else empty.
    """

    obs_dim: int
    hidden_sizes: tuple[int, ...]
    activation: Literal["tanh", "relu"]
    head: Literal["gaussian", "categorical", "value"]
    action_dim: int
    choices: tuple[int, ...] = ()

    @functools.cached_property
    def logits(self) -> list[slice]:
        """Where among the outputs the logits of each choice are."""
        ends = list(itertools.accumulate(self.choices))
        return [slice(end - n, end) for n, end in zip(self.choices, ends, strict=True)]

    @functools.cached_property
    def layers(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of each linear layer, in order."""
        outputs = {"gaussian": 2 * self.action_dim, "categorical": sum(self.choices), "value": 1}[self.head]
        sizes = [self.obs_dim, *self.hidden_sizes, outputs]
        return list(itertools.pairwise(sizes))

    @functools.cached_property
    def size(self) -> int:
        """Number of parameters."""
        return sum(inputs * outputs + outputs for inputs, outputs in self.layers)

    def views(self, flat):
        """Views of a flat vector as ``[(weight [inputs, outputs], bias [outputs])]``, for an array or a tensor."""
        if len(flat) != self.size:
            raise ValueError(f"{len(flat)} parameters for a network of {self.size}")
        layers, at = [], 0
        for inputs, outputs in self.layers:
            middle, end = at + inputs * outputs, at + inputs * outputs + outputs
            layers.append((flat[at:middle].reshape(inputs, outputs), flat[middle:end]))
            at = end
        return layers


@dataclass(frozen=True)
class Snapshot:
    """A version of the policy.

    Attributes:
        version: number of training steps that made it.
        spec: the policy's network.
        theta: its parameters, flat, float64, ``[spec.size]``.
        std_floor: least standard deviation of a Gaussian policy.
        obs_mean, obs_var: observation normaliser, ``[obs_dim]`` each; None where observations are used as they are.
    """

    version: int
    spec: NetworkSpec
    theta: np.ndarray
    std_floor: float = 0.0
    obs_mean: np.ndarray | None = None
    obs_var: np.ndarray | None = None

    def to_bytes(self) -> bytes:
        """The snapshot as one message."""
        arrays = [self.theta]
        if self.obs_mean is not None and self.obs_var is not None:
            arrays += [self.obs_mean, self.obs_var]
        header = json.dumps({"spec": asdict(self.spec), "normalised": len(arrays) > 1}, sort_keys=True).encode()
        body = b"".join(np.ascontiguousarray(array, "<f8").tobytes() for array in arrays)
        header += b" " * (-len(header) % 8)  # so that the arrays are aligned
        return PREFIX.pack(MAGIC, len(header), self.version, self.std_floor) + header + body

    @classmethod
    def from_bytes(cls, message: bytes | memoryview) -> "Snapshot":
        """Rebuilds a snapshot; its arrays are read-only views of the message."""
        if len(message) < PREFIX.size:
            raise ValueError(f"a snapshot of {len(message)} bytes is cut short")
        magic, length, version, std_floor = PREFIX.unpack_from(message)
        if magic != MAGIC:
            raise ValueError(f"not a snapshot: it starts with {magic!r}")
        spec, normalised = _parse_header(bytes(message[PREFIX.size : PREFIX.size + length]))
        values = np.frombuffer(message, "<f8", offset=PREFIX.size + length)
        extra = 2 * spec.obs_dim if normalised else 0
        if len(values) != spec.size + extra:
            raise ValueError(f"a snapshot with {len(values)} values where its header says {spec.size + extra}")
        middle = spec.size + extra // 2
        moments = (values[spec.size : middle], values[middle:]) if normalised else (None, None)
        return cls(version, spec, values[: spec.size], std_floor, *moments)

    @property
    def sha256(self) -> str:
        """Digest of the snapshot's bytes: equal digests, equal policies."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


@functools.lru_cache
def _parse_header(header: bytes) -> tuple[NetworkSpec, bool]:
    """The network, and whether there is a normaliser; the same bytes at every step of a run."""
    content = json.loads(header)
    spec = content["spec"]
    sizes, choices = tuple(spec.pop("hidden_sizes")), tuple(spec.pop("choices"))
    return NetworkSpec(**spec, hidden_sizes=sizes, choices=choices), content["normalised"]
