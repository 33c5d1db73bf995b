"""A command that a signal ends cleans up, says so in one line, and has the exit code of that signal."""

import os
import signal
import threading

import pytest

from ppo.config.command_line import run_main
from ppo.config.signals import Terminated, handling_signals

CODES = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by SIGTERM")]


@pytest.mark.parametrize(("number", "code", "words"), CODES)
def test_a_signal_ends_a_command_after_its_clean_up(number, code, words, capsys):
    cleaned = []

    def main(argv):
        try:
            os.kill(os.getpid(), number)
            raise AssertionError("the signal is handled before the next line")
        finally:
            cleaned.append(True)

    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(SystemExit) as end:
        run_main(main)
    assert end.value.code == code
    assert cleaned == [True]
    assert capsys.readouterr().err == f"{words}\n"
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


def test_what_cleans_up_after_ctrl_c_does_so_after_sigterm():
    assert issubclass(Terminated, KeyboardInterrupt)


def test_outside_the_main_thread_no_handler_is_set():
    before, seen = signal.getsignal(signal.SIGTERM), []

    def elsewhere():
        with handling_signals(print):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]
