"""What errors of a run advise can be obeyed, and exit codes are those of the table."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import memoryless.cli
from conftest import Interrupt
from memoryless.cli import main
from memoryless.errors import ConfigError, DataError, TrainingError
from memoryless.images.sources import SOURCES, Source
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.train.loop import StateTraining


def test_a_run_is_replaced_until_an_epoch_is_finished(tiny, toy):
    """Killed in its first epoch, it leaves a run.json and nothing to go on from."""
    for config in (tiny, replace(tiny, lr=0.05)):
        with pytest.raises(KeyboardInterrupt):
            run(config, toy, observer=Interrupt(0, 0))
    checkpoint = tiny.output / "seed-0" / "training.safetensors"
    checkpoint.write_bytes(b"of another run, or damaged")
    with pytest.raises(KeyboardInterrupt):
        run(tiny, toy, observer=Interrupt(0, 1))
    with pytest.raises(ConfigError, match=r"holds another experiment \(lr 0.1 there, 0.05 here\)"):
        run(replace(tiny, lr=0.05), toy)
    assert RunFolder(run(tiny, toy)[0]).complete


@pytest.fixture
def command(tmp_path, monkeypatch, capsys, toy_source) -> Callable[..., tuple[int, str]]:
    """Runs the toy data by the command line; gives the exit code and the error."""
    monkeypatch.chdir(tmp_path)
    small = "run --data toy --states 3 --width 2 --epochs 2 --no-control".split()

    def call(*words: str) -> tuple[int, str]:
        batch = [] if "--batch-size" in words else ["--batch-size", "8"]
        return main([*small, *words, *batch]), capsys.readouterr().err

    return call


def test_the_advice_on_a_loss_that_is_not_finite_can_be_obeyed(command):
    code, err = command("--lr", "1e20")
    assert (code, err.endswith(": lower --lr, or use --precision float32\n")) == (2, True)
    first = ("--lr", "0.01")
    assert command(*first, "--lr-later", "1e20")[1].endswith(", and choose another --output\n")
    assert command(*first, "--lr-later", "0.01")[0] == 2  # half obeyed
    assert command(*first, "--lr-later", "0.01", "--output", "other") == (0, "")


def test_the_advice_on_memory_can_be_obeyed(command, monkeypatch):
    """The first batch of eight is too much; later, after a finished epoch, any batch is."""
    real, left = StateTraining._step, [0]

    def step(self, images, labels, generator):
        if len(images) > 4 and left[0] == 0:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        left[0] -= 1
        return real(self, images, labels, generator)

    monkeypatch.setattr(StateTraining, "_step", step)
    code, err = command()
    assert (code, err.endswith("--backbone resnet18 for large images\n")) == (2, True)
    left[0] = 3  # batches, an epoch of state 0
    code, err = command()
    assert (code, err.endswith(", and choose another --output\n")) == (2, True)
    assert command("--batch-size", "4")[0] == 2
    assert command("--batch-size", "4", "--output", "other") == (0, "")


@pytest.mark.parametrize(
    "error", [DataError("photo.png broke: restore it from memory"), OSError("no image 'photo.png'")]
)
def test_an_image_that_breaks_while_training_is_no_lack_of_memory(toy, command, monkeypatch, error):
    class Broken:
        shape = toy.train.images.shape
        stored_bytes = toy.train.images.stored_bytes

        def __len__(self):
            return len(toy.train)

        def read(self, indices):
            raise error

    broken = replace(toy, train=replace(toy.train, images=Broken()))
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: broken, 8))
    assert command("--mean", "0.5", "--std", "0.5") == (2, f"memoryless: {error}\n")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MemoryError(), 2, "there is not enough memory"),
        (OSError(5, "Input/output error", "disk"), 2, "Input/output error: disk"),
        (
            KeyboardInterrupt(),
            130,
            "interrupted; the same command continues after the last finished",
        ),
        (TrainingError("no"), 2, "no"),
    ],
)
def test_what_stops_a_run_has_its_exit_code(error, code, words, command, monkeypatch):
    def fail(*arguments, **more):
        raise error

    monkeypatch.setattr("memoryless.lab.experiment.run", fail)
    found, err = command()
    assert found == code
    assert err.startswith(f"memoryless: {words}")


def test_a_folder_of_other_files_is_left_alone(command, tmp_path):
    (tmp_path / "foreign" / "seed-0").mkdir(parents=True)
    (tmp_path / "foreign" / "seed-0" / "thesis.doc").touch()
    code, err = command("--output", "foreign")
    assert code == 3
    assert "foreign/seed-0 holds other files (thesis.doc): choose another --output" in err


def test_the_table_of_exit_codes_stands_twice_alike():
    page = (Path(__file__).parents[2] / "docs" / "guide.md").read_text()
    codes = re.findall(r"^(\d+)  ", memoryless.cli.__doc__ or "", flags=re.M)
    assert codes == re.findall(r"^\| (\d+) \|", page, flags=re.M) == ["0", "1", "2", "3", "130"]
