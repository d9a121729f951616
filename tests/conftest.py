"""Toy data and settings small enough for a test; the same random numbers every time."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from PIL import Image
from torch import nn

from forks import Forks
from memoryless import Model
from memoryless.cli import main
from memoryless.images import Dataset, Split, from_arrays
from memoryless.images.sources import SOURCES, Source
from memoryless.lab.config import Config
from memoryless.lab.described import (
    Description,
    Durations,
    History,
    Machine,
    Preparation,
    Results,
    Scored,
    Sizes,
    Typology,
)
from memoryless.lab.experiment import run
from memoryless.lab.presets import Preset
from memoryless.lab.runs import RunFolder
from memoryless.lab.stream import Stream
from memoryless.progress import Observer, TrainingProgress
from memoryless.stats import heads
from memoryless.stats.class_statistics import FORMS, ClassStatistics, Group
from memoryless.stats.record import EndOfState, Record
from memoryless.stats.scorers import unit
from memoryless.train.learner import Learner, prepare
from memoryless.train.network import Network
from memoryless.train.strategies.base import Arrival, Totals, Trainer
from photo_toys import make_backbone

settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")  # the same examples every time

COLOURS = {"blue": (0, 0, 255), "green": (0, 255, 0), "red": (255, 0, 0)}

# What has a meaning somewhere: to a terminal, LaTeX, Markdown, HTML, a spreadsheet, matplotlib.
SIGNS = [*"\n\r\t\x00\x1b\x85\u2028\u202e\udcff\ud800$\\{}^~_%&#±|`<>*[]=+-@'\"!:;,🦕é "]
SIGNS += ["&lt;", "\x1b[31m", "<script>", "</td>", "-->", "[red]", ":smile:", "=1+1"]
SIGNS += [r"\input{x}", "$x$"]
hostile_text = st.lists(st.sampled_from(SIGNS) | st.text(max_size=2), max_size=6).map("".join)

# Every form of class statistics that can be kept, low-rank as of two directions.
EVERY_FORM = [form.replace("K", "2") for form in FORMS if form != "none"]

Labelled = tuple[np.ndarray, np.ndarray]


def pytest_configure() -> None:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def no_pydantic_in_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flags are parsed as in a process of their own, where nothing has imported pydantic yet: where
    it is there, the parser checks defaults with it, also those that are open.
    """
    monkeypatch.setattr("cyclopts.argument._argument.parse_version", lambda text: (1,))


@pytest.fixture(autouse=True)
def fixed_seeds() -> None:
    torch.manual_seed(0)
    np.random.seed(0)


