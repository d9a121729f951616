"""Features of many images, and how they are stored."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder


def test_features_beyond_float16_are_kept_in_full(tiny, toy):
    class Loud(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(64, 4)

        def forward(self, x):
            return self.linear(x.flatten(1)) * 1e6

    config = replace(tiny, states="1", lr=1e-12)
    (path,) = run(config, toy, Loud())
    test = RunFolder(path).tensors(0, "test")
    assert test["features"].dtype == torch.float32
