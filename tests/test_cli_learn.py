"""memoryless learn: the plan, the result, and every refusal."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from conftest import call
from databases import damage
from memoryless.images.samples import write_samples
from memoryless.model.card import HONEST
from memoryless.model.file import load_state
from memoryless.photos.place import teaching
from photo_toys import make_colours, tiny_flags


@pytest.fixture
def flags(tmp_path, tiny_backbone, monkeypatch) -> list[str]:
    """Flags of a model over the tiny backbone; the working folder holds some photos."""
    monkeypatch.chdir(tmp_path)
    make_colours(Path("photos"), "cat", "dog")
    return tiny_flags(tiny_backbone)


def test_a_model_is_made_and_grows(flags, capsys):
    code, out, _ = call("learn", "model", "photos", *flags, capsys=capsys)
    assert code == 0
    plan, result = out.split("\n\n", 1)
    told = dict(line.split(maxsplit=1) for line in plan.splitlines())
    assert told["model"] == "model will be made"
    assert told["reads"] == "photos: folders of classes"
    assert told["learns"] == "24 photos of 2 new classes: cat 12, dog 12"
    assert told["method"].startswith("fixed+lda over onnx:")
    assert re.fullmatch(r"about \d+ s \(\d+ photos a second\)", told["time"])
    assert told["keeps"] == "11.2 kB in all, and no photo"
    assert result.startswith("learned   2 classes: model knows 2 now\nheld out  ")
    assert HONEST.format(smallest=12) in result
    assert result.endswith("next      memoryless predict model PHOTO\n")
    shutil.rmtree("photos")
    make_colours(Path("more"), "elk", "owl")
    code, out, _ = call("learn", "model", "more", capsys=capsys)
    assert code == 0
    assert "model     model knows 2 classes\n" in out
    assert "learned   2 classes: model knows 4 now\n" in out
    assert list(load_state(Path("model")).classes.names) == ["cat", "dog", "elk", "owl"]


def test_the_accuracy_is_of_held_out_photos_of_new_classes(flags, capsys):
    out = call("learn", "model", "photos", *flags, capsys=capsys)[1]
    found = re.search(
        r"held out  ([\d.]+) % right: (\d+) of (\d+) photos of the new classes, among all 2 ", out
    )
    assert found
    share, right, number = map(float, found.groups())
    assert share == pytest.approx(100 * right / number, abs=0.05)
    assert number < 24


def test_a_dry_run_leaves_nothing(flags, capsys):
    code, out, _ = call("learn", "a/model", "photos", "--dry-run", *flags, capsys=capsys)
    assert code == 0
    assert "learns    24 photos" in out and "learned" not in out
    assert not Path("a").exists()
    call("learn", "model", "photos", *flags, capsys=capsys)
    before = load_state(Path("model"))
    make_colours(Path("more"), "elk", "owl")
    assert call("learn", "model", "more", "--dry-run", capsys=capsys)[0] == 0
    assert load_state(Path("model")) == before


def test_broken_photos_are_listed_and_the_exit_code_is_1(flags, capsys):
    Path("photos/cat/3.png").write_text("text")
    code, out, err = call("learn", "model", "photos", *flags, capsys=capsys)
    assert (code, err) == (1, "")
    assert "broken    left out 1: photos/cat/3.png (not an image)\n" in out
    assert load_state("model").classes.counts == (11, 12)


def test_what_is_not_read_is_told(flags, capsys):
    Path("photos/readme.txt").touch()
    out = call("learn", "model", "photos", "--dry-run", *flags, capsys=capsys)[1]
    assert "skips     1: photos/readme.txt (not an image by its name)\n" in out


def test_a_test_folder_is_left_alone_and_named_as_the_next_step(flags, capsys):
    make_colours(Path("all/train"), "cat", "dog")
    make_colours(Path("all/test"), "cat", "dog", number=2)
    code, out, _ = call("learn", "my model", "all", *flags, capsys=capsys)
    assert code == 0
    assert "note      all/train is read; what stands beside it is left alone: test/\n" in out
    assert out.endswith("next      memoryless evaluate 'my model' all/test\n")


def test_a_class_that_looks_like_a_known_one_can_be_taken_back(flags, capsys):
    call("learn", "model", "photos", *flags, capsys=capsys)
    make_colours(Path("more"), "cat", "owl", seed=1)
    Path("more/cat").rename("more/kitten")
    code, out, _ = call("learn", "model", "more", capsys=capsys)
    assert code == 0
    assert re.search(
        r"warning   kitten may be cat under another name: .* by memoryless undo model\n", out
    )


def test_names_are_shown_and_not_obeyed(flags, capsys):
    make_colours(Path("odd"), "[red]", "-x", "=1+1")
    out = call("learn", "model", "odd", *flags, capsys=capsys)[1]
    assert "36 photos of 3 new classes: -x 12, =1+1 12, [red] 12\n" in out


def test_few_says_what_that_means(flags, capsys):
    make_colours(Path("few"), "cat", "dog", number=4)
    code, out, _ = call("learn", "model", "few", "--few", *flags, capsys=capsys)
    assert code == 0
    assert (
        "warning   a class needs at least 5 different photos, and cat has 4, dog has 4; averages "
        "over so few can be traced back: whoever gets the model may find out which photos were "
        "used, or even what they show\n"
    ) in out


BAD = {
    "model nowhere": (
        "there is no folder or file nowhere (No such file or directory): check its name"
    ),
    "model": "name a folder of photos, with a folder for each class",
    "model loose": (
        "loose holds photos but no class folders: put the photos of each class into a folder of "
        "its own, such as loose/cat/1.jpg and loose/dog/1.jpg"
    ),
    "model few": (
        "a class needs at least 5 different photos, and cat has 4, dog has 4: add photos, or add "
        "--few if whoever gets the model may find out which photos were used"
    ),
    "model photos --history -1": "--history -1 is no number of states: choose 0 to 1,000",
    "model photos --image-size 1.5": "--image-size must be a whole number, not 1.5",
    "model photos --backbone onnx:none.onnx": "there is no file none.onnx: check --backbone",
    "model photos --train --method fixed+lda": (
        "--train trains the backbone, which fixed+lda never does: leave one out"
    ),
    "model photos --crop 0": "crop must be a number above 0.0, not 0.0",
    "model photos --epochs 3": (
        "--epochs 3 is for training, and fixed+lda never trains its backbone: leave it out, or add "
        "--train"
    ),
    "model photos --train --dry-run --image-size 0": (
        "image_size must be a whole number from 1, not 0"
    ),
    "model photos --image-size 100000": "image_size must be a whole number up to 2048, not 100000",
    "known photos": (
        "the model knows cat, dog already: add --more to add these photos to what it knows, or "
        "give them another name"
    ),
    "known few --more": (
        "a class needs at least 5 different photos, and cat gets 4 in this state, dog gets 4 in "
        "this state: add photos, or add --few if whoever gets the model may find out which photos "
        "were used"
    ),
    "known more --forgettable": (
        "known.memoryless was made without --forgettable, and the photos that this needs "
        "are gone: leave it out, or learn everything into another MODEL"
    ),
    "model photos --train --forgettable": (
        "lwf_kd+lda+widened trains its backbone, and a network is no sum over images: it cannot "
        "keep what forgetting a class exactly needs; only models with fixed features can"
    ),
    "model nowhere --train --more": (
        "lwf_kd+lda+widened trains its backbone, and a network is no sum over images: it cannot "
        "add photos to known classes; only models with fixed features can"
    ),
    "known more --image-size 32": (
        "known.memoryless was made with --image-size 16, and what it keeps fits nothing else: "
        "leave that setting out, or choose another MODEL"
    ),
    "known more --method inFT": (
        "known.memoryless was made with --method fixed+lda, and what it keeps fits nothing else: "
        "leave that setting out, or choose another MODEL"
    ),
}
FOREIGN = {
    "file.txt photos": "file.txt is no model: name a file that memoryless wrote",
    "photos/. more": "photos.memoryless is no file: name the file of a model",
}


@pytest.mark.parametrize("command", BAD | FOREIGN)
def test_bad_input_is_one_sentence_and_nothing_is_made(command, flags, capsys):
    call("learn", "known", "photos", *flags, capsys=capsys)
    make_colours(Path("more"), "elk", "owl")
    make_colours(Path("few"), "cat", "dog", number=4)
    Path("loose").mkdir()
    shutil.copy("photos/cat/0.png", "loose")
    Path("file.txt").touch()
    Path("photos.memoryless").mkdir()
    code, _, err = call("learn", *command.split(), capsys=capsys)
    assert err == f"memoryless: {(BAD | FOREIGN)[command]}\n"
    assert code == (3 if command in FOREIGN else 2)
    assert not list(Path().glob("model*"))
    assert load_state(Path("known")).number == 1


def test_an_interrupt_leaves_the_model_as_it_was(flags, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("memoryless.model.Model.learn", interrupt)
    code, _, err = call("learn", "model", "photos", *flags, capsys=capsys)
    assert code == 130
    assert err == (
        "memoryless: stopped; the model is as it was, unless the command had said that it is done\n"
    )
    assert not list(Path().glob("model*"))


def test_a_backbone_can_be_trained_too(flags, capsys):
    command = "learn model photos --train --method inFT_siw --image-size 16 --epochs 1".split()
    code, out, _ = call(*command, capsys=capsys)
    assert code == 0
    assert "method    inFT_siw; ResNet-18 at 16 pixels is trained\n" in out
    assert "time      minutes to hours: what is left is shown once training has begun\n" in out
    assert re.search(r"held out  [\d.]+ % right: \d of 2 photos", out)
    assert load_state(Path("model")).description.method == "inFT_siw"


@pytest.mark.parametrize("trained", [False, True])
def test_repeats_are_told(trained, flags, capsys):
    for i in range(12):
        shutil.copy("photos/cat/0.png", f"photos/cat/copy {i}.png")
    flags = ["--train", "--image-size", "16", "--epochs", "1"] if trained else flags
    out = call("learn", "model", "photos", *flags, capsys=capsys)[1]
    (told,) = [line for line in out.splitlines() if line.startswith("repeats ")]
    assert told.endswith("are nearly the same as another; such were held out together")


def test_what_is_trained_by_default_keeps_no_covariance_of_a_class(flags, capsys):
    command = "learn model photos --train --image-size 8 --epochs 1".split()
    assert call(*command, capsys=capsys)[0] == 0
    record = load_state(Path("model")).arrays("record")
    assert {name for name, array in record.items() if array.ndim > 2} == set()
    assert {name.split(".")[-1] for name in record} >= {"scatter", "mean"}


def test_drawings_with_the_backbone_that_pip_brings(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_samples(Path("drawings"), classes=3, per_class=8, test_per_class=4)
    code, out, _ = call("learn", "model", "drawings", capsys=capsys)
    assert code == 0
    assert (
        "method    fixed+lda over efficientnet-lite0 at 224 pixels, which is never trained\n" in out
    )
    found = json.loads(call("evaluate", "model", "drawings", "--json", capsys=capsys)[1])
    assert found["photos"] == 12
    assert found["top1"] > 60


def test_a_damaged_model_is_not_taught(flags, capsys):
    call("learn", "model", "photos", *flags, capsys=capsys)
    make_colours(Path("more"), "elk", "owl")
    damage(Path("model.memoryless"), "record")
    code, _, err = call("learn", "model", "more", capsys=capsys)
    assert (code, err) == (
        3, "memoryless: model.memoryless is damaged (a checksum differs): restore it from a copy\n"
    )  # fmt: skip


def test_a_model_that_is_being_taught_is_locked(flags, capsys):
    call("learn", "model", "photos", *flags, capsys=capsys)
    make_colours(Path("more"), "elk", "owl")
    with teaching(Path("model"), {}):
        code, _, err = call("learn", "model", "more", capsys=capsys)
        assert call("learn", "model", "more", "--dry-run", capsys=capsys)[0] == 0
    assert (code, err) == (
        2,
        "memoryless: another process is writing model.memoryless: wait for it, or choose another "
        "MODEL\n",
    )  # fmt: skip
