"""Ctrl-C while a command still loads its modules: one line and exit code 130, in place of a traceback.

Nothing but the standard library may be imported here. ``ppo.config.signals`` has what holds once a command runs.
"""

import itertools
import os
import signal
import sys
import threading
from typing import Any


def end_by_ctrl_c(words: list[str]) -> None:
    """Lets Ctrl-C end this process at once, if its command line ``words`` begins a command of this package.

    Modules are loading then: there is nothing to clean up, and an exception may be lost within an import.
    """
    command = any(flag == "-m" and name.startswith("ppo.") for flag, name in itertools.pairwise(words))
    if command and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _end)


def _end(number: int, frame: Any) -> None:
    print("interrupted", file=sys.stderr, flush=True)
    os._exit(128 + number)
