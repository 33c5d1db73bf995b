"""The training of several seeds side by side, from the first check to the table at the end."""

import pathlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from env.errors import UsageError
from ppo.config import Config
from ppo.config.memory import check_memory
from ppo.data.files import how_to_go_on
from ppo.training.beginning import finished, resolved_here, told_how_to_go_on
from ppo.training.run_dir import check_free
from ppo.training.seeds import LISTED, check_alike, directory_of, has_begun, seeds_table, write_seeds
from ppo.training.undone import undone_by_mistake


@dataclass(frozen=True)
class WhatIsShown:
    """What a training shows, as ``train`` takes it."""

    quiet: bool
    track: bool
    pictures: bool


def train_together(
    root: pathlib.Path,
    given: Sequence[Config],
    shown: WhatIsShown,
    resume: bool,
    interrupted: threading.Event | None,
) -> dict[int, dict[str, Any]]:
    """Trains runs that differ by their seed, or goes on with them; see ``train_seeds``."""
    places = [directory_of(root, config.seed) for config in given]  # before an environment may change the directory
    listed = places[0].path.parent
    if not resume:
        check_free(root)
    if lag := given[0].lag:
        raise UsageError(f"--seeds: cannot be combined with --lag {lag}, which overlaps the rounds of one run")
    configs = [resolved_here(config, shown.quiet or config is not given[0]) for config in given]
    check_memory(configs[0], len(configs))
    check_alike(root, configs)
    from ppo.training.side_by_side import SideBySide  # torch comes with it
    from ppo.training.trainer import Trainer

    trainers = [
        Trainer(config, files, resume=resume and has_begun(files), track=shown.track, quiet=True)
        for config, files in zip(configs, places, strict=True)
    ]
    if left := [trainer for trainer in trainers if not finished(trainer)]:
        lists: list[pathlib.Path] = []

        def begin() -> None:
            write_seeds(listed, [config.seed for config in configs])
            lists.append(listed / LISTED)

        runs = SideBySide(left, shown.quiet, (lambda: None) if resume else begin)
        with undone_by_mistake(left, resume, lists), runs, told_how_to_go_on(root):
            while not runs.complete:
                _check_interrupted(interrupted, f"after training step {runs.done} of each seed", root)
                runs.step()
            _check_interrupted(interrupted, "after the last training step, before the end", root)
            runs.finish(shown.pictures)
    summaries = {config.seed: files.summary() or {} for config, files in zip(configs, places, strict=True)}
    if not shown.quiet:
        print(seeds_table(root, summaries))
    return summaries


def _check_interrupted(interrupted: threading.Event | None, where: str, root: pathlib.Path) -> None:
    """Ends the training of several runs by KeyboardInterrupt if it was asked to end."""
    if interrupted is not None and interrupted.is_set():
        raise KeyboardInterrupt(f"{where}; {how_to_go_on(root)}")
