"""The command lines: flags made from the configuration, errors of one line.

Loads no torch, so that ``--help`` and a mistake are answered at once.
"""

import ast
import contextlib
import dataclasses
import io
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from actors.pools.base import DriverError, NotFiniteSlotError
from env.errors import UsageError, nearest
from ppo.config.budget import SET_BY_BUDGET
from ppo.config.complaints import one_line
from ppo.config.control import SET_BY_ENV_STEPS
from ppo.config.field_types import in_json
from ppo.config.fields import Config, flag
from ppo.config.file import DEEPEST, RENAMED, nested_deeply, read_config
from ppo.config.help import show_help
from ppo.config.paths import check_path
from ppo.config.signals import ended_by_closed_output, ended_by_signals, words_and_code
from ppo.startup import command

T = TypeVar("T")
WHERE_IT_RUNS = (
    *("drivers", "backend", "ray_address", "driver_timeout", "close_timeout", "checkpoint_every", "checkpoint_seconds"),
)
WHAT_IS_SHOWN = ("quiet", "track", "pictures", "profile")
FROM_NOW_ON = ("on_nan", "on_failure")
"""The flags that let a run go on where it would have stopped; nothing that is done already depends on them."""
WITH_RESUME = ("resume", *WHERE_IT_RUNS, *FROM_NOW_ON, *WHAT_IS_SHOWN)
"""The flags that --resume may be combined with: none that a result so far depends on."""
PATHS = ("run_dir", "resume", "warm_start", "reuse", "out", "csv")
"""The arguments that are paths."""


@dataclass(frozen=True)
class ConfigArguments(Config):
    """Arguments of a command whose flags are those of the configuration and some more."""

    def to_config(self) -> Config:
        """Returns the configuration alone."""
        return Config(**{field.name: getattr(self, field.name) for field in dataclasses.fields(Config)})


@dataclass(frozen=True)
class TrainArguments(ConfigArguments):
    __doc__ = Config.__doc__

    config: str | None = None
    """Take the values of this config.json; other flags override it, and --evaluations or --env-steps sets anew what
    follows from a budget, as the learning rate does."""
    run_dir: str | None = None
    """Directory of the results (runs/<env>-<seed>-<time>); must be new or empty."""
    seeds: str | None = None
    """In place of --seed, FIRST:END for a run of each of these seeds, such as 0:10 for those from 0 to 9: side by side,
    in rounds that all share, each with its own bits in its own directory seed-N of RUN_DIR."""
    resume: str | None = None
    """Go on with an interrupted run in this directory, or with those of --seeds; of the training flags it takes those
    of where the run runs, and --on-nan and --on-failure, for a run that they let go on."""
    quiet: bool = False
    """No progress bar and no table."""
    track: bool = False
    """Write TensorBoard events too (the extra track)."""
    profile: bool = False
    """Write profile.txt, and one for each driver process: where the time goes."""
    pictures: bool = True
    """Draw pictures at the end (the extra plot)."""


def parse(argv: Sequence[str]) -> TrainArguments:
    """Parses the command line of ``python -m ppo.train``.

    Raises:
        UsageError: a flag or value that is not understood, in one line.
        SystemExit: after ``--help``.
    """
    if given_flags(argv).count("reuse") > 1:  # the last one would win, and the others be forgotten
        raise UsageError("--reuse: given more than once; name all directories and files after one --reuse")
    default = TrainArguments()
    path = _value_of("--config", argv)
    if path is not None:
        check_path("--config", path)
        read = read_config(path)
        for budget, names in (("evaluations", SET_BY_BUDGET), ("env_steps", SET_BY_ENV_STEPS)):
            if budget in given_flags(argv):  # what another budget set does not hold for this one
                unset: dict[str, Any] = dict.fromkeys(names)
                read = dataclasses.replace(read, **unset)
        default = TrainArguments(**{field.name: getattr(read, field.name) for field in dataclasses.fields(Config)})
    arguments = parse_as(TrainArguments, command("train"), argv, default)
    if "reuse" in given_flags(argv) and not arguments.reuse:
        raise UsageError("--reuse: needs a run directory or a CSV file, or several")
    if arguments.resume is not None:
        _check_alone(argv)
    if arguments.seeds is not None and "seed" in given_flags(argv):
        raise UsageError(f"--seeds {arguments.seeds}: names all seeds; leave out --seed")
    return arguments


def parse_as(kind: type[T], prog: str, argv: Sequence[str], default: T | None = None) -> T:
    """Parses a command line into a dataclass, its fields the flags.

    Raises:
        UsageError: a flag or value that is not understood, in one line.
        SystemExit: after ``--help``.
    """
    if issubclass(kind, Config) and {"-h", "--help"} & {*argv}:
        show_help(kind, prog)
    complaint = io.StringIO()
    options: dict[str, Any] = {} if default is None else {"default": default}
    options |= {"prog": prog, "args": list(argv), "return_unknown_args": True, "registry": _registry}
    try:
        with contextlib.redirect_stderr(complaint):
            arguments, unknown = tyro.cli(kind, **options)
    except SystemExit as end:
        if end.code in (0, None):
            raise
        raise UsageError(one_line(complaint.getvalue())) from None
    if unknown:
        raise UsageError(f"unknown argument {unknown[0]}{_hint(unknown[0], kind)}; --help lists the flags")
    for name in PATHS:
        value = getattr(arguments, name, None)
        shown = flag(name) if isinstance(value, str | tuple) or name != "run_dir" else "RUN_DIR"
        for path in value if isinstance(value, tuple) else () if value is None else (value,):
            check_path(shown, str(path))
    return arguments


