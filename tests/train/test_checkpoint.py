"""A checkpoint is whole, or none."""

from __future__ import annotations

import torch

from memoryless.train.checkpoint import Checkpoint


def test_every_change_of_a_checkpoint_is_noticed(tmp_path):
    place = Checkpoint(tmp_path / "c.safetensors", "here")
    place.write({"W": torch.ones(2, 3)}, {"state": 1, "loss": [0.5]})
    sound, content = place.read()[1], place.path.read_bytes()
    assert sound == {"state": 1, "loss": [0.5]}
    for i in range(len(content)):
        place.path.write_bytes(content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :])
        tensors, facts = place.read()
        assert (tensors, facts) == ({}, {}) or (facts == sound and (tensors["W"] == 1).all())
