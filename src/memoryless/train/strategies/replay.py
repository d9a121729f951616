"""Fine-tuning with a bounded memory of images (Fig. 3 b, c). Not memoryless."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from memoryless.errors import ConfigError
from memoryless.images import Images, Split
from memoryless.images.dataset import place_within_class
from memoryless.randomness import numpy_generator
from memoryless.train.network import Network
from memoryless.train.strategies.base import Extract, Trainer


def herding(features: Tensor, number: int) -> Tensor:
    """Return indices of images whose mean feature stays nearest to the class's (iCaRL)."""
    directions = normalize(features)
    mean = normalize(directions.mean(0), dim=0)
    total = torch.zeros_like(mean)
    free = torch.ones(len(features), dtype=torch.bool)
    chosen = []
    for k in range(1, min(number, len(features)) + 1):
        distance = (mean - (total + directions) / k).norm(dim=1)
        best = int(distance.masked_fill(~free, torch.inf).argmin())
        free[best] = False
        total += directions[best]
        chosen.append(best)
    return torch.tensor(chosen, dtype=torch.int64)


class Replay(Trainer):
    """Training with a bounded memory of images of the past."""

    memory: Split | None = None

    @property
    def budget(self) -> int:
        if self.totals is None:
            raise ConfigError("strategy replay needs a stream whose size is known in advance")
        return round(self.settings.memory * self.totals.train_images)

    def training_images(self, images: Split) -> Split:
        return images.join(self.memory) if self.memory else images

    def end_state(self, network: Network, images: Split, extract: Extract) -> None:
        """Share the budget among all classes seen; each keeps the first of its ranked images."""
        classes = int(images.labels.max()) + 1
        quota = [self.budget // classes + (c < self.budget % classes) for c in range(classes)]
        ranked = [self._rank(images, extract, c, quota[c]) for c in np.unique(images.labels)]
        kept = images.take(np.concatenate(ranked))
        kept = self.memory.join(kept) if self.memory else kept
        self.memory = kept.take(place_within_class(kept.labels) < np.array(quota)[kept.labels])

    def _rank(self, images: Split, extract: Extract, label: int, number: int) -> np.ndarray:
        mine = np.flatnonzero(images.labels == label)
        if self.settings.exemplars == "random":
            return numpy_generator(0, "exemplars", int(label)).permutation(mine)[:number]
        nearest: np.ndarray = mine[herding(extract(images.take(mine)), number).numpy()]
        return nearest

    def tensors(self) -> dict[str, Tensor]:
        if self.memory is None:
            return {}
        return {
            "indices": torch.from_numpy(self.memory.indices),
            "labels": torch.from_numpy(self.memory.labels),
        }

    def restore(self, tensors: Mapping[str, Tensor], images: Images | None = None) -> None:
        if images is None:
            raise ConfigError("strategy replay goes on only with the images of its past states")
        if tensors:
            self.memory = Split(images, tensors["labels"].numpy(), tensors["indices"].numpy())
