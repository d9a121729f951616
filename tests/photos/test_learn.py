"""memoryless learn: the plan, what is learned, and every refusal."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from conftest import call
from databases import damage
from memoryless import Model
from memoryless.errors import DataError
from memoryless.model.description import State
from memoryless.model.file import kept_states, load_state, writing
from memoryless.photos.learn import (
    Outcome,
    learn_photos,
)
from memoryless.photos.plan import make_plan, model_to_learn
from photo_toys import make_colours, tiny_flags, tiny_settings

CLASSES = ("cat", "dog", "elk")


@pytest.fixture
def settings(tiny_backbone, tmp_path, monkeypatch) -> dict:
    """Settings of a model over the tiny backbone; the working folder is empty."""
    monkeypatch.chdir(tmp_path)
    return tiny_settings(tiny_backbone)


@pytest.fixture
def flags(tiny_backbone, tmp_path, monkeypatch) -> list[str]:
    """Flags of a model over the tiny backbone; the working folder holds some photos."""
    monkeypatch.chdir(tmp_path)
    make_colours(Path("photos"), "cat", "dog")
    return tiny_flags(tiny_backbone)


@pytest.fixture
def halves(flags) -> list[str]:
    """The same, and more photos in a second folder, and a folder that holds all of them."""
    make_colours(Path("second"), *CLASSES, number=10, seed=1)
    for half in ("photos", "second"):
        for file in Path(half).rglob("*.png"):
            Path("all", file.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(file, Path("all", file.parent.name, f"{half} {file.name}"))
    return flags


def learn(
    place: Path,
    settings: dict | None = None,
    spoil=lambda: None,
    allow_few=False,
    more=False,
    **options,
) -> tuple[Outcome, State]:
    """Learn the photos of a place into the file model; `spoil` comes after the plan."""
    with writing("model") as writer:
        plan = make_plan(model_to_learn(writer.before, settings or {}), [place], allow_few, more)
        spoil()
        done = learn_photos(plan, **options)
        return done, done.plan.model.save_in(writer)


def run(*arguments: str, capsys) -> str:
    """The output of a command that succeeds."""
    code, out, err = call("learn", *arguments, capsys=capsys)
    assert (code, err) == (0, "")
    return out


def renamed(place: Path, old: str, new: str) -> Path:
    (place / old).rename(place / new)
    return place


def spoil(place: Path, *names: str) -> None:
    for name in names:
        (place / name).write_bytes(b"text")


def test_a_model_is_made_and_grows(flags, capsys):
    run("model", "photos", *flags, capsys=capsys)
    shutil.rmtree("photos")
    make_colours(Path("more"), "elk", "owl")
    run("model", "more", capsys=capsys)
    model = Model.load("model")
    assert (model.classes, model.class_state) == (("cat", "dog", "elk", "owl"), (0, 0, 1, 1))


@pytest.mark.parametrize("more", [(), ("--more",)])
def test_a_dry_run_leaves_nothing(more, flags, capsys):
    out = run("a/model", "photos", "--dry-run", *flags, capsys=capsys)
    assert "24 photos" in out
    assert "Done" not in out
    assert not Path("a").exists()
    run("model", "photos", *flags, capsys=capsys)
    before = load_state("model")
    make_colours(Path("more"), "elk", "owl")
    run("model", "more", "--dry-run", *more, capsys=capsys)
    assert load_state("model") == before


@pytest.fixture
def mixed(settings) -> Path:
    """Photos of three classes; one cat lies among the dogs, and a broken photo comes before it."""
    place = make_colours(Path("photos"), *CLASSES, number=20)
    shutil.move(place / "cat" / "3.png", place / "dog" / "a cat.png")
    spoil(place, "cat/0.png")
    return place


def test_a_photo_in_the_wrong_folder_is_named(mixed, tiny_backbone, capsys):
    code, out, _ = call("learn", "model", "photos", *tiny_flags(tiny_backbone), capsys=capsys)
    assert code == 1
    assert "photos/cat/0.png" in out
    assert load_state("model").classes.counts == (18, 21, 20)
    assert "photos/dog/a cat.png  in dog  looks like cat" in out
    make_colours(Path("more"), "fox", "owl", number=20)
    shutil.move("more/fox/3.png", "more/owl/a fox.png")
    assert "more/owl/a fox.png  in owl  looks like fox" in run("model", "more", capsys=capsys)


def test_all_suspects_stand_in_a_file(mixed, tiny_backbone, capsys):
    (mixed / "dog" / "a cat.png").rename(mixed / "dog" / "=a cat.png")
    words = ["photos", "--suspects", "new/list.csv", *tiny_flags(tiny_backbone)]
    assert call("learn", "a", *words, capsys=capsys)[0] == 1
    (row,) = csv.DictReader(Path("new/list.csv").read_text().splitlines())
    assert float(row.pop("probability")) < 0.01
    assert row == {"file": "photos/dog/=a cat.png", "class": "dog", "looks_like": "cat"}
    (mixed / "dog" / "=a cat.png").rename(mixed / "cat" / "3.png")
    assert call("learn", "b", *words, capsys=capsys)[0] == 1
    assert Path("new/list.csv").read_text() == "file,class,looks_like,probability\n"


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_a_file_of_yours_is_no_list_of_suspects(dry, flags, capsys):
    Path("list.csv").write_text("file,class\n")
    words = ["model", "photos", "--suspects", "list.csv", *dry, *flags]
    code, out, err = call("learn", *words, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert Path("list.csv").read_text() == "file,class\n"
    assert call("learn", *words, "--force", capsys=capsys)[0] == 0
    assert Path("list.csv").read_text().startswith("file,class,looks_like,probability\n")


def test_a_dry_run_finds_suspects_and_learns_nothing(mixed, tiny_backbone, capsys):
    words = ["--dry-run", "--suspects", "list.csv"]
    flags = tiny_flags(tiny_backbone)
    code, out, _ = call("learn", "a/model", "photos", *words, *flags, capsys=capsys)
    assert code == 1
    assert "photos/dog/a cat.png" in out
    assert "Done" not in out
    assert "photos/dog/a cat.png,dog,cat," in Path("list.csv").read_text()
    assert not Path("a").exists()
    make_colours(Path("clean"), *CLASSES, number=20, seed=1)
    run("model", "clean", *flags, capsys=capsys)
    before = Path("model.memoryless").read_bytes()
    out = call("learn", "model", "photos", "--more", *words, capsys=capsys)[1]
    assert "photos/dog/a cat.png" in out
    assert Path("model.memoryless").read_bytes() == before


def test_a_test_folder_is_the_next_step(flags, capsys):
    make_colours(Path("all/train"), "[red]", "=1+1")
    make_colours(Path("all/test"), "[red]", number=2)
    Path("all/train/readme.txt").touch()
    out = run("my model", "all", *flags, capsys=capsys)
    assert "=1+1 12   [red] 12" in out
    assert "all/train/readme.txt" in out
    assert out.endswith("memoryless evaluate 'my model' all/test\n")


BAD = {
    "model nowhere": "there is no folder or file nowhere (No such file",
    "model": "name a folder of photos, with a folder for each class",
    "model loose": "loose holds photos but no class folders: put the photos of each class into",
    "model few": "a class needs at least 5 different photos (cat has 4, dog has 4): add photos, ",
    "photos model": "the model comes first, and photos is a folder: did you mean memoryless learn",
    "model photos --history -1": "--history -1 is no number of states: choose 0 to 1,000",
    "model photos --image-size 1.5": "--image-size must be a whole number, not 1.5",
    "model photos --backbone onnx:none.onnx": "there is no file none.onnx: check --backbone",
    "model photos --epochs 3": "--epochs 3 is for training, and fixed+lda never trains its",
    "model photos --train --dry-run --image-size 0": "image_size must be a whole number from 1",
    "model photos --backbone efficientnet-lite0+lite2 --image-size 260": "efficientnet-lite0+li",
    "model photos --image-size 100000": "image_size must be a whole number up to 2048, not 100000",
    "known photos": "the model knows cat, dog already: add --more ",
    "known more --forgettable": "known.memoryless was made without --forgettable, ",
    "model photos --suspects m.memoryless": "m.memoryless is a model: choose another --suspects",
    "model photos --train --suspects a.csv": "lwf_kd+lda+widened trains its backbone, and a netw",
    "model nowhere --train --more": "lwf_kd+lda+widened trains its backbone, ",
    "known more --image-size 32": "known.memoryless was made with --image-size 16, and this",
    "other known.memoryless": "known.memoryless is a model and no photos: name photos to learn",
}
FOREIGN = {
    "file.txt photos": "file.txt is no model: name a file that memoryless wrote",
    "photos/. more": "photos.memoryless is no file: name the file of a model",
    "damaged more": "damaged.memoryless is damaged (a checksum differs): restore it from a copy",
}


@pytest.mark.parametrize("command", BAD | FOREIGN)
def test_bad_input_is_one_sentence_and_nothing_is_made(command, flags, capsys):
    run("known", "photos", *flags, capsys=capsys)
    make_colours(Path("more"), "elk", "owl")
    make_colours(Path("few"), "cat", "dog", number=4)
    Path("loose").mkdir()
    shutil.copy("photos/cat/0.png", "loose")
    Path("file.txt").touch()
    Path("photos.memoryless").mkdir()
    damage(Path(shutil.copy("known.memoryless", "damaged.memoryless")), "record")
    code, _, err = call("learn", *command.split(), capsys=capsys)
    assert err.startswith(f"memoryless: {(BAD | FOREIGN)[command]}")
    assert err.count("\n") == 1
    assert code == (3 if command in FOREIGN else 2)
    assert not list(Path().glob("model*"))
    assert load_state("known").number == 1


def test_an_interrupt_leaves_the_model_as_it_was(flags, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("memoryless.model.Model.learn_chunks", interrupt)
    code, _, err = call("learn", "model", "photos", *flags, capsys=capsys)
    assert (code, err[:52]) == (130, "memoryless: interrupted; the model is unchanged unle")
    assert not list(Path().glob("model*"))


def test_a_model_that_learns_is_locked(flags, capsys):
    run("model", "photos", *flags, capsys=capsys)
    make_colours(Path("more"), "elk", "owl")
    with writing("model"):
        code, _, err = call("learn", "model", "more", capsys=capsys)
        run("model", "more", "--dry-run", capsys=capsys)
    assert (code, err[:59]) == (2, "memoryless: another process is writing model.memoryless: wa")


@pytest.mark.parametrize("history", [0, 2])
def test_the_history_is_as_long_as_asked(history, flags, capsys):
    for i in range(4):
        make_colours(Path(f"{i}"), f"a{i}", f"b{i}")
        given = [*flags, "--history", str(history)] if i == 0 else []
        run("model", str(i), *given, capsys=capsys)
    assert [state.number for state in kept_states("model")[0]] == [*range(4 - history, 5)]


def test_a_backbone_can_be_trained_too(flags, capsys):
    words = "model photos --train --method inFT_siw --image-size 16 --epochs 1".split()
    assert "minutes to hours" in run(*words, capsys=capsys)
    assert load_state("model").description.method == "inFT_siw"


def test_training_by_default_keeps_no_covariance_of_a_class(flags, capsys):
    run(*"model photos --train --image-size 8 --epochs 1".split(), capsys=capsys)
    record = load_state("model").arrays["record"]
    assert not {name for name, array in record.items() if array.ndim > 2}
    assert {name.split(".")[-1] for name in record} >= {"scatter", "mean"}


@pytest.mark.parametrize("trained", [False, True])
def test_repeats_are_counted(trained, flags, capsys):
    for i in range(12):
        shutil.copy("photos/cat/0.png", f"photos/cat/copy {i}.png")
    flags = ["--train", "--image-size", "16", "--epochs", "1"] if trained else flags
    out = run("m", "photos", *flags, capsys=capsys)
    assert re.search(r"repeats   \d+ photos", out)


def scores_of(model: Model) -> np.ndarray:
    """Scores of some features, and of the mean of all photos, by the names of the classes."""
    scores = model.decision_function(np.random.default_rng(0).random((50, 48)).astype(np.float32))
    return scores[:, np.argsort(model.classes)]


def assert_equal(one: Model, other: Model) -> None:
    """Class scores are the same to a millionth of their range, and so are the counts."""
    a, b = scores_of(one), scores_of(other)
    assert np.abs(a - b).max() <= 1e-6 * np.ptp(a)
    known = [frozenset(zip(m.classes, m.counts, strict=True)) for m in (one, other)]
    assert known[0] == known[1]


@pytest.mark.parametrize("forgettable", [False, True])
def test_more_photos_are_as_if_all_had_come_at_once(forgettable, halves, capsys):
    flags = [*halves, "--forgettable"] if forgettable else halves
    run("once", "all", *flags, capsys=capsys)
    run("model", "photos", *flags, capsys=capsys)
    second = shutil.make_archive("second", "zip", "second") if forgettable else "second"
    out = run("model", second, "--more", capsys=capsys)
    assert " of 10 photos correct" in out  # of the new class alone
    once, model = Model.load("once"), Model.load("model")
    assert_equal(once, model)
    if forgettable:
        once.forget("dog")
        model.forget("dog")
        assert_equal(once, model)


def test_more_photos_in_many_calls_some_nearly_the_same(halves, capsys):
    """Groups are held out together, and count all the same once the state is learned."""
    for i in range(12):
        shutil.copy("photos/cat/0.png", f"photos/cat/copy {i}.png")
        shutil.copy("photos/cat/0.png", f"all/cat/copy {i}.png")
    run("once", "all", *halves, capsys=capsys)
    for i, part in enumerate(sorted(Path().glob("[ps]*/*"))):
        Path("part").mkdir()
        part.rename(f"part/{part.name}")
        run("model", "part", "--more", "--few", *([] if i else halves), capsys=capsys)
        shutil.rmtree("part")
    assert len(load_state("model").classes.learned) == 5
    assert_equal(Model.load("once"), Model.load("model"))


def test_one_photo_more_leaves_no_state_to_compare_with(flags, capsys):
    """Else its feature would be n1 m1 - n0 m0 of two kept states."""
    run("model", "photos", *flags, capsys=capsys)
    make_colours(Path("one"), "cat", number=1, seed=9)
    out = run("model", "one", "--more", "--few", capsys=capsys)
    assert "no earlier state was kept" in out
    assert [state.number for state in kept_states("model")[0]] == [2]
    assert call("undo", "model", capsys=capsys)[0] == 2


def test_reading_finds_what_cannot_be_used(settings):
    """A broken photo, copies, a photo under two labels, damaged EXIF data, an animation."""
    place = make_colours(Path("photos"), "cat", "dog", number=15)
    spoil(place, "cat/0.png")
    shutil.copy(place / "cat" / "1.png", place / "cat" / "again.png")
    shutil.copy(place / "cat" / "2.png", place / "dog" / "copy.png")
    image = Image.open(place / "dog" / "3.png")
    image.save(place / "dog" / "near.jpg", quality=95)
    frames = Image.open(place / "dog" / "4.png")
    frames.save(place / "dog" / "moves.gif", save_all=True, append_images=[image])
    done, saved = learn(place, settings)
    unsure = "one image under several labels"
    assert done.broken == {
        f"{place}/cat/0.png": "not an image",
        f"{place}/cat/2.png": unsure,
        f"{place}/dog/copy.png": unsure,
    }
    assert saved.classes.counts == (14, 17)
    assert done.report.checked == sum(n for _, n in done.report.correct_by_class.values()) > 0
    assert done.near >= 4
    assert len(done.notes) == 1
    assert f"{place}/dog/moves.gif" in done.notes[0]
    left = [path for path in place.rglob("*.*") if str(path) not in done.broken]
    assert done.size == sum(path.stat().st_size for path in left)


@pytest.mark.parametrize("names", [[f"dog/{i}.png" for i in range(5)], ["dog/4.png"]])
def test_a_class_whose_photos_turn_out_to_be_too_few_is_left_out(names, settings):
    """5 dogs with 6 copies of one: all broken, or 4 that differ."""
    place = make_colours(Path("photos"), "cat", "owl", number=20)
    make_colours(place, "dog", number=5)
    for i in range(6 if len(names) == 1 else 0):
        shutil.copy(place / "dog" / "0.png", place / "dog" / f"copy {i}.png")
    spoil(place, *names)
    done, saved = learn(place, settings)
    assert done.late == {"dog": 5 - len(names)}
    assert (saved.classes.names, saved.classes.counts) == (("cat", "owl"), (20, 20))
    assert (done.exit_code, set(done.broken)) == (1, {f"{place}/{name}" for name in names})
    shutil.rmtree(place / "dog")
    plan = make_plan(Model(**settings), [place])
    learn_photos(plan)
    assert_equal(Model.load("model"), plan.model)


def test_few_photos_in_all_are_refused_and_nothing_is_made(settings):
    place = make_colours(Path("photos"), "cat", number=20)
    spoil(place, "cat/0.png")
    with pytest.raises(DataError) as error:
        learn(place, settings)
    assert error.value.fields == {"classes": {"cat": 19}}
    assert not list(Path().glob("model*"))
    done, _ = learn(place, settings, allow_few=True)
    assert len(done.notes) == 1


@pytest.fixture
def known(settings) -> None:
    """A model of cats and dogs."""
    learn(make_colours(Path("a"), "cat", "dog", number=20), settings)


def test_more_photos_of_the_same_kind_raise_no_doubt(known):
    place = make_colours(Path("b"), "cat", "owl", number=20, seed=1)
    done, saved = learn(place, more=True)
    assert done.warnings == []
    assert (done.report.unlike, set(done.report.correct_by_class)) == ({}, {"cat", "owl"})
    assert saved.classes.counts == (40, 20, 20)
    assert saved.classes.learned[1].more == {"cat": 20}


def test_more_photos_that_look_unlike_those_before(known, capsys):
    place = renamed(make_colours(Path("b"), "owl", number=20), "owl", "dog")
    out = run("model", str(place), "--more", capsys=capsys)
    assert "the new photos of dog differ from those before" in " ".join(out.split())
    assert call("undo", "model", capsys=capsys)[0] == 0
    assert Model.load("model").counts == (20, 20)


def test_a_class_that_is_a_known_one_under_another_name(known, capsys):
    """A cat is taken for a cat, which is no news; the kitten is new."""
    make_colours(Path("b"), "cat", number=20, seed=1)
    renamed(make_colours(Path("c"), "cat", number=20, seed=2), "cat", "kitten")
    Path("c/kitten").rename("b/kitten")
    out = run("model", "b", "--more", capsys=capsys)
    assert out.count("  warning ") == 1
    assert "kitten may be cat under another name" in out
    assert "go back   memoryless undo model\n" in out


def test_more_photos_that_are_broken_leave_the_model_as_it_was(known):
    place = make_colours(Path("b"), "cat", number=20, seed=1)
    spoil(place, "cat/3.png")
    with pytest.raises(DataError, match="at least 20 different photos"):
        learn(place, more=True)
    assert Model.load("model").counts == (20, 20)
