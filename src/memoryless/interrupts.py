"""Interrupts (Ctrl-C) of commands wait while a library with native code is imported.

Where one comes in the middle, some of these libraries make another error of it or end the process.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from threading import current_thread, main_thread
from types import ModuleType

NATIVE = {"numpy", "onnx", "onnxruntime", "scipy", "torch"}


@contextmanager
def held_back() -> Iterator[None]:
    """Let an interrupt of the block come after it."""
    if current_thread() is not main_thread():  # which alone gets them
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


class WholeImports:
    """A finder, for the front of `sys.meta_path`: native libraries are imported with interrupts
    held back.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] not in NATIVE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_whole(module: ModuleType) -> None:
            with held_back():
                run(module)

        spec.loader.exec_module = run_whole  # type: ignore[method-assign]
        return spec
