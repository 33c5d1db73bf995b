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

    Args:
        function: function to call; it and its arguments and results are pickled.
        arguments: arguments, one for each call.
        workers: number of calls at a time.
        unit: name of a call in the progress bar.
        quiet: whether to hide the progress bar.

    Yields:
        Pairs of an argument and its result, in the order in which the calls end. An exception in a call, or in the code
        that takes the results, cancels the calls that have not begun.
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
