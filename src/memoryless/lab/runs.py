"""Run folders: this module checks everything that is read from one.

docs/lab/reproduce.md lists the files. All but record and network are for the laboratory. Statistics
of earlier states are composed of births (statistics of a state's own classes) and drifts (how
features moved in a state), so a run's folder does not hold every class's covariance in every state.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from memoryless.errors import ConfigError, StoreError
from memoryless.lab.config import Config
from memoryless.lab.described import (
    FORMAT,
    Description,
    Results,
    Written,
    compared,
    decoded,
    encoded,
)
from memoryless.names import first_ten, in_words
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.methods import view_of
from memoryless.stats.record import EndOfState, Record
from memoryless.stats.scorers import Scorer, restore
from memoryless.stats.transports import TRANSPORTS, carry
from memoryless.store import LOCK, cannot_write, commit_folder, read_bytes, reading, write_bytes
from memoryless.strategies import STRATEGIES
from memoryless.tensors import from_bytes, part
from memoryless.train.checkpoint import Checkpoint

AGAIN = "delete the run's folder and run the same command again"
# Files that only the next state needs, so that only the last finished state keeps them.
TO_GO_ON = ("network.safetensors", "record.safetensors")
SUMS, RUN_JSON = "SHA256SUMS", "../../run.json"
OURS = {LOCK, "run.json.draft", "training.safetensors.draft"}


class RunFolder:
    """The folder of one run."""

    def __init__(self, path: Path):
        self.path = path
        self.checkpoint = path / "training.safetensors"
        self._results: dict[int, Results] = {}
        self.reading: Callable[[RunFolder, int], None] = lambda run, t: None
        """A listener, called before the arrays of a state are read, for progress."""

    @property
    def exists(self) -> bool:
        return (self.path / "run.json").is_file()

    @cached_property
    def about(self) -> Description:
        """The description of the run."""
        file = self.path / "run.json"
        content = read_bytes(file, fix=AGAIN)
        with reading(file, AGAIN):
            written = decoded(content, Written).format
        if written != FORMAT:
            raise StoreError(
                f"{file} was written by another version of memoryless (format {written}, not "
                f"{FORMAT}): {AGAIN}"
            )
        with reading(file, AGAIN):
            about = decoded(content, Description)
        if (sums := self.state(0) / SUMS).exists():
            self._check(content, file, _read_sums(sums))
        return about

    @cached_property
    def id(self) -> str:
        """A digest of the description: equal for two runs that must give the same results."""
        whole = [compared(self.about.config), *self.about.facts().values()]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    def _check(self, content: bytes, file: Path, sums: Mapping[str, str]) -> None:
        """Raise unless a file has the checksum that its state lists."""
        name = RUN_JSON if file.name == "run.json" else file.name
        if hashlib.sha256(content).hexdigest() != sums.get(name):
            raise StoreError(f"the file {file} is damaged (its checksum differs): {AGAIN}")

    def _read(self, t: int, name: str) -> bytes:
        """Return the content of a file that state t left."""
        file = self.state(t) / name
        content = read_bytes(file, fix=AGAIN)
        self._check(content, file, self._sums(t))
        return content

    def _sums(self, t: int) -> dict[str, str]:
        """Return the checksum of each file of state t and of run.json."""
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
                f"{states[-1]}, without a gap): {AGAIN}"
            )
        return len(names)

    @property
    def complete(self) -> bool:
        return self.exists and self.finished == len(self.about.sizes)

    def state(self, t: int) -> Path:
        return self.path / "states" / f"{t:02d}"

    def results(self) -> list[Results]:
        """Return every finished state's figures, of the methods that all states scored.

        A run that went on with other `methods` has some in a part of its states only.
        """
        states = [self._read_results(t) for t in range(self.finished)]
        scored = [state.methods for state in states]
        common = (
            [name for name in scored[0] if all(name in one for one in scored)] if scored else []
        )
        if states and not common:
            raise StoreError(f"no method was scored in all states of {self.path}: {AGAIN}")
        return [
            structs.replace(state, methods={n: state.methods[n] for n in common})
            for state in states
        ]

    def _read_results(self, t: int) -> Results:
        if t not in self._results:  # a committed state stays as it is
            file, sizes = self.state(t) / "results.json", self.about.sizes
            self._check_files(t)
            content = self._read(t, file.name)
            with reading(file, AGAIN):
                results = decoded(content, Results)
            if (results.state, results.classes_seen) != (t, sum(sizes[: t + 1])):
                raise StoreError(f"{file} belongs to another state or run: {AGAIN}")
            self._results[t] = results
        return self._results[t]

    def _check_files(self, t: int) -> None:
        """Raise unless the files that stay are there, and the state belongs to this run."""
        sums = self._sums(t)
        self._check(read_bytes(self.path / "run.json", fix=AGAIN), self.path / "run.json", sums)
        for name in sums.keys() - {RUN_JSON, *TO_GO_ON}:
            if not (self.state(t) / name).exists():
                raise StoreError(f"the file {self.state(t) / name} is missing: {AGAIN}")

    def holds(self, t: int, name: str) -> bool:
        """Return whether state t left a file of tensors of this name."""
        return f"{name}.safetensors" in self._sums(t)

    def arrays(self, t: int, name: str) -> dict[str, np.ndarray]:
        """Return a file of arrays that state t left."""
        return self.arrays_and_facts(t, name)[0]

    def arrays_and_facts(self, t: int, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return a file of arrays that state t left, and the facts in its header."""
        self.reading(self, t)
        self._read_results(t)
        return from_bytes(self._read(t, f"{name}.safetensors"))

    @contextmanager
    def fitting(self, t: int) -> Iterator[None]:
        """Turn an error about arrays of state t that do not fit into one sentence."""
        try:
            yield
        except (RuntimeError, LookupError, TypeError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise StoreError(f"{self.state(t)} does not fit ({reason}): {AGAIN}") from error

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
            f"{key} {in_words(there.get(key))} there, {in_words(here.get(key))} here"
            for key in here | there
            if here.get(key) != there.get(key)
        ]
        stored = self.about.facts()
        return differing + [f"other {k}" for k, fact in run.facts().items() if fact != stored[k]]

    @property
    def has_epochs(self) -> bool:
        """Whether anything was learned that going on could build upon."""
        if not self.exists or self.finished:
            return self.exists
        return bool(Checkpoint(self.checkpoint, self.id).read()[0])

    def start(self, run: Description) -> RunFolder:
        """Write the description unless the run has begun; return the folder to continue in."""
        if self.exists and not self._differing(run):
            return self
        _remove(self.checkpoint)  # of a run that `verify` found not worth keeping
        write_bytes(self.path / "run.json", encoded(run))
        return RunFolder(self.path)

    @property
    def leftovers(self) -> list[Path]:
        """Files that no one needs: drafts of killed writers, and arrays for a next state."""
        past = [self.state(t) / name for t in range(self.finished - 1) for name in TO_GO_ON]
        drafts = [self.path / name for name in OURS if name.endswith(".draft")]
        drafts += (self.path / "states").glob("*.draft")
        done = [self.checkpoint] if self.complete else []
        return [path for path in past + drafts + done if path.exists()]

    def tidy(self) -> None:
        """Remove the files that no one needs."""
        for path in self.leftovers:
            _remove(path)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read_sums(file: Path) -> dict[str, str]:
    """Return the checksums in a file that `sha256sum --check` understands, by name."""
    with reading(file, AGAIN):
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
    """Return every run in these folders, each a run or a folder of runs."""
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
    """Return the runs in these folders that have finished state 1, or an error if none has."""
    found = find_runs(places)
    later = [run for run in found if run.finished > 1]
    if later:
        return later
    if all(len(run.about.sizes) == 1 for run in found):
        raise ConfigError(
            "these runs have one state, and states are compared: name runs of several states"
        )
    raise ConfigError("these runs have not finished state 1: start memoryless run again")


