"""States in a file: all or nothing, undone bit by bit, every damaged byte noticed."""

from __future__ import annotations

import random
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from conftest import call
from databases import damage, edit
from memoryless import Model
from memoryless.errors import ConfigError, MemorylessError, StoreError, WriteError
from memoryless.model.database import SCHEMA
from memoryless.model.file import (
    check_file,
    export_state,
    file_bytes,
    kept_states,
    load_state,
    state_bytes,
    state_of_bytes,
    writing,
)
from photo_toys import draw_photos, tiny_settings

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
GOLDEN = Path(__file__).parent / "version-1.memoryless"


def grow(path: Path, states: int = 1, history: int | None = None) -> Model:
    """A model after some states of two classes each."""
    model = Model.load(path) if path.with_suffix(".memoryless").exists() else Model(backbone="none")
    for _ in range(states):
        n = len(model.classes)
        model.learn(X + n, [f"class {n}", f"class {n + 1}"] * 10)
        model.save(path, history)
    return model


def numbers(path: Path) -> list[int]:
    return [state.number for state in kept_states(path)[0]]


@pytest.fixture
def path(tmp_path) -> Path:
    grow(tmp_path / "m", 3)
    return tmp_path / "m.memoryless"


def test_a_state_says_where_it_comes_from_and_what_was_done(path):
    model = Model.load(path)
    model.rename({"class 0": "cat"})
    model.learn(X, ["cat", "dog"] * 10, more=True)
    model.save(path)
    states, current = kept_states(path)
    found = [(s.number, s.parent, s.done) for s in states]
    assert found == [(2, 1, "learn"), (3, 2, "learn"), (4, 3, "rename, learn")]
    assert current == 4
    assert list(check_file(path)) == []


def test_going_back_is_bit_exact_and_what_was_undone_goes_with_the_next_state(path):
    before = {n: load_state(path, n).digest for n in (1, 2, 3)}
    for to in (1, 3, 2):
        with writing(path, None) as writer:
            assert writer.switch(to).digest == before[to]
    assert {n: load_state(path, n).digest for n in (1, 2, 3)} == before
    grow(path)
    assert numbers(path) == [1, 2, 4]


@pytest.mark.parametrize(("history", "kept"), [(0, [9]), (4, [5, 6, 7, 8, 9]), (None, [7, 8, 9])])
def test_so_many_states_stay(history, kept, path):
    grow(path, 6, history)
    assert numbers(path) == kept
    with pytest.raises(ConfigError, match=r"has no state 1: choose from "):
        Model.load(path, 1)


def interrupt(*_):
    raise KeyboardInterrupt


