"""Every setting of an experiment, documented once; flags and TOML keys are these names.

The parts are separate classes so that each layer takes only what it reads; `Config` is all of
them in one flat name space.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from memoryless.errors import ConfigError
from memoryless.recipes import recipe

# A setting left open takes its value from the strategy's recipe when the config is made.
OPEN: Any = None
MOST = 1_000_000  # of anything that is counted; more is a slip of the finger


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    data: str = "quickdraw100"
    """Data set: quickdraw100 (embedded), cifar100, cifar10, folder or list."""
    root: Path | None = None
    """Folder with the data; CIFAR is also looked for in $MEMORYLESS_DATA. Of quickdraw100, only to
    read other classes than the embedded ones."""
    train_list: Path | None = None
    """For data = list: file with lines "path label" of training images."""
    test_list: Path | None = None
    """For data = list: file with lines "path label" of test images."""
    class_names: Path | None = None
    """For data = list: file with one class name a line; labels must stay below their number."""
    test_share: float = 0.2
    """Share of each class held out for testing where a folder has no train/ and test/."""
    validation: float = 0.0
    """Score on this share of the training images instead of the test images (for tuning)."""
    image_size: int | None = None
    """Side in pixels of what the network sees; by default that of stored arrays, 224 for files."""
    grey: bool = False
    """Decode files to one channel instead of three."""
    skip_broken: bool = False
    """Leave out broken images, empty classes and unreadable lines instead of stopping."""


@dataclass(frozen=True, kw_only=True)
class StreamConfig:
    states: str = "10"
    """Number of states, or the classes of each: "50,10,10,10,10,10"."""
    order: str = "natural"
    """Class order: natural, seed:N, belouadah (CIFAR-100), or a file
    with one class index or name a line."""


@dataclass(frozen=True, kw_only=True)
class BackboneConfig:
    backbone: str = "resnet18_3x3"
    """resnet18 (ImageNet stem), resnet18_3x3 (3x3 stem, for small images) or timm:NAME."""
    width: int = 64
    """Channels of the first ResNet stage; 64 is the standard ResNet-18."""
    backbone_weights: Path | None = None
    """Weights to start from: .safetensors, or .pth with plain tensors."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    strategy: str = "finetune"
    """How a state is trained."""
    epochs: int = OPEN
    """Epochs of state 0."""
    epochs_later: int | None = OPEN
    """Epochs of each later state; by default as many as state 0."""
    batch_size: int = 128
    """Images in a step."""
    lr: float = OPEN
    """Learning rate of state 0."""
    lr_rule: str = OPEN
    """Learning rate of state t > 0: lr/(t+1) (t+1, as in the authors' scripts), lr/t (t, as in the
    paper's text) or lr (constant)."""
    lr_later: float | None = OPEN
    """Learning rate of every later state, in place of the rule."""
    schedule: str = OPEN
    """How the learning rate falls within a state: plateau (the paper), multistep or cosine."""
    patience: int = 60
    """plateau: epochs without progress before the rate falls, state 0."""
    patience_later: int | None = None
    """plateau: the same for later states."""
    milestones: tuple[float, ...] = OPEN
    """multistep: the rate falls after these shares of the epochs."""
    decay: float = OPEN
    """plateau, multistep: what the rate is multiplied with."""
    momentum: float = 0.9
    """SGD momentum."""
    weight_decay: float = OPEN
    """L2 penalty on all parameters."""
    classifier_init: Literal["reset", "grow"] = OPEN
    """At a new state the classification layer is made anew (reset, as in the authors' scripts) or
    keeps its old rows (grow, as in the paper's text)."""
    augment: tuple[str, ...] | None = None
    """Random changes to training images: resized_crop, pad_crop, affine, flip, none; by default
    what suits the data set."""
    mean: tuple[float, ...] | None = None
    """Mean of each channel on the scale 0..1; by default measured on state 0's training images."""
    std: tuple[float, ...] | None = None
    """Standard deviation of each channel, likewise."""
    holdout: float = 0.0
    """Share of the state's own training images kept aside: the plateau rule watches them, and bg_z,
    energy and a shrinkage of auto read their features."""
    mu: Literal["largest", "true"] = "largest"
    """What mc averages over the state's training images: the largest logit or the true class's."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:N or mps."""
    threads: int | None = None
    """CPU threads; by default all cores. One is nearly as fast for small networks, and far faster
    where other work takes a core away."""
    outputs: Literal["seen", "all"] = "seen"
    """lwf: the layer has an output for each class seen, or from the start for all of the stream
    (as in the paper, where future classes are negatives)."""
    kd_weight: float = 10.0
    """lwf_kd: weight of the distillation."""
    kd_temperature: float = 2.0
    """lwf_kd: temperature of the distillation."""
    lambda_base: float = 5.0
    """lucir: weight of the less-forget loss; 5 for CIFAR, 10 for large sets."""
    memory: float = 0.01
    """replay: share of the data set's training images that may be kept."""
    exemplars: Literal["herding", "random"] = "herding"
    """replay: how the kept images are chosen."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Arithmetic of the forward and backward pass."""
    compile: bool = False
    """Compile the network with torch.compile."""


