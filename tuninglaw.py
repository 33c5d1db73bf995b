"""tuninglaw: laws that map conditions to the knobs that minimise f, and the command ``tuninglaw``.

    from tuninglaw import Config, Integer, Log, Range, load, objective, train

    train(Config(env=loss, evaluations=300, check=60), "runs/loss")
    law = load("runs/loss")
    law(vin=12, iout=3)

Names are loaded when they are first used: ``load`` and ``Law`` need NumPy alone, and no name but ``train``,
``train_seeds`` and ``Trainer`` loads torch. All others fix the kernels of the numerical libraries (``ppo.processor``)
where none is loaded.
"""

import importlib
import os
import pathlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actors.law import Law, OutsideRangeWarning
    from actors.load import load
    from env import Choice, Integer, Log, Objective, Range, UsageError, bench, objective
    from ppo.config import Config
    from ppo.train import train, train_seeds
    from ppo.training.trainer import Trainer

_HOMES = {
    "Choice": "env.kinds",
    "Config": "ppo.config",
    "Integer": "env.kinds",
    "Law": "actors.law",
    "Log": "env.kinds",
    "Objective": "env.objectives",
    "OutsideRangeWarning": "actors.law",
    "Range": "env.kinds",
    "Trainer": "ppo.training.trainer",
    "UsageError": "env.errors",
    "bench": "env.objectives",
    "load": "actors.load",
    "objective": "env.objectives",
    "train": "ppo.train",
    "train_seeds": "ppo.train",
}
USE = {"Law", "OutsideRangeWarning", "load"}
"""Names with which a law is used, perhaps in a program of which it is a small part: nothing is changed there."""
__all__ = [
    "Choice",
    "Config",
    "Integer",
    "Law",
    "Log",
    "Objective",
    "OutsideRangeWarning",
    "Range",
    "Trainer",
    "UsageError",
    "bench",
    "load",
    "objective",
    "train",
    "train_seeds",
]

VERBS = {
    "train": "train a law, or the policy of any Gymnasium environment",
    "evaluate": "measure or check the law of a run",
    "compare": "compare with other methods at the same number of evaluations",
    "tune": "search for hyper-parameters",
    "ask": "print the points that a bench is to measure next",
    "tell": "take what a bench has measured",
    "archive": "show what a run has evaluated, or write it as a table",
    "replay": "run one slot of a run alone",
    "bench": "measure how quick this program is here",
    "study": "repeat a study of the documentation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tuninglaw' has no attribute '{name}'")
    _startup().check_packages([])
    if name not in USE:
        importlib.import_module("ppo.processor").fix_kernels()
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def main() -> None:
    """Runs ``tuninglaw VERB ...`` as ``python -m ppo.VERB ...`` runs, with the working directory last on the path."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        try:
            print(_help(), flush=True)
        except BrokenPipeError:  # nobody reads, as in ``tuninglaw | head -1``: what is left is written nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(141)
        return
    if words[0] == "--version":
        print(f"tuninglaw {_version()}")
        return
    verb = words.pop(0)
    if verb not in VERBS:
        sys.exit(_mistake(f"unknown command {verb}; it must be {', '.join(VERBS)}"))
    # What this program is made of comes before what lies in the working directory, in the drivers too.
    sys.path += [path for path in (os.path.dirname(__file__), os.getcwd()) if path not in sys.path]
    try:
        _startup().end_by_ctrl_c([])
        _startup().check_packages([])
    except ImportError as error:
        sys.exit(_mistake(str(error)))
    importlib.import_module("ppo.processor").fix_kernels()
    sys.argv[1:] = words
    command = importlib.import_module(f"ppo.{verb}")
    importlib.import_module("ppo.config.command_line").run_main(command.main)


def _startup() -> Any:
    """Returns ``ppo.startup``, which loads nothing else.

    Raises:
        ImportError: another package of that name is in the way.
    """
    try:
        found = importlib.import_module("ppo.startup")
    except ModuleNotFoundError:
        found = None
    ours = getattr(found, "are_together", None)  # which no other package has
    if (
        found is None
        or ours is None
        or not ours(pathlib.Path(str(found.__file__)).parent.parent, pathlib.Path(__file__).parent)
    ):
        where = getattr(sys.modules.get("ppo"), "__file__", None) or "something"
        raise ImportError(f"{where} is in the way of this program's package 'ppo': rename it")
    return found


def _version() -> str:
    metadata = importlib.import_module("importlib.metadata")
    try:
        return metadata.version("tuninglaw")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _help() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {verb:{width}}  {what}" for verb, what in VERBS.items()]
    return "\n".join(
        [
            "usage: tuninglaw COMMAND ...",
            "",
            *lines,
            "",
            "tuninglaw COMMAND --help shows its flags, tuninglaw --version the version",
        ]
    )


def _mistake(text: str) -> int:
    print(f"error: {text}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
