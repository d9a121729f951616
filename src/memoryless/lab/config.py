"""Settings of an experiment, and of the untrained control that belongs to it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Self

from memoryless.errors import ConfigError
from memoryless.names import choose
from memoryless.settings import (
    COUNT,
    SEED,
    SOME,
    BackboneSettings,
    DataSettings,
    ModelSettings,
)
from memoryless.strategies import STRATEGIES, filled, strategy_of

CONTROL = "untrained"  # the strategy of the control
SHARED = (
    "epochs", "epochs_later", "batch_size", "held_out", "mean", "std", "device", "seeds", "threads",
)  # fmt: skip
WIDEST = 16  # of a ResNet whose middle stages can have a covariance of each class: 0.6 MB


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """How classes arrive."""

    states: str = "10"
    """Number of states, or the classes of each: "50,10,10,10,10,10"."""
    order: str = "natural"
    """Order in which classes arrive; `memoryless list orders` explains each."""


@dataclass(frozen=True, kw_only=True)
class Config(ModelSettings, StreamSettings, DataSettings):
    """One experiment; each of its seeds is a run."""

    methods: tuple[str, ...] = ()
    """More methods to score after each state, for example finetune+lda+bg_z+linear."""
    seeds: Annotated[tuple[Annotated[int, SEED], ...], SOME] = (0,)
    """Training seeds; each gives a run of its own, on the same stream."""
    output: Path = Path("runs/latest")
    """Folder for the runs: OUTPUT/seed-N."""
    threads: Annotated[int, COUNT] | None = None
    """CPU threads; by default one up to width 8, else all cores. One is nearly as fast for small
    networks, and far faster if other programs use a core. `memoryless.run` does not set them."""

    def resolved(self, side: int | None = None) -> Self:
        """Fill the settings that are left open. `side` is that of images that are given as arrays:
        the data set's defaults are not used then.
        """
        from memoryless.images.sources import SOURCES
        from memoryless.train.resolve import problems

        source = None if side else SOURCES.get(self.data)
        learns = strategy_of(self.strategy).backbone_learns
        given = replace(self, square_roots=self.square_roots or not learns)
        if source is not None:
            width = source.width if self.width is None else self.width
            given, side = replace(given, width=width), self.image_size or source.side
        sound = filled(given, side or self.image_size)
        if found := [*problems(sound), *sound._problems()]:
            raise ConfigError("; ".join(found))
        return sound

    def _problems(self) -> list[str]:
        """Return the problems of the settings that a model does not have."""
        from memoryless.images.sources import SOURCES

        found = []
        try:
            choose("data set", self.data, SOURCES)
        except ConfigError as error:
            found.append(str(error))
        found += [problem for name in self.methods for problem in self._method_problems(name)]
        if len(set(self.seeds)) < len(self.seeds):
            found.append("seeds must differ from each other")
        if self.data == "folder" and self.root:
            root = self.root.resolve()
            if self.output.resolve().is_relative_to(root):
                found.append(f"output {self.output} lies in the folder of images: move it outside")
        return found

    def _method_problems(self, name: str) -> list[str]:
        """Return the problems of a method that a run is to score."""
        from memoryless.stats.methods import lacking, parse_method

        try:
            method = parse_method(name)
        except ConfigError as error:
            return [str(error)]
        lack = lacking(method, self)
        found = [f"method {name} lacks statistics: {lack}"] if lack else []
        if method.strategy != self.strategy:
            found.append(f"method {name} needs another strategy than {self.strategy}")
        return found


def control_of(config: Config, side: int | None = None) -> Config | None:
    """Return the control's experiment: the same stream through a network that never learns.

    It is in a folder beside the runs of this one; `side` is that of images that are given in place
    of the data set's. There is none for a strategy that never trains a backbone, or that learns all
    classes at once, nor for a backbone other than a ResNet: that brings weights of another
    training.
    """
    facts = STRATEGIES[config.strategy]
    resnet = (config.backbone or "resnet18").startswith("resnet18")
    if not facts.backbone_learns or facts.one_state or not resnet:
        return None
    parts = (DataSettings, StreamSettings, BackboneSettings)
    shared = [*SHARED, *(field.name for part in parts for field in fields(part))]
    settings = {name: getattr(config, name) for name in shared} | {"backbone_weights": None}
    control = Config(**settings, strategy=CONTROL, output=config.output / "untrained")
    if control.resolved(side).width > WIDEST:
        return replace(control, statistics="tied")
    return replace(control, statistics="full", level="middle")
