"""Settings of an experiment come back from what is stored, and are filled by their data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import make_toy
from memoryless.images.sources import SOURCES
from memoryless.lab.config import Config
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.settings import restore
from memoryless.strategies import own_values


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