def make_toy(classes: int = 6, train: int = 12, test: int = 4, side: int = 8) -> Dataset:
    """Grey images, each class a pattern of its own under noise: learnable in a few epochs."""
    rng = np.random.default_rng(5)
    patterns = rng.integers(0, 256, (classes, side, side))

    def draw(number: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.repeat(np.arange(classes), number)
        noise = rng.normal(0, 40, (len(labels), side, side))
        return np.clip(patterns[labels] + noise, 0, 255).astype(np.uint8), labels

    return from_arrays(*draw(train), *draw(test), name="toy", augment=("pad_crop", "flip"))


def make_learner(
    config: Config, first: Split, seed: int = 0, backbone: nn.Module | None = None
) -> Learner:
    """A learner of the toy data, before its first state."""
    config = config.resolved(8)
    preparation = prepare(config, first, 8, ("pad_crop", "flip"))
    return Learner(config, seed, 1, preparation, backbone, Totals(classes=6, train_images=72))


def make_photos(root: Path, classes: int = 4, number: int = 6) -> Path:
    """A folder of small photos of odd sizes, each class a colour of its own under noise."""
    rng = np.random.default_rng(7)
    for label in range(classes):
        colour = rng.integers(0, 256, 3)
        (root / f"class {label}").mkdir(parents=True)
        for i in range(number):
            pixels = colour + rng.normal(0, 40, (11 + label, 9 + i, 3))
            photo = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
            photo.save(root / f"class {label}" / f"{i}.png")
    return root


@pytest.fixture
def toy() -> Dataset:
    return make_toy()


def make_folder(root: Path, images: int = 5, side: int = 12, seed: int = 0) -> Path:
    """Three classes of speckled colours, of several sizes, with spaces in their names."""
    rng = np.random.default_rng(seed)
    for name, colour in COLOURS.items():
        (root / name).mkdir(parents=True)
        for i in range(images):
            pixels = (np.array(colour) + rng.integers(0, 120, (side, side + i, 3))) // 2
            Image.fromarray(pixels.astype(np.uint8)).save(root / name / f"{i} a.png")
    return root


def make_lists(root: Path) -> dict[str, Path]:
    make_folder(root / "images")
    for split, numbers in (("train", range(4)), ("test", range(4, 5))):
        lines = [f"images/{name}/{i} a.png {label}"
                 for label, name in enumerate(COLOURS) for i in numbers]  # fmt: skip
        (root / f"{split}.txt").write_text("\n".join(lines) + "\n\n")
    return {"train_list": root / "train.txt", "test_list": root / "test.txt"}


TINY = Config(states="3", backbone="resnet18_3x3", width=2, epochs=2, batch_size=16)
STREAM = Stream(make_toy(), TINY.states)


@pytest.fixture
def tiny(tmp_path: Path) -> Config:
    """Settings that train the toy data in well under a second."""
    return replace(TINY, output=tmp_path / "out")


@pytest.fixture
def gathering(tiny: Config) -> Config:
    """The same, and all that can be kept of each class."""
    return replace(tiny, statistics="full", held_out=0.25)


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(replace(TINY, output=tmp_path_factory.mktemp("finished")), make_toy())[0]


@pytest.fixture(scope="session")
def gathered_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("gathered")
    return run(replace(TINY, statistics="full", held_out=0.25, output=output), make_toy())[0]


@pytest.fixture
def finished(tiny: Config, finished_run: Path) -> RunFolder:
    """What `run(tiny, toy)` leaves; trained once, and a copy for each test."""
    return RunFolder(shutil.copytree(finished_run, tiny.output / "seed-0"))


@pytest.fixture
def gathered(gathering: Config, gathered_run: Path) -> RunFolder:
    """What `run(gathering, toy)` leaves, likewise."""
    return RunFolder(shutil.copytree(gathered_run, gathering.output / "seed-0"))


@pytest.fixture
def toy_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy data by the name toy."""
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))


@pytest.fixture
def toy_runs(finished_run: Path, tmp_path: Path, monkeypatch, toy_source) -> Path:
    """The folder runs, with a finished run in it, in the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished_run, "runs/ft/seed-0")
    return Path("runs")


TOY_PRESET = Preset(
    settings={"data": "toy", "width": 2, "batch_size": 16, "epochs": 1, "lr": 0.01},
    states=(2, 3),
    classes=6,
    train_images=72,
    published="CIFAR100",
)


class FakeDescription(Description, kw_only=True):
    """A description whose facts need not agree."""

    def __post_init__(self) -> None: ...


class FakeRun:
    """Stands in for a run folder whose results are made up: accuracies by method and state."""

    id = RunFolder.id

    def __init__(
        self, accuracies: dict[str, list[float]], path: str = "r/seed-0", config=(), **about
    ):
        self.path = Path(path)
        self.finished = len(next(iter(accuracies.values())))
        self.accuracies = accuracies
        classes = 2 * self.finished
        facts = {
            "config": replace(TINY.resolved(8), **dict(config)), "seed": 0, "dataset": "toy",
            "classes": ("a",) * classes, "sizes": [2] * self.finished,
            "train_images": [12] * classes, "test_images": [4] * classes,
            "preparation": Preparation(8, [0.5], [0.5], ["flip"]), "memoryless": True,
            "backbone_class": "resnet18_3x3", "versions": {}, "commit": None, "command": [],
            "machine": Machine("Linux", 2), "started": "",
        }  # fmt: skip
        self.about = FakeDescription(**facts | about)

    def results(self) -> list[Results]:
        """Top-5 is half of top-1, so that one is not taken for the other."""
        return [
            Results(
                state=t,
                new_classes=2,
                classes_seen=sum(self.about.sizes[: t + 1]),
                train_images=24,
                test_images=8 * t + 8,
                history=History([], [], [], []),
                seconds=Durations(1.5, 1.0, 1.0),
                bytes=Sizes({"W": 300 * (t + 1), "b": 50}, 9000),
                methods={name: self._scored(values, t) for name, values in self.accuracies.items()},
            )
            for t in range(self.finished)
        ]

    @staticmethod
    def _scored(values: list[float], t: int) -> Scored:
        return Scored(
            top1=values[t],
            top5=values[t] / 2,
            by_state=[values[t] - 10 * j for j in range(t + 1)],
            typology=Typology(*(values[t] + i for i in range(6))),
            bytes=100 * (t + 1),
            cost=7 * (t + 1),
        )


