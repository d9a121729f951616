"""The folder of a model: its page is enough to read it, growth is known, kills lose nothing."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from folders import content, describe_toy, draw_toy, save_toy, save_toys
from memoryless import Model
from memoryless.errors import WriteError
from memoryless.model_folder import (
    check_folder,
    kept_states,
    load_state,
    pack,
    save_state,
    switch,
    writing,
)
from photo_toys import draw_photos, tiny_settings

TESTS = Path(__file__).parent
KILLS = int(os.environ.get("MEMORYLESS_KILLS", "100"))


@pytest.mark.parametrize("packed", [False, True])
def test_the_page_is_enough_to_read_a_model(packed, tmp_path, tiny_backbone):
    """Its program knows NumPy, JSON, safetensors and onnxruntime alone."""
    page = (TESTS.parent / "docs" / "model-format.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    assert "memoryless" not in code.replace("model.memoryless", "")
    names: dict = {}
    exec(compile(code, "model-format.md", "exec"), names)
    folder, model = tmp_path / "model", Model(**tiny_settings(tiny_backbone))
    model.learn(*draw_photos(0, 1))
    model.save(folder)
    place = pack(folder).file if packed else folder
    photos = np.stack(draw_photos(0, 2)[0])
    classes, scores, known = names["read_model"](place, photos)
    assert classes == ["class 0", "class 1"]
    temperature = load_state(folder).about["confidence"]["temperature"]
    judged = model.judge(photos)
    assert np.allclose(scores * temperature, judged.scores, rtol=1e-4, atol=1e-5)
    assert (known == (judged.margin >= 0)).all()


def test_growth_is_known(tmp_path):
    """Bytes are a + b classes + c states, from 5 to 5,000 classes."""
    rows, sizes = [], []
    for classes in (5, 50, 500, 5000):
        for states in (1, 3, 5):
            folder = tmp_path / f"{classes}-{states}"
            save_state(folder, describe_toy(classes, states), draw_toy(classes, d=8), None)
            rows.append([1, classes, states])
            sizes.append(sum(map(len, content(folder).values())))
    (a, b, c), *_ = np.linalg.lstsq(np.array(rows, float), np.array(sizes, float), rcond=None)
    fitted = np.array(rows) @ [a, b, c]
    assert np.abs(fitted / sizes - 1).max() < 0.05
    arrays = 8 + 8 * 8 + 4 * 9  # count, mean, row
    assert arrays < b < arrays + 120  # names, counts and states, in model.json and in the card
    assert c < 300


def test_history_bounds_growth(tmp_path):
    saved = save_toys(tmp_path, 6)
    size = sum(map(len, content(tmp_path).values()))
    for seed in range(4):
        saved = save_toy(tmp_path, saved, seed)
    assert sum(map(len, content(tmp_path).values())) <= size + 200  # numbers and a parent's digest


HOLD = """
import os, sys, time
from pathlib import Path
from memoryless.model_folder import writing
with writing(Path(sys.argv[1])):
    if sys.argv[2] == "fork":
        os.fork() or (time.sleep(60), os._exit(0))
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(params=["alone", "fork"])
def holder(request, tmp_path) -> Iterator[subprocess.Popen]:
    """A process that holds the folder, alone or with a child that outlives it."""
    save_toy(tmp_path)
    command = [sys.executable, "-c", HOLD, str(tmp_path), request.param]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_one_process_writes_and_its_end_frees_the_folder(holder, tmp_path):
    saved = load_state(tmp_path)  # readers do not wait
    for action in (lambda: save_toy(tmp_path, saved), lambda: switch(tmp_path, 1)):
        started = time.perf_counter()
        with pytest.raises(WriteError) as caught:
            action()
        assert time.perf_counter() - started < 1
        assert str(caught.value) == (
            f"another process (pid {holder.pid} on {socket.gethostname()}) is writing in "
            f"{tmp_path}: wait for it, or choose another MODEL"
        )
    holder.kill()
    holder.wait()
    assert _saved_soon(tmp_path).number == 2


def _saved_soon(folder: Path):
    """A child that was just forked may not have had its first moment yet."""
    for _ in range(100):
        with suppress(WriteError):
            return save_toy(folder, load_state(folder))
        time.sleep(0.05)
    raise AssertionError("the folder is not free")


SAVES = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from folders import save_toy, GRAPHS
from memoryless.model_folder import load_state, switch
folder = Path(sys.argv[2])
saved = load_state(folder)
print("begun", flush=True)
while True:
    more = {"graph": GRAPHS[saved.number % 2], "history": 1, "forgets": saved.number % 4 == 0}
    saved = save_toy(folder, saved, saved.number + 1, **more)
    print(saved.number, flush=True)
    if saved.number % 3 == 0 and saved.about["parent"]:
        saved = switch(folder, saved.about["parent"]["state"])
        print(saved.number, flush=True)
"""


@pytest.mark.parametrize("kills", [3, pytest.param(KILLS, marks=pytest.mark.kills)])
def test_killed_at_random_moments(kills, tmp_path):
    """After each kill there is what was told last, or the one thing that was under way."""
    rng, folder = random.Random(0), tmp_path / "model"
    save_toys(folder, 2)
    for _ in range(kills):
        before = load_state(folder).number
        command = [sys.executable, "-c", SAVES, str(TESTS), str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            assert process.stdout.readline() == "begun\n"
            time.sleep(rng.uniform(0, 0.5))
            process.kill()
            told = [before, *map(int, process.stdout.read().splitlines())]
        saved = load_state(folder)
        assert [p for p in check_folder(folder) if not p.startswith("note: ")] == []
        arrays = draw_toy(seed=saved.about["seed"])
        assert np.array_equal(saved.arrays("record")["mean"], arrays["record"]["mean"])
        with writing(folder):
            pass
        first = (saved.about["forgotten"] or {"state": 0})["state"]
        assert all(state.number >= first for state in kept_states(folder))
        going_back = told[-1] % 3 == 0 and len(told) > 1 and saved.number < told[-1]
        assert saved.number == told[-1] or saved.number > max(told) or going_back
    with writing(folder) as place:
        place.save(describe_toy(), draw_toy())
    assert check_folder(folder) == []
