"""What tyro says of a flag or a value that is not understood, in one line and in a user's words."""

import re

KINDS = {"INT": "a whole number", "FLOAT": "a number", "[INT [INT ...]]": "whole numbers"}
NO_TYPE = re.compile(
    r"Error parsing (--\S+): no type matching (\S+(?: \[INT \.\.\.\]\]\})?) could be .* from \[(.*?)\]"
)
NO_NUMBER = re.compile(
    r"Error parsing (--\S+): (?:could not convert string to float|invalid literal for int\(\).*?): '(.*)'"
)
NO_VALUE = re.compile(r"Missing value for argument '(--\S+)'")
QUOTED = re.compile(r"'(.*?)'")
NO_CHOICE = re.compile(r"invalid choice '(.*)' for argument '(--\S+)'\. Expected one of \((.*)\)")


def one_line(box: str) -> str:
    """Returns the message of tyro's framed error on one line."""
    lines = [line.strip("│╭╮╰╯─ ") for line in box.splitlines()]
    message = " ".join(line for line in lines[1:] if line.strip("-"))  # of such are frames that are plain ASCII
    message = message.partition(" Argument helptext:")[0].partition(" For full helptext")[0] or box.strip()
    if found := NO_TYPE.match(message):
        name, kinds, values = found.groups()
        return f"{name} {' '.join(QUOTED.findall(values))}: must be {_kinds(kinds)}"
    if found := NO_VALUE.match(message):
        return f"{found[1]}: needs a value"
    if found := NO_NUMBER.match(message):
        whole = "invalid literal" in message
        return f"{found[1]} {found[2]}: must be {KINDS['INT' if whole else 'FLOAT']}"
    if found := NO_CHOICE.match(message):
        options = sorted(option for option in QUOTED.findall(found[3]) if option != "None")  # tyro's order varies
        return f"{found[2]} {found[1]}: must be {' or '.join(options)}"
    return message


def _kinds(metavar: str) -> str:
    """Returns what a union such as ``{None}|INT`` takes, in words."""
    parts = [part for part in metavar.split("|") if part != "{None}"]
    return " or ".join(KINDS.get(part) or KINDS.get(part.strip("{}")) or part.strip("{}") for part in parts)
