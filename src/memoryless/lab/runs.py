"""Run folders: what a run wrote, whole states only.

run.json                    config, seed, class order, sizes, versions, commit, command
training.safetensors        the state in progress, after its last finished epoch
states/00/*.safetensors     what a state left (see states.py)
states/00/results.json      every method's figures, losses, seconds, bytes
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from memoryless.config import Config
from memoryless.errors import ConfigError, StoreError
from memoryless.store import read_json, write_json

FORMAT = 1
MEND = "delete the run's folder and run the same command again"
# Where the files lie and what computes does not make another experiment; data that do, show in
# their classes.
NOT_COMPARED = {"seeds", "output", "root", "device", "threads", "methods"}


def _plain(value: Any) -> Any:
    """As it comes back from a JSON file."""
    return json.loads(json.dumps(value))


def compared(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that make an experiment what it is."""
    idle = set()
    if config["statistics"] == "none":
        idle = {"transports"} if config["projection"] else {"transports", "level", "roots"}
    return {key: _plain(v) for key, v in config.items() if key not in NOT_COMPARED | idle}


# What a run that was made before a setting existed did.
DEFAULTS = {f.name: _plain(f.default) for f in fields(Config) if f.name != "output"}


class RunFolder:
    """A folder of one run; opens an existing one or starts it."""

    def __init__(self, path: Path):
        self.path = path
        self.checkpoint = path / "training.safetensors"

    @property
    def exists(self) -> bool:
        return (self.path / "run.json").is_file()

    def verify(self, config: dict[str, Any], facts: dict[str, Any]) -> None:
        """Raise unless the folder is free or holds this very run."""
        if not self.exists:
            if any(not name.endswith(".draft") for name in _names(self.path)):
                raise ConfigError(
                    f"{self.path} holds other files: choose another --output, or empty it"
                )
            return
        about = self.about
        there = about["config"]
        differing = [
            f"{key} {there.get(key)} there, {value} here"
            for key, value in compared(config).items()
            if value != there.get(key)
        ]
        differing += [f"other {key}" for key in facts if _plain(facts[key]) != about.get(key)]
        if differing:
            raise ConfigError(
                f"{self.path} holds another experiment ({'; '.join(differing)}): choose another "
                "--output, or delete that folder"
            )

    def start(self, config: dict[str, Any], seed: int, facts: dict[str, Any]) -> None:
        """Write down what the run is, unless it has begun before."""
        if not self.exists:
            about = {"format": FORMAT, "config": config, "seed": seed, **facts, **provenance()}
            write_json(self.path / "run.json", about)

    def tidy(self) -> None:
        """Remove what only the last state needs to go on, even if a run was killed before."""
        done = self.finished
        for t in range(done - 1):
            for name in ("network", "statistics"):
                (self.state(t) / f"{name}.safetensors").unlink(missing_ok=True)
        if done == len(self.about["sizes"]):
            self.checkpoint.unlink(missing_ok=True)

    @property
    def about(self) -> dict[str, Any]:
        about = read_json(self.path / "run.json", fix=MEND)
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise StoreError(f"{self.path / 'run.json'} is not of this version: {MEND}")
        about["config"] = DEFAULTS | about["config"]
        return about

    @property
    def finished(self) -> int:
        """How many states are committed."""
        folders = (self.path / "states").glob("[0-9]*[0-9]")
        return len([f for f in folders if f.is_dir()])

    def state(self, t: int) -> Path:
        return self.path / "states" / f"{t:02d}"

    def results(self) -> list[dict[str, Any]]:
        states = [read_json(self.state(t) / "results.json", fix=MEND) for t in range(self.finished)]
        if not all(isinstance(state, dict) and "methods" in state for state in states):
            raise StoreError(f"a results.json in {self.path} is not a run's: {MEND}")
        return states


def _names(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir()] if folder.exists() else []


def find_runs(places: Sequence[Path]) -> list[RunFolder]:
    """Every run in these folders, each a run or a folder of runs."""
    if not places:
        raise ConfigError(
            "name at least one run folder, before flags that take several words: RUN --methods FT"
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
