"""Run folders: what a run wrote, whole states only, each file bound to its run and place.

run.json                    config, seed, class order, sizes, versions, commit, command
training.safetensors        the state in progress, after its last finished epoch
states/00/*.safetensors     what a state left (see states.py)
states/00/results.json      every method's figures, losses, seconds, bytes, the state's files
.lock                       held by the process that writes
"""

from __future__ import annotations

import copy
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

from memoryless.errors import ConfigError, StoreError
from memoryless.lab.run_format import (
    FORMAT,
    MEND,
    TO_GO_ON,
    check_about,
    check_arrays,
    check_results,
)
from memoryless.names import first_ten, in_words
from memoryless.store import (
    cannot_write,
    parse_json,
    read_arrays,
    read_json,
    write_json,
)

# Settings that may differ between two commands that continue the same run: paths, devices, and what
# is scored. A change of the data is noticed by its facts.
NOT_COMPARED = {"seeds", "output", "root", "device", "threads", "methods"}
# What a run does not choose: it is not part of what the run is.
PROVENANCE = ("format", "config", "versions", "commit", "command", "machine", "started")
OURS = {".lock", "run.json.draft", "training.safetensors.draft"}


def _plain(value: Any) -> Any:
    """A value as it comes back from a JSON file."""
    return json.loads(json.dumps(value))


def _told(value: Any) -> str:
    """The value of a setting as one would type it, if it has any."""
    return "not given" if value is None else in_words(value)


