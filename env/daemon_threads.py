"""Threads that do not keep the program from ending, since one that is stuck cannot be ended."""

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

T = TypeVar("T")


class DaemonThreads:
    """Threads that make calls, each the next one in the order in which they were given.

    Args:
        count: how many there are at first.
        name: what they are called, with their number.
    """

    def __init__(self, count: int, name: str):
        self._name = name
        self._calls: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        for _ in range(count):
            self.add()

    def __len__(self) -> int:
        return len(self._threads)

    def add(self) -> None:
        """Starts one more.

        Raises:
            RuntimeError: the system has no room for it.
        """
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            del call  # what it holds is not to live until the next one comes

    def start(self, call: Callable[[], object]) -> None:
        """Lets the first thread that is free make a call that raises no exception."""
        self._calls.put(call)

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Lets the first thread that is free make a call."""
        future: Future[T] = Future()
        self.start(partial(_settle, future, call))
        return future

    def close(self, stuck: int = 0) -> None:
        """Ends all threads but those that are stuck, of which there are so many, once all calls are made."""
        for _ in self._threads:
            self._calls.put(None)
        while sum(thread.is_alive() for thread in self._threads) > stuck:
            time.sleep(1e-3)


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:
        future.set_exception(error)
