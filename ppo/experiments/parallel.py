"""Calls in processes of their own, side by side, with a progress bar."""

import concurrent.futures
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tqdm import tqdm

A = TypeVar("A")
R = TypeVar("R")


def map_in_processes(
    function: Callable[[A], R], arguments: Sequence[A], workers: int, unit: str, quiet: bool = False
) -> Iterator[tuple[A, R]]:
    """Calls ``function`` with each argument, ``workers`` at a time, each call in a new process.

    Yields arguments and results as they come. What a call raises, or whoever takes the results, ends those not begun.
    """
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, context, max_tasks_per_child=1) as executor:
        running = {executor.submit(function, argument): argument for argument in arguments}
        try:
            done = concurrent.futures.as_completed(running)
            for future in tqdm(done, total=len(running), unit=unit, disable=quiet):
                yield running[future], future.result()
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise
