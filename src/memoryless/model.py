"""A model that learns classes state by state, scores images, and is rebuilt from its folder alone.

Importing this module and loading a model import no torch; learning and features do.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memoryless.errors import ConfigError, DataError
from memoryless.model_folder import Saved, load_state, save_state
from memoryless.names import choose, first_ten
from memoryless.scorers import Scorer, describe, restore
from memoryless.settings import conform, plain_values
from memoryless.strategies import STRATEGIES, ModelSettings

if TYPE_CHECKING:
    from memoryless.data import Images, Split
    from memoryless.learner import Learner
    from memoryless.training import Progress


class Model:
    """A model learns new classes, keeps no image of them, and scores images over all so far.

    `settings` are fields of `ModelSettings`; what the method needs is switched on.
    """

    def __init__(self, method: str = "inFT_siw", seed: int = 0, **settings: Any):
        for name in settings:
            choose("setting", name, vars(ModelSettings()))
        if "strategy" in settings:
            raise ConfigError("the method names the strategy: leave out `strategy`")
        self.method, self.seed = method, seed
        self.settings = ModelSettings(**settings)
        self.classes: tuple[str, ...] = ()
        """Names of the classes so far; scores have a column for each."""
        self.counts: list[int | None] = []
        self._learner: Learner | None = None
        self._scorer: Scorer | None = None
        self._saved: Saved | None = None

    def learn(
        self,
        images: np.ndarray | Images,
        labels: Iterable[str],
        report: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        """Learn the classes that the labels name, one string an image; none may be known already.

        Images are uint8, (n, H, W), (n, C, H, W) or (n, H, W, C). If anything fails, the model is
        as it was before.
        """
        from memoryless.build import EndOfState, build_scorers
        from memoryless.methods import parse_method

        split, new = self._new_classes(images, names := list(labels))
        learner = copy.deepcopy(self._opened()) if self.classes else self._first_learner(split)
        learned = learner.learn(split, len(new), report=report)
        end = EndOfState(
            learner.record, learner.layer, learned.fitted, learned.held_out, learner.view
        )
        scorers = build_scorers({self.method: parse_method(self.method)}, end)
        self._learner, self._scorer = learner, scorers[self.method]
        self.settings, self.classes = learner.settings, (*self.classes, *new)
        self.counts = self.counts + [names.count(name) for name in new]

    def scores(self, images: np.ndarray | Images) -> np.ndarray:
        """Scores (n, classes), the larger the likelier."""
        learner, split = self._opened(), self._split(images)
        assert self._scorer is not None
        facts, arrays = describe(self._scorer)
        scorer = restore(facts, {name: np.asarray(array) for name, array in arrays.items()})
        return scorer(learner.all_features(split).numpy())

    def predict(self, images: np.ndarray | Images) -> list[str]:
        """The likeliest class of each image."""
        return [self.classes[i] for i in self.scores(images).argmax(1)]

    def save(self, folder: Path | str) -> None:
        """Write the model; what was saved there before is replaced at once or not at all.

        Only a folder that is empty, or that holds what this model was loaded from or saved as, is
        written to.
        """
        learner, (facts, arrays) = self._opened(), describe(self._scorer)
        about = {
            "method": self.method,
            "settings": plain_values(self.settings),
            "seed": self.seed,
            "classes": list(self.classes),
            "counts": self.counts,
            "class_state": learner.record.class_state.tolist(),
            "states": [{"date": None, "photos": None}] * learner.record.states,
            "preparation": asdict(learner.preparation),
            "backbone": None,
            "scorer": facts,
            "confidence": None,
        }
        tensors = {
            "record": learner.record.tensors(), "network": learner.tensors(), "scorer": arrays
        }  # fmt: skip
        self._saved = save_state(Path(folder), about, tensors, self._saved)

    @classmethod
    def load(cls, folder: Path | str) -> Model:
        """The model in a folder, every byte checked; neither an image nor torch is needed."""
        saved = load_state(Path(folder), parts=("scorer", "network", "record"))
        about = saved.about
        model = cls(about["method"], about["seed"])
        model.settings = ModelSettings(**conform(ModelSettings(**about["settings"]))[0])
        model.classes, model.counts = tuple(about["classes"]), about["counts"]
        model._scorer = restore(about["scorer"], saved.arrays("scorer"))
        model._saved = saved
        return model

    def _opened(self) -> Learner:
        """The learner, which also gives features; after loading it is made of what was saved."""
        if self._learner is None and self._saved is None:
            raise ConfigError("the model has learned nothing yet: call learn first")
        if self._learner is None:
            self._learner = self._restored()
        return self._learner

    def _restored(self) -> Learner:
        import torch

        from memoryless.data.augment import Preparation
        from memoryless.learner import Learner
        from memoryless.record import Record

        assert self._saved is not None
        about = self._saved.about
        record, network = (
            # Copies in torch's own memory: kernels round by address.
            {name: torch.from_numpy(array).clone() for name, array in self._saved.arrays(f).items()}
            for f in ("record", "network")
        )
        preparation = Preparation(**about["preparation"])
        settings = replace(self.settings, backbone_weights=None)  # they are in the network
        learner = Learner(settings, self.seed, len(preparation.mean), preparation)
        learner.restore(network, Record.of(record))
        return learner

    def _first_learner(self, split: Split) -> Learner:
        from memoryless.learner import Learner, prepare
        from memoryless.methods import parse_method, settings_for

        method = parse_method(self.method)
        strategy = STRATEGIES[method.strategy]
        if not strategy.memoryless:
            raise ConfigError(
                f"strategy {method.strategy} needs images of the past, which a model does not "
                "keep: choose a method of another"
            )
        given = replace(self.settings, strategy=method.strategy)
        channels, side, _ = split.images.shape
        settings = replace(given, **settings_for(method, given)).resolved(side)
        preparation = prepare(settings, split, side, ("flip",))
        return Learner(settings, self.seed, channels, preparation)

    def _new_classes(
        self, images: np.ndarray | Images, labels: Iterable[str]
    ) -> tuple[Split, list[str]]:
        """The images with the numbers of their classes, and the names of the new classes."""
        names = list(labels)
        odd = [repr(name) for name in names if not isinstance(name, str) or not name.strip()]
        if odd:
            raise DataError(f"labels must be names, one string an image, not {first_ten(odd)}")
        new = sorted(set(names))
        if past := [name for name in new if name in self.classes]:
            raise DataError(
                f"{first_ten(past)} was learned before: with trained features a class is learned "
                "once, so give its images another name or leave them out"
            )
        split = self._split(images)
        if len(names) != len(split) or not names:
            raise DataError(f"there are {len(split)} images and {len(names)} labels: give each one")
        index = {name: len(self.classes) + i for i, name in enumerate(new)}
        return split.relabel(np.array([index[name] for name in names], dtype=np.int64)), new

    def _split(self, images: np.ndarray | Images) -> Split:
        from memoryless.data import Split
        from memoryless.data.dataset import as_images

        split = Split.whole(as_images(images), np.zeros(len(images), dtype=np.int64))
        channels = split.images.shape[0]
        if self.classes and channels != len(self._opened().preparation.mean):
            raise DataError(
                f"the images have {channels} channels, and the model was taught on "
                f"{len(self._opened().preparation.mean)}: convert them"
            )
        return split