class Interrupt(Observer):
    """Stops the run in the middle of a given state and epoch."""

    def __init__(self, state: int, epoch: int):
        self.at = (state, epoch)

    def training(self, progress: TrainingProgress) -> None:
        if (progress.state, progress.epoch) == self.at:
            raise KeyboardInterrupt


def assert_same_run(one: Path, two: Path) -> None:
    files = sorted(p.relative_to(one) for p in one.glob("states/*/*.safetensors"))
    assert files
    assert files == sorted(p.relative_to(two) for p in two.glob("states/*/*.safetensors"))
    for file in files:
        assert (one / file).read_bytes() == (two / file).read_bytes(), file


def toy_learner(config: Config, **settings) -> Learner:
    """A learner of the toy stream, before its first state."""
    return make_learner(replace(config, **settings), STREAM[0].train)


def begin_second_state(config: Config, **settings) -> tuple[Trainer, Network, Network]:
    """A strategy at the beginning of its second state, its network, and what that was before.

    Two past classes and two new ones; a backbone without batch statistics, so that the loss of a
    batch can be worked out from outside.
    """
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(64, 5))
    config = replace(config, **settings)
    learner = make_learner(config, STREAM[0].train, backbone=backbone)
    learner.learn(STREAM[0].train, 2)
    strategy, network, before = learner.strategy, learner.network, copy.deepcopy(learner.network)
    strategy.past = 2
    arrival = Arrival(
        network, STREAM[1].train, 2, learner.features, torch.Generator().manual_seed(0)
    )
    strategy.begin_state(arrival)
    with torch.no_grad():  # as if it had learned something
        network.backbone[1].weight += 0.1
    return strategy, network, before


def learn(config: Config, seed: int = 0, states: int = 2, backbone: nn.Module | None = None):
    """A learner after some states of the toy stream."""
    stream = Stream(make_toy(), config.states)
    learner = make_learner(config, stream[0].train, seed=seed, backbone=backbone)
    for state in stream[:states]:
        learner.learn(state.train, stream.sizes[state.index])
    return learner


def generator() -> np.random.Generator:
    return np.random.default_rng(0)


