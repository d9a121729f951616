"""Features of photos by onnxruntime, one photo at a time in as many threads as there are cores.

A photo's feature so never depends on what was beside it; batches were not faster.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from memoryless.errors import ConfigError

if TYPE_CHECKING:
    import onnxruntime

AHEAD = 4  # photos in work for each thread: enough to keep it busy, few to hold in memory

T = TypeVar("T")
R = TypeVar("R")


class Extractor:
    """Runs a features graph on photos."""

    def __init__(self, graph: bytes):
        self._session = open_session(graph)

    def feature(self, photo: np.ndarray) -> np.ndarray:
        """The feature (d,) of a photo, uint8 (H, W, 3)."""
        try:
            (features,) = self._session.run(None, {"photos": photo[None]})
        except MemoryError:
            raise
        except Exception as error:
            raise ConfigError(
                f"the backbone cannot take a photo of {photo.shape[1]} x {photo.shape[0]} pixels "
                f"({_cause(error)}): check `backbone` and `image_size`"
            ) from error
        return features[0]


def open_session(graph: bytes) -> onnxruntime.InferenceSession:
    """A session that runs a graph in the thread that calls it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors are raised; warnings are of no use to a user
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no class but this
        raise ConfigError(
            f"onnxruntime cannot run the backbone ({_cause(error)}): export it for "
            f"onnxruntime {onnxruntime.__version__}, or choose another `backbone`"
        ) from error


def ahead(work: Callable[[T], R], items: Iterable[T], threads: int | None = None) -> Iterator[R]:
    """What `work` gives for each item, in order, computed by threads a little ahead."""
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
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cause(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__
