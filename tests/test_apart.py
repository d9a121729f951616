"""What may not be written: anything in the folder of a model, by whatever way."""

from __future__ import annotations

import numpy as np
import pytest

from memoryless import Model
from memoryless.errors import WriteError
from memoryless.model_folder.apart import check_apart


@pytest.mark.parametrize(
    "inside", ["model", "model/a.html", "model/states/b/c", "link/d", "x/../model/e"]
)
def test_the_folder_of_a_model_is_its_own(inside, tmp_path):
    model = Model(backbone="none")
    model.learn(np.random.default_rng(0).normal(size=(12, 4)), ["a", "b"] * 6)
    model.save(tmp_path / "model")
    (tmp_path / "link").symlink_to("model")
    with pytest.raises(WriteError) as caught:
        check_apart(tmp_path / inside)
    assert str(caught.value) == (
        f"{tmp_path / inside} would lie in a model's own folder: name a place elsewhere"
    )


def test_elsewhere_is_fine(tmp_path):
    (tmp_path / "CURRENT").touch()  # a file of that name alone makes no model
    for place in ("a.html", "new/b.onnx"):
        check_apart(tmp_path / place)
