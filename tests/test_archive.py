"""Packed models as zips: what is refused by name before anything is read, and what is not."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from folders import GRAPHS, save_toys
from memoryless.errors import StoreError
from memoryless.model_folder import check_folder, kept_states, load_state, pack
from memoryless.model_folder.archive import archive_of, is_packed, opened

FIX = "name a file that memoryless pack wrote"
Files = list[tuple[zipfile.ZipInfo | str, bytes]]


@pytest.fixture
def packed(tmp_path) -> Path:
    save_toys(tmp_path / "model", 2, graph=GRAPHS[0])
    return pack(tmp_path / "model").file


def files_of(packed: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(packed) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(packed: Path, files: Files) -> None:
    with zipfile.ZipFile(packed, "w") as archive:
        for entry, content in files:
            archive.writestr(entry, content)


def entry(name: str, **more: object) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    for key, value in more.items():
        setattr(made, key, value)
    return made


def refusal(packed: Path) -> str:
    with pytest.raises(StoreError) as caught:
        load_state(packed)
    assert check_folder(packed) == [str(caught.value)]
    assert not is_packed(packed)
    return str(caught.value)


def test_a_path_into_a_packed_model_is_used_as_one_into_a_folder(packed):
    folder, inside = packed.with_name("model"), opened(packed)
    assert str(inside) == str(packed)
    assert str(inside / "states" / "0002") == f"{packed}/states/0002"
    for name in ("CURRENT", "states/0002/model.json"):
        assert str(inside / name) == f"{packed}/{name}"
        assert (inside / name).read_bytes() == (folder / name).read_bytes()
    assert opened(inside) is inside
    assert opened(folder) is folder
    assert is_packed(packed) and not is_packed(folder) and not is_packed(folder / "x")


def test_equal_files_give_equal_bytes_and_nothing_of_the_machine(packed):
    files = files_of(packed)
    assert packed.read_bytes() == archive_of(dict(reversed(files.items())))
    with zipfile.ZipFile(packed) as archive:
        for told in archive.infolist():
            assert told.date_time == (1980, 1, 1, 0, 0, 0)
            assert (told.create_system, told.external_attr >> 16) == (3, 0o100644)
            assert (told.compress_type, told.extra, told.comment) == (0, b"", b"")


STRANGE = [
    "../evil", "/etc/passwd", "C:\\evil", "states\\0002\\model.json", "states/../CURRENT",
    "states/", "states/0002/", "states/0002/model.json/x", "states/2/model.json", "./CURRENT",
    "states/\u0660\u0660\u0660\u0662/model.json", "current", "CURRENT\x00.exe", "states/0002/a.py",
    f"backbones/{'0' * 63}.onnx", f"backbones/../../{'0' * 64}.onnx", ".lock", "a.jpg",
    "UNPACKING.draft",
]  # fmt: skip


def test_every_name_that_is_not_ours_is_refused(packed, tmp_path):
    files, before = files_of(packed), sorted(tmp_path.rglob("*"))
    for name in STRANGE:
        made = entry("x")
        made.filename = made.orig_filename = name
        rewrite(packed, [*files.items(), (made, b"evil")])
        assert refusal(packed) == f"{packed} holds {name}, which is no part of a model: {FIX}"
    assert sorted(tmp_path.rglob("*")) == before


def test_a_long_name_is_cut(packed):
    rewrite(packed, [("x" * 60_000, b"")])
    assert refusal(packed) == f"{packed} holds {'x' * 100}, which is no part of a model: {FIX}"


@pytest.mark.parametrize("attributes", [0o120777 << 16, 0o010644 << 16, 0x10], ids=oct)
def test_what_is_no_regular_file_is_refused(attributes, packed):
    """A link and a pipe of Unix, and a folder of DOS."""
    files = files_of(packed)
    link = entry("CURRENT", create_system=3, external_attr=attributes)
    rewrite(packed, [(link, b"/etc/passwd"), *list(files.items())[1:]])
    assert refusal(packed) == (
        f"{packed} holds CURRENT, which is a link or a folder there and no file: {FIX}"
    )


def test_bombs_are_refused_before_they_are_read(packed, monkeypatch):
    files = files_of(packed) | {"README.md": bytes(5_000_000)}
    deflated = [(entry(n, compress_type=zipfile.ZIP_DEFLATED), c) for n, c in files.items()]
    rewrite(packed, deflated)
    assert packed.stat().st_size < 50_000
    monkeypatch.setattr(zipfile.ZipFile, "open", None)  # nothing is read
    assert refusal(packed) == f"{packed} holds CURRENT compressed or encrypted: {FIX}"


def change_central(packed: Path, name: str, place: int, form: str, value: int) -> None:
    """Change a field of an entry in the central directory."""
    content = bytearray(packed.read_bytes())
    central = content.rindex(name.encode()) - 46
    assert content[central : central + 4] == b"PK\x01\x02"
    struct.pack_into(form, content, central + place, value)
    packed.write_bytes(content)


def test_encrypted_entries_are_refused(packed):
    change_central(packed, "CURRENT", 8, "<H", 1)
    assert refusal(packed) == f"{packed} holds CURRENT compressed or encrypted: {FIX}"


def test_sizes_that_differ_are_refused(packed):
    change_central(packed, "CURRENT", 24, "<L", 2**31)
    assert refusal(packed) == f"{packed} holds CURRENT compressed or encrypted: {FIX}"


def test_an_entry_that_claims_more_than_there_is_is_refused(packed):
    name = "states/0002/scorer.safetensors"
    for place in (20, 24):
        change_central(packed, name, place, "<L", 2**31)
    assert refusal(packed) == f"{packed} ends before {name} does: {FIX}"


def test_entries_that_share_bytes_are_refused(packed):
    """As in bombs that need no nesting."""
    change_central(packed, "README.md", 42, "<L", 0)
    assert refusal(packed) == f"{packed} holds README.md in the bytes of another file: {FIX}"


def test_a_name_that_stands_there_twice_is_refused(packed):
    files = files_of(packed)
    with pytest.warns(UserWarning, match="Duplicate name"):
        rewrite(packed, [*files.items(), ("CURRENT", files["CURRENT"])])
    assert refusal(packed) == f"{packed} holds CURRENT 2 times: {FIX}"


@pytest.mark.parametrize("number", [0, 2])
def test_there_is_exactly_one_state(number, packed):
    files = files_of(packed)
    other = {n.replace("0002", "0001"): c for n, c in files.items() if n.startswith("states/")}
    mine = {n: c for n, c in files.items() if number or not n.startswith("states/")}
    rewrite(packed, [*mine.items(), *(other.items() if number else [])])
    assert refusal(packed) == f"{packed} holds {number} states, not one: {FIX}"


@pytest.mark.parametrize("name", ["CURRENT", "README.md", "states/0002/model.json"])
def test_what_is_lacking_is_named(name, packed):
    rewrite(packed, [(n, c) for n, c in files_of(packed).items() if n != name])
    assert refusal(packed) == f"{packed} lacks {name}: {FIX}"


@pytest.mark.parametrize("name", ["states/0002/scorer.safetensors", "backbones"])
def test_what_the_state_needs_and_lacks_is_named(name, packed):
    gone = [n for n in files_of(packed) if n.startswith(name)]
    rewrite(packed, [(n, c) for n, c in files_of(packed).items() if n not in gone])
    told = f"the file {packed}/{gone[0]} is missing: restore it from a copy"
    assert check_folder(packed) == [told]
    with pytest.raises(StoreError) as caught:
        load_state(packed).graph()
    assert str(caught.value) == told


def put(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda packed: rewrite(packed, [*(files_of(packed) | {name: content}).items()])


def test_a_state_that_current_does_not_name_is_refused(packed):
    files = files_of(packed)
    put("CURRENT", files["CURRENT"].replace(b"0002", b"0001"))(packed)
    told = f"the file {packed}/CURRENT names state 1, which is missing: restore it from a copy"
    assert refusal_of_content(packed) == told
    put("CURRENT", b"0002 " + b"0" * 64 + b"\n")(packed)
    assert refusal_of_content(packed) == (
        f"the file {packed}/CURRENT is damaged, or {packed}/states/0002/model.json (they differ): "
        "restore it from a copy"
    )


def refusal_of_content(packed: Path) -> str:
    """No way back is offered, since a packed model has none."""
    with pytest.raises(StoreError) as caught:
        load_state(packed)
    return str(caught.value)


@pytest.mark.parametrize("content", [b"", b"a letter", b"PK\x05\x06" + bytes(18), b"PK"])
def test_a_file_that_is_something_else(content, tmp_path):
    file = tmp_path / "letter.memoryless"
    file.write_bytes(content)
    told = (
        f"{file} is no packed model: name the folder of a model, or a file that memoryless pack "
        "wrote"
    )
    assert refusal(file) == told
    with pytest.raises(StoreError) as caught:
        kept_states(file)
    assert str(caught.value) == told


def test_half_a_file_is_damaged(packed):
    packed.write_bytes(packed.read_bytes()[:1000])
    assert refusal(packed) == (
        f"the file {packed} is damaged (File is not a zip file): restore it from a copy"
    )


def test_a_file_that_may_not_be_read(packed, monkeypatch):
    def deny(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(io, "open", deny)
    with pytest.raises(StoreError) as caught:
        load_state(packed)
    assert str(caught.value) == f"the file {packed} may not be read: change its permissions"


def test_a_card_of_another_version_is_a_note(packed):
    packed.write_bytes(archive_of(files_of(packed) | {"README.md": b"# A model"}))
    (told,) = check_folder(packed)
    assert told.startswith(f"note: {packed}/README.md is not as this version would write it: ")


def test_bytes_that_no_reader_looks_at_are_checked_too(packed):
    """A reader does not mind, since what it reads is sound."""
    packed.write_bytes(packed.read_bytes()[:-2] + b"\x05\x00photo")
    assert load_state(packed).number == 2
    assert check_folder(packed) == [
        f"the file {packed} is damaged (a model is packed into other bytes): restore it from a copy"
    ]
