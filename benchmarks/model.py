"""A model that people keep: what learning, growing, showing and predicting take.

Photos are JPEGs of 640 x 427 pixels, made from the two that scikit-learn ships by cutting and
mirroring.
"""

from __future__ import annotations

import io
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from benchmarks.features import photo_files
from benchmarks.timing import side_by_side
from memoryless.embed.session import Extractor
from memoryless.images.find import find_photos
from memoryless.images.read import load
from memoryless.model import Model
from memoryless.model.file import load_state, writing
from memoryless.photos.learn import learn_photos
from memoryless.photos.plan import make_plan, model_to_learn
from memoryless.stats.choice import choose, start
from memoryless.stats.class_statistics import ClassStatistics, Group
from memoryless.threads import ahead

CLASSES, EACH, ROUNDS = 40, 30, 10
MANY, SIZES = 1000, (1280, 1392)
D = sum(SIZES)


def make_photos(root: Path) -> Path:
    """Folders of photos that all differ: parts of two photos, some of them mirrored."""
    rng = np.random.default_rng(0)
    whole = [Image.open(io.BytesIO(content)).convert("RGB") for content in photo_files()[:2]]
    for c in range(CLASSES):
        (root / f"class {c:02d}").mkdir(parents=True)
        for i in range(EACH):
            image = whole[(c + i) % 2]
            left, top = rng.integers(0, 100, 2)
            part = image.crop((left, top, left + 540, top + 320)).resize((640, 427))
            part = ImageOps.mirror(part) if rng.random() < 0.5 else part
            part.save(root / f"class {c:02d}" / f"{i}.jpg", quality=90)
    return root


def learn(folder: Path, photos: Path) -> None:
    """Do what `memoryless learn` does with a model that is there: plan, features, sums, saving."""
    with writing(folder) as writer:
        plan = make_plan(model_to_learn(writer.before, {}), [photos])
        learn_photos(plan)
        plan.model.save_in(writer)


def decode_and_run(photos: Path, graph: bytes, least: int) -> None:
    extractor = Extractor(graph)
    list(ahead(lambda photo: extractor.feature(load(photo, least)), find_photos(photos).photos))


def growing(folder: Path) -> float:
    """Median seconds to add five classes to a thousand, features already there, saved and all."""
    rng = np.random.default_rng(0)
    taken = []
    for i in range(ROUNDS):
        new = rng.random((5 * EACH, D), dtype=np.float32)
        model = Model.load(folder)
        names = [f"new {i} {c}" for c in range(5) for _ in range(EACH)]
        began = time.perf_counter()
        model.learn(new, names)
        model.save(folder)
        taken.append(time.perf_counter() - began)
    return float(np.median(taken))


def thousand(folder: Path) -> Path:
    """Save a model of a thousand classes over features of the usual length."""
    rng = np.random.default_rng(1)
    model = Model()
    for first in range(0, MANY, 250):
        X = rng.random((250 * 5, D), dtype=np.float32)
        model.learn(X, [f"class {first + i}" for i in range(250) for _ in range(5)])
    model.save(folder)
    return folder


def command(*arguments: str) -> float:
    """Median seconds of a command from a cold start."""
    line = [sys.executable, "-m", "memoryless", *arguments]
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        subprocess.run(line, check=True, capture_output=True)
        taken.append(time.perf_counter() - began)
    return float(np.median(taken))


def choosing(classes: int) -> float:
    """CPU seconds that the choice of weights and shrinkages adds to solving a layer."""
    rng = np.random.default_rng(2)
    groups = []
    for d in SIZES:
        rows = rng.normal(size=(2 * d, d)) * rng.random(d)
        means = 0.03 * rng.normal(size=(classes, d))
        groups.append(Group(means, EACH * classes / len(rows) * rows.T @ rows))
    sums = ClassStatistics(np.full(classes, float(EACH)), tuple(groups), fixed=True)
    taken = []
    for solve in (start, choose):
        began = time.process_time()
        solve(sums)
        taken.append(time.process_time() - began)
    return taken[1] - taken[0]


BARE = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np, onnxruntime
from PIL import Image
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
def feature(file):
    pixels = np.asarray(Image.open(file).convert("RGB"))
    return session.run(None, {"photos": pixels[None]})[0]
with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
    list(pool.map(feature, sorted(Path(sys.argv[2]).rglob("*.jpg"))))
"""
FEW = 10  # classes, of 30 photos each


def cpu_seconds(*line: str) -> float:
    """Return what a process and its threads compute, imports included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *line], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def beside_bare(root: Path, photos: Path) -> dict[str, float]:
    """CPU time of whole processes, `learn` of 300 photos and `predict` of one, beside bare loops
    that decode the same photos and run the same graph.
    """
    few, one = root / "few", root / "one"
    for c in range(FEW):
        shutil.copytree(photos / f"class {c:02d}", few / f"class {c:02d}")
    one.mkdir()
    shutil.copy(next(few.rglob("*.jpg")), one)
    learned = root / "learned"
    cpu_seconds("-m", "memoryless", "learn", str(learned), str(few))
    graph = str(root / "features.onnx")
    Path(graph).write_bytes(load_state(learned).graph)
    taken: dict[str, list[float]] = {"learn": [], "predict": []}
    for i in range(ROUNDS):
        new = str(root / f"new {i}")
        learn_all = cpu_seconds("-m", "memoryless", "learn", new, str(few))
        taken["learn"].append(learn_all / cpu_seconds("-c", BARE, graph, str(few)))
        predict_one = cpu_seconds("-m", "memoryless", "predict", str(learned), str(one))
        taken["predict"].append(predict_one / cpu_seconds("-c", BARE, graph, str(one)))
    return {
        "learn 300 / bare process, CPU": round(float(np.median(taken["learn"])), 2),
        "predict one / bare process, CPU": round(float(np.median(taken["predict"])), 2),
    }


def measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        photos = make_photos(root / "photos")
        first = time.perf_counter()
        learn(root / "model", photos)
        first = time.perf_counter() - first
        saved = load_state(root / "model")
        graph, model = saved.graph, Model.load(root / "model")
        seconds = side_by_side(
            {
                "learn": lambda: learn(Path(tempfile.mkdtemp(dir=root)) / "model", photos),
                "decode and run": lambda: decode_and_run(photos, graph, model.min_side),
            },
            rounds=ROUNDS,
        )
        number = len(find_photos(photos).photos)
        one = next(photos.rglob("*.jpg"))
        many = thousand(root / "many")
        predicting = command("predict", str(root / "model"), str(photos))
        return {
            "photos": number,
            "first learn s": round(first, 2),
            "learn s": round(seconds["learn"], 2),
            "learn / (decode and run)": round(seconds["learn"] / seconds["decode and run"], 3),
            "five classes added to 1,000 s": round(growing(many), 2),
            "show s": round(command("show", str(root / "model")), 2),
            "show 1,000 classes s": round(command("show", str(many)), 2),
            "predict one s": round(command("predict", str(root / "model"), str(one)), 2),
            "decode and run / predict all": round(seconds["decode and run"] / predicting, 3),
            "choice, 100 classes, CPU s": round(choosing(100), 2),
            "choice, 1,000 classes, CPU s": round(choosing(MANY), 2),
            **beside_bare(root, photos),
        }
