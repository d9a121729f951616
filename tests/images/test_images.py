"""Every source gives a sound data set, and bad input one clear error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from cifar_toys import make_cifar
from conftest import make_folder, make_lists
from memoryless.errors import ConfigError, DataError
from memoryless.images import SOURCES, load
from memoryless.settings import DataSettings


def make_source(name: str, root: Path) -> DataSettings:
    if name == "folder":
        return DataSettings(data=name, root=make_folder(root), image_size=8)
    if name == "list":
        return DataSettings(data=name, image_size=8, **make_lists(root))
    if name == "quickdraw100":
        return DataSettings()
    make_cifar(root, name)
    return DataSettings(data=name, root=root)


@pytest.mark.parametrize("name", SOURCES)
def test_source_contract(name, tmp_path):
    """uint8 squares that can be read in any order, every class in both splits, no overlap."""
    settings = make_source(name, tmp_path)
    dataset = load(settings)
    for split in (dataset.train, dataset.test):
        assert set(split.labels) == set(range(len(dataset.classes)))
        positions = np.array([len(split) - 1, 0])
        images = split.read(positions)
        assert images.dtype == torch.uint8
        assert images.shape == (2, *split.images.shape)
        assert torch.equal(images[1:], split.read(np.array([0])))
        assert split.stored_bytes == split.images.stored_bytes(split.indices) > len(split)
    if dataset.train.images is dataset.test.images:
        assert not set(dataset.train.indices) & set(dataset.test.indices)
    assert dataset.image_size == (settings.image_size or SOURCES[name].side)


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        (DataSettings(data="folder"), ConfigError, "add `root=FOLDER`"),
        (DataSettings(data="folder", root=Path("nowhere")), DataError, "no folder or file nowhere"),
        (
            DataSettings(data="list"),
            ConfigError,
            "needs both `train_list=FILE` and",
        ),
        (DataSettings(data="cifar1000"), ConfigError, "did you mean 'cifar100'"),
        (
            DataSettings(data="list", train_list=Path("a.txt"), test_list=Path("b.txt")),
            DataError,
            "the file a.txt cannot be read",
        ),
    ],
)
def test_bad_sources(config, error, message):
    with pytest.raises(error, match=message):
        load(config)


def test_validation_never_touches_test_images():
    whole, tuning = load(DataSettings()), load(DataSettings(validation=0.25))
    assert torch.equal(tuning.test.images.pixels, whole.train.images.pixels)
    assert (len(tuning.train), len(tuning.test)) == (6000, 2000)
    assert not set(tuning.train.indices) & set(tuning.test.indices)
