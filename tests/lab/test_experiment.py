"""Run folders: complete, resumable to the bit, and refused when they are another's."""

from __future__ import annotations

import math
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from msgspec.structs import asdict
from torch import nn

from conftest import Interrupt, assert_same_run, make_toy
from memoryless.errors import ConfigError, StoreError, TrainingError, WriteError
from memoryless.images import Split
from memoryless.lab.config import Config
from memoryless.lab.evaluate import score
from memoryless.lab.experiment import passes_left, run
from memoryless.lab.frame import results_frame
from memoryless.lab.runs import RunFolder, read_rows, read_test
from memoryless.progress import Observer
from memoryless.stats.methods import methods_of
from memoryless.stats.metrics import accuracy_at, error_typology
from memoryless.stats.record import EndOfState
from memoryless.train.learner import Learner


def test_a_run_folder_is_complete(tiny, toy):
    (path,) = run(tiny, toy)
    folder = RunFolder(path)
    about = folder.about
    assert about.config == tiny.resolved(8)
    assert about.seed == 0
    assert {"memoryless", "torch", "numpy", "python"} <= about.versions.keys()
    git = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    assert (about.commit or "").removesuffix("-dirty") == git.stdout.strip()
    assert about.command == [Path(sys.argv[0]).name, *sys.argv[1:]]
    assert folder.finished == 3
    results = folder.results()
    for t, state in enumerate(results):
        assert state.classes_seen == 2 * t + 2
        assert set(state.methods) == set(methods_of("finetune"))
        assert state.seconds.training > 0
        assert state.bytes.images_not_kept == (t + 1) * 24 * 64
        layer = folder.arrays(t, "layer")
        assert layer["W"].shape == (2 * t + 2, 16)
    assert sum(results[-1].bytes.record.values()) == 6 * 16 * 4 + 6 * 4 + 6 * 8 + 3 * 4
    assert not folder.checkpoint.exists()
    kept = [t for t in range(3) if (folder.state(t) / "network.safetensors").exists()]
    assert kept == [2]


def test_every_method_can_be_scored_again_from_the_folder(finished):
    for t, results in enumerate(finished.results()):
        record = read_rows(finished, t)
        layer, test = finished.arrays(t, "layer"), finished.arrays(t, "test")
        assert test["features"].dtype == np.float16
        end = EndOfState(record, (layer["W"], layer["b"]))
        outcomes = score(test["features"], test["labels"], methods_of("finetune"), end)
        for name, outcome in outcomes.items():
            stored, labels = results.methods[name], test["labels"]
            assert stored.top1 == pytest.approx(100 * (outcome.predictions == labels).mean())
            assert stored.top5 == accuracy_at(outcome.ranks, min(5, len(record.b)))
            typology = error_typology(outcome.predictions, labels, past=2 * t)
            known = {k: v for k, v in typology.items() if not math.isnan(v)}
            assert {k: v for k, v in asdict(stored.typology).items() if v is not None} == known
            blocks = [labels // 2 == j for j in range(t + 1)]
            right = outcome.predictions == labels
            expected = [100 * right[block].mean() for block in blocks]
            assert stored.by_state == pytest.approx(expected)


def test_first_state_heads_agree_where_they_must(finished):
    first = finished.results()[0].methods
    for others in (("", "+initial", "+initial+mc"), ("+siw", "+siw+mc")):
        reached = [structs.replace(first[f"finetune{m}"], bytes=0) for m in others]
        assert all(r == reached[0] for r in reached)


def test_test_images_change_no_weight(tiny):
    one, two = make_toy(), make_toy()
    two.test.images.pixels[:] = 255 - two.test.images.pixels
    folders = [
        RunFolder(run(replace(tiny, output=tiny.output / name), data)[0])
        for name, data in (("one", one), ("two", two))
    ]
    networks = [f.arrays(2, "network") for f in folders]
    assert all(np.array_equal(networks[0][k], networks[1][k]) for k in networks[0])


@pytest.mark.parametrize(
    ("state", "epoch", "damaged"), [(0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 50), (2, 0, 0)]
)
def test_interrupted_anywhere_it_ends_with_the_same_bits(
    gathering, toy, gathered_run, state, epoch, damaged
):
    """A damaged checkpoint costs only its state."""
    with pytest.raises(KeyboardInterrupt):
        run(gathering, toy, observer=Interrupt(state, epoch))
    if damaged:
        checkpoint = RunFolder(gathering.output / "seed-0").checkpoint
        checkpoint.write_bytes(checkpoint.read_bytes()[:-damaged])
    assert_same_run(run(gathering, toy)[0], gathered_run)


def test_dropout_is_resumed_to_the_bit(tiny, toy):
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(64, 5), nn.ReLU(), nn.Dropout(0.5))
    whole = run(replace(tiny, output=tiny.output / "whole"), toy, backbone)[0]
    with pytest.raises(KeyboardInterrupt):
        run(tiny, toy, backbone, Interrupt(1, 1))
    assert_same_run(run(tiny, toy, backbone)[0], whole)


