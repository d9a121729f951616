"""Models of a stranger's making run no code, load no torch, and take little memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from databases import put_arrays, put_description, put_part, put_text
from hostile_models import RAW, TEXTS, WRONG, asking_for_a_terabyte, reading_a_secret
from memoryless import Model
from photo_toys import draw_photos, tiny_settings

MEGABYTES = 256
LOADED = """
import json, pickle, resource, sys
from pathlib import Path
import numpy as np
from memoryless.errors import MemorylessError
from memoryless.model import Model
from memoryless.model.file import check_file

FORBIDDEN = {"pickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "torch"}
EVENTS = ("pickle.", "marshal.", "exec", "compile", "code.", "ctypes.", "os.system", "os.exec",
          "os.fork", "os.posix_spawn", "subprocess.", "socket.", "shutil.", "os.remove")

PHOTO = np.full((20, 20, 3), 99, np.uint8)

def answer(path):
    problems = []
    try:
        problems += check_file(path)
    except MemorylessError as error:
        problems.append(str(error))
    try:
        Model.load(path).predict([PHOTO])
    except MemorylessError as error:
        problems.append(str(error))
    return problems

def guard(event, details):
    if event.startswith(EVENTS) or (event == "import" and details[0].split(".")[0] in FORBIDDEN):
        raise SystemExit(f"{event} {details}")

megabytes, provocation, honest, *hostile = sys.argv[1:]
exec(f"def provoke(): {provocation}")
assert answer(honest) == []
answer(hostile[0])  # what its sentence needs is imported now
for name in FORBIDDEN:
    sys.modules[name] = None
sys.addaudithook(guard)
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + int(megabytes) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
provoke()
print(json.dumps({path: answer(path) for path in [honest, *hostile]}))
"""


def load(paths: list[Path], provocation: str = "pass") -> subprocess.CompletedProcess[str]:
    """Check, load and predict in a process that may take little more memory than for the first."""
    command = [sys.executable, "-c", LOADED, str(MEGABYTES), provocation, *map(str, paths)]
    alone = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=alone)


@pytest.fixture(scope="module")
def honest(tmp_path_factory, tiny_backbone) -> Path:
    model = Model(**tiny_settings(tiny_backbone))
    model.learn(*draw_photos(0, 1))
    path = tmp_path_factory.mktemp("honest") / "m.memoryless"
    model.save(path)
    return path


def corpus(graph: bytes) -> dict[str, Callable[[Path], None]]:
    """What makes a hostile model of an honest one, by what it has."""
    made: dict[str, Callable[[Path], None]] = {}
    for name, content in RAW.items():
        for part in ("scorer", "record", "features"):
            made[f"{part}: {name}"] = lambda path, x=(part, content): put_part(path, *x)
    for name, (part, arrays, _) in WRONG.items():
        made[name] = lambda path, x=(part, arrays): put_arrays(path, x[0], **x[1])
    for text in TEXTS:
        made[f"description: {text[:9]}"] = lambda path, x=text: put_text(path, x)
    made["a record of 8 PB"] = lambda path: put_description(path, record={"mean": 2**53})
    for change in (reading_a_secret, asking_for_a_terabyte):
        made[change.__name__] = lambda path, x=change: put_part(path, "features", x(graph))
    for cut in (100, 5000, 20_000):
        made[f"{cut} bytes"] = lambda path, x=cut: path.write_bytes(path.read_bytes()[:x])
    return made


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc, and limits memory")
def test_hostile_models_run_nothing_and_take_little_memory(honest, tmp_path):
    paths = {}
    for i, (name, change) in enumerate(corpus(Model.load(honest)._current.graph).items()):
        paths[name] = Path(shutil.copy(honest, tmp_path / f"{i}.memoryless"))
        change(paths[name])
    done = load([honest, *paths.values()])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found[str(honest)] == []
    assert [name for name, path in paths.items() if not found[str(path)]] == []


PROVOKED = {
    "import torch": "import ('torch'",
    "import pickle": "import ('pickle'",
    "pickle.loads(b'cos\\nsystem\\n.')": "pickle.find_class",
    "sys.modules['_frozen_importlib_external'].marshal.loads(b'N')": "marshal.loads",
    "np.ones(2**40)": "MemoryError",
    "eval('1')": "compile",
}


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc, and limits memory")
@pytest.mark.parametrize("code", PROVOKED)
def test_the_guard_would_notice(code, honest):
    done = load([honest, honest], code)
    assert done.returncode != 0
    assert PROVOKED[code] in done.stderr
