"""What errors advise can be obeyed, and exit codes are those of the table."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import memoryless.cli
from conftest import make_toy
from memoryless.cli import main
from memoryless.errors import ConfigError, DataError, TrainingError
from memoryless.images.sources import SOURCES, Source
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.progress import Observer
from memoryless.train.loop import StateTraining


def test_a_run_without_a_finished_epoch_is_replaced(tiny, toy):
    """Killed in its first epoch, it leaves a run.json and nothing to go on from."""

    class Kill(Observer):
        def training(self, progress):
            raise KeyboardInterrupt

    for config in (tiny, replace(tiny, lr=0.05), replace(tiny, width=4)):
        with pytest.raises(KeyboardInterrupt):
            run(config, toy, observer=Kill())
    checkpoint = tiny.output / "seed-0" / "training.safetensors"
    checkpoint.write_bytes(b"of another run, or damaged")
    (path,) = run(replace(tiny, lr=0.05), toy)
    assert RunFolder(path).about.config.lr == 0.05
    assert RunFolder(path).complete


def test_a_run_with_a_finished_epoch_is_not_replaced(tiny, toy):
    class Kill(Observer):
        def training(self, progress):
            if progress.epoch == 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tiny, toy, observer=Kill())
    with pytest.raises(ConfigError, match=r"holds another experiment \(lr 0.1 there, 0.05 here\)"):
        run(replace(tiny, lr=0.05), toy)
    assert RunFolder(run(tiny, toy)[0]).complete


LOWER = "lower --lr, or use --precision float32"


@pytest.fixture
def command(tmp_path, monkeypatch, capsys) -> Callable[..., tuple[int, str]]:
    """Runs the toy data by the command line; gives the exit code and the error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))
    small = "run --data toy --states 3 --width 2 --epochs 2".split()

    def call(*words: str) -> tuple[int, str]:
        batch = [] if "--batch-size" in words else ["--batch-size", "8"]
        return main([*small, *words, *batch]), capsys.readouterr().err

    return call


def test_the_advice_on_a_loss_that_is_none_can_be_obeyed(command):
    code, err = command("--lr", "1e20")
    assert code == 2
    assert err.startswith("memoryless: the loss of state 0 became ")
    assert err.endswith(f" in epoch 0: {LOWER}\n")
    assert command("--lr", "0.01") == (0, "")


def test_the_advice_after_a_finished_state_can_be_obeyed(command):
    code, err = command("--lr", "0.01", "--lr-later", "1e20")
    assert code == 2
    assert err.endswith(f": {LOWER}, and choose another --output\n")
    assert command("--lr", "0.01", "--lr-later", "0.01")[0] == 2  # half obeyed
    assert command("--lr", "0.01", "--lr-later", "0.01", "--output", "other") == (0, "")


def test_the_advice_on_memory_can_be_obeyed(command, monkeypatch):
    """The first batch of eight is too much; later, after a finished epoch, any batch is."""
    real, left = StateTraining._step, [0]

    def step(self, images, labels, generator):
        if len(images) > 4 and left[0] == 0:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        left[0] -= 1
        return real(self, images, labels, generator)

    monkeypatch.setattr(StateTraining, "_step", step)
    less = (
        "lower --batch-size, --width or --image-size, or take --backbone resnet18 for large images"
    )
    begin = "memoryless: there is not enough memory to train with batches of 8: "
    assert command() == (2, f"{begin}{less}\n")
    left[0] = 3  # batches, an epoch of state 0
    assert command() == (2, f"{begin}{less}, and choose another --output\n")
    assert command("--batch-size", "4")[0] == 2
    assert command("--batch-size", "4", "--output", "other") == (0, "")


def test_an_image_that_breaks_while_training_is_no_lack_of_memory(tiny, toy, command, monkeypatch):
    class Broken:
        shape = toy.train.images.shape
        error: Exception = DataError("photo.png broke: restore it from memory, or remove it")
        stored_bytes = toy.train.images.stored_bytes

        def __len__(self):
            return len(toy.train)

        def read(self, indices):
            raise self.error

    broken = replace(toy, train=replace(toy.train, images=Broken()))
    config = replace(tiny, mean=(0.5,), std=(0.5,))
    with pytest.raises(DataError, match=r"photo\.png broke"):
        run(config, broken)
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: broken, 8))
    code, err = command("--mean", "0.5", "--std", "0.5")
    assert (code, err) == (2, f"memoryless: {Broken.error}\n")
    Broken.error = OSError("cannot identify image file 'photo.png'")
    code, err = command("--mean", "0.5", "--std", "0.5")
    assert (code, err) == (2, "memoryless: cannot identify image file 'photo.png'\n")


def test_exit_codes_are_those_of_the_table(command, monkeypatch, tmp_path):
    assert command()[0] == 0
    assert command("--lr", "-1")[0] == 2
    (tmp_path / "foreign" / "seed-0").mkdir(parents=True)
    (tmp_path / "foreign" / "seed-0" / "thesis.doc").touch()
    code, err = command("--output", "foreign")
    assert code == 3
    assert err == (
        "memoryless: foreign/seed-0 holds other files (thesis.doc): choose another --output, or "
        "empty it\n"
    )
    for error, code, words in (
        (MemoryError(), 2, "there is not enough memory: close other programs, or ask for less"),
        (OSError(5, "Input/output error", "disk"), 2, "Input/output error: disk"),
        (
            KeyboardInterrupt(),
            130,
            "stopped; the same command goes on from the last finished epoch",
        ),
        (TrainingError("no"), 2, "no"),
    ):

        def fail(*arguments, error=error, **more):
            raise error

        monkeypatch.setattr("memoryless.lab.experiment.run", fail)
        assert command() == (code, f"memoryless: {words}\n")


def test_the_table_of_exit_codes_is_told_twice_alike():
    page = (Path(__file__).parents[1] / "docs" / "runs.md").read_text()
    told = re.findall(r"^(\d+)  ", memoryless.cli.__doc__ or "", flags=re.M)
    assert told == re.findall(r"^\| (\d+) \|", page, flags=re.M) == ["0", "1", "2", "3", "130"]