def test_forgetting_deletes_every_earlier_state_at_once(path, monkeypatch):
    size = path.stat().st_size
    model = Model.load(path)
    model.forget("class 0")
    with monkeypatch.context() as patch:
        patch.setattr("memoryless.model.file._insert_blob", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.save(path)
    assert numbers(path) == [1, 2, 3]  # an interrupted forget changes nothing at all
    model.save(path)
    assert numbers(path) == [4]
    assert path.stat().st_size < size
    with pytest.raises(ConfigError):
        Model.load(path, 3)


def test_one_photo_more_leaves_no_state_to_subtract(path):
    model = Model.load(path)
    model.learn(X[:5], ["class 0"] * 5, more=True)
    assert model.keeps_history
    model.learn(X[:1], ["class 0"], more=True)
    assert not model.keeps_history
    model.save(path)
    assert numbers(path) == [4]
    repeated = Model.load(path)
    repeated.learn(X[[0, 0, 0]], ["class 1"] * 3, more=True)
    assert not repeated.keeps_history


def test_the_graph_is_stored_once_and_rows_as_matrices(tmp_path, tiny_backbone):
    model = Model(**tiny_settings(tiny_backbone))
    for i in range(3):
        model.learn(*draw_photos(2 * i, 2 * i + 1))
        model.save(tmp_path / "m")
    with closing(sqlite3.connect(tmp_path / "m.memoryless")) as db:
        graphs = "SELECT count(DISTINCT sha256), count(*) FROM part WHERE name = 'features'"
        assert db.execute(graphs).fetchone() == (1, 3)
        assert db.execute("SELECT count(*) FROM blob").fetchone() == (7,)


def test_pieces_of_a_large_part_are_put_together(tmp_path, monkeypatch):
    monkeypatch.setattr("memoryless.model.file.PIECE", 100)
    model = grow(tmp_path / "m")
    assert (Model.load(tmp_path / "m").decision_function(X) == model.decision_function(X)).all()


def test_a_file_grows_by_as_much_with_each_class_and_with_each_state(tmp_path):
    """bytes = a + b classes + c states, to some pages of 4,096 bytes; no earlier state is kept."""
    rows = []
    for n, states in ((5, 1), (50, 1), (50, 50), (500, 1), (500, 250), (5000, 1)):
        model, path = Model(backbone="none"), tmp_path / f"{n}-{states}.memoryless"
        for some in np.split(np.arange(n), states):
            names = [f"class {i:05}" for i in some] * 2
            model.learn_chunks([(RNG.normal(size=(len(names), 4)), names)], names, check=False)
        model.save(path, history=0)
        rows.append((1, n, states, path.stat().st_size))
    terms, sizes = np.split(np.array(rows, dtype=float), [3], axis=1)
    fitted = np.linalg.lstsq(terms, sizes)[0]
    assert np.abs(terms @ fitted - sizes).max() < 2 * 4096
    a, b, c = fitted[:, 0]
    assert 0 < a < 40_000
    assert 2 * 4 * 8 < b < 130  # a mean and a row of four numbers; a name, and how many photos
    assert 30 < c < 130  # when it was, and how many photos came


def test_a_file_with_damaged_pages_is_not_written(path):
    """Even where the current state can still be read: here the number of free pages is wrong."""
    model, content = Model.load(path), bytearray(path.read_bytes())
    content[39] = 7
    path.write_bytes(content)
    assert Model.load(path).classes == model.classes
    with pytest.raises(StoreError, match="is damaged"):
        model.save(path)
    assert path.read_bytes() == bytes(content)


def test_forgetting_leaves_no_free_page(tmp_path, tiny_backbone):
    """Even where they are few beside a large graph, so that other changes leave them."""
    path = tmp_path / "m.memoryless"

    def free_pages() -> int:
        with closing(sqlite3.connect(path)) as db:
            return db.execute("PRAGMA freelist_count").fetchone()[0]

    model = Model(**tiny_settings(tiny_backbone))
    model._current.graph += bytes(300_000)
    for name in ("a", "b"):
        model.learn(RNG.normal(size=(20, 48)), [name] * 20)
        model.save(path, history=0)
    assert free_pages() > 0
    model.forget("a")
    model.save(path)
    assert free_pages() == 0


def test_another_model_is_not_written_over(path, tmp_path):
    with pytest.raises(StoreError, match="holds another model, or this one as changed"):
        grow(tmp_path / "other").save(path)
    one, two = Model.load(path), Model.load(path)
    one.rename({"class 0": "cat"})
    one.save(path)
    with pytest.raises(StoreError, match="as changed since it was loaded"):
        two.save(path)


def test_a_loaded_model_needs_its_file_no_more(path):
    """All is read within one transaction; a writer that passes changes nothing."""
    model, expected = Model.load(path), Model.load(path).decision_function(X)
    grow(path, 8)
    path.unlink()
    assert (model.decision_function(X) == expected).all()
    model.learn(X, ["owl"] * 20)
    model.save(path)
    assert Model.load(path).classes[-1] == "owl"


def test_the_current_state_alone_can_be_sent(path, tmp_path, capsys):
    sent = tmp_path / "sent.memoryless"
    code, out, err = call("export", str(path), str(sent), capsys=capsys)
    assert (code, err) == (0, "")
    assert str(sent) in out
    assert "6 classes" in out
    assert numbers(sent) == [3]
    assert load_state(sent).digest == load_state(path).digest
    assert list(check_file(sent)) == []
    with pytest.raises(WriteError, match="is there already: name another file, or add `force=T"):
        export_state(path, sent)
    with pytest.raises(ConfigError, match="is the model itself"):
        export_state(path, path, force=True)
    export_state(path, sent, force=True)
    grow(sent)
    assert numbers(sent) == [3, 4]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE class SET photos = photos + 1 WHERE state = 3",
        "UPDATE class SET name = 'x' WHERE state = 3 AND position = 0",
        "UPDATE state SET description = replace(description, '\"seed\":0', '\"seed\":1')",
        "UPDATE state SET done = 'x'",
        "DELETE FROM class WHERE state = 3 AND position = 5",
        "UPDATE part SET sha256 = (SELECT min(sha256) FROM part) WHERE state = 3",
        "DELETE FROM part WHERE state = 3 AND name = 'record'",
        "DELETE FROM blob",
        "UPDATE current SET state = 2",
        "DELETE FROM current",
        "INSERT INTO current SELECT * FROM current",
        "UPDATE state SET number = 'x' WHERE number = 3",
    ],
)
def test_a_changed_row_is_noticed(change, path):
    with closing(sqlite3.connect(path)) as db, db:
        try:
            db.execute(change)
        except sqlite3.Error:
            return  # SQLite keeps it out by itself
    assert list(check_file(path))
    with pytest.raises(StoreError):
        Model.load(path)


