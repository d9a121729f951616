"""A server beside the command: CPU time a photo, latencies with 32 clients, teaching, the start.

The bars: CPU time of the server for each photo at most 1.25 times that of `predict` in one process;
the 99th percentile of the latency at most 4 times the median.
"""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np

from memoryless.images.files import Photo
from memoryless.images.read import example_photo
from memoryless.model import Model
from memoryless.photos.files import load_to_classify
from memoryless.photos.predict import predict_photos

CLIENTS, EACH, ROUNDS = 32, 10, 3
CLASSES, PHOTOS, TAUGHT = 100, 5, 20
SIDES = 500, 375
IMAGE = {"Content-Type": "image/jpeg"}


def measure() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "model.memoryless"
        content = example_photo(*SIDES)
        file = Path(place) / "photo.jpg"
        file.write_bytes(content)
        make_model(path)
        began = time.perf_counter()
        with running(path) as (process, base):
            httpx.post(f"{base}/predict", content=content, headers=IMAGE).raise_for_status()
            started = time.perf_counter() - began
            numbers = compare(path, file, content, process, base)
            taught = teach(base)
    return numbers | {"teach 20 photos s": round(taught, 2), "start to answer s": round(started, 2)}


def make_model(path: Path) -> None:
    """Save a model of many classes, of random features."""
    model = Model()
    d = len(model.learning_input(np.zeros((64, 64, 3), np.uint8)))
    rng = np.random.default_rng(0)
    rows = rng.random((CLASSES * PHOTOS, d), dtype=np.float32)
    names = [f"class {c:03d}" for c in range(CLASSES) for _ in range(PHOTOS)]
    model.learn_chunks([(rows, names)], names)
    model.save(path)


@contextmanager
def running(path: Path) -> Iterator[tuple[int, str]]:
    """Run a server in a process of its own: yield its number, and its address."""
    line = [sys.executable, "-m", "memoryless", "serve", str(path), "--port", "0"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        yield process.pid, found[0].rstrip("/")
    finally:
        process.terminate()
        process.communicate()


def compare(path: Path, file: Path, content: bytes, process: int, base: str) -> dict[str, float]:
    """CPU time of one photo in turns, and latencies."""
    model, photos = load_to_classify(path), [Photo.at(file)] * (CLIENTS * EACH)
    list(predict_photos(model, photos[:16], 3))
    ratios, latencies = [], []
    for _ in range(ROUNDS):
        before = time.process_time()
        list(predict_photos(model, photos, 3))
        alone = time.process_time() - before
        before = cpu_of(process)
        latencies += ask_all(base, content)
        ratios.append((cpu_of(process) - before) / alone)
    median, last = np.percentile(latencies, [50, 99])
    return {
        "CPU of serve / predict": round(float(np.median(ratios)), 2),
        "latency median ms": round(1000 * float(median)),
        "latency p99 / median": round(float(last / median), 2),
    }


def cpu_of(process: int) -> float:
    """Seconds that a process has computed for."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask_all(base: str, content: bytes) -> list[float]:
    """Seconds until each answer, where many clients ask at once."""
    taken: list[float] = []

    def ask() -> None:
        connection = http.client.HTTPConnection(base.removeprefix("http://"))
        for _ in range(EACH):
            began = time.perf_counter()
            connection.request("POST", "/predict", content, IMAGE)
            answer = connection.getresponse()
            assert b'"results"' in answer.read()
            taken.append(time.perf_counter() - began)
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def teach(base: str) -> float:
    """Seconds to learn photos of a new class, embedded and committed."""
    rng = np.random.default_rng(1)
    files = []
    for _ in range(TAUGHT):  # other bytes and other pixels each time
        width, height = (int(x) for x in rng.integers(300, 500, 2))
        files.append(("images", example_photo(width, height)))
    began = time.perf_counter()
    done = httpx.post(f"{base}/learn", files=files, data={"class": "new"}, timeout=60,
                      headers={"X-Memoryless": "1"})  # fmt: skip
    done.raise_for_status()
    return time.perf_counter() - began
