"""Arrays as safetensors bytes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import torch

from memoryless.tensors import as_tensors, from_bytes, part, prefixed, to_bytes

TENSORS = {"W": torch.arange(6.0).view(2, 3), "n": torch.tensor(7), "none": torch.zeros(0, 4)}


def test_tensors_and_facts_come_back():
    content = to_bytes(TENSORS | {"mask": np.array([True, False])}, {"epoch": 3, "ä": "\udcff"})
    arrays, facts = from_bytes(content)
    assert facts == {"epoch": 3, "ä": "\udcff"}
    tensors = as_tensors(arrays)
    assert tensors["mask"].tolist() == [True, False]
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)
        assert tensors[name].data_ptr() % 64 == 0  # as torch allocates


def test_equal_content_gives_equal_bytes_whatever_holds_it():
    turned = TENSORS | {"W": torch.tensor([[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]).T}
    arrays = {name: tensor.numpy() for name, tensor in reversed(TENSORS.items())}
    assert len({to_bytes(tensors, {"x": 1}) for tensors in (TENSORS, turned, arrays)}) == 1


def test_reading_arrays_imports_no_torch():
    code = (
        "import sys; from memoryless.tensors import from_bytes, to_bytes;"
        "from_bytes(to_bytes({})); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parts_by_prefix():
    assert part({"a.x": 1, "a.a.y": 2, "b.a.z": 3, "ax": 4}, "a.") == {"x": 1, "a.y": 2}
    assert part(prefixed("a.", {"x": 1}) | {"b.x": 2}, "a.") == {"x": 1}