def test_what_a_kill_between_two_files_leaves_is_tidied(tiny, toy):
    """A draft of run.json, and a checkpoint beside a finished run."""
    folder = RunFolder(tiny.output / "seed-0")
    folder.path.mkdir(parents=True)
    (folder.path / "run.json.draft").write_text("{")
    run(tiny, toy)
    folder.checkpoint.write_bytes(b"left")
    (folder.state(0) / "network.safetensors").write_bytes(b"left")
    run(tiny, toy)
    assert not folder.checkpoint.exists()
    assert not (folder.state(0) / "network.safetensors").exists()


OTHER = {
    "epochs": ({"epochs": 1}, {}, "epochs 2 there, 1 here; epochs_later 2 there, 1 here"),
    "image size": ({"image_size": 6}, {}, "image_size none there, 6 here"),
    "grey": ({"grey": True}, {}, "grey no there, yes here"),
    "milestones": ({"milestones": (0.5,)}, {}, r"milestones 0\.5 0\.75 there, 0\.5 here"),
    "statistics": ({"statistics": "mean"}, {}, "statistics none there, mean here"),
    "images": ({}, {"train": 13}, "other train_images"),
    "classes": ({}, {"classes": 5}, "other classes; other sizes; other train_images"),
}


@pytest.mark.parametrize("other", OTHER)
def test_another_experiment_in_the_folder_is_refused(other, tiny, finished):
    settings, data, differing = OTHER[other]
    with pytest.raises(
        ConfigError, match=rf"seed-0 holds another experiment \({differing}.*output"
    ):
        run(replace(tiny, seeds=(1, 0), **settings), make_toy(**data))
    assert not (tiny.output / "seed-1").exists()  # it is found before any training


def test_other_pixels_and_a_renamed_seed_are_another_experiment(tiny, toy, finished):
    brighter = make_toy()
    brighter.train.images.pixels[:] //= 2
    with pytest.raises(ConfigError, match="other preparation"):
        run(tiny, brighter)
    finished.path.rename(finished.path.with_name("seed-1"))
    with pytest.raises(ConfigError, match="other seed"):
        run(replace(tiny, seeds=(1,)), toy)


def test_how_statistics_would_be_made_makes_no_other_experiment(tiny, toy, finished):
    started = []

    class Watch(Observer):
        def training(self, progress):
            started.append(progress)

    idle = {"transports": ("linear",), "level": "middle", "square_roots": True}
    run(replace(tiny, **idle), toy, observer=Watch())
    assert not started  # a finished run is not run again


