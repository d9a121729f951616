"""Any framework's network as an ONNX graph, which onnxruntime applies on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from onnx import ModelProto
from torch import Tensor, nn

from memoryless.embed.graph import feature_groups, images_input
from memoryless.embed.session import open_session
from memoryless.threads import ahead


class OnnxBackbone(nn.Module):
    """A graph turns images (B, 3, H, W), or grey ones (B, 1, H, W), into features (B, d).

    The features of several outputs stand side by side; the first output's are those of the network.
    Images go through it one by one, so that a feature never depends on what was beside its image.
    It has no parameters: it cannot be trained.
    """

    def __init__(self, model: ModelProto):
        super().__init__()
        self.groups = feature_groups(model)
        self.graph, self.input = model.SerializeToString(), images_input(model).name
        self.session: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "session": None}  # sessions cannot be copied

    def forward(self, images: Tensor) -> Tensor:
        self.session = self.session or open_session(self.graph)
        pixels = images.expand(-1, 3, -1, -1).cpu().contiguous().numpy()
        rows = ahead(self._feature, pixels, torch.get_num_threads())
        return torch.from_numpy(np.stack(list(rows)))

    def _feature(self, image: np.ndarray) -> np.ndarray:
        groups = self.session.run(None, {self.input: image[None]})
        return np.concatenate([group[0] for group in groups])
