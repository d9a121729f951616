"""Settings of a model: every name that they use is looked up, and contradictions are refused."""

from __future__ import annotations

import pytest

from memoryless.errors import ConfigError
from memoryless.lab.config import Config
from memoryless.settings import ModelSettings
from memoryless.train.resolve import resolved, trained_settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lr_later": "slow"}, "unknown lr_later 'slow': choose from t+1, t, constant"),
        ({"schedule": "cosinus"}, "unknown schedule 'cosinus'"),
        ({"backbone": "resnet19"}, "unknown backbone 'resnet19'"),
        ({"device": "tpu"}, "unknown device 'tpu'"),
        ({"statistics": "fool"}, "unknown statistics 'fool'"),
        ({"transports": ("liner",)}, "did you mean 'linear'"),
        ({"mean": (0.5,)}, "mean and std must be given together"),
        ({"projection": 10}, "projection needs a backbone that stays as it is"),
        ({"augment": ("flip", "none")}, "augment flip none contradicts itself"),
        ({"strategy": "fixed", "augment": ("flip",)}, "leave out `augment`"),
        ({"strategy": "fixed", "transports": ("linear",)}, "leave out `transports`"),
        ({"strategy": "untrained", "backbone": "efficientnet-lite0"}, "leave out `backbone_we"),
        ({"backbone": "onnx:a.onnx"}, "cannot be trained: choose `strategy=fixed`"),
    ],
)
def test_settings_that_cannot_be_used(given, message):
    with pytest.raises(ConfigError) as caught:
        resolved(ModelSettings(**given))
    assert message in str(caught.value)


def test_all_problems_come_at_once():
    with pytest.raises(ConfigError) as caught:
        Config(
            strategy="finetun", schedule="cosinus", augment=("flap",), seeds=(1, 1), data="cifar",
            methods=("finetune+sow",),
        ).resolved()  # fmt: skip
    for part in ("'finetun'", "'cosinus'", "'flap'", "seeds must differ", "'cifar'", "'sow'"):
        assert part in str(caught.value)


def test_a_method_brings_the_settings_that_it_needs():
    settings = trained_settings("finetune+lda+linear", ModelSettings(), 32)
    assert (settings.strategy, settings.transports) == ("finetune", ("linear",))
    assert settings.statistics != "none"
    with pytest.raises(ConfigError, match="strategy joint needs images of the past"):
        trained_settings("Full", ModelSettings(), 32)