def parse_keywords(words: Sequence[str]) -> dict[str, Any]:
    """Parses ``--env-kwargs``: ``name=value`` each, values as JSON, as Python literals, or else as text.

    Raises:
        UsageError: a word is not name=value, a name comes twice, or JSON cannot hold a value.
    """
    keywords: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--env-kwargs {word}: must be name=value")
        if name in keywords:
            raise UsageError(f"--env-kwargs {' '.join(words)}: {name} is given more than once")
        keywords[name] = _parse_value(value)
        if nested_deeply(keywords[name]):
            raise _nested(name)
        if not in_json(keywords[name]):
            raise UsageError(f"--env-kwargs {word}: must be a value that JSON can hold")
    return keywords


def keyword_words(keywords: dict[str, Any]) -> list[str]:
    """Returns the words that ``parse_keywords`` would parse into ``keywords``."""
    plain = {name: isinstance(value, str) and _parse_value(value) == value for name, value in keywords.items()}
    return [f"{name}={value if plain[name] else json.dumps(value)}" for name, value in keywords.items()]


def command_words(config: Config) -> list[str]:
    """Returns the words of a command line that gives what in a configuration is not a default."""
    words = []
    for name, value in config.changed().items():
        if isinstance(getattr(Config, name, None), bool):
            words.append(flag(name if value else f"no_{name}"))
        elif isinstance(value, dict):
            words += [flag(name), *keyword_words(value)]
        else:
            words += [flag(name), *map(str, value if isinstance(value, tuple) else [value])]
    return words


def given_flags(argv: Sequence[str], kind: Any = TrainArguments) -> list[str]:
    """Returns the field names of the flags of ``kind`` on a command line, ``--no-x`` as x."""
    words = [word.partition("=")[0] for word in argv if word.startswith("--")]
    names = [word[2:].replace("-", "_") for word in words]
    fields = {field.name for field in dataclasses.fields(kind)}
    return [name if name in fields else name.removeprefix("no_") for name in names]


def run_main(main: Callable[[list[str]], None]) -> None:
    """Runs a command.

    Exit codes: 0 done, 2 for a user's mistake (one line on stderr), 130 on Ctrl-C, 143 on SIGTERM, 141 where nobody
    reads its output any more, 1 anything else.
    """
    try:
        with ended_by_closed_output(), ended_by_signals():
            main(sys.argv[1:])
    except UsageError as error:
        print(f"error: {' '.join(str(error).splitlines())}", file=sys.stderr)
        sys.exit(2)
    except DriverError as error:
        if error.mistake:
            print(f"error: {error.mistake}", *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
            sys.exit(2)
        if error.__cause__:  # whose traceback shows where it happened; that of the learner, which waited, says nothing
            traceback.print_exception(error.__cause__)
        print(f"error: {error}", *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
        sys.exit(1)
    except NotFiniteSlotError as error:
        print(f"error: {error}", *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt as interrupt:
        words, code = words_and_code(interrupt)
        print(words, file=sys.stderr)
        sys.exit(code)


_registry = ConstructorRegistry()


@_registry.primitive_rule
def _keywords_rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
    """Lets tyro read a mapping as ``name=value`` words."""
    if info.type != dict[str, Any]:
        return None
    return PrimitiveConstructorSpec("*", "NAME=VALUE", parse_keywords, lambda x: isinstance(x, dict), keyword_words)


def _nested(name: str) -> UsageError:
    return UsageError(f"--env-kwargs {name}: its value is nested deeper than {DEEPEST} levels")


def _parse_value(text: str) -> Any:
    for parse_one in (json.loads, ast.literal_eval):  # true or True, null or None
        with contextlib.suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return parse_one(text)
    return text


def _value_of(name: str, argv: Sequence[str]) -> str | None:
    for position, word in enumerate(argv):
        if word == name and position + 1 < len(argv):
            return argv[position + 1]
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None


def _hint(word: str, kind: Any) -> str:
    renamed = RENAMED.get(word.removeprefix("--").partition("=")[0].replace("-", "_"))
    if renamed:
        return f" (renamed to {flag(renamed)})"
    return nearest(word, [flag(field.name) for field in dataclasses.fields(kind)])


def _check_alone(argv: Sequence[str]) -> None:
    for name in given_flags(argv):
        if name not in WITH_RESUME:
            raise UsageError(
                f"--resume takes no other training flag, and {flag(name)} was given: schedules depend on the run as it "
                f"was begun; to train on under other settings, start a new run with --warm-start"
            )
