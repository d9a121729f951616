"""Presets are the settings that were published."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import TOY_PRESET
from memoryless.errors import ConfigError
from memoryless.images.sources import SOURCES
from memoryless.lab.paper_tables import published
from memoryless.lab.presets import PAPER_STRATEGIES, PRESETS


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("strategy", [*PAPER_STRATEGIES, "lwf_kd", "frozen", "fixed"])
def test_every_preset_makes_a_config(name, strategy, tmp_path):
    preset = PRESETS[name]
    config = preset.config(strategy, preset.states[0], 7, tmp_path, {"order": "seed:3"})
    assert config.data in SOURCES
    assert (config.seeds, config.order, config.strategy) == ((7,), "seed:3", strategy)


def test_settings_as_published():
    """The supplement's section 3 and the table of data sets."""
    cifar = PRESETS["cifar100"].config("finetune", 10, 0, Path("x"), {})
    assert (cifar.epochs, cifar.epochs_later, cifar.patience, cifar.patience_later) == (
        300,
        70,
        60,
        15,
    )
    assert (cifar.batch_size, cifar.weight_decay, cifar.momentum, cifar.lr) == (128, 5e-4, 0.9, 0.1)
    assert (cifar.image_size, cifar.backbone, cifar.augment) == (
        224, "resnet18", ("resized_crop", "flip"),
    )  # fmt: skip
    large = PRESETS["landmarks"].config("finetune", 10, 0, Path("x"), {})
    assert (large.epochs, large.epochs_later, large.patience, large.patience_later) == (
        120,
        35,
        10,
        5,
    )
    assert (large.batch_size, large.weight_decay) == (256, 1e-4)
    lwf = PRESETS["ilsvrc"].config("lwf", 10, 0, Path("x"), {})
    assert (lwf.lr, lwf.epochs, lwf.weight_decay, lwf.outputs) == (2.0, 70, 1e-5, "all")
    lucir = PRESETS["ilsvrc"].config("lucir", 10, 0, Path("x"), {})
    assert (lucir.epochs, lucir.lambda_base, lucir.weight_decay) == (90, 10.0, 1e-4)
    for preset in PRESETS.values():
        if preset.published:
            facts = published()["datasets"][preset.published]
            assert (preset.train_images, preset.test_images) == (facts["train"], facts["test"])


@pytest.mark.parametrize("name", [name for name in PRESETS if not PRESETS[name].published])
def test_the_control_has_the_shape_of_what_is_trained(name):
    trained, control = (
        PRESETS[name].config(strategy, 10, 0, Path("x"), {}) for strategy in ("frozen", "untrained")
    )
    for shape in ("backbone", "width", "image_size", "statistics", "projection"):
        assert getattr(trained, shape) == getattr(control, shape)
    assert control.backbone_weights is None


@pytest.mark.parametrize(
    ("strategy", "message"),
    [("lwf:2", "only replay has a memory"), ("replay:much", "needs a share, as in replay:0.02")],
)
def test_a_memory_that_means_nothing(strategy, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        TOY_PRESET.config(strategy, 2, 0, tmp_path, {})
