"""Models as one file and back: the state that counts, byte by byte."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memoryless.card import card
from memoryless.errors import ConfigError, StoreError, WriteError
from memoryless.model_folder.apart import check_apart
from memoryless.model_folder.archive import archive_of, opened
from memoryless.model_folder.format import PARTS
from memoryless.model_folder.place import PLACE, writing
from memoryless.model_folder.saved import (
    Saved,
    current_line,
    load_state,
    read_current,
    read_sealed,
)
from memoryless.store import read_bytes, write_bytes

ENDING = ".memoryless"


@dataclass(frozen=True)
class Packed:
    """A model that was packed."""

    saved: Saved
    file: Path
    size: int


def pack(folder: Path, file: Path | None = None) -> Packed:
    """Write the state that counts as one file, by default beside the folder; earlier states are not
    in it.

    A file that is there already is left, and must be the same.
    """
    if opened(folder) is not folder:
        raise ConfigError(f"{folder} is packed already: copy the file")
    file = file or _beside(folder)
    _check_file(file)
    saved, files = read_whole(folder)
    content = archive_of(files)
    if not file.exists():
        write_bytes(file, content, "FILE")
    elif read_bytes(file) != content:
        raise WriteError(f"{file} is there already: name another file, or delete it first")
    return Packed(saved, file, len(content))


def _beside(folder: Path) -> Path:
    whole = folder if folder.name not in ("", "..") else folder.resolve()
    return whole.parent / f"{whole.name}{ENDING}"


def _check_file(file: Path) -> None:
    """Raise unless the file may be written."""
    if file.suffix != ENDING:
        raise ConfigError(f"{file} does not end in {ENDING}: name the file so")
    if file.is_dir():
        raise WriteError(f"{file} is a folder: name a file")
    check_apart(file)


def unpack(file: Path, folder: Path) -> Saved:
    """Make a folder, new or empty, of a packed model; every byte is checked first."""
    if not file.is_file():
        raise StoreError(f"{file} is no file: name one that memoryless pack wrote")
    saved, files = read_whole(file)
    with writing(folder) as place:
        if place.before:
            raise WriteError(f"{folder} holds a model already: choose another {PLACE}")
        return place.adopt(saved.number, files)


def read_whole(folder: Path) -> tuple[Saved, dict[str, bytes]]:
    """The state that counts in a folder or a packed file, checked, and what a folder of it alone
    would hold.
    """
    while True:
        saved = load_state(folder, parts=PARTS)
        try:
            return saved, _files(saved)
        except StoreError:
            if read_current(saved.folder) == (saved.number, saved.identity):
                raise  # else a writer has put another in its place


def _files(saved: Saved) -> dict[str, bytes]:
    """Every file of a state by its name in the folder, with the card as this version writes it."""
    state, backbone = f"states/{saved.number:04d}", saved.about["backbone"]
    digests = {f"{state}/model.json": saved.identity}
    for part, digest in saved.about["files"].items():
        digests[f"{state}/{part}.safetensors"] = digest
    if backbone:
        digests[f"backbones/{backbone['sha256']}.onnx"] = backbone["sha256"]
    sealed = {name: read_sealed(saved.folder / name, digest) for name, digest in digests.items()}
    return {
        "CURRENT": current_line(saved).encode(),
        "README.md": card(saved.about).encode(),
        **sealed,
    }
