"""How many threads NumPy and SciPy multiply and solve with.

Results of several threads differ in the last bits from those of one. What must be the same on every
machine is computed under `one_thread`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@cache
def _blas() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """Within the block, BLAS uses one thread; afterwards as many as before."""
    with _blas().limit(limits=1):
        yield


def blas_threads() -> int:
    """How many threads BLAS may use now."""
    return max((library["num_threads"] for library in _blas().info()), default=1)
