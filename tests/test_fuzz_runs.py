"""Whatever is done to a run folder, commands refuse it in one line or show the same numbers."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from conftest import make_photos
from memoryless.cli import main
from memoryless.lab.runs import RunFolder
from memoryless.store import write_json

FLAGS = (
    "--data folder --root photos --image-size 8 --width 2 --states 3 --epochs 1 --batch-size 4 "
    "--lr 0.01 --statistics full --held-out 0.2 --threads 1 --device cpu"
).split()
RUN = Path("runs/latest/seed-0")
COMMANDS = {
    "run": ["run", "--no-control", *FLAGS],
    "table": ["table", "runs", "--write", "table.json"],
    "rescored": ["table", "runs", "--methods", "finetune+lda+linear", "--write", "rescored.json"],
    "typology": ["table", "runs", "--show", "typology", "--write", "typology.json"],
    "paired": ["table", "runs", "--show", "paired", "--write", "paired.json"],
    "sets": ["table", "runs", "--show", "data", "--write", "sets.json"],
    "compare": ["compare", "runs", "--heads", "siw", "rda", "fetril", "--write", "compare.json"],
    "figures": ["figures", "runs", "--formats", "svg", "--output", "figures"],
    "report": ["report", "runs"],
}
QUICK = ("run", "table", "rescored", "typology", "paired", "sets")
SLOW = ("compare", "figures", "report")
GARBAGE = {"a": [{"b": None}, 3.5, "x"]}
REMOVED = object()
# Whose entries are content: which there are, only the checksum can tell.
TABLES = ("methods", "bytes.record", "versions", "files")
# Told in a report, and no part of what a run is.
SETTINGS = "seeds|output|root|device|threads|methods"
FREE = rf"(command|versions|machine|commit|started|config\.({SETTINGS}))\b"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A working folder with photos and a run."""
    torch.set_num_threads(1)
    place = tmp_path_factory.mktemp("fuzz")
    make_photos(place / "photos")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(COMMANDS["run"]) == 0
    return place


@pytest.fixture
def place(made, monkeypatch) -> Path:
    """The working folder, whose run is put back as it was."""
    monkeypatch.chdir(made)
    shutil.copytree(RUN, "kept")
    yield made
    shutil.rmtree(RUN)
    Path("kept").rename(RUN)