def test_the_newest_intact_state_is_offered(path):
    damage(path, "scorer", 3)
    with pytest.raises(StoreError) as error:
        Model.load(path)
    assert str(error.value).endswith(f"or go back by memoryless undo {path} --to 2")
    edit(path, "DELETE FROM blob")
    with pytest.raises(StoreError) as error:
        Model.load(path)
    assert str(error.value).endswith("restore it from a copy")


def answers(path: Path) -> bytes | None:
    """Classes and scores, or None where the file is refused."""
    try:
        model = Model.load(path)
        return repr(model.classes).encode() + model.decision_function(X).tobytes()
    except MemorylessError:
        return None


def every(number: int, seed: str) -> list:
    """A sample of positions in the fast tests, all of them under `fuzz`."""
    sample = random.Random(seed).sample(range(number), 150)
    return [pytest.param(sample, id="sample"),
            pytest.param(range(number), marks=pytest.mark.fuzz, id="all")]  # fmt: skip


SMALL = 36_864


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("small") / "m"
    grow(path, 2)
    content = path.with_suffix(".memoryless").read_bytes()
    assert len(content) == SMALL
    return content


@pytest.mark.parametrize("places", every(SMALL, "flip"))
def test_a_flipped_byte_is_noticed_or_without_effect(places, small, tmp_path):
    path = tmp_path / "m.memoryless"
    path.write_bytes(small)
    expected, noticed = answers(path), 0
    for place in places:
        changed = bytearray(small)
        changed[place] ^= 0x5A
        path.write_bytes(changed)
        found = answers(path)
        assert found in (None, expected), place
        noticed += found is None
        assert path.read_bytes() == bytes(changed)
    assert noticed > len(places) / 10
    assert [file.name for file in tmp_path.iterdir()] == ["m.memoryless"]


@pytest.mark.parametrize("lengths", every(SMALL, "cut"))
def test_a_truncated_file_is_noticed(lengths, small, tmp_path):
    path = tmp_path / "m.memoryless"
    for length in lengths:
        path.write_bytes(small[:length])
        assert answers(path) is None, length


