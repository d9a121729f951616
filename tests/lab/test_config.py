"""Settings of an experiment and of the control that belongs to it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import make_toy
from memoryless.errors import ConfigError
from memoryless.images.sources import SOURCES
from memoryless.lab.config import Config, control_of
from memoryless.lab.experiment import run
from memoryless.lab.presets import PRESETS
from memoryless.lab.runs import RunFolder
from memoryless.settings import restore
from memoryless.stats.methods import headline
from memoryless.strategies import STRATEGIES, filled, own_values

WITHOUT = {"fixed", "untrained", "joint"}


def test_stored_settings_come_back():
    done = Config(strategy="lwf_kd", root=Path("x"), seeds=(1, 2)).resolved()
    stored = json.loads(json.dumps(own_values(done)))
    assert restore(Config, stored) == restore(Config, stored).resolved() == done
    with pytest.raises(ValueError, match="width must be a whole number, not None"):
        restore(Config, stored | {"width": None})
    with pytest.raises(ValueError, match=r"'epoch' is no setting; lr must be a number, not 'x'"):
        restore(Config, stored | {"epoch": 3, "lr": "x"})


@pytest.mark.parametrize("data", SOURCES)
def test_the_width_is_what_suits_the_data(data):
    assert Config(data=data).resolved().width == (8 if data == "quickdraw100" else 64)
    assert Config(data=data, image_size=16).resolved().width == SOURCES[data].width
    assert Config(data=data, width=5).resolved().width == 5


def test_images_that_are_given_get_the_standard_width(tmp_path, monkeypatch):
    """The data set that settings name, the embedded drawings by default, has no say then."""
    assert Config().resolved(28).width == 64
    config = Config(states="2", epochs=1, output=tmp_path)
    monkeypatch.setattr("memoryless.lab.experiment.Run.finish", lambda self: None)
    (folder,) = run(config, make_toy())
    assert RunFolder(folder).about.config.width == 64


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_whatever_trains_state_by_state_has_one(strategy):
    control = control_of(Config(strategy=strategy, width=8, states="5", seeds=(3, 4)))
    assert (control is None) == (strategy in WITHOUT)
    if control:
        assert (control.strategy, control.states, control.seeds) == ("untrained", "5", (3, 4))
        assert control.output == Path("runs/latest/untrained")


@pytest.mark.parametrize("later", [None, 3])
def test_it_trains_and_sees_as_the_experiment_but_by_its_own_recipe(later):
    given = {"width": 8, "held_out": 0.2, "batch_size": 16, "epochs": 1, "epochs_later": later}
    weights = Path("w.pth")
    control = control_of(filled(Config(strategy="lwf", backbone_weights=weights, **given)))
    assert (control.lr, control.schedule, control.backbone_weights) == (None, None, None)
    assert (control.held_out, control.batch_size) == (0.2, 16)
    control = control.resolved()
    assert (control.epochs, control.epochs_later) == (1, later or 1)


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"width": 16}, ("full", "middle")),
        ({"width": 17}, ("tied", "last")),
    ],
)
def test_covariances_of_each_class_are_kept_of_narrow_networks_only(settings, kept):
    control = control_of(Config(**settings))
    assert (control.statistics, control.level) == kept


@pytest.mark.parametrize("backbone", ["efficientnet-lite0", "timm:resnet18"])
def test_a_backbone_that_brings_weights_has_none(backbone):
    assert control_of(Config(width=8, backbone=backbone)) is None


@pytest.mark.parametrize(
    "given", [{"backbone_weights": Path("w.pth")}, {"backbone": "efficientnet-lite0"}]
)
def test_weights_of_a_training_are_refused(given):
    with pytest.raises(ConfigError, match="whose weights are drawn: leave out `backbone_weights`"):
        Config(strategy="untrained", width=8, **given).resolved()


def test_arrays_have_another_width_than_the_drawings(toy):
    """An open width is 64 where arrays are given, and 8 where the drawings are loaded."""
    drawings, arrays = control_of(Config()), control_of(Config(), toy.image_size)
    assert (drawings.statistics, drawings.level) == ("full", "middle")
    assert (arrays.statistics, arrays.level) == ("tied", "last")
    assert arrays.width is None


def test_the_presets_have_the_same_control():
    preset = PRESETS["quickdraw100"]
    here = preset.config("untrained", 10, 0, Path("runs"), {})
    there = control_of(preset.config("finetune", 10, 0, Path("runs"), {})).resolved()
    differ = ("projection", "output", "batch_size", "epochs", "epochs_later")
    same = {name: getattr(here, name) for name in differ}
    assert replace(there, **same) == here


def test_it_runs_and_its_recommended_method_is_there(tiny, toy):
    folder = RunFolder(run(control_of(tiny), toy)[0])
    assert headline(folder.results()[-1].methods)[-1] == "untrained+lda"