def test_other_files_in_the_folder_are_left_alone(tiny, toy):
    folder = tiny.output / "seed-0"
    folder.mkdir(parents=True)
    (folder / "thesis.doc").write_text("mine")
    with pytest.raises(StoreError, match=r"holds other files \(thesis.doc\)") as caught:
        run(tiny, toy)
    assert caught.value.exit_code == 3
    assert [path.name for path in folder.iterdir()] == ["thesis.doc"]


class Spoilable(nn.Module):
    """A backbone that gives nan once it is spoilt."""

    spoilt = False

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 4)

    def forward(self, x):
        return self.linear(x.flatten(1)) * (float("nan") if Spoilable.spoilt else 1.0)


class Spoil(Observer):
    def state_finished(self, results):
        Spoilable.spoilt = True


def test_after_nan_the_finished_states_are_usable(tiny, toy):
    with pytest.raises(TrainingError, match="the loss of state 1 became nan in epoch 0: lower"):
        run(tiny, toy, Spoilable(), Spoil())
    folder = RunFolder(tiny.output / "seed-0")
    assert folder.finished == 1
    assert np.isfinite(read_rows(folder, 0).W).all()
    assert results_frame([folder])["finished"].unique().tolist() == [1]
    Spoilable.spoilt = False
    run(tiny, toy, Spoilable())
    assert folder.finished == 3


def test_a_full_disk_is_one_sentence_and_loses_nothing(tiny, toy):
    config = replace(tiny, width=8)
    with pytest.raises(KeyboardInterrupt):
        run(config, toy, observer=Interrupt(1, 0))
    folder = RunFolder(config.output / "seed-0")
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, old[1]))
    try:
        with pytest.raises(WriteError, match=r"cannot write .*training.safetensors .*: make room"):
            run(config, toy)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    assert folder.finished == 1
    run(config, toy)
    assert folder.finished == 3


def test_wrong_names_are_all_reported_at_once():
    with pytest.raises(ConfigError) as caught:
        run(Config(strategy="finetun", schedule="cosinus", augment=("flap",)))
    message = str(caught.value)
    for part in ("strategy 'finetun'", "schedule 'cosinus'", "augmentation 'flap'"):
        assert part in message


def test_methods_asked_for_are_scored_in_the_run(gathering, toy, short_fits):
    name = "finetune+lda+bg_z+linear"
    (path,) = run(replace(gathering, methods=(name,)), toy)
    assert name in RunFolder(path).results()[-1].methods
    for wrong, message in {
        "finetune+siw+bg": "unknown head, calibration or transport",
        "lwf+siw": "needs another strategy than finetune",
        "finetune+lda+bg_z": "lacks statistics: train with `held_out=0.1`",
    }.items():
        with pytest.raises(ConfigError, match=message):
            replace(gathering, methods=(wrong,), held_out=0.0).resolved(8)


def test_passes_left_are_those_of_states_and_seeds_that_are_not_finished(tiny, toy):
    both = replace(tiny, seeds=(0, 1))
    one = passes_left(tiny, toy)
    assert passes_left(both, toy) == 2 * one
    run(tiny, toy)
    assert (passes_left(tiny, toy), passes_left(both, toy)) == (0, one)


@pytest.mark.parametrize("strategy", ["untrained", "frozen"])
def test_test_features_are_taken_once_where_the_backbone_stays(strategy, tiny, toy, monkeypatch):
    taken: list[list[int]] = []
    plain = Learner.all_features

    def counted(learner: Learner, images: Split) -> np.ndarray:
        taken.append(sorted({*images.labels.tolist()}))
        return plain(learner, images)

    monkeypatch.setattr(Learner, "all_features", counted)
    folder = RunFolder(run(replace(tiny, strategy=strategy), toy)[0])
    assert taken[1::2] == [[0, 1], [2, 3], [4, 5]]  # after those of the training images
    (first, old), (last, labels) = read_test(folder, 0), read_test(folder, 2)
    assert sorted({*labels.tolist()}) == [0, 1, 2, 3, 4, 5]
    assert np.array_equal(last[np.isin(labels, old)], first)