@dataclass(frozen=True, kw_only=True)
class RecordConfig:
    statistics: str = "none"
    """What the record keeps of each class's features, beside its row: none, mean, diagonal,
    low-rank:K, tied or full (each with count and mean)."""
    level: Literal["last", "middle"] = "last"
    """What statistics are gathered of: the features that rows read too, or those of the second and
    third stage of the ResNet, averaged over each quarter of the image, which drift less."""
    roots: bool = False
    """Gather statistics of the square roots of features at length one, which are closer to normal
    (FeCAM); heads over statistics then read roots too."""
    transports: tuple[str, ...] = ("none", "linear", "widened", "sdc", "backward")
    """Under which transports the record holds statistics (none, linear, widened, sdc) and rows
    (backward); a laboratory compares them, a product needs one."""
    methods: tuple[str, ...] = ()
    """Methods to score after each state beside those of the strategy, such as
    finetune+siw+bg_z+backward."""
    projection: int = 0
    """frozen: random features over which the record gathers sums, for the head projection."""


@dataclass(frozen=True, kw_only=True)
class Config(RecordConfig, TrainingConfig, BackboneConfig, StreamConfig, DataConfig):
    """One experiment; each of its seeds is a run."""

    seeds: tuple[int, ...] = (0,)
    """Training seeds; each gives a run of its own, on the same stream."""
    output: Path = Path("runs/latest")
    """Folder for the runs: OUTPUT/seed-N."""

    def __post_init__(self) -> None:
        for name, value in recipe(self.strategy).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        problems = [f"{name} {rule}" for name, ok, rule in self._rules() if not ok]
        if problems:
            raise ConfigError("; ".join(problems))

    def _rules(self) -> list[tuple[str, bool, str]]:
        counts = ["epochs", "epochs_later", "batch_size", "patience", "patience_later"]
        counts += ["width", "image_size", "threads"]
        shares = ["test_share", "validation", "holdout"]
        shares += ["memory"]
        rates = ["lr", "decay", "kd_temperature"]
        value = {f.name: getattr(self, f.name) for f in fields(self)}
        return [
            *((n, value[n] is None or value[n] >= 1, "must be at least 1") for n in counts),
            *((n, (value[n] or 0) <= MOST, f"must be at most {MOST:,}") for n in counts),
            *((n, 0 <= value[n] < 1, "must be from 0 to below 1") for n in shares),
            *((n, 0 < value[n] < math.inf, "must be above 0") for n in rates),
            ("lr_later", self.lr_later is None or 0 < self.lr_later < math.inf, "must be above 0"),
            ("momentum", 0 <= self.momentum < 1, "must be from 0 to below 1"),
            ("weight_decay", 0 <= self.weight_decay < math.inf, "must be 0 or more"),
            ("milestones", all(0 < m < 1 for m in self.milestones), "must lie between 0 and 1"),
            ("mean, std", (self.mean is None) == (self.std is None), "must be given together"),
            ("mean", all(map(math.isfinite, self.mean or ())), "must be numbers"),
            ("std", all(0 < s < math.inf for s in self.std or ()), "must be above 0"),
            ("test_share", self.test_share != 0, "must be above 0"),
            ("projection", 0 <= self.projection <= 20_000, "must be from 0 to 20,000"),
            ("seeds", len(self.seeds) > 0, "must name at least one seed"),
            ("seeds", len(set(self.seeds)) == len(self.seeds), "must differ from each other"),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a run folder."""
        return {
            key: str(value) if isinstance(value, Path) else value
            for key, value in asdict(self).items()
        }
