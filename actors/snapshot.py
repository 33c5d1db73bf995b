"""The snapshot: everything that an action depends on and nothing else; it is all that is broadcast.

Its bytes are a magic number, the length of the JSON header, the version, the std floor, the header (the network,
whether there is a normaliser, and the shapes of what else there is), and float64 arrays: theta, the mean and variance
of the observation normaliser, and the arrays of critic, plan and live components. Reading them executes nothing.
"""

import functools
import hashlib
import itertools
import json
import math
import struct
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from actors.critic import Critic
from actors.plan import Plan

PREFIX = struct.Struct("<4sIQd")
MAGIC = b"TLS2"
MOST = 2**31 - 1  # largest size that a header may name
Activation = Literal["tanh", "relu"]
Head = Literal["gaussian", "categorical", "value"]
Part = TypeVar("Part", Critic, Plan)


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
        components: number of Gaussians of a gaussian head, K. Its outputs are the K means, the K raw log stds and, for
            several, the K logits of the gate, which says how likely each of them is.
        steps: distances between the values that each value of an action can have, 0 where it can have all,
            ``[action_dim]``; empty where all can.
        labelled: which of the values are choices. A component has one option of each, its label, and never another.
    """

    obs_dim: int
    hidden_sizes: tuple[int, ...]
    activation: Activation
    head: Head
    action_dim: int
    choices: tuple[int, ...] = ()
    components: int = 1
    steps: tuple[float, ...] = ()
    labelled: tuple[int, ...] = ()

    @classmethod
    def from_json(cls, content: Any) -> "NetworkSpec":
        """Rebuilds the network of a policy from what a header says.

        Raises:
            ValueError: there is no such network.
        """
        names, later = {field.name for field in fields(cls)}, {"components", "steps", "labelled"}
        if not isinstance(content, dict) or not names - later <= set(content) <= names:
            raise ValueError("a header that describes no network")
        lists = {name: content.get(name, []) for name in ("hidden_sizes", "choices", "steps", "labelled")}
        if not all(isinstance(values, list) for values in lists.values()):
            raise ValueError(f"a network one of whose {', '.join(lists)} is no list")
        spec = cls(**content | {name: tuple(sizes) for name, sizes in lists.items()})
        for size in (spec.obs_dim, spec.action_dim, spec.components, *spec.hidden_sizes, *spec.choices):
            if not _is_size(size, 1):
                raise ValueError("a network with a size that is no whole number of at least 1")
        if spec.activation not in get_args(Activation) or spec.head not in ("gaussian", "categorical"):
            raise ValueError(f"a policy with activation {spec.activation} and head {spec.head}")
        if len(spec.choices) != (spec.action_dim if spec.head == "categorical" else 0):
            raise ValueError(f"{len(spec.choices)} choices for a {spec.head} action of {spec.action_dim} values")
        if spec.components > 1 and spec.head != "gaussian":
            raise ValueError(f"{spec.components} components of a {spec.head} head")
        if spec.steps and (len(spec.steps) != spec.action_dim or not all(map(_is_step, spec.steps))):
            raise ValueError(f"steps {spec.steps} of an action of {spec.action_dim} values")
        if not all(_is_size(j, 0) and j < len(spec.steps) and spec.steps[j] > 0 for j in spec.labelled):
            raise ValueError(f"labels {spec.labelled} of an action with steps {spec.steps}")
        return spec

    @functools.cached_property
    def logits(self) -> list[slice]:
        """Slice of the outputs that holds the logits of each choice."""
        ends = list(itertools.accumulate(self.choices))
        return [slice(end - n, end) for n, end in zip(self.choices, ends, strict=True)]

    def own_outputs(self, components: np.ndarray) -> np.ndarray:
        """Returns the outputs that are means and then raw log stds of components ``[n]``, ``[n, 2 * action_dim]``."""
        means = components[:, None] * self.action_dim + np.arange(self.action_dim)
        return np.concatenate([means, means + self.components * self.action_dim], axis=1)

    def place(self, flat: np.ndarray, component: int, mean: np.ndarray, std: float) -> None:
        """Sets a component's mean ``[action_dim]`` and raw std in every state, in place; the gate likes it as any."""
        weight, bias = self.views(flat)[-1]
        own = self.own_outputs(np.array([component]))[0]
        logits = slice(len(bias) - self.components, len(bias))
        gate = logits.start + component
        weight[:, [*own, gate]] = 0.0
        bias[own[: self.action_dim]], bias[own[self.action_dim :]] = mean, math.log(std)
        bias[gate] = bias[logits].max()

    @property
    def unlabelled(self) -> list[int]:
        """Values of an action that a component may vary."""
        return [j for j in range(self.action_dim) if j not in self.labelled]

    @functools.cached_property
    def layers(self) -> list[tuple[int, int]]:
        """Sizes (inputs, outputs) of each linear layer, in order."""
        gaussians = 2 * self.action_dim * self.components + (self.components if self.components > 1 else 0)
        outputs = {"gaussian": gaussians, "categorical": sum(self.choices), "value": 1}[self.head]
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
        live: which of several components are in use, ``[components]`` of bool; None for all of them.
        critic: what chooses among the components' means; None where the gate does.
        plan: starts and actions of a planned round; None for any other.
    """

    version: int
    spec: NetworkSpec
    theta: np.ndarray
    std_floor: float = 0.0
    obs_mean: np.ndarray | None = None
    obs_var: np.ndarray | None = None
    live: np.ndarray | None = None
    critic: Critic | None = None
    plan: Plan | None = None

    def to_bytes(self) -> bytes:
        """Returns the snapshot as one message."""
        arrays = [self.theta]
        if self.obs_mean is not None and self.obs_var is not None:
            arrays += [self.obs_mean, self.obs_var]
        spec = asdict(self.spec)
        # As it was before there were such, so that old laws keep their digests.
        without = {"components": 1, "steps": (), "labelled": ()}
        spec = {name: value for name, value in spec.items() if name not in without or value != without[name]}
        content: dict[str, Any] = {"spec": spec, "normalised": len(arrays) > 1}
        if extra := self._extra_arrays():
            content["arrays"] = {name: array.shape for name, array in extra.items()}
            arrays += extra.values()
        header = json.dumps(content, sort_keys=True).encode()
        body = b"".join(np.ascontiguousarray(array, "<f8").tobytes() for array in arrays)
        header += b" " * (-len(header) % 8)  # so that the arrays are aligned
        return PREFIX.pack(MAGIC, len(header), self.version, self.std_floor) + header + body

    @classmethod
    def from_bytes(cls, message: bytes | memoryview) -> "Snapshot":
        """Rebuilds a snapshot, whose arrays are read-only views of the message.

        Raises:
            ValueError: the message is no snapshot, does not have the length that its header implies, or holds a value
                that no policy has.
        """
        if len(message) < PREFIX.size:
            raise ValueError(f"a snapshot of {len(message)} bytes is cut short")
        magic, length, version, std_floor = PREFIX.unpack_from(message)
        if magic != MAGIC:
            raise ValueError(f"not a snapshot: it starts with {magic!r}")
        spec, normalised, shapes = _parse_header(bytes(message[PREFIX.size : PREFIX.size + length]))
        values = np.frombuffer(message, "<f8", offset=PREFIX.size + length)
        moments = [spec.obs_dim] * (2 if normalised else 0)
        sizes = [spec.size, *moments, *(math.prod(shape) for _, shape in shapes)]
        if len(values) != sum(sizes):
            raise ValueError(f"a snapshot with {len(values)} values where its header says {sum(sizes)}")
        theta, *rest = np.split(values, np.cumsum(sizes)[:-1])
        mean, var = rest[:2] if normalised else (None, None)
        named = zip(shapes, rest[len(moments) :], strict=True)
        extra = {name: array.reshape(shape) for (name, shape), array in named}
        live = extra.pop("live", None)
        snapshot = cls(
            version,
            spec,
            theta,
            std_floor,
            mean,
            var,
            None if live is None else live > 0,
            _part(Critic, "critic", extra),
            _part(Plan, "plan", extra),
        )
        if extra:
            raise ValueError(f"an array {next(iter(extra))!r}, which no snapshot has")
        if not (np.isfinite(values).all() and 0 <= std_floor < math.inf):
            raise ValueError("a value that is not finite, or a std floor below 0")
        snapshot._check_parts()
        return snapshot

    def _check_parts(self) -> None:
        """Checks what there is beside the network.

        Raises:
            ValueError: a part does not suit the network, or has a value that it cannot have.
        """
        if self.obs_var is not None and (self.obs_var < 0).any():
            raise ValueError("a variance below 0")
        if self.live is not None and (self.live.shape != (self.spec.components,) or not self.live.any()):
            raise ValueError(f"{self.live.shape} live components of {self.spec.components}, or none of them")
        if self.critic is not None:
            self.critic.check(self.spec.obs_dim)
        if self.plan is not None:
            self.plan.check(self.spec.obs_dim, self.spec.action_dim)

    def _extra_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays that a policy of one Gaussian does not have, by name."""
        arrays = {} if self.live is None else {"live": self.live.astype(np.float64)}
        for name, part in (("critic", self.critic), ("plan", self.plan)):
            if part is not None:
                arrays |= {f"{name}.{key}": array for key, array in vars(part).items() if key in part.ARRAYS}
        return dict(sorted(arrays.items()))

    @property
    def sha256(self) -> str:
        """SHA-256 digest of the snapshot's bytes; equal digests mean equal policies."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


@functools.lru_cache
def _parse_header(header: bytes) -> tuple[NetworkSpec, bool, list[tuple[str, tuple[int, ...]]]]:
    """Returns the network, whether there is a normaliser, and names and shapes of the other arrays.

    The result is cached, since the header is the same in all training steps of a run.

    Raises:
        ValueError: it describes no snapshot.
    """
    try:
        content = json.loads(header)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a header that is not JSON: {error}") from None
    arrays = content.get("arrays", {}) if isinstance(content, dict) else None
    if not isinstance(arrays, dict) or not isinstance(content.get("normalised"), bool):
        raise ValueError("a header that describes no snapshot")
    for shape in arrays.values():
        if not isinstance(shape, list) or not all(_is_size(size, 0) for size in shape):
            raise ValueError("an array whose shape is no list of whole numbers of at least 0")
    shapes = [(name, tuple(shape)) for name, shape in sorted(arrays.items())]
    return NetworkSpec.from_json(content.get("spec")), content["normalised"], shapes


def _is_size(value: Any, least: int) -> bool:
    """Returns whether a header's value is a whole number from ``least`` on, and not absurd."""
    return type(value) is int and least <= value <= MOST


def _is_step(value: Any) -> bool:
    """Returns whether a header's value is a number from 0 to 2."""
    return type(value) in (int, float) and 0 <= value <= 2


def _part(kind: type[Part], name: str, arrays: dict[str, np.ndarray]) -> Part | None:
    """Takes the arrays of the part ``name`` out of ``arrays``, and makes it of them; None where there are none.

    Raises:
        ValueError: one of its arrays is missing.
    """
    given = {key: arrays.pop(f"{name}.{key}") for key in kind.ARRAYS if f"{name}.{key}" in arrays}
    if given and len(given) < len(kind.ARRAYS):
        raise ValueError(f"a {name} of {sorted(given)}, where it has {sorted(kind.ARRAYS)}")
    return kind(**given) if given else None
