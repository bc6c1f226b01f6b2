"""Threads across trials: each trial on one thread, so that its bits do not depend on how many."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

Result = TypeVar("Result")


class _Stopped(Exception):
    """Ends the other tasks once one has failed or the user has interrupted."""


def run_tasks(
    tasks: Sequence[Callable[[Callable[[int], None]], Result]],
    threads: int,
    progress: Callable[[int], None] | None,
) -> list[Result]:
    """Run tasks on some threads; return their results in order.

    Parameters
    ----------
    tasks
        Each is given a function to call often with the amount just done. Engines let go of
        the interpreter while they compute, so that threads do run at once.
    threads
        How many.
    progress
        Called with those amounts, by one thread at a time.

    Raises
    ------
    BaseException
        Whatever the first task to fail raised, or KeyboardInterrupt; the others stop at their next
        call.
    """
    stop, lock = threading.Event(), threading.Lock()

    def tick(amount: int) -> None:
        if stop.is_set():
            raise _Stopped
        if progress is not None:
            with lock:
                progress(amount)

    if threads == 1 or len(tasks) == 1:
        return [task(tick) for task in tasks]
    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(task, tick) for task in tasks]
        try:
            # The first to fail, not the first in order: the others may have hours to go.
            wait(running, return_when=FIRST_EXCEPTION)
            for future in running:
                if future.done() and (error := future.exception()) is not None:
                    raise error
            return [future.result() for future in running]
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