def compared(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that make an experiment what it is."""
    idle = set()
    if config["statistics"] == "none":
        idle = {"transports"} if config["projection"] else {"transports", "level", "square_roots"}
    return {key: _plain(v) for key, v in config.items() if key not in NOT_COMPARED | idle}


class RunFolder:
    """A folder of one run: all that is read from it comes through here, and is checked."""

    def __init__(self, path: Path):
        self.path = path
        self.checkpoint = path / "training.safetensors"
        self._results: dict[int, dict[str, Any]] = {}
        self._sizes: dict[str, int] = {}  # of features, as the files read so far have them
        self.reading: Callable[[RunFolder, int], None] = lambda run, t: None
        """A listener that is told of each state whose tensors are read: what takes time later."""

    @property
    def exists(self) -> bool:
        return (self.path / "run.json").is_file()

    @cached_property
    def about(self) -> dict[str, Any]:
        """What the run is."""
        file = self.path / "run.json"
        written = parse_json(file, fix=MEND).get("format")  # other formats may have other seals
        if isinstance(written, int) and written != FORMAT:
            raise StoreError(
                f"{file} was written by another version of memoryless (format {written}, not "
                f"{FORMAT}): {MEND}"
            )
        about = read_json(file, bound="run.json", fix=MEND)
        check_about(about, file)
        return about

    @cached_property
    def id(self) -> str:
        """A digest of what the run is: the same for the same run, wherever and whenever made."""
        facts = {key: value for key, value in self.about.items() if key not in PROVENANCE}
        whole = facts | {"config": compared(self.about["config"])}
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    def place(self, name: str, t: int | None = None) -> str:
        """Where a file belongs, in the run or in its state t: what the file is bound to."""
        return f"{self.id}/{name}" if t is None else f"{self.id}/states/{t:02d}/{name}"

    @property
    def finished(self) -> int:
        """How many states are committed."""
        names = {n for n in _names(self.path / "states") if n[0] != "." and n[-6:] != ".draft"}
        if not names:
            return 0
        states = [f"{t:02d}" for t in range(len(self.about["sizes"]))]
        if odd := names - set(states[: len(names)]):
            raise StoreError(
                f"{self.path / 'states' / min(odd)} does not belong there (states are 00 to "
                f"{states[-1]}, without a gap): {MEND}"
            )
        return len(names)

    @property
    def complete(self) -> bool:
        return self.exists and self.finished == len(self.about["sizes"])

    def state(self, t: int) -> Path:
        return self.path / "states" / f"{t:02d}"

    def results(self) -> list[dict[str, Any]]:
        """Copies of every finished state's figures, of the methods that all states scored.

        A run that went on with other `methods` has some in a part of its states only.
        """
        states = [copy.deepcopy(self._read_results(t)) for t in range(self.finished)]
        scored = [state["methods"] for state in states]
        for state in states:
            common = [name for name in state["methods"] if all(name in one for one in scored)]
            state["methods"] = {name: state["methods"][name] for name in common}
        if states and not states[0]["methods"]:
            raise StoreError(f"no method was scored in all states of {self.path}: {MEND}")
        return states

    def _read_results(self, t: int) -> dict[str, Any]:
        if t not in self._results:  # a committed state stays as it is
            file = self.state(t) / "results.json"
            results = read_json(file, bound=self.place("results.json", t), fix=MEND)
            check_results(results, self.about, t, file)
            self._results[t] = results
        return self._results[t]

    def holds(self, t: int, name: str) -> bool:
        """Whether state t left a file of tensors of this name."""
        return f"{name}.safetensors" in self._read_results(t)["files"]

    def arrays(self, t: int, name: str) -> dict[str, np.ndarray]:
        """A file of arrays that state t left."""
        return self.arrays_and_facts(t, name)[0]

    def arrays_and_facts(self, t: int, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """A file of arrays that state t left, and the facts in its header."""
        self.reading(self, t)
        file = self.state(t) / f"{name}.safetensors"
        arrays, facts = read_arrays(file, bound=self.place(file.name, t), fix=MEND)
        sizes = self.about["sizes"][: t + 1]
        known = {"N": sum(sizes), "new": sizes[t], "past": sum(sizes[:t]), "states": t + 1}
        class_state = np.repeat(np.arange(t + 1), sizes)
        self._sizes |= known | {"tests": self._read_results(t)["test_images"]}
        for problem in check_arrays(name, arrays, self._sizes, class_state):
            raise StoreError(f"the file {file} does not fit its run: {problem}: {MEND}")
        return arrays, facts

    def verify(self, config: dict[str, Any], facts: dict[str, Any]) -> None:
        """Raise unless the folder is free, or holds this very run or one without an epoch."""
        if not self.exists:
            # Where run.json is there by now, another process has begun, and the lock will tell.
            if other := sorted(_names(self.path) - OURS - {"run.json"}):
                raise StoreError(
                    f"{self.path} holds other files ({first_ten(other)}): choose another `output`, "
                    "or empty it"
                )
            return
        differing = self._differing(config, facts)
        if differing and self.has_epochs:
            raise ConfigError(
                f"{self.path} holds another experiment ({'; '.join(differing)}): choose another "
                "`output`, or delete that folder"
            )
        if not differing:
            self.results()

    def _differing(self, config: dict[str, Any], facts: dict[str, Any]) -> list[str]:
        here, there = compared(config), compared(self.about["config"])
        differing = [
            f"{key} {_told(there.get(key))} there, {_told(here.get(key))} here"
            for key in here | there
            if here.get(key) != there.get(key)
        ]
        return differing + [
            f"other {key}" for key in facts if _plain(facts[key]) != self.about[key]
        ]

    @property
    def has_epochs(self) -> bool:
        """Whether anything was learned that going on could build upon."""
        if not self.exists or self.finished:
            return self.exists
        try:
            return bool(read_arrays(self.checkpoint, bound=self.place(self.checkpoint.name)))
        except StoreError:  # absent, damaged, or of another run
            return False

    def start(self, config: dict[str, Any], facts: dict[str, Any]) -> None:
        """Write down what the run is, unless it has begun before."""
        if self.exists and not self._differing(config, facts):
            return
        _remove(self.checkpoint)  # of a run that `verify` found not worth keeping
        about = {"format": FORMAT, "config": config, **facts, **provenance()}
        write_json(self.path / "run.json", about, bound="run.json")
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
    if all(len(run.about["sizes"]) == 1 for run in found):
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
        "machine": {"system": platform.platform(), "cores": os.cpu_count()},
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