def test_a_file_of_version_1_opens_for_ever():
    """Written by `grow(GOLDEN, 2)` when version 1 of the format was new."""
    assert GOLDEN.stat().st_size < 50_000
    model = Model.load(GOLDEN)
    assert model.classes == ("class 0", "class 1", "class 2", "class 3")
    assert model.counts == (10,) * 4
    assert numbers(GOLDEN) == [1, 2]
    assert model.predict([[0.0, 0, 0], [9, 9, 9]] * np.ones((2, 3))) == ["class 0", "class 2"]
    assert list(check_file(GOLDEN)) == []


def test_the_page_is_enough_to_read_a_model(tmp_path, tiny_backbone):
    """Its program knows SQLite, NumPy, JSON, safetensors and onnxruntime alone."""
    page = Path(__file__).parents[2].joinpath("docs", "model-file.md").read_text()
    names: dict = {}
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    assert "memoryless" not in code
    exec(compile(code, "model-file.md", "exec"), names)
    model = Model(**tiny_settings(tiny_backbone))
    model.learn(*draw_photos(0, 1))
    model.save(tmp_path / "m")
    photos = np.stack(draw_photos(0, 2)[0])
    classes, scores, known = names["read_model"](tmp_path / "m.memoryless", photos)
    judged = model.classify(photos)
    assert classes == ["class 0", "class 1"]
    temperature = load_state(tmp_path / "m").description.confidence.temperature
    assert np.allclose(scores * temperature, judged.scores, rtol=1e-4, atol=1e-5)
    assert (known == (judged.margin >= 0)).all()


def test_the_pages_tables_are_ours_and_its_questions_are_answered(path):
    page = Path(__file__).parents[2].joinpath("docs", "model-file.md").read_text()
    tables, questions = re.findall(r"```sql\n(.*?)```", page, flags=re.S)
    assert tuple(one.strip() for one in tables.split(";")[:-1]) == SCHEMA
    with closing(sqlite3.connect(path)) as db:
        known, done, sure = (db.execute(one).fetchall() for one in questions.split(";")[:-1])
    assert known[:2] == [("class 0", 10), ("class 1", 10)]
    assert [row[2] for row in done] == ["learn"] * 3
    assert sure[0][0] == "fixed+lda"


def test_a_file_as_bytes(path, tmp_path):
    """They are those of a file: with the current state alone, or with all."""
    for content, kept in ((state_bytes(path), [3]), (file_bytes(path), [1, 2, 3])):
        copy = tmp_path / "copy.memoryless"
        copy.write_bytes(content)
        assert list(check_file(copy)) == []
        assert numbers(copy) == kept
        assert load_state(copy).digest == load_state(path).digest
        found = state_of_bytes(content, "copy.memoryless")
        assert found.digest == load_state(path).digest
        assert (Model.of(found).decision_function(X) == Model.load(path).decision_function(X)).all()


def test_bytes_of_a_stranger_are_checked_as_a_file_is(path, tmp_path):
    content = state_bytes(path)
    edit(path, "CREATE TRIGGER t AFTER DELETE ON class BEGIN DELETE FROM blob; END")
    log = bytearray(content)
    log[18:20] = b"\2\2"  # a write-ahead log would lie beside it
    for wrong, why in (
        (b"", "is no model"),
        (b"a letter", "is no model"),
        (bytes(log), "is no model"),
        (content[: len(content) // 2], "is damaged"),
        (path.read_bytes(), "has other tables or settings"),
    ):
        with pytest.raises(StoreError, match=f"^north {why}"):
            state_of_bytes(wrong, "north")


def test_every_byte_of_a_stranger_that_changes_is_noticed_or_without_effect(path):
    content = state_bytes(path)
    digest = state_of_bytes(content, "north").digest
    for place in random.Random(0).sample(range(len(content)), 300):
        changed = bytearray(content)
        changed[place] ^= 0x55
        try:
            found = state_of_bytes(bytes(changed), "north")
        except StoreError:
            continue
        assert found.digest == digest
