"""The snapshot: everything that an action depends on and nothing else; it is all that is broadcast.

Its bytes are a magic number, the length of the JSON header, the version, the std floor, the header (the network, and
whether there is a normaliser), and float64 arrays: theta, and the mean and variance of the observation normaliser.
Reading them executes nothing.
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
    """Describes a multilayer perceptron, which torch evaluates in the learner and NumPy in the drivers.

    Attributes:
        obs_dim: size of an observation.
        hidden_sizes: widths of the hidden layers.
        activation: activation between layers.
        head: kind of outputs: ``gaussian`` (a mean and a raw log std for each value of an action), ``categorical``
            (logits) or ``value``.
        action_dim: number of values in an action, one for each choice; 1 for a value head.
        choices: number of options of each choice of a categorical head, ``[action_dim]``; empty for other heads.
    """

    obs_dim: int
    hidden_sizes: tuple[int, ...]
    activation: Literal["tanh", "relu"]
    head: Literal["gaussian", "categorical", "value"]
    action_dim: int
    choices: tuple[int, ...] = ()

    @functools.cached_property
    def logits(self) -> list[slice]:
        """Slice of the outputs that holds the logits of each choice."""
        ends = list(itertools.accumulate(self.choices))
        return [slice(end - n, end) for n, end in zip(self.choices, ends, strict=True)]

    @functools.cached_property
    def layers(self) -> list[tuple[int, int]]:
        """Sizes (inputs, outputs) of each linear layer, in order."""
        outputs = {"gaussian": 2 * self.action_dim, "categorical": sum(self.choices), "value": 1}[self.head]
        sizes = [self.obs_dim, *self.hidden_sizes, outputs]
        return list(itertools.pairwise(sizes))

    @functools.cached_property
    def size(self) -> int:
        """Number of parameters."""
        return sum(inputs * outputs + outputs for inputs, outputs in self.layers)

    def views(self, flat):
        """Returns views of a flat array or tensor ``[size]`` as ``[(weight [inputs, outputs], bias [outputs])]``.

        Raises:
            ValueError: the vector has another length.
        """
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
        version: number of training steps that led to it.
        spec: network of the policy.
        theta: parameters of the network, flat, float64, ``[spec.size]``.
        std_floor: least standard deviation of a Gaussian policy.
        obs_mean, obs_var: moments by which observations are normalised, ``[obs_dim]`` each; None where they are not.
    """

    version: int
    spec: NetworkSpec
    theta: np.ndarray
    std_floor: float = 0.0
    obs_mean: np.ndarray | None = None
    obs_var: np.ndarray | None = None

    def to_bytes(self) -> bytes:
        """Returns the snapshot as one message."""
        arrays = [self.theta]
        if self.obs_mean is not None and self.obs_var is not None:
            arrays += [self.obs_mean, self.obs_var]
        header = json.dumps({"spec": asdict(self.spec), "normalised": len(arrays) > 1}, sort_keys=True).encode()
        body = b"".join(np.ascontiguousarray(array, "<f8").tobytes() for array in arrays)
        header += b" " * (-len(header) % 8)  # so that the arrays are aligned
        return PREFIX.pack(MAGIC, len(header), self.version, self.std_floor) + header + body

    @classmethod
    def from_bytes(cls, message: bytes | memoryview) -> "Snapshot":
        """Rebuilds a snapshot, whose arrays are read-only views of the message.

        Raises:
            ValueError: the message is no snapshot, or does not have the length that its header implies.
        """
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
        """SHA-256 digest of the snapshot's bytes; equal digests mean equal policies."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


@functools.lru_cache
def _parse_header(header: bytes) -> tuple[NetworkSpec, bool]:
    """Returns the network, and whether there is a normaliser.

    The result is cached, since the header is the same in all training steps of a run.
    """
    content = json.loads(header)
    spec = content["spec"]
    sizes, choices = tuple(spec.pop("hidden_sizes")), tuple(spec.pop("choices"))
    return NetworkSpec(**spec, hidden_sizes=sizes, choices=choices), content["normalised"]
