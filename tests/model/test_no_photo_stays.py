"""After learning, no file holds a photo, its name, its text, or what one photo alone gave."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from memoryless.cli import main
from memoryless.model import Model
from memoryless.model.description import State, given_back
from memoryless.model.file import kept_states, load_state
from memoryless.photos.kept import honest
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.scorers import square_roots
from photo_toys import make_colours, tiny_flags
from remains import files_of, holders, nearest, windows, windows_of_one

SECRET = "Grandmother at the lake, 1983"


def sign(photos: Path) -> None:
    """Give every photo a text of its own, as cameras and people do."""
    for i, path in enumerate(sorted(photos.rglob("*.*"))):
        with Image.open(path) as image:
            exif = image.getexif()
            exif[0x010E] = f"{SECRET} {i}"
            image.copy().save(path.with_name(f"Holiday {i:03}.jpg"), exif=exif, quality=90)
        path.unlink()


@pytest.fixture(scope="module")
def scene(tmp_path_factory, tiny_backbone):
    """Two states learned by the command and one of them exported, with every folder that it could
    write to; photos gone.
    """
    root = tmp_path_factory.mktemp("scene")
    places = {name: root / name for name in ("home", "tmp", "cache", "here")}
    for place in places.values():
        place.mkdir()
    environment = os.environ | {
        "HOME": str(places["home"]),
        "TMPDIR": str(places["tmp"]),
        "XDG_CACHE_HOME": str(places["cache"]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    photos = {}
    for state, classes in enumerate((("elk", "owl"), ("cat", "dog"))):
        folder = make_colours(root / f"photos{state}", *classes, number=12, seed=state)
        sign(folder)
        photos |= {path: path.read_bytes() for path in sorted(folder.rglob("*.jpg"))}
        command = [sys.executable, "-m", "memoryless", "learn", str(places["here"] / "model")]
        command += [str(folder), *(tiny_flags(tiny_backbone) if state == 0 else [])]
        log = subprocess.run(
            command, env=environment, cwd=places["here"], capture_output=True, check=True
        )
        (places["here"] / f"log{state}").write_bytes(log.stdout + log.stderr)
    command = [sys.executable, "-m", "memoryless", "export", "model", "sent.memoryless"]
    subprocess.run(command, env=environment, cwd=places["here"], capture_output=True, check=True)
    model = Model.load(places["here"] / "model")
    model.open()
    looks = np.stack([model.learning_input(np.asarray(Image.open(path))) for path in photos])
    for state in range(2):
        shutil.rmtree(root / f"photos{state}")
    return places, photos, looks


def test_the_search_would_find_a_photo(scene):
    _, photos, _ = scene
    content = next(iter(photos.values()))
    assert windows(content[100:400]) & windows(content)
    assert holders({Path("photo"): content}, SECRET) == [Path("photo")]
    assert scene[0]["here"] / "sent.memoryless" in files_of(*scene[0].values())


def test_no_bytes_of_one_photo_stay(scene):
    places, photos, _ = scene
    only_one = windows_of_one(photos.values())
    assert len(only_one) > 1000
    for path, content in files_of(*places.values()).items():
        assert not windows(content) & only_one, path


def test_no_file_name_and_no_text_of_a_photo_stays(scene):
    places, photos, _ = scene
    files = files_of(*places.values())
    for text in (SECRET, *(path.stem for path in photos)):
        assert holders(files, text) == [], text


def states_of(path: Path) -> list[State]:
    """Every kept state with all its parts."""
    return [load_state(path, state.number) for state in kept_states(path)[0]]


def numbers(places: dict[str, Path]) -> list[np.ndarray]:
    """Every array of every kept state."""
    states = states_of(places["here"] / "model")
    return [a for s in states for part in ("record", "scorer") for a in s.arrays[part].values()]


def test_names_of_suspects_are_printed_and_not_stored(tmp_path, tiny_backbone, capsys):
    photos = make_colours(tmp_path / "photos", "elk", "owl", "cat", number=20)
    (photos / "elk" / "3.png").rename(photos / "owl" / "Holiday 003.png")
    (tmp_path / "here").mkdir()
    model = tmp_path / "here" / "model"
    assert main(["learn", str(model), str(photos), *tiny_flags(tiny_backbone)]) == 0
    assert "Holiday 003.png  in owl  looks like elk" in capsys.readouterr().out
    assert holders(files_of(tmp_path / "here"), "Holiday 003") == []


def test_no_feature_of_one_photo_stays(scene):
    """Neither as it is, nor as it is summed up; in no row, and at no place of a long array."""
    places, _, looks = scene
    arrays = numbers(places)
    assert len(arrays) >= 12
    for feature in (*looks, *square_roots(looks.astype(np.float64))):
        assert nearest(arrays, feature) > 1e-3


def test_the_difference_of_two_states_gives_no_photo_away(scene):
    """What a state adds is of many photos: no single feature, and a scatter of many directions."""
    places, _, looks = scene
    roots = square_roots(looks.astype(np.float64))
    states = [
        ClassStatistics.restore(saved.arrays["record"], fixed=True)
        for saved in states_of(places["here"] / "model")
    ]
    for before, after in pairwise(states):
        both = before.classes
        changed = after.count[:both, None] * after.mean[:both]
        changed = changed - before.count[:, None] * before.mean
        assert np.abs(changed).max() == 0  # no class got photos, so nothing can be told apart
        added = np.linalg.eigvalsh(after.first.scatter - before.first.scatter)
        assert (added > 1e-9 * added.max()).sum() >= 5
        for feature in roots:
            assert np.abs(after.mean - feature).max(1).min() > 1e-3


def test_nothing_is_written_beside_the_model(scene):
    """Neither in the home folder nor in a cache, by us or by a library."""
    places, _, _ = scene
    for name in ("home", "cache", "tmp"):
        assert not [path for path in places[name].rglob("*") if path.is_file()], name


def two_of(count: float, mean: np.ndarray, scatter: np.ndarray) -> list[np.ndarray]:
    """The features that mean and scatter of one or two photos tell."""
    if count == 1:
        return [mean]
    values, directions = np.linalg.eigh(scatter)
    step = np.sqrt(max(values[-1], 0) / 2) * directions[:, -1]
    return [mean + step, mean - step]


def scatters(statistics: ClassStatistics) -> list[np.ndarray]:
    """The scatter of each class, as far as it is kept."""
    if not statistics.forgettable:
        return [np.zeros_like(statistics.first.scatter)] * statistics.classes
    return [rows.T @ rows for rows in statistics.first.spreads(statistics.count)]


def told_by(before: ClassStatistics, after: ClassStatistics) -> list[np.ndarray]:
    """Features that an attacker computes from what was added between two states."""
    found, shared, added = [], after.first.scatter - before.first.scatter, {}
    own = scatters(after)
    for c in range(after.classes):
        n = before.count[c] if c < before.classes else 0
        k = after.count[c] - n
        if k == 0:
            continue
        mean, scatter = after.mean[c], own[c]
        if n:
            mean = (after.count[c] * after.mean[c] - n * before.mean[c]) / k
            away = mean - before.mean[c]
            between = n * k / (n + k) * np.outer(away, away)
            scatter, shared = own[c] - scatters(before)[c] - between, shared - between
        added[c] = k, mean
        found += two_of(k, mean, scatter) if k == 1 or after.forgettable else []
    if sum(k - 1 for k, _ in added.values()) == 1:
        found += [row for k, mean in added.values() for row in two_of(k, mean, shared)]
    return found


FEW = {
    "one photo of a class": ({"a": 1, "b": 20}, {"a": 10}, False),
    "one photo more": ({"a": 20, "b": 20}, {"a": 1, "b": 9}, False),
    "two photos more": ({"a": 20, "b": 20}, {"a": 2}, False),
    "two photos more, one of a new class": ({"a": 20, "b": 20}, {"a": 2, "c": 1}, False),
    "two photos of a new class": ({"a": 20, "b": 20}, {"c": 2}, False),
    "two photos in all": ({"a": 2}, {"b": 10}, False),
    "two photos that can be forgotten": ({"a": 2, "b": 20}, {"a": 10}, True),
    "two photos more of two classes": ({"a": 20, "b": 20}, {"a": 2, "b": 2}, True),
}


def learn_and_save(paths: list[Path], calls: list[dict[str, int]], forgettable: bool) -> np.ndarray:
    """Save a model after each call that brings so many photos; gives the features of all."""
    rng, model = np.random.default_rng(0), Model(backbone="none", forgettable=forgettable)
    looks = []
    for path, call in zip(paths, calls, strict=True):
        names = [name for name, count in call.items() for _ in range(count)]
        looks.append(rng.normal(size=(len(names), 6)))
        model.learn(looks[-1], names, more=True)
        model.save(path)
    return np.concatenate(looks)


def found_in(states: list[State], looks: np.ndarray) -> int:
    """How many photos an attacker finds in states, and in what was added between two of them."""
    each = [ClassStatistics.restore(state.arrays["record"], fixed=True) for state in states]
    each = [ClassStatistics.empty(6, forgettable=each[0].forgettable), *each]
    rows = [row for i, one in enumerate(each) for two in each[i + 1 :] for row in told_by(one, two)]
    return sum(any(np.abs(row - look).max() < 1e-6 for row in rows) for look in looks)


@pytest.mark.parametrize("case", FEW)
def test_no_feature_of_a_few_photos_follows_from_the_states_of_a_file(case, tmp_path):
    """Unless the file says so; from copies of the same states, made each time, one does."""
    *calls, forgettable = FEW[case]
    copies = [tmp_path / "one", tmp_path / "two"]
    looks = learn_and_save(copies, calls, forgettable)
    assert found_in([state for path in copies for state in states_of(path)], looks)
    learn_and_save([tmp_path / "m"] * 2, calls, forgettable)
    states = states_of(tmp_path / "m")
    known = states[-1].classes
    told = sum(known.counts[i] for i in given_back(states[-1].description, known.counts))
    assert found_in(states, looks) == told
    assert (told > 0) == ("per-photo feature" not in honest(states[-1]))


@pytest.mark.parametrize("forgettable", [False, True])
def test_states_of_more_photos_are_kept_and_tell_none(forgettable, tmp_path):
    looks = learn_and_save([tmp_path / "m"] * 2, [{"a": 3, "b": 20}, {"a": 3, "b": 3}], forgettable)
    states = states_of(tmp_path / "m")
    assert len(states) == 2
    assert found_in(states, looks) == 0


@pytest.mark.parametrize(("calls", "told"), [([{"a": 2}], 2), ([{"a": 1}, {"b": 1, "c": 2}], 4)])
def test_a_file_says_which_photos_it_gives_back(calls, told, tmp_path):
    looks = learn_and_save([tmp_path / "m"] * len(calls), calls, forgettable=False)
    states = states_of(tmp_path / "m")
    counts = states[-1].classes.counts
    assert found_in(states, looks) == told
    assert sum(counts[i] for i in given_back(states[-1].description, counts)) == told
