"""Runs in processes of their own, which can be killed or started at once.

A process that has loaded torch waits for jobs on its standard input and forks for each, so that a
run costs no start of the interpreter.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Ended:
    """How a process ended: its exit code, or minus the signal, and what it said."""

    code: int
    out: str
    err: str


class Forks:
    """The process that forks, as seen from a test."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def run(self, *words: str, **more: Any) -> Ended:
        """One `memoryless` command; see `job` for `more`."""
        return self.run_all([list(words)], **more)[0]

    def run_all(self, commands: Sequence[Sequence[str]], **more: Any) -> list[Ended]:
        """Commands at once."""
        assert self.server.stdin
        assert self.server.stdout
        job = {"commands": commands, "folder": str(self.folder), **more}
        self.server.stdin.write(json.dumps(job) + "\n")
        self.server.stdin.flush()
        return [Ended(**ended) for ended in json.loads(self.server.stdout.readline())]

    def close(self) -> None:
        self.server.communicate()


def job(
    commands: Sequence[Sequence[str]],
    folder: str,
    die_at: Sequence[int] = (),
    kill_after: float | None = None,
    delay: float = 0.0,
) -> list[dict[str, Any]]:
    """Run commands at once, each after one more `delay` than the one before.

    `die_at` = [state] kills a run by SIGKILL when that state is committed, [state, epoch] in that
    epoch, `kill_after` after so many seconds.
    """
    pids = []
    for i, words in enumerate(commands):
        pid = os.fork()
        if pid == 0:
            child(words, Path(folder), i, die_at, i * delay)
        pids.append(pid)
    if kill_after is not None:
        time.sleep(kill_after)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    files = [[Path(folder) / f"{i}.{name}" for name in ("out", "err")] for i in range(len(pids))]
    return [
        {"code": code, "out": out.read_text(), "err": err.read_text()}
        for code, (out, err) in zip(codes, files, strict=True)
    ]


def child(
    words: Sequence[str], folder: Path, number: int, die_at: Sequence[int], delay: float
) -> None:
    code = 70
    try:
        for descriptor, name in ((1, "out"), (2, "err")):
            file = os.open(folder / f"{number}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, descriptor)
        time.sleep(delay)
        code = command(words, list(die_at))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def command(words: Sequence[str], die_at: list[int]) -> int:
    from memoryless.cli import main
    from memoryless.progress import Display

    class Dying(Display):
        def training(self, progress):
            if [progress.state, progress.epoch] == die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            super().training(progress)

        def state_finished(self, results):
            if [results.state] == die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            super().state_finished(results)

    import memoryless.progress

    memoryless.progress.Display = Dying
    return main(words)


def serve() -> None:
    import torch

    from memoryless.images.sources import SOURCES, Source
    from memoryless.lab.config import Config
    from memoryless.lab.experiment import run

    sys.path.insert(0, str(Path(__file__).parent))
    from conftest import make_toy

    torch.set_num_threads(1)
    SOURCES["toy"] = Source(lambda settings: make_toy(), 8)
    with tempfile.TemporaryDirectory() as place:  # what torch loads only when it is used
        run(Config(states="2", width=2, epochs=1, output=Path(place) / "out"), make_toy())
    for line in sys.stdin:
        ended = job(**json.loads(line))
        print(json.dumps(ended), flush=True)


if __name__ == "__main__":
    serve()
