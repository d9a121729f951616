"""memoryless learn --more: photos of known classes, as if all had come at once."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from conftest import call
from memoryless import Model
from memoryless.model.file import kept_states, load_state
from photo_toys import make_colours, tiny_flags

CLASSES = ("cat", "dog", "elk")


@pytest.fixture
def flags(tmp_path, tiny_backbone, monkeypatch) -> list[str]:
    """Flags of a model over the tiny backbone; two folders, and one that holds all their photos."""
    monkeypatch.chdir(tmp_path)
    make_colours(Path("first"), "cat", "dog")
    make_colours(Path("second"), *CLASSES, number=10, seed=1)
    for half in ("first", "second"):
        for file in Path(half).rglob("*.png"):
            Path("all", file.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(file, Path("all", file.parent.name, f"{half} {file.name}"))
    return tiny_flags(tiny_backbone)


def learn(*arguments: str, capsys) -> str:
    code, out, err = call("learn", *arguments, capsys=capsys)
    assert (code, err) == (0, "")
    return out


def scores_of(folder: str) -> np.ndarray:
    """Scores of some features, and of the mean of all photos, by the names of the classes."""
    model = Model.load(folder)
    scores = model.scores(np.random.default_rng(0).random((50, 48)).astype(np.float32))
    return scores[:, np.argsort(model.classes)]


def assert_equal(one: str, other: str) -> None:
    """Class scores are the same to a millionth of their range, and so is what is kept."""
    a, b = scores_of(one), scores_of(other)
    assert np.abs(a - b).max() <= 1e-6 * np.ptp(a)
    known = [load_state(folder).classes for folder in (one, other)]
    assert len({frozenset(zip(k.names, k.counts, strict=True)) for k in known}) == 1


def test_more_photos_are_as_if_all_had_come_at_once(flags, capsys):
    learn("once", "all", *flags, capsys=capsys)
    learn("model", "first", *flags, capsys=capsys)
    out = learn("model", "second", "--more", capsys=capsys)
    assert_equal("once", "model")
    plan, result = out.split("\n\n", 1)
    assert "learns    10 photos of 1 new class: elk 10\n" in plan
    assert "adds      20 photos to 2 known classes: cat 10, dog 10\n" in plan
    assert (
        "note      it is not noticed if photos of known classes were learned before: these would "
        "count twice\n"
    ) in plan
    assert result.startswith("learned   1 class, and more photos of 2 classes: model knows 3 now\n")
    assert re.search(r"held out  .* of \d+ photos of these classes, among all 3 classes", result)


def zipped(part: Path) -> Path:
    with zipfile.ZipFile(part.with_suffix(".zip"), "w") as file:
        for path in sorted(part.rglob("*.png")):
            file.write(path, path.relative_to(part))
    return part.with_suffix(".zip")


def listed(part: Path) -> Path:
    lines = [f"{path.relative_to(part.parent)} {path.parent.name}" for path in part.rglob("*.png")]
    part.with_suffix(".txt").write_text("\n".join(sorted(lines)))
    return part.with_suffix(".txt")


@pytest.mark.parametrize("pack", [zipped, listed])
def test_however_the_photos_come(pack, flags, capsys):
    learn("once", "all", *flags, capsys=capsys)
    learn("model", str(pack(Path("second"))), *flags, capsys=capsys)
    out = learn("model", str(pack(Path("first"))), "--more", capsys=capsys)
    assert_equal("once", "model")
    assert "learns " not in out
    assert "learned   more photos of 2 classes: model knows 3 now\n" in out


def test_in_many_calls_some_of_near_identical_photos(flags, capsys):
    """Groups are held out together, and count all the same once the state is learned."""
    for i in range(12):
        shutil.copy("first/cat/0.png", f"first/cat/copy {i}.png")
        shutil.copy("first/cat/0.png", f"all/cat/copy {i}.png")
    learn("once", "all", *flags, capsys=capsys)
    for number, place in enumerate(("first", "second")):
        for name in CLASSES:
            if Path(place, name).exists():
                Path("part").mkdir()
                Path(place, name).rename(f"part/{name}")
                settings = [] if number or name != "cat" else flags
                learn("model", "part", "--more", "--few", *settings, capsys=capsys)
                shutil.rmtree("part")
    assert_equal("once", "model")
    assert len(load_state(Path("model")).classes.learned) == 5


def test_a_dry_run_tells_the_plan_and_leaves_the_model(flags, capsys):
    learn("model", "first", *flags, capsys=capsys)
    before = load_state(Path("model"))
    out = learn("model", "second", "--more", "--dry-run", capsys=capsys)
    assert "adds      20 photos to 2 known classes: cat 10, dog 10\n" in out
    assert "\nlearned " not in out
    assert load_state(Path("model")) == before


def test_what_looks_unlike_can_be_taken_back(flags, capsys):
    learn("model", "all", *flags, capsys=capsys)
    make_colours(Path("odd"), "owl", number=20)
    Path("odd/owl").rename("odd/dog")
    out = learn("model", "odd", "--more", capsys=capsys)
    assert re.search(
        r"\nwarning   the new photos of dog look unlike those before: the two means lie \d+\.\d "
        r"standard errors apart, where chance gives about 1; one mean stands for both now, and may "
        r"fit neither: if the new ones are of another kind, which needs a name of its own, or a "
        r"mistake, go back by memoryless undo model\n", out
    )  # fmt: skip
    assert call("undo", "model", capsys=capsys)[0] == 0
    learn("once", "all", *flags, capsys=capsys)
    assert_equal("once", "model")


def test_a_name_that_is_almost_a_known_one_is_told_of_more(flags, capsys):
    learn("model", "first", *flags, capsys=capsys)
    make_colours(Path("other"), "Cat", number=20)
    out = learn("model", "other", capsys=capsys)
    assert (
        "warning   'Cat' and 'cat' are almost the same name: if they are the same class, call it "
        "'cat', with --more\n"
    ) in out


def test_a_forgettable_model_says_first_what_it_costs(flags, capsys):
    out = learn("model", "first", "--forgettable", *flags, capsys=capsys)
    spread = 2 * 11 * 48 * 8
    plan = out.split("\n\n", 1)[0]
    assert (
        "keeps     19.7 kB in all, of which 8.4 kB are each class's own scatter, and no photo"
    ) in plan
    assert (
        "warning   each class's own scatter is kept, and that of a class with no more photos than "
        "features (48) spans exactly these photos, so that whoever gets the model can find out "
        "which were used: cat 12, dog 12\n"
    ) in plan + "\n"
    assert load_state(Path("model")).description.record["spread"] == spread


def test_a_forgettable_model_stays_one_and_more_photos_are_the_same_to_it(flags, capsys):
    learn("once", "all", "--forgettable", *flags, capsys=capsys)
    learn("model", "first", "--forgettable", *flags, capsys=capsys)
    learn("model", "second", "--more", capsys=capsys)
    assert_equal("once", "model")
    for folder in ("once", "model"):
        model = Model.load(folder)
        model.forget("dog")
        model.save(folder)
    assert_equal("once", "model")


def test_more_photos_of_nothing_that_is_known(tiny_backbone, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make_colours(Path("first"), "cat", "dog")
    make_colours(Path("second"), "catt", number=20)
    assert call("learn", "model", "first", *tiny_flags(tiny_backbone), capsys=capsys)[0] == 0
    code, out, _ = call("learn", "model", "second", "--more", "--dry-run", capsys=capsys)
    assert code == 0
    assert (
        "warning   the model knows none of these classes, so all are new; did you mean cat?\n"
    ) in out


def test_a_model_is_no_photos(tiny_backbone, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make_colours(Path("first"), "cat", "dog")
    call("learn", "model", "first", *tiny_flags(tiny_backbone), capsys=capsys)
    sentence = "model.memoryless is a model and no photos: name photos to learn"
    told = call("learn", "other", "model.memoryless", capsys=capsys)
    assert told == (2, "", f"memoryless: {sentence}\n")


def test_one_photo_more_leaves_no_state_to_compare_with(flags, capsys):
    """Else its feature would be n1 m1 - n0 m0 of two kept states."""
    learn("model", "first", *flags, capsys=capsys)
    make_colours(Path("one"), "cat", number=1, seed=9)
    out = learn("model", "one", "--more", "--few", capsys=capsys)
    assert "warning   no earlier state was kept, so memoryless undo cannot take this back" in out
    assert [state.number for state in kept_states("model")[0]] == [2]
    code, _, err = call("undo", "model", capsys=capsys)
    assert (code, err.startswith("memoryless: model.memoryless keeps no state before")) == (2, True)
