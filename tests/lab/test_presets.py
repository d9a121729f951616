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


PUBLISHED = {
    ("cifar100", "finetune"): {
        "epochs": 300, "epochs_later": 70, "patience": 60, "patience_later": 15,
        "batch_size": 128, "weight_decay": 5e-4, "momentum": 0.9, "lr": 0.1,
        "image_size": 224, "backbone": "resnet18", "augment": ("resized_crop", "flip"),
    },
    ("landmarks", "finetune"): {
        "epochs": 120, "epochs_later": 35, "patience": 10, "patience_later": 5,
        "batch_size": 256, "weight_decay": 1e-4,
    },
    ("ilsvrc", "lwf"): {"lr": 2.0, "epochs": 70, "weight_decay": 1e-5, "outputs": "all"},
    ("ilsvrc", "lucir"): {"epochs": 90, "lambda_base": 10.0, "weight_decay": 1e-4},
}  # fmt: skip


def test_settings_as_published():
    """The supplement's section 3 and the table of data sets."""
    for (name, strategy), expected in PUBLISHED.items():
        config = PRESETS[name].config(strategy, 10, 0, Path("x"), {})
        assert {setting: getattr(config, setting) for setting in expected} == expected
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