class Asked:
    """What commands say of the folder, compared with what they said of it whole."""

    def __init__(self, capsys, names: Sequence[str] = tuple(COMMANDS)):
        self.capsys = capsys
        self.whole = {name: self.numbers(name) for name in names if self.call(name) == 0}
        assert set(self.whole) == set(names)

    def call(self, name: str) -> int:
        code = main(COMMANDS[name])
        self.err = self.capsys.readouterr().err
        return code

    def numbers(self, name: str) -> Any:
        """All that a command shows, from what it wrote."""
        if name in ("run", "figures"):
            return {p.name: p.read_bytes() for p in Path("figures").glob("*") if name == "figures"}
        if name == "report":
            return re.findall(r"<table.*?</table>", Path("report.html").read_text(), flags=re.S)
        return json.loads(Path(COMMANDS[name][-1]).read_text())

    def check(self, what: str, names: Sequence[str], entry_of_a_table: bool = False) -> bool:
        """Whether a change was accepted by all of these commands, without another number."""
        codes = {}
        for name in self.whole.keys() & set(names):
            codes[name] = self.call(name)
            assert codes[name] in (0, 2, 3), f"{what}, {name}: exit code {codes[name]}"
            if codes[name]:
                assert re.fullmatch(r"memoryless: .+\n", self.err), f"{what}, {name}: {self.err}"
            elif not entry_of_a_table:
                assert self.err == "", f"{what}, {name}"
                assert self.numbers(name) == self.whole[name], f"{what}, {name}: other numbers"
        return not any(codes.values())


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything in a JSON value; of methods to the first, and one of statistics."""
    items: list[tuple[Any, Any]] = []
    if isinstance(content, dict):
        items = list(content.items())
        if path == ("methods",):
            items = [item for item in items if item[0] in ("FT", "finetune+lda+linear")]
    elif isinstance(content, list):
        items = list(enumerate(content))
    for key, value in items:
        yield (*path, key)
        yield from leaves(value, (*path, key))


def retyped(value: Any) -> Any:
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, list):
        return {str(i): item for i, item in enumerate(value)}
    return str(value) if isinstance(value, int | float) else 7


def emptied(value: Any) -> Any:
    return type(value)() if isinstance(value, list | dict) else value


CHANGES: dict[str, Callable[[Any], Any]] = {
    "removed": lambda value: REMOVED,
    "emptied": emptied,
    "retyped": retyped,
    "null": lambda value: None,
    "huge": lambda value: 10**400,
    "garbage": lambda value: GARBAGE,
}


def changed(content: Any, path: tuple[Any, ...], change: str) -> Any:
    made = copy.deepcopy(content)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    value = CHANGES[change](inner[path[-1]])
    if value is REMOVED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return made


JSON_FILES = ["run.json", *(f"states/0{t}/results.json" for t in range(3))]


def json_changes(every: int = 1) -> Iterator[tuple[str, str, Callable[[], None], bool]]:
    """File, description, what writes it with the checksum made right, and whether it is content."""
    folder = RunFolder(RUN)
    number = 0
    for name in JSON_FILES:
        states = folder.results()
        t = None if name == "run.json" else int(name.split("/")[1])
        content = folder.about if t is None else states[t]
        bound = "run.json" if t is None else folder.place("results.json", t)
        for path in leaves(content):
            for change in CHANGES:
                number += 1
                spoilt = changed(content, path, change)
                if number % every or spoilt == content:
                    continue
                dotted = ".".join(map(str, path))
                table = dotted if change == "emptied" else ".".join(map(str, path[:-1]))
                entry = table in TABLES or bool(re.match(FREE, dotted))

                def write(name=name, spoilt=spoilt, bound=bound):
                    write_json(RUN / name, spoilt, bound=bound)

                yield name, f"{name}: {dotted} {change}", write, entry


def put_back(name: str) -> None:
    shutil.copy(Path("kept") / name, RUN / name)


def try_json(asked: Asked, every: int, wide: int) -> list[str]:
    """Every n-th change of a leaf; gives those that were accepted.

    Commands that draw are asked at every `wide`-th change, and of what the others accept once for
    each kind.
    """
    accepted, kinds = [], set()
    for i, (name, what, write, entry) in enumerate(json_changes(every)):
        write()
        kind = re.sub(r"\.[^.]+ (?=\w+$)", " ", what)
        if asked.check(what, QUICK, entry):
            accepted.append(what)
        if i % wide == 0 or (what in accepted and kind not in kinds):
            kinds.add(kind)
            asked.check(what, SLOW, entry)
        file = RUN / name
        spoilt = json.loads(file.read_text()) | {"sha256": "0" * 64}
        file.write_text(json.dumps(spoilt))
        asked.check(f"{what}, checksum wrong", ("run", "table", "rescored"))
        assert asked.call("table") == 3, what
        put_back(name)
    return accepted


TEXTS = (b"[]", b"null", b"[" * 10**5, b'{"a": ' + b"1" * 5000 + b"}", b"\xff\xfe{")


def file_changes(name: Path) -> Iterator[tuple[str, Callable[[Path], Any]]]:
    """What can happen to one file."""
    yield "removed", Path.unlink
    yield "emptied", lambda file: file.write_bytes(b"")
    yield "cut", lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    yield "shortened", lambda file: file.write_bytes(file.read_bytes()[:-2])
    yield "a folder", lambda file: (file.unlink(), file.mkdir())
    for text in TEXTS if name.suffix == ".json" else ():
        yield f"{text[:9]!r}", lambda file, t=text: file.write_bytes(t)
    for t in range(3):
        other = Path("kept", "states", f"{t:02d}", name.name)
        if other.exists() and other != "kept" / name:
            yield f"that of state {t}", lambda file, o=other: shutil.copy(o, file)


def try_files(asked: Asked, every: int, wide: int) -> list[str]:
    kept = Path("kept")
    files = sorted(p.relative_to(kept) for p in kept.rglob("*") if p.is_file())
    tried = [(file, *change) for file in files for change in file_changes(file)]
    accepted = []
    for i, (file, what, spoil) in enumerate(tried[::every]):
        spoil(RUN / file)
        if asked.check(f"{file}: {what}", QUICK):
            accepted.append(f"{file}: {what}")
        if i % wide == 0 or accepted[-1:] == [f"{file}: {what}"]:
            asked.check(f"{file}: {what}", SLOW)
        if (RUN / file).is_dir():
            (RUN / file).rmdir()
        put_back(str(file))
    return accepted


def test_a_sample_of_changes(place, capsys):
    asked = Asked(capsys, QUICK)
    try_json(asked, every=211, wide=1)
    try_files(asked, every=23, wide=1)


@pytest.mark.fuzz
def test_every_change_of_every_leaf(place, capsys):
    accepted = try_json(Asked(capsys), every=1, wide=20)
    for what in accepted:
        name, leaf, _ = re.fullmatch(r"(\S+): (.+) (\w+)", what).groups()  # type: ignore[union-attr]
        free = re.match(FREE, leaf) if name == "run.json" else re.match("|".join(TABLES), leaf)
        assert free or leaf.startswith("history"), what


@pytest.mark.fuzz
def test_every_change_of_every_file(place, capsys):
    accepted = try_files(Asked(capsys), every=1, wide=20)
    for what in accepted:
        assert re.match(r"\.lock|states/02/(network|record)\.", what), what
