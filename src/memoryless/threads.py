"""Threads: work done a little ahead, and how many threads NumPy and SciPy multiply and solve with.

Results of several threads differ in the last bits from those of one. What must be the same on every
machine is computed under `one_thread`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

AHEAD = 4  # items in work for each thread: enough to keep it busy, few to hold in memory
T = TypeVar("T")
R = TypeVar("R")


@cache
def _blas() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - SciPy has a BLAS of its own, which must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread within the block; afterwards it uses as many as before."""
    with _blas().limit(limits=1):
        yield


def blas_threads() -> int:
    """Return how many threads BLAS may use now."""
    return max((library["num_threads"] for library in _blas().info()), default=1)


def in_threads(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Do the work for every item, in as many threads as BLAS may use; gives the results in order.

    In each of them BLAS uses one thread: for small matrices that is faster, and it gives the same
    bits for any number.
    """
    threads = blas_threads()
    with one_thread():
        yield from ahead(work, items, threads)


def ahead(work: Callable[[T], R], items: Iterable[T], threads: int | None = None) -> Iterator[R]:
    """Yield what `work` gives for each item, in order, computed by threads a little ahead."""
    threads, left = threads or cores(), iter(items)
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque(pool.submit(work, item) for item in islice(left, AHEAD * threads))
        try:
            while waiting:
                result = waiting.popleft().result()
                waiting.extend(pool.submit(work, item) for item in islice(left, 1))
                yield result
        finally:
            for future in waiting:
                future.cancel()


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
