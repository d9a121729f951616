"""Run folders: what a run wrote, whole states only.

run.json                    config, seed, class order, sizes, versions, commit, command
training.safetensors        the state in progress, after its last finished epoch
states/00/record.safetensors    all that is kept of the past
states/00/layer.safetensors     the classification layer as trained
states/00/test.safetensors      features and labels of the test images seen so far
states/00/network.safetensors   the whole network, of the last finished state only
states/00/results.json          every method's figures, losses, seconds, bytes
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from memoryless.errors import ConfigError
from memoryless.store import read_json, write_json

FORMAT = 1
# Where the files lie and what computes does not make another experiment.
NOT_COMPARED = {"seeds", "output", "root", "device", "threads"}


class RunFolder:
    """A folder of one run; opens an existing one or starts it."""

    def __init__(self, path: Path):
        self.path = path
        self.checkpoint = path / "training.safetensors"

    @property
    def exists(self) -> bool:
        return (self.path / "run.json").is_file()

    def open(self, config: dict[str, Any], seed: int, facts: dict[str, Any]) -> None:
        """Start the run, or check that the folder holds this very one."""
        if not self.exists:
            if self.path.exists() and any(self.path.iterdir()):
                raise ConfigError(
                    f"{self.path} holds other files: choose another --output, or empty it"
                )
            about = {"format": FORMAT, "config": config, "seed": seed, **facts, **provenance()}
            write_json(self.path / "run.json", about)
            return
        there = self.about["config"]
        differing = [
            f"{key} {there.get(key)} there, {value} here"
            for key, value in config.items()
            if key not in NOT_COMPARED and _plain(value) != there.get(key)
        ]
        differing += [
            f"another {key}"
            for key in ("classes", "sizes", "channels", "backbone_class")
            if _plain(facts[key]) != self.about[key]
        ]
        if differing:
            raise ConfigError(
                f"{self.path} holds another experiment ({'; '.join(differing)}): choose another "
                "--output, or delete that folder"
            )

    @property
    def about(self) -> dict[str, Any]:
        return read_json(self.path / "run.json")

    @property
    def finished(self) -> int:
        """How many states are committed."""
        folders = (self.path / "states").glob("[0-9]*[0-9]")
        return len([f for f in folders if f.is_dir()])

    def state(self, t: int) -> Path:
        return self.path / "states" / f"{t:02d}"

    def results(self) -> list[dict[str, Any]]:
        return [read_json(self.state(t) / "results.json") for t in range(self.finished)]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def find_runs(places: list[Path]) -> list[RunFolder]:
    """Every run in these folders, each a run or a folder of runs."""
    found = []
    for place in places:
        inside = sorted(p.parent for p in place.glob("**/run.json")) if place.is_dir() else []
        if not inside:
            raise ConfigError(
                f"there is no run in {place}: name a folder that memoryless run wrote"
            )
        found += [RunFolder(path) for path in inside]
    return found


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
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        answer = subprocess.run(
            [*command, "--abbrev=40", "--exclude=*"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