def single(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal numbers in single precision."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def ended(mu: np.ndarray, class_state: np.ndarray, held_out: Labelled | None = None) -> EndOfState:
    """The end of a state, of which calibrations read these."""
    rows, biases = np.zeros((len(class_state), 5)), np.zeros(len(class_state))
    return EndOfState(Record(rows, biases, class_state, mu), (rows, biases), held_out=held_out)


# Three states of three, two and two classes; held-out images are of the last one's.
ENDED = ended(
    np.array([4.0, 2.0, 3.0], np.float32),
    np.array([0, 0, 0, 1, 1, 2, 2]),
    (single(12, 5), np.array([5, 6] * 6)),
)


def draw_classes(seed: int, n: int = 60, d: int = 5, classes: int = 3) -> Labelled:
    """Features far from the origin, and labels in which every class occurs."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    features = rng.normal(0, 1, (n, d)) @ rng.normal(0, 1, (d, d)) + 10 * labels[:, None]
    return features.astype(np.float32), labels


def gather(
    features: np.ndarray, labels: np.ndarray, form: str, classes: int = 3
) -> ClassStatistics:
    return ClassStatistics.of(features, labels, classes, form=form)


def statistics_with(
    mean: np.ndarray, count: np.ndarray | None = None, **parts: np.ndarray
) -> ClassStatistics:
    """Statistics of these means, an image for each class if not said otherwise."""
    count = np.ones(len(mean), mean.dtype) if count is None else count
    return ClassStatistics(count, (Group(mean, **parts),))


def sums_of(features: list[np.ndarray], labels: np.ndarray, **settings) -> ClassStatistics:
    """Sums over fixed features in several groups."""
    classes = labels.max() + 1
    each = [ClassStatistics.of(rows, labels, classes, fixed=True, **settings) for rows in features]
    return replace(each[0], groups=tuple(one.first for one in each))


def draw_groups(
    counts: Sequence[int], sizes: Sequence[int], distances: Sequence[float] = (3.0, 3.0)
) -> tuple[list[np.ndarray], np.ndarray]:
    """Features of groups whose class means lie so far from each other, and their labels."""
    rng, y = np.random.default_rng(0), np.repeat(np.arange(len(counts)), counts)
    return [
        distance * rng.normal(size=(len(counts), d))[y] + rng.normal(size=(len(y), d))
        for d, distance in zip(sizes, distances, strict=False)
    ], y


def on_sphere(number: int = 40, d: int = 6, classes: int = 3) -> Labelled:
    """Unit features of classes around means of length one, where approximations are exact."""
    centres = unit(single(classes, d, seed=3))
    labels = np.arange(classes).repeat(number)
    return unit(centres[labels] + 0.2 * single(len(labels), d, seed=4)), labels


@pytest.fixture
def data() -> Labelled:
    return on_sphere()


@pytest.fixture
def statistics(data: Labelled) -> ClassStatistics:
    return gather(*data, "full")


SMALL_MODEL = {"epochs": 2, "width": 2, "batch_size": 16}
PATTERNS = np.random.default_rng(1).integers(0, 256, (8, 8, 8))


def draw_birds(*classes: int, number: int = 12) -> tuple[np.ndarray, list[str]]:
    """Images of classes and their names."""
    rng = np.random.default_rng(sum(classes) + number)
    labels = np.repeat(classes, number)
    noise = rng.normal(0, 30, (len(labels), 8, 8))
    return np.clip(PATTERNS[labels] + noise, 0, 255).astype(np.uint8), [f"bird {c}" for c in labels]


@pytest.fixture(scope="session")
def taught_once() -> Model:
    model = Model("inFT_siw_mc", **SMALL_MODEL)
    model.learn(*draw_birds(0, 1))
    return model


@pytest.fixture
def taught(taught_once: Model) -> Model:
    """A model that knows two classes; taught once, and a copy for each test."""
    return copy.deepcopy(taught_once)


def files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != ".lock")


PHOTO_FLAGS = "--data folder --image-size 8 --width 2 --states 3 --epochs 1 --lr 0.01".split()


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of three classes, in the working folder."""
    monkeypatch.chdir(tmp_path)
    return make_folder(Path("photos"))


def call(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """A command's exit code, output and errors."""
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture(scope="session")
def tiny_backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_backbone(tmp_path_factory.mktemp("backbone") / "tiny.onnx")


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """Commands in processes of their own, which need not import anything again."""
    server = Forks(tmp_path_factory.mktemp("forks"))
    yield server
    server.close()


@pytest.fixture
def short_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fitted heads take two steps, where what they learn does not matter."""
    monkeypatch.setattr(heads, "ITERATIONS", 2)


@pytest.fixture
def cat_and_dog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of two classes over given features, in the working folder."""
    monkeypatch.chdir(tmp_path)
    model = Model(backbone="none")
    features = np.random.default_rng(0).random((20, 8)).astype(np.float32)
    model.learn(features, ["cat", "dog"] * 10)
    model.save("model")
