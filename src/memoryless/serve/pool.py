"""Threads of a server: one for each core for photos, and one that teaches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from memoryless.threads import cores

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


class Pool:
    """Runs what takes time outside the event loop."""

    def __init__(self, threads: int | None = None):
        self._photos = ThreadPoolExecutor(threads or cores(), "photos")
        self._teaching = ThreadPoolExecutor(1, "teaching")

    async def map(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Return what `work` gives for each item, in order; if one fails, the others that have not
        begun are dropped.
        """
        loop = asyncio.get_running_loop()
        tasks = [loop.run_in_executor(self._photos, work, item) for item in items]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()

    async def run(self, work: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        """Return what `work` gives, done where photos are."""
        call = partial(work, *arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self._photos, call)

    async def teach(self, work: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        """Return what `work` gives, done after all teaching that was asked for before."""
        call = partial(work, *arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self._teaching, call)

    def close(self) -> None:
        """Let the threads end once they have done what they began."""
        self._photos.shutdown(cancel_futures=True)
        self._teaching.shutdown(cancel_futures=True)
