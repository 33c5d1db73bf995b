"""What a user's environment must take and return: each reset and step is checked, and a breach is told in one line."""

import inspect
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from env.errors import ContractError, UsageError
from env.words import described

RESET = "(observation, info), as in return obs, {}"
STEP = "(observation, reward, terminated, truncated, info), as in return obs, 1.0, False, False, {}"
TRUSTED = ("gymnasium.", "env.")
"""Modules whose environments keep to it."""


class Checked(gymnasium.Wrapper):
    """Checks what an environment returns.

    It stands directly around the environment: what is above it may unpack or flatten whatever it is given.

    Args:
        told: how a message begins, with the flag and its value.
        env: the environment.
    """

    def __init__(self, told: str, env: gymnasium.Env):
        super().__init__(env)
        self._told = f"{told}: {type(env).__name__}"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        returned: Any = self.env.reset(seed=seed, options=options)
        if not isinstance(returned, tuple | list) or len(returned) != 2 or not isinstance(returned[1], dict):
            raise ContractError(f"{self._told}.reset returned {_parts(returned)}; it must return {RESET}")
        self._check_observation("reset", returned[0])
        return returned[0], returned[1]

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        returned: Any = self.env.step(action)
        if not isinstance(returned, tuple | list) or len(returned) != 5:
            old = len(returned) == 4 if isinstance(returned, tuple | list) else False
            hint = "; four are those of the old Gym, whose done is terminated or truncated" if old else ""
            raise ContractError(f"{self._told}.step returned {_parts(returned)}; it must return {STEP}{hint}")
        obs, reward, terminated, truncated, info = returned
        self._check_observation("step", obs)
        if not _is_number(reward):
            raise ContractError(f"{self._told}.step returned {described(reward)} as the reward; it must be one number")
        for name, value in (("terminated", terminated), ("truncated", truncated)):
            if not isinstance(value, bool | np.bool_):
                must = "it must be True or False, as in bool(...)"
                raise ContractError(f"{self._told}.step returned {described(value)} as {name}; {must}")
        if not isinstance(info, dict):
            raise ContractError(
                f"{self._told}.step returned {described(info)} as info; it must be a dict, such as {{}}"
            )
        return obs, reward, terminated, truncated, info

    def _check_observation(self, method: str, obs: Any) -> None:
        if flaw := observation_flaw(self.env.observation_space, obs):
            raise ContractError(f"{self._told}.{method} returned {flaw}")


def checked(told: str, env: gymnasium.Env) -> gymnasium.Env:
    """Returns an environment whose resets and steps are checked, where it is a user's."""
    if is_users(env.unwrapped) and isinstance(env, gymnasium.Wrapper):
        innermost: Any = env
        while isinstance(innermost.env, gymnasium.Wrapper):
            innermost = innermost.env
        innermost.env = Checked(told, innermost.env)
    return Checked(told, env) if is_users(env) else env


def is_users(env: gymnasium.Env) -> bool:
    """Returns whether a user wrote an environment or a wrapper; what it is around may be another's."""
    return not type(env).__module__.startswith(TRUSTED)


def users_layers(env: gymnasium.Env) -> list[gymnasium.Env]:
    """Returns the wrappers and the environment, from the outermost on, that a user wrote."""
    layers = [env]
    while isinstance(layers[-1], gymnasium.Wrapper):
        layers.append(layers[-1].env)
    return [layer for layer in layers if is_users(layer)]


def check_methods(told: str, layers: list[gymnasium.Env]) -> None:
    """Checks that a user's environment can be reset and stepped as it is here.

    Args:
        told: how a message begins, with the flag and its value.
        layers: its parts that a user wrote.

    Raises:
        UsageError: it cannot.
    """
    for layer in layers:
        _check_layer(f"{told}: {type(layer).__name__}", layer)


def _check_layer(told: str, layer: gymnasium.Env) -> None:
    for name, given, must in (
        ("reset", {"seed": 0, "options": None}, "reset(self, *, seed=None, options=None)"),
        ("step", {}, "step(self, action)"),
    ):
        method = getattr(layer, name)
        if getattr(type(layer), name) is getattr(gymnasium.Env, name):
            returns = RESET if name == "reset" else STEP
            raise UsageError(f"{told} lacks {name}: def {must}, which returns {returns}")
        signature = inspect.signature(method)
        try:
            signature.bind(*([] if given else [None]), **given)
        except TypeError:
            raise UsageError(f"{told}.{name}{signature} must be {must}") from None


