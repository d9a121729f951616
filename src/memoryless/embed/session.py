"""onnxruntime runs graphs: one photo at a time in as many threads as there are cores.

A photo's feature so never depends on what was beside it; batches were not faster.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from memoryless.embed.onnx_bytes import check_alone
from memoryless.embed.preparation import MARGIN, PhotoPreparation
from memoryless.errors import ConfigError, cause
from memoryless.settings import DEVICES
from memoryless.threads import ahead

if TYPE_CHECKING:
    import onnxruntime

FATAL = 4  # onnxruntime's level of logging; what is an error is raised too
BILINEAR = Image.Resampling.BILINEAR  # antialiased, as torch is asked to be in training
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


class Extractor:
    """Runs a features graph on photos with onnxruntime; any number of threads may share one."""

    def __init__(self, graph: bytes, device: str = "auto"):
        self._session = open_session(graph, device)
        _check_ends(self._session)

    def feature(self, photo: np.ndarray) -> np.ndarray:
        """Return the feature (d,) of a photo, uint8 (H, W, C)."""
        assert photo.dtype == np.uint8
        assert photo.ndim == 3
        assert photo.shape[2] in (1, 3)
        try:
            (output,) = self._session.run(None, {"photos": photo[None]})
        except MemoryError:
            raise
        except Exception as error:
            raise ConfigError(
                f"the backbone cannot take a photo of {photo.shape[1]} x {photo.shape[0]} pixels "
                f"({cause(error)}): check `backbone` and `image_size`"
            ) from error
        return sound_feature(output)

    @cached_property
    def d(self) -> int:
        """How many numbers a feature has, by a trial."""
        return len(self.feature(trial_photo()))


class SquareExtractor:
    """Runs the backbone of a features graph on square images of one size, as training sees them.

    Where they are a little larger than what the backbone sees, their edges are cut off; else they
    are resized.
    """

    def __init__(self, graph: bytes, preparation: PhotoPreparation, device: str = "auto"):
        from memoryless.embed.graph import backbone_alone

        self.preparation = preparation
        self._backbone = open_session(backbone_alone(graph), device)

    def features(self, images: np.ndarray) -> np.ndarray:
        """Return features (n, d) of images, uint8 (n, C, side, side)."""
        return np.stack(list(ahead(self._feature, images)))

    def _feature(self, image: np.ndarray) -> np.ndarray:
        own = self.preparation
        mean, std = (np.array(x, np.float32)[:, None, None] for x in (own.mean, own.std))
        pixels = (self._centre(image.astype(np.float32)) - mean) / std
        (output,) = self._backbone.run(None, {"prepare/pixels": pixels[None]})
        return sound_feature(output)

    def _centre(self, image: np.ndarray) -> np.ndarray:
        size, side = self.preparation.size, image.shape[-1]
        if side == size:
            return image
        if size < side <= size * MARGIN + 1:
            seen = slice((side - size) // 2, (side - size) // 2 + size)
            return image[:, seen, seen]
        planes = (Image.fromarray(plane).resize((size, size), BILINEAR) for plane in image)
        return np.stack([np.asarray(plane) for plane in planes])


def _check_ends(session: onnxruntime.InferenceSession) -> None:
    """Raise unless a graph takes photos and gives features, as those that this package writes."""
    takes, gives = (
        ", ".join(f"{end.name} {end.type}" for end in ends)
        for ends in (session.get_inputs(), session.get_outputs())
    )
    if (takes, gives) != ("photos tensor(uint8)", "features tensor(float)"):
        raise ConfigError(
            f"the backbone's graph takes {takes} and gives {gives}, where a model's takes photos "
            "tensor(uint8) and gives features tensor(float): learn with a `backbone` again, or "
            "restore the model from a copy"
        )


def trial_photo() -> np.ndarray:
    """Return a grey photo that grows brighter from left to right. Features of one without contrast
    may be zeros, which have no direction.
    """
    return np.tile(np.arange(256, dtype=np.uint8)[:, None], (256, 1, 3))


def sound_feature(features: np.ndarray) -> np.ndarray:
    """Return the one row of finite numbers that a backbone must give for one photo."""
    if features.ndim != 2 or len(features) != 1:
        raise ConfigError(
            f"the backbone gives features of shape {features.shape} for one photo, not (1, d): "
            "check `backbone`"
        )
    if not np.isfinite(features).all():
        raise ConfigError(
            "the backbone gives features that are not finite (nan or inf): check its weights, and "
            "`mean` and `std`"
        )
    return np.asarray(features[0])


def open_session(graph: bytes, device: str = "cpu") -> onnxruntime.InferenceSession:
    """Open a session that runs a graph in the thread that calls it."""
    # Else onnxruntime writes a device's number and facts of the machine into the home folder, to be
    # sent to its makers. It looks at this once, when it is imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    check_alone(graph, "the backbone's graph")
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.load_model_format", "ONNX")  # never guessed
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    chosen = providers(device, onnxruntime.get_available_providers())
    try:
        session = onnxruntime.InferenceSession(graph, options, providers=chosen)
    except Exception as error:  # onnxruntime's errors share no class but this
        raise ConfigError(
            f"onnxruntime {onnxruntime.__version__} cannot run the backbone ({cause(error)}): "
            "export it with operators of a released ONNX opset, or choose another `backbone`"
        ) from error
    if device.startswith("cuda") and session.get_providers()[0] != CUDA:
        raise ConfigError(
            f"onnxruntime cannot use device {device}, perhaps because CUDA or cuDNN is missing: "
            "install what onnxruntime-gpu asks for, or leave out `device`"
        )
    return session


def providers(device: str, offered: Sequence[str]) -> list[Any]:
    """Return what onnxruntime shall run a graph with; `auto` is CUDA where offered, else the CPU.

    >>> providers("auto", [CPU])
    ['CPUExecutionProvider']
    """
    if not DEVICES.fullmatch(device):
        raise ConfigError(f"unknown device '{device}': choose auto, cpu, cuda or cuda:N")
    if device == "mps":
        raise ConfigError(
            "device mps is for training, and fixed features run in onnxruntime, on cpu or cuda: "
            "leave out `device`, or add `train=True`"
        )
    if device.startswith("cuda") and CUDA not in offered:
        raise ConfigError(
            f"device {device} needs onnxruntime-gpu in place of onnxruntime: pip uninstall "
            "onnxruntime, then pip install onnxruntime-gpu; or leave out `device`"
        )
    if device == "cpu" or CUDA not in offered:
        return [CPU]
    # TF32 would round to three digits, and features must compare with those of a CPU.
    number = device.partition(":")[2] or "0"
    return [(CUDA, {"device_id": number, "use_tf32": "0"}), CPU]
