"""Writes ``docs/reference.md`` from the dataclasses of the command lines: ``python docs/make_reference.py``."""

import dataclasses
import html
import pathlib
from typing import Any

from ppo import archive, ask, bench, compare, evaluate, replay, study, tell, tune
from ppo.config.command_line import TrainArguments
from ppo.config.fields import Config, flag
from ppo.config.help import field_texts

HEAD = """\
# Flags

This page is generated from the code by `python docs/make_reference.py`; a test keeps it current. `None` stands for a
default that depends on the problem's family (tuning or control) or on the algorithm, which the text gives in
parentheses; the resolved values are written to `config.json`.

Exit codes of every command: 0 done; 2 a mistake in what the user gave, told in one line on standard error; 130 after
Ctrl-C; 1 anything else, with a traceback, or in one line for an update that is not finite (`--on-nan`). `ppo.train`
leaves nothing on disk after a mistake, and a checkpoint after Ctrl-C.
"""
COMMANDS: dict[str, type] = {
    "train": TrainArguments,
    "evaluate": evaluate.Arguments,
    "ask": ask.Arguments,
    "tell": tell.Arguments,
    "archive": archive.Arguments,
    "replay": replay.Arguments,
    "tune": tune.Arguments,
    "compare": compare.Arguments,
    "bench": bench.Arguments,
    "study": study.Arguments,
}


def table(kind: type, names: list[str]) -> str:
    """Returns the flags of some fields as a table."""
    default: Any = {field.name: field for field in dataclasses.fields(kind)}
    lines = ["| flag | default | meaning |", "| --- | --- | --- |"]
    texts = field_texts(kind)
    for name in names:
        value = default[name].default
        required = value is dataclasses.MISSING and default[name].default_factory is dataclasses.MISSING
        shown = "required" if required else "" if value is dataclasses.MISSING else f"`{value}`"
        label = name.upper() if required or (name == "run_dir" and kind is ask.Arguments) else f"`{flag(name)}`"
        if isinstance(value, bool):
            label += f", `{flag(f'no_{name}')}`"
        lines.append(f"| {label} | {shown} | {html.escape(texts[name], quote=False).replace('|', '&#124;')} |")
    return "\n".join(lines) + "\n"


def reference() -> str:
    """Returns the text of the page."""
    shared = [field.name for field in dataclasses.fields(Config)]
    parts = [HEAD]
    for command, kind in COMMANDS.items():
        configures = issubclass(kind, Config)
        own = [field.name for field in dataclasses.fields(kind) if not configures or field.name not in shared]
        parts.append(f"## python -m ppo.{command}\n")
        if configures:
            parts.append("Takes the flags of the configuration, below, and these:\n")
        parts.append(table(kind, own))
    parts.append("## The configuration\n\nThe flags of `ppo.train` and `ppo.tune`, and the keys of `config.json`.\n")
    parts.append(table(Config, shared))
    return "\n".join(parts)


if __name__ == "__main__":
    pathlib.Path(__file__).with_name("reference.md").write_text(reference(), encoding="utf-8")
