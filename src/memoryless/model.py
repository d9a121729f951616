"""A model that learns classes state by state, scores images, and is rebuilt from its folder alone.

Features are fixed (`fixed.py`), or trained in every state (`trained.py`). Importing this module,
loading a model and predicting over fixed features import no torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memoryless.confidence import Judgement, Measured
from memoryless.errors import ConfigError, DataError
from memoryless.fixed import METHOD, FixedFeatures
from memoryless.model_folder import Place, Saved, load_state, now, save_state
from memoryless.names import choose, first_ten
from memoryless.settings import conform, plain_values
from memoryless.strategies import ModelSettings
from memoryless.trained import TrainedFeatures

if TYPE_CHECKING:
    from memoryless.data import Images
    from memoryless.training import Progress


@dataclass(frozen=True)
class Lesson:
    """What a state taught, measured on photos that were held out."""

    held_out: int
    """How many photos of the new classes were held out."""
    right: int
    """How many of them were put into their class, of all classes."""
    right_by_class: dict[str, tuple[int, int]]
    """For each new class how many were right, of how many."""
    alike: list[tuple[str, str, float]]
    """The pairs of classes most alike, at least one of them new, with the share of photos that
    they are expected to lose to each other."""
    temperature: float
    threshold: float


class Model:
    """A model learns new classes, keeps no image of them, and scores images over all so far.

    By default features are fixed: those of a pretrained backbone. A method with another strategy
    than `fixed` trains a backbone. `settings` are fields of `ModelSettings`; what the method needs
    is switched on.
    """

    def __init__(self, method: str = METHOD, seed: int = 0, **settings: Any):
        for name in settings:
            choose("setting", name, vars(ModelSettings()))
        if "strategy" in settings:
            raise ConfigError("the method names the strategy: leave out `strategy`")
        self.method, self.seed = method, seed
        self.fixed = method.partition("+")[0] == "fixed"
        if self.fixed and method != METHOD:
            raise ConfigError(f"over fixed features a model's method is {METHOD}, not {method}")
        self.settings = ModelSettings(**settings)
        self.classes: tuple[str, ...] = ()
        """Names of the classes so far; scores have a column for each."""
        self.counts: tuple[int | None, ...] = ()
        """Photos of each class; None where that was not written down."""
        self.class_state: tuple[int, ...] = ()
        """The state that brought each class."""
        self._states: list[dict[str, Any]] = []
        self._knows: FixedFeatures | TrainedFeatures | None = None
        self._saved: Saved | None = None

    def open(self) -> None:
        """Make or load the backbone now; else the first image does."""
        if self._knows is None and self.fixed:
            self.settings = replace(self.settings, strategy="fixed").filled()
            self._knows = FixedFeatures.first(self.settings)
            self.settings = self._knows.settings
        elif self._knows is None:
            self._knows = TrainedFeatures(self.method, self.settings, self.seed)
        self._knows.open()

    @property
    def least(self) -> int:
        """The shorter side that the pixels of a photo should at least have."""
        return self._opened().least

    def look(self, photo: np.ndarray) -> np.ndarray:
        """What the model takes from a photo, uint8 (H, W, 3): its feature (d,), or, where features
        are trained, its central square.
        """
        return self._opened().look(photo)

    def learn(
        self,
        images: np.ndarray | Iterable[np.ndarray] | Images,
        labels: Iterable[str],
        groups: np.ndarray | None = None,
        report: Callable[[Progress], None] = lambda progress: None,
    ) -> Lesson:
        """Learn the classes that the labels name, one string an image; none may be known already.

        Images are uint8, (n, H, W), (n, C, H, W), (n, H, W, C) or, over fixed features, photos of
        any sizes, or what `look` gave. Images of one of the `groups` are held out together. If
        anything fails, the model is as it was before.
        """
        names = self._checked(labels)
        knows = self._opened()
        looks: Any = knows.looks(images)
        if len(names) != len(looks) or not names:
            raise DataError(f"there are {len(looks)} images and {len(names)} labels: give each one")
        count = Counter(names)
        new, past = sorted(count), len(self.classes)
        index = {name: past + i for i, name in enumerate(new)}
        numbers = np.array([index[name] for name in names], dtype=np.int64)
        groups = np.arange(len(names)) if groups is None else groups
        after, measured = knows.learn(looks, numbers, len(new), groups, report)
        self._knows = after
        self.settings = after.settings
        self.classes += tuple(new)
        self.counts += tuple(count[name] for name in new)
        self.class_state += (len(self._states),) * len(new)
        self._states.append({"date": now(), "photos": len(names)})
        return self._lesson(measured, past)

    def _lesson(self, measured: Measured, past: int) -> Lesson:
        right = measured.scores.argmax(1) == measured.labels
        of_class = {
            name: (int(right[measured.labels == i].sum()), int((measured.labels == i).sum()))
            for i, name in enumerate(self.classes[past:], past)
        }
        alike = [(self.classes[a], self.classes[b], share) for a, b, share in measured.alike]
        sure = self._opened().confidence
        return Lesson(
            len(right), int(right.sum()), of_class, alike, sure.temperature, sure.threshold
        )

    def judge(self, images: np.ndarray | Iterable[np.ndarray] | Images) -> Judgement:
        """Scores, probabilities, and whether any class fits, of images or of what `look` gave."""
        if not self.classes:
            raise ConfigError("the model has learned nothing yet: call learn first")
        knows = self._opened()
        looks: Any = knows.looks(images)
        return knows.judge(looks)

    def scores(self, images: np.ndarray | Iterable[np.ndarray] | Images) -> np.ndarray:
        """Scores (n, classes), the larger the likelier."""
        return self.judge(images).scores

    def predict(self, images: np.ndarray | Iterable[np.ndarray] | Images) -> list[str]:
        """The likeliest class of each image."""
        return [self.classes[i] for i in self.scores(images).argmax(1)]

    def rename(self, names: Mapping[str, str]) -> None:
        """Give classes other names; their columns stay."""
        for name in names:
            choose("class", name, dict.fromkeys(self.classes))
        renamed = self._checked((names.get(name, name) for name in self.classes), new=False)
        if twice := [name for name, number in Counter(renamed).items() if number > 1]:
            raise DataError(f"{first_ten(twice)} would name two classes: choose another name")
        self.classes = tuple(renamed)

    def about(self) -> dict[str, Any]:
        """What a folder tells of the model, beside the digests of its files."""
        return self._stored()[0]

    def _stored(self) -> tuple[dict[str, Any], dict[str, Any], bytes | None]:
        if not self.classes:
            raise ConfigError("the model has learned nothing yet: call learn first")
        about, parts, graph = self._opened().stored()
        told = {
            "method": self.method,
            "settings": plain_values(self._settings_to_keep()),
            "seed": self.seed,
            "classes": list(self.classes),
            "counts": list(self.counts),
            "class_state": list(self.class_state),
            "states": self._states,
        }
        return told | about, parts, graph

    def _settings_to_keep(self) -> ModelSettings:
        """Settings without what is of this machine alone: the device, and folders."""
        weights = self.settings.backbone_weights
        return replace(
            self.settings, device="auto", backbone_weights=weights and Path(weights.name)
        )

    def save(self, folder: Path | str, history: int | None = None) -> None:
        """Write the model; what was saved there before is replaced at once or not at all.

        Only a folder that is empty, or that holds what this model was loaded from or saved as, is
        written to. The last states before this one, `history` of them, are kept; as many as before
        where it is not given, and 5 at first.
        """
        about, parts, graph = self._stored()
        self._saved = save_state(Path(folder), about, parts, self._saved, graph, history)

    def save_in(self, place: Place, history: int | None = None) -> Saved:
        """The same, in a folder that is held for writing since before the model was loaded."""
        self._saved = place.save(*self._stored(), history)
        return self._saved

    @classmethod
    def load(cls, folder: Path | str, number: int | None = None) -> Model:
        """The model in a folder or a packed file, or an earlier state of it, every byte that is
        read checked.

        Neither an image nor torch is needed.
        """
        saved = load_state(Path(folder), number, parts=("scorer",))
        if "network" in saved.about["files"]:  # all is needed, and a writer may take it away later
            saved = load_state(Path(folder), number, parts=saved.about["files"])
        return cls.of(saved)

    @classmethod
    def of(cls, saved: Saved) -> Model:
        """The model that was saved."""
        about = saved.about
        model = cls(about["method"], about["seed"])
        model.settings = ModelSettings(**conform(ModelSettings(**about["settings"]))[0])
        model.classes, model.counts = tuple(about["classes"]), tuple(about["counts"])
        model.class_state, model._states = tuple(about["class_state"]), list(about["states"])
        kind = FixedFeatures if model.fixed else TrainedFeatures
        model._knows, model._saved = kind.of(saved, model.settings), saved
        return model

    def _opened(self) -> FixedFeatures | TrainedFeatures:
        if self._knows is None:
            self.open()
        assert self._knows is not None
        return self._knows

    def _checked(self, labels: Iterable[str], new: bool = True) -> list[str]:
        names = list(labels)
        odd = [repr(name) for name in names if not isinstance(name, str) or not name.strip()]
        if odd:
            raise DataError(f"labels must be names, one string an image, not {first_ten(odd)}")
        past = sorted({name for name in names if name in self.classes}) if new else []
        if past:
            raise DataError(
                f"{first_ten(past)} was learned before: a class is learned once, so give its "
                "images another name or leave them out"
            )
        return names