def check_spaces(told: str, env: gymnasium.Env) -> None:
    """Checks that an environment says what it observes and does.

    Raises:
        UsageError: it does not, or its observations cannot be made flat.
    """
    name = type(env.unwrapped).__name__
    for which in ("observation_space", "action_space"):
        space = getattr(env, which, None)
        such = "such as gymnasium.spaces.Box(-1, 1, (3,))"
        if space is None:
            raise UsageError(f"{told}: {name} lacks {which}: set it in the class or in __init__, {such}")
        if not isinstance(space, spaces.Space):
            raise UsageError(f"{told}: {which} of {name} is {described(space)}; it must be a space, {such}")
    observations = env.observation_space
    if any(map(_is_image, _leaves(observations))):
        raise UsageError(
            f"{told}: observations {observations} are images, and policies here have no convolutions; observe a few "
            f"numbers, or put gymnasium.wrappers.FlattenObservation around it to train on all pixels"
        )
    if not all(isinstance(leaf, SUPPORTED) for leaf in _leaves(observations)):
        raise UsageError(
            f"{told}: observations {observations} are not supported, only Box, Discrete, MultiDiscrete, MultiBinary, "
            f"and Dict and Tuple of these"
        )
    if not spaces.flatdim(observations):
        raise UsageError(f"{told}: observations {observations} hold no number; an observation needs one or more")


SUPPORTED = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)


def _leaves(space: spaces.Space) -> list[Any]:
    """Returns the spaces that a space consists of; a dictionary whose names are no texts counts as one of its own."""
    if isinstance(space, spaces.Dict) and all(isinstance(name, str) for name in space.spaces):
        return [leaf for part in space.spaces.values() for leaf in _leaves(part)]
    return [leaf for part in space.spaces for leaf in _leaves(part)] if isinstance(space, spaces.Tuple) else [space]


def _is_image(space: spaces.Space) -> bool:
    if not isinstance(space, spaces.Box) or space.dtype != np.uint8 or len(space.shape) < 2:
        return False
    return bool((space.low == 0).all() and (space.high == 255).all())


def observation_flaw(space: spaces.Space, obs: Any, which: str = "an observation") -> str:
    """Returns what is wrong with an observation, or nothing; values may lie beyond the bounds of a Box."""
    if isinstance(space, spaces.Dict):
        if not isinstance(obs, dict) or not set(space.spaces) <= set(obs):
            has = f" with {', '.join(map(str, obs))}" if isinstance(obs, dict) else ""
            return f"{which} that is {described(obs)}{has}; it must be a dict with {', '.join(space.spaces)}"
        parts = [(part, obs[name], f"{which}[{name!r}]") for name, part in space.spaces.items()]
        return next(filter(None, (observation_flaw(*part) for part in parts)), "")
    if isinstance(space, spaces.Tuple):
        if not isinstance(obs, tuple | list) or len(obs) != len(space.spaces):
            return f"{which} that is {described(obs)}; it must be a tuple of {len(space.spaces)}"
        pairs = enumerate(zip(space.spaces, obs, strict=True))
        return next(filter(None, (observation_flaw(part, o, f"{which}[{i}]") for i, (part, o) in pairs)), "")
    if isinstance(space, spaces.Box):
        return _box_flaw(space, obs, which)
    return "" if _contains(space, obs) else f"{which} that is {described(obs)}; it must be one of {space}"


def _box_flaw(space: spaces.Box, obs: Any, which: str) -> str:
    try:
        values = np.asarray(obs)
    except ValueError:  # lists of different lengths
        values = np.empty((), object)
    if values.shape != space.shape or values.dtype.kind not in "fiub":
        return f"{which} that is {described(obs)}; by its observation_space it must be numbers of shape {space.shape}"
    return ""


def _contains(space: spaces.Space, obs: Any) -> bool:
    """Returns whether a space of whole numbers contains a value, of whatever type of whole numbers it is."""
    values = np.asarray(obs)
    if values.dtype.kind not in "iub" or values.shape != (space.shape or ()):
        return False
    return space.contains(int(values) if isinstance(space, spaces.Discrete) else values.astype(space.dtype))


def _parts(returned: Any) -> str:
    """Returns what a method returned, a tuple part by part."""
    if isinstance(returned, tuple | list) and 0 < len(returned) <= 6:
        return f"{len(returned)} value{'s' * (len(returned) != 1)}, {', '.join(map(described, returned))}"
    return described(returned)


def _is_number(value: Any) -> bool:
    if isinstance(value, float | int):
        return True
    return isinstance(value, np.generic | np.ndarray) and value.shape == () and value.dtype.kind in "fiub"
