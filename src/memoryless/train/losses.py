"""Losses of the strategies: pure functions, each a mean over the batch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def one_vs_all(logits: Tensor, labels: Tensor, old_logits: Tensor | None = None) -> Tensor:
    """Sigmoid cross-entropy of every output, averaged over outputs and images (iCaRL).

    The target of a class is 1 for its own images, else 0; for the classes of `old_logits`, which
    come first, it is the sigmoid of the old model's output instead.
    """
    targets = F.one_hot(labels, logits.shape[1]).to(logits.dtype)
    if old_logits is not None:
        old = old_logits.shape[1]
        targets = torch.cat([old_logits.sigmoid(), targets[:, old:]], dim=1)
    return F.binary_cross_entropy_with_logits(logits, targets)


def distillation(logits: Tensor, old_logits: Tensor, temperature: float) -> Tensor:
    """Cross-entropy between softened old and new outputs (Hinton et al. 2015)."""
    soft = (old_logits / temperature).softmax(1)
    return -(soft * (logits / temperature).log_softmax(1)).sum(1).mean()


def less_forget(features: Tensor, old_features: Tensor) -> Tensor:
    """One less the cosine of new and old features (LUCIR)."""
    return (1 - F.cosine_similarity(features, old_features)).mean()
