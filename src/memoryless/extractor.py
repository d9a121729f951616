"""Features of photos, one photo at a time in as many threads as there are cores.

A photo's feature so never depends on what was beside it; batches were not faster.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from memoryless.errors import ConfigError, cause

if TYPE_CHECKING:
    import onnxruntime
    from torch import nn

    from memoryless.preparation import PhotoPreparation

AHEAD = 4  # photos in work for each thread: enough to keep it busy, few to hold in memory
FATAL = 4  # onnxruntime's level of logging; what is an error is raised too

T = TypeVar("T")
R = TypeVar("R")


class Extractor:
    """Runs a features graph on photos with onnxruntime; any number of threads may share one."""

    def __init__(self, graph: bytes):
        self._session = open_session(graph)

    def feature(self, photo: np.ndarray) -> np.ndarray:
        """The feature (d,) of a photo, uint8 (H, W, 3)."""
        return sound_feature(self.run(photo))

    def run(self, photo: np.ndarray) -> np.ndarray:
        """What the graph gives for a photo alone, (1, ...)."""
        assert photo.dtype == np.uint8 and photo.ndim == 3 and photo.shape[2] == 3
        try:
            (output,) = self._session.run(None, {"photos": photo[None]})
        except MemoryError:
            raise
        except Exception as error:
            raise ConfigError(
                f"the backbone cannot take a photo of {photo.shape[1]} x {photo.shape[0]} pixels "
                f"({cause(error)}): check `backbone` and `image_size`"
            ) from error
        return output

    @cached_property
    def d(self) -> int:
        """How many numbers a feature has, by a trial."""
        return len(self.feature(trial_photo()))


class TorchExtractor(Extractor):
    """Prepares photos with onnxruntime, and runs a backbone of torch on a device."""

    def __init__(self, backbone: nn.Module, preparation: PhotoPreparation, device: str):
        from memoryless.graph import preparation_graph

        super().__init__(preparation_graph(preparation).SerializeToString(deterministic=True))
        self._backbone, self._device = backbone.eval().to(device), device

    def run(self, photo: np.ndarray) -> np.ndarray:
        import torch

        pixels = torch.from_numpy(super().run(photo))
        try:
            with torch.inference_mode():
                return self._backbone(pixels.to(self._device)).float().cpu().numpy()
        except Exception as error:  # devices run out of memory, and lack operators
            raise ConfigError(
                f"the backbone cannot run on {self._device} ({cause(error)}): leave out `device`"
            ) from error


def trial_photo() -> np.ndarray:
    """A grey photo that grows brighter from left to right: without any contrast, features that are
    brought to length one would be divided by 0.
    """
    return np.tile(np.arange(256, dtype=np.uint8)[:, None], (256, 1, 3))


def sound_feature(features: np.ndarray) -> np.ndarray:
    """The one row of finite numbers that a backbone must give for one photo."""
    if features.ndim != 2 or len(features) != 1:
        raise ConfigError(
            f"the backbone gives features of shape {features.shape} for one photo, not (1, d): "
            "check `backbone`"
        )
    if features.dtype.kind != "f":
        raise ConfigError(
            f"the backbone gives features of the type {features.dtype}, not numbers: check "
            "`backbone`"
        )
    if not np.isfinite(features).all():
        raise ConfigError(
            "the backbone gives features that are not finite (nan or inf): check its weights, and "
            "`mean` and `std`"
        )
    return features[0]


def open_session(graph: bytes) -> onnxruntime.InferenceSession:
    """A session that runs a graph in the thread that calls it."""
    # Else onnxruntime writes a device's number and facts of the machine into the home folder, to be
    # sent to its makers. It looks at this once, when it is imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no class but this
        raise ConfigError(
            f"onnxruntime {onnxruntime.__version__} cannot run the backbone ({cause(error)}): "
            "export it with operators of a released ONNX opset, or choose another `backbone`"
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
