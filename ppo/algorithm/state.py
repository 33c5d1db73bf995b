"""States as flat dictionaries of arrays, which a checkpoint holds: each owner makes and takes back its own."""

import numpy as np

State = dict[str, np.ndarray]


def prefixed(owner: str, state: State) -> State:
    """Returns a part's state under the name of its owner."""
    return {f"{owner}.{name}": array for name, array in state.items()}


def part_of(owner: str, state: State) -> State:
    """Returns what ``prefixed`` put under the name of an owner."""
    start = f"{owner}."
    return {name.removeprefix(start): array for name, array in state.items() if name.startswith(start)}
