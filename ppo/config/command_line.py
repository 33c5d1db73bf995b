"""The command line of ``python -m ppo.train``: flags made from the configuration, errors of one line.

Loads no torch, so that ``--help`` and a mistake are answered at once.
"""

import contextlib
import dataclasses
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import tyro

from env.errors import UsageError, nearest
from ppo.config.fields import Config, flag
from ppo.config.file import read_config

T = TypeVar("T")
WHERE_IT_RUNS = ("drivers", "backend", "driver_timeout")
WHAT_IS_SHOWN = ("quiet", "track", "pictures", "profile")
WITH_RESUME = ("resume", *WHERE_IT_RUNS, *WHAT_IS_SHOWN)
"""What may be said together with --resume: nothing that it computes with."""


@dataclass(frozen=True)
class ConfigArguments(Config):
    """Of a command whose flags are the configuration's and some more."""

    def to_config(self) -> Config:
        """The configuration alone."""
        return Config(**{field.name: getattr(self, field.name) for field in dataclasses.fields(Config)})


@dataclass(frozen=True)
class Arguments(ConfigArguments):
    __doc__ = Config.__doc__

    config: str | None = None
    """Take the values of this config.json; other flags override it."""
    run_dir: str | None = None
    """Directory of the results (runs/<env>-<seed>-<time>); must be new or empty."""
    resume: str | None = None
    """Go on with an interrupted run in this directory; takes no other training flag."""
    quiet: bool = False
    """No progress bar and no table."""
    track: bool = False
    """Write TensorBoard events too (the extra track)."""
    profile: bool = False
    """Write profile.txt, and one for each driver process: where the time goes."""
    pictures: bool = True
    """Draw pictures at the end (the extra plot)."""


def parse(argv: Sequence[str]) -> Arguments:
    """Parses the command line.

    Raises:
        UsageError: a flag or value that is not understood, in one line.
        SystemExit: after ``--help``.
    """
    default = Arguments()
    path = _value_of("--config", argv)
    if path is not None:
        default = Arguments(**dataclasses.asdict(read_config(path)))
    arguments = parse_as(Arguments, "python -m ppo.train", argv, default)
    if arguments.resume is not None:
        _check_alone(argv)
    return arguments


def parse_as(kind: type[T], prog: str, argv: Sequence[str], default: T | None = None) -> T:
    """Parses a command line into a dataclass, its fields the flags.

    Raises:
        UsageError: a flag or value that is not understood, in one line.
        SystemExit: after ``--help``.
    """
    complaint = io.StringIO()
    options = {} if default is None else {"default": default}
    try:
        with contextlib.redirect_stderr(complaint):
            arguments, unknown = tyro.cli(kind, prog=prog, args=list(argv), return_unknown_args=True, **options)  # type: ignore[call-overload]
    except SystemExit as end:
        if end.code in (0, None):
            raise
        raise UsageError(_one_line(complaint.getvalue())) from None
    if unknown:
        flags = [flag(field.name) for field in dataclasses.fields(cast(Any, kind))]
        raise UsageError(f"unknown argument {unknown[0]}{nearest(unknown[0], flags)}; --help lists the flags")
    return arguments


def _value_of(name: str, argv: Sequence[str]) -> str | None:
    for position, word in enumerate(argv):
        if word == name and position + 1 < len(argv):
            return argv[position + 1]
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None


def given_flags(argv: Sequence[str], kind: Any = Arguments) -> list[str]:
    """Field names of the flags of ``kind`` on a command line, ``--no-x`` as x."""
    words = [word.partition("=")[0] for word in argv if word.startswith("--")]
    names = [word[2:].replace("-", "_") for word in words]
    fields = {field.name for field in dataclasses.fields(kind)}
    return [name if name in fields else name.removeprefix("no_") for name in names]


def _check_alone(argv: Sequence[str]) -> None:
    for name in given_flags(argv):
        if name not in WITH_RESUME:
            raise UsageError(
                f"--resume takes no other training flag, and {flag(name)} was given: schedules depend on the run as it "
                f"was begun; to train on under other settings, start a new run with --warm-start"
            )


def _one_line(box: str) -> str:
    """The message of tyro's framed error, on one line."""
    lines = [line.strip("│╭╮╰╯─ ") for line in box.splitlines()]
    message = " ".join(line for line in lines[1:] if line)
    return message.partition(" Argument helptext:")[0].partition(" For full helptext")[0] or box.strip()


def run_main(main: Callable[[list[str]], None]) -> None:
    """Runs a command: exit code 0 done, 2 for a user's mistake (one line on stderr), 130 on Ctrl-C, 1 anything else."""
    try:
        main(sys.argv[1:])
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as interrupt:
        print(f"interrupted{f': {interrupt}' if str(interrupt) else ''}", file=sys.stderr)
        sys.exit(130)