def last_record(run: RunFolder) -> Record:
    """Return the record of the last finished state."""
    return Record.of(run.arrays(run.finished - 1, "record"), _fixed(run))


def read_rows(run: RunFolder, t: int) -> Record:
    """Return the part of the record that every strategy keeps, after state t."""
    return Record.of(run.arrays(t, "rows"), _fixed(run))


def _fixed(run: RunFolder) -> bool:
    """Return whether a run's features are fixed."""
    return not STRATEGIES[run.about.config.strategy].backbone_learns


def composable(config: Config) -> tuple[str, ...]:
    """Return the transports that births and drifts can give, whatever the record held."""
    if not STRATEGIES[config.strategy].backbone_learns:
        return ("none",)
    return tuple(n for n, t in TRANSPORTS.items() if not t.follows or n in config.transports)


def states_of(run: RunFolder) -> Iterator[EndOfState]:
    """Yield the end of each finished state, its statistics composed of births and drifts."""
    before: Record | None = None
    for t in range(run.finished):
        record = read_rows(run, t)
        if run.holds(t, "birth"):
            parts = run.arrays(t, "birth")
            drift = part(parts, "drift.") if before else None
            held = before.statistics if before else {}
            birth = ClassStatistics.restore(part(parts, "birth."), _fixed(run))
            carried = carry(held, birth, drift, composable(run.about.config))
            record = replace(record, statistics=carried)
        if t == run.finished - 1 and run.about.config.projection:  # kept by the last only
            record = replace(record, projection=last_record(run).projection)
        before = record
        yield _end_of_state(run, t, record)


def last_state(run: RunFolder) -> EndOfState:
    """Return the end of the last finished state."""
    return _end_of_state(run, run.finished - 1, last_record(run))


def _end_of_state(run: RunFolder, t: int, record: Record) -> EndOfState:
    fitted: dict[str, Scorer] = {}
    if run.holds(t, "fitted"):
        arrays, facts = run.arrays_and_facts(t, "fitted")
        fitted = {name: restore(kind, part(arrays, f"{name}.")) for name, kind in facts.items()}
    held_out = _pair(run, t, "held_out") if run.holds(t, "held_out") else None
    view = view_of(run.about.config, record.W.shape[1])
    return EndOfState(record, read_layer(run, t), fitted, held_out, view)


def read_layer(run: RunFolder, t: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and biases of the classification layer as trained in state t."""
    arrays = run.arrays(t, "layer")
    return arrays["W"], arrays["b"]


def read_test(run: RunFolder, t: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of the test images after state t."""
    return _pair(run, t, "test")


def _pair(run: RunFolder, t: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of a file."""
    arrays = run.arrays(t, name)
    return arrays["features"], arrays["labels"]
