"""Run folders: what a run wrote, whole states only, with a checksum of each file.

run.json                    config, seed, class order, sizes, versions, commit, command
training.safetensors        the state in progress, after its last finished epoch
states/00/*.safetensors     what a state left (see states.py)
states/00/results.json      every method's figures, losses, seconds, bytes
states/00/SHA256SUMS        checksums of these files and of run.json, as `sha256sum` writes them
.lock                       held by the process that writes
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from memoryless.errors import ConfigError, StoreError
from memoryless.lab.config import Config
from memoryless.lab.run_format import (
    MEND,
    Description,
    Machine,
    Results,
    encoded,
    parsed,
    plain,
)
from memoryless.names import first_ten, in_words
from memoryless.store import cannot_write, commit_folder, read_bytes, reading, write_bytes
from memoryless.tensors import from_bytes
from memoryless.train.checkpoint import Checkpoint

# Settings that may differ between two commands that continue the same run: paths, devices, and what
# is scored. A change of the data is noticed by its facts.
NOT_COMPARED = {"seeds", "output", "root", "device", "threads", "methods"}
# What a run does not choose: it is not part of what the run is.
PROVENANCE = ("format", "config", "versions", "commit", "command", "machine", "started")
# Files that only the next state needs, so that only the last finished state keeps them.
TO_GO_ON = ("network.safetensors", "record.safetensors")
SUMS, RUN_JSON = "SHA256SUMS", "../../run.json"
OURS = {".lock", "run.json.draft", "training.safetensors.draft"}


def _told(value: Any) -> str:
    """The value of a setting as one would type it, if it has any."""
    return "not given" if value is None else in_words(value)


def compared(config: Config) -> dict[str, Any]:
    """The settings that make an experiment what it is."""
    idle = set()
    if config.statistics == "none":
        idle = {"transports"} if config.projection else {"transports", "level", "square_roots"}
    return {key: v for key, v in plain(config).items() if key not in NOT_COMPARED | idle}


class RunFolder:
    """A folder of one run: all that is read from it comes through here, and is checked."""

    def __init__(self, path: Path):
        self.path = path
        self.checkpoint = path / "training.safetensors"
        self._results: dict[int, Results] = {}
        self.reading: Callable[[RunFolder, int], None] = lambda run, t: None
        """A listener that is told of each state whose tensors are read: what takes time later."""

    @property
    def exists(self) -> bool:
        return (self.path / "run.json").is_file()

    @cached_property
    def about(self) -> Description:
        """What the run is."""
        file = self.path / "run.json"
        content = read_bytes(file, fix=MEND)
        about = parsed(content, Description, file)
        if (sums := self.state(0) / SUMS).exists():
            self._check(content, file, _read_sums(sums))
        return about

    @cached_property
    def id(self) -> str:
        """A digest of what the run is: the same for the same run, wherever and whenever made."""
        whole = [compared(self.about.config), *_facts(self.about).values()]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    def _check(self, content: bytes, file: Path, sums: Mapping[str, str]) -> None:
        """Raise unless a file's content is what its state lists."""
        name = RUN_JSON if file.name == "run.json" else file.name
        if hashlib.sha256(content).hexdigest() != sums.get(name):
            raise StoreError(f"the file {file} is damaged (its checksum differs): {MEND}")

    def _read(self, t: int, name: str) -> bytes:
        """The content of a file that state t left."""
        file = self.state(t) / name
        content = read_bytes(file, fix=MEND)
        self._check(content, file, self._sums(t))
        return content

    def _sums(self, t: int) -> dict[str, str]:
        """The checksum of each file of state t and of run.json."""
        return _read_sums(self.state(t) / SUMS)

    @property
    def finished(self) -> int:
        """How many states are committed."""
        names = {n for n in _names(self.path / "states") if n[0] != "." and n[-6:] != ".draft"}
        if not names:
            return 0
        states = [f"{t:02d}" for t in range(len(self.about.sizes))]
        if odd := names - set(states[: len(names)]):
            raise StoreError(
                f"{self.path / 'states' / min(odd)} does not belong there (states are 00 to "
                f"{states[-1]}, without a gap): {MEND}"
            )
        return len(names)

    @property
    def complete(self) -> bool:
        return self.exists and self.finished == len(self.about.sizes)

    def state(self, t: int) -> Path:
        return self.path / "states" / f"{t:02d}"

    def results(self) -> list[Results]:
        """Every finished state's figures, of the methods that all states scored.

        A run that went on with other `methods` has some in a part of its states only.
        """
        states = [self._read_results(t) for t in range(self.finished)]
        scored = [state.methods for state in states]
        common = (
            [name for name in scored[0] if all(name in one for one in scored)] if scored else []
        )
        if states and not common:
            raise StoreError(f"no method was scored in all states of {self.path}: {MEND}")
        return [replace(state, methods={n: state.methods[n] for n in common}) for state in states]

    def _read_results(self, t: int) -> Results:
        if t not in self._results:  # a committed state stays as it is
            file, sizes = self.state(t) / "results.json", self.about.sizes
            self._check_files(t)
            results = parsed(self._read(t, file.name), Results, file)
            if (results.state, results.classes_seen) != (t, sum(sizes[: t + 1])):
                raise StoreError(f"{file} is of another state or run: {MEND}")
            self._results[t] = results
        return self._results[t]

    def _check_files(self, t: int) -> None:
        """Raise unless the files that stay are there, and the state is of this run."""
        sums = self._sums(t)
        self._check(read_bytes(self.path / "run.json", fix=MEND), self.path / "run.json", sums)
        for name in sums.keys() - {RUN_JSON, *TO_GO_ON}:
            if not (self.state(t) / name).exists():
                raise StoreError(f"the file {self.state(t) / name} is missing: {MEND}")

    def holds(self, t: int, name: str) -> bool:
        """Whether state t left a file of tensors of this name."""
        return f"{name}.safetensors" in self._sums(t)

    def arrays(self, t: int, name: str) -> dict[str, np.ndarray]:
        """A file of arrays that state t left."""
        return self.arrays_and_facts(t, name)[0]

    def arrays_and_facts(self, t: int, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """A file of arrays that state t left, and the facts in its header."""
        self.reading(self, t)
        self._read_results(t)
        return from_bytes(self._read(t, f"{name}.safetensors"))

    def commit(self, t: int, results: Results, write: Callable[[Path], None]) -> None:
        """Make state t appear, with the files that `write` leaves in the folder it is given."""

        def fill(draft: Path) -> None:
            write(draft)
            (draft / "results.json").write_bytes(encoded(results))
            files = {path.name: path for path in sorted(draft.iterdir())}
            files[RUN_JSON] = self.path / "run.json"
            lines = [f"{_sha256(path)}  {name}\n" for name, path in files.items()]
            (draft / SUMS).write_text("".join(lines))

        commit_folder(self.state(t), fill)
        self.checkpoint.unlink(missing_ok=True)
        self.tidy()

    def verify(self, run: Description) -> None:
        """Raise unless the folder is free, or holds this very run or one without an epoch."""
        if not self.exists:
            # Where run.json is there by now, another process has begun, and the lock will say so.
            if other := sorted(_names(self.path) - OURS - {"run.json"}):
                raise StoreError(
                    f"{self.path} holds other files ({first_ten(other)}): choose another `output`, "
                    "or empty it"
                )
            return
        differing = self._differing(run)
        if differing and self.has_epochs:
            raise ConfigError(
                f"{self.path} holds another experiment ({'; '.join(differing)}): choose another "
                "`output`, or delete that folder"
            )
        if not differing:
            self.results()

    def _differing(self, run: Description) -> list[str]:
        here, there = compared(run.config), compared(self.about.config)
        differing = [
            f"{key} {_told(there.get(key))} there, {_told(here.get(key))} here"
            for key in here | there
            if here.get(key) != there.get(key)
        ]
        stored = _facts(self.about)
        return differing + [f"other {k}" for k, fact in _facts(run).items() if fact != stored[k]]

    @property
    def has_epochs(self) -> bool:
        """Whether anything was learned that going on could build upon."""
        if not self.exists or self.finished:
            return self.exists
        return bool(Checkpoint(self.checkpoint, self.id).read()[0])

    def start(self, run: Description) -> None:
        """Write down what the run is, unless it has begun before."""
        if self.exists and not self._differing(run):
            return
        _remove(self.checkpoint)  # of a run that `verify` found not worth keeping
        write_bytes(self.path / "run.json", encoded(run))
        vars(self).pop("about", None)
        vars(self).pop("id", None)

    @property
    def leftovers(self) -> list[Path]:
        """Files that no one needs: drafts of killed writers, and what only a next state reads."""
        past = [self.state(t) / name for t in range(self.finished - 1) for name in TO_GO_ON]
        drafts = [self.path / name for name in OURS if name.endswith(".draft")]
        drafts += (self.path / "states").glob("*.draft")
        done = [self.checkpoint] if self.complete else []
        return [path for path in past + drafts + done if path.exists()]

    def tidy(self) -> None:
        """Remove what no one needs, even if a run was killed before it could."""
        for path in self.leftovers:
            _remove(path)


def _facts(run: Description) -> dict[str, Any]:
    """What a run is beside its settings, as plain values."""
    return {key: v for key, v in plain(run).items() if key not in PROVENANCE}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read_sums(file: Path) -> dict[str, str]:
    """The checksums in a file that `sha256sum --check` understands, by name."""
    with reading(file, MEND):
        pairs = [line.split("  ", 1) for line in file.read_text("utf-8").splitlines()]
        return {name: digest for digest, name in pairs}


def _remove(path: Path) -> None:
    try:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def _names(folder: Path) -> set[str]:
    try:
        return {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    except PermissionError as error:
        raise StoreError(f"the folder {folder} may not be read: change its permissions") from error


def find_runs(places: Sequence[Path]) -> list[RunFolder]:
    """Every run in these folders, each a run or a folder of runs."""
    if not places:
        raise ConfigError(
            "name at least one run folder, such as runs/latest, before flags that take several "
            "words"
        )
    found: list[Path] = []
    for place in places:
        inside = sorted(p.parent for p in place.glob("**/run.json")) if place.is_dir() else []
        if not inside:
            raise ConfigError(
                f"there is no run in {place}: name a folder that memoryless run wrote"
            )
        found += inside
    return [RunFolder(path) for path in dict.fromkeys(path.resolve() for path in found)]


def find_later_runs(places: Sequence[Path]) -> list[RunFolder]:
    """The runs in these folders that have finished state 1, or an error if none has."""
    found = find_runs(places)
    later = [run for run in found if run.finished > 1]
    if later:
        return later
    if all(len(run.about.sizes) == 1 for run in found):
        raise ConfigError(
            "the runs there have one state, and states are what is compared: name runs of several"
        )
    raise ConfigError("the runs there have not finished state 1 yet: let memoryless run go on")


def provenance() -> dict[str, Any]:
    """What made the run: versions, commit, command, machine."""
    packages = ("memoryless", "torch", "numpy", "pillow", "safetensors")
    return {
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
        "commit": _commit(),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "machine": Machine(system=platform.platform(), cores=os.cpu_count()),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _commit() -> str | None:
    """The commit of the checkout this package runs from, if it runs from one."""
    checkout = Path(__file__).parents[3]
    if not (checkout / ".git").exists():
        return None
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        answer = subprocess.run(
            [*command, "--exclude=*"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
