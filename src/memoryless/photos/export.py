"""memoryless export: a model as one ONNX file, or its current state as a model to send.

The ONNX file takes photos and gives answers; onnxruntime alone runs it. It consists of the graph
from photos to features, the layer over them, temperature and threshold. Before it is written, it
is compared with the model on the same pixels.
"""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import msgspec
import numpy as np
from PIL import Image

from memoryless.embed import without_folder
from memoryless.embed.session import open_session
from memoryless.errors import ConfigError, DataError, WriteError, cause
from memoryless.images.files import Photo
from memoryless.images.find import Found, find_photos
from memoryless.images.quickdraw import SIDE, read_drawings
from memoryless.images.read import load
from memoryless.model import Model
from memoryless.model.database import ENDING
from memoryless.model.description import State, scorer_facts
from memoryless.model.file import export_state, load_state
from memoryless.names import counted, printable, size
from memoryless.output import print_line, print_lines, say
from memoryless.photos.embedding import Progress, silent
from memoryless.photos.kept import honest, print_privacy
from memoryless.progress import Display
from memoryless.stats.scorers import restore
from memoryless.store import write_bytes
from memoryless.threads import ahead

LIMIT = 1e-3
"""The largest difference in probability, and in margin as a share of the range of margins; what is
left between two runs of one graph is near 1e-6."""
# Height and width of drawings; a JPEG of the last size is decoded at half of it.
SIZES = ((SIDE, SIDE), (300, 200), (1600, 2000))
WHOLE = 2**16  # no JPEG has a longer side: one is decoded in full to reach it


@dataclass(frozen=True)
class Compared:
    """An exported file compared with the model on the same photos."""

    photos: int
    difference: float
    """The largest in any probability."""
    smaller: int
    """How many photos are decoded at a reduced size."""
    same: int
    """How many of these have the same answer if they are decoded in full."""
    broken: tuple[str, ...] = ()
    """A sentence for each photo that cannot be read."""
    margin: float = 0.0
    """The largest difference in margin."""
    margins: tuple[float, float] = (0.0, 0.0)
    """The lowest and the highest margin, or 0, above which a photo is known."""


@dataclass(frozen=True)
class Exported:
    """An exported file, and how far its answers are from the model's."""

    state: State
    size: int
    """Bytes of the file."""
    drawings: Compared
    """Of embedded drawings, in batches."""
    photos: Compared | None
    """Of photos that were named, one at a time."""


def export_onnx(
    path: Path,
    file: Path,
    found: Found | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Exported:
    """Write a model as an ONNX file, compared on drawings and on photos found.

    If anything fails, nothing is written, and a file that was there before stays.
    """
    _check_file(file, force)
    state = load_state(path, names=("features", "scorer"))
    _check_exportable(state)
    model = Model.of(state)
    model.open()  # raises where the stored graph is not one of ours
    content = exported(state)
    run = Runner(content)
    drawn = compare(run, model, drawings())
    each = [[photo] for photo in found.photos] if found else []
    compared = compare(run, model, each, progress) if found else None
    both = [drawn, compared] if compared else [drawn]
    _check_some(both)
    _check_difference(_joined(both))  # one photo alone has no range of margins
    write_bytes(file, content, "file")
    return Exported(state, len(content), drawn, compared)


def _check_file(file: Path, force: bool) -> None:
    """Raise unless the file may be written."""
    if file.suffix.lower() != ".onnx":
        raise ConfigError(f"{file} does not end in .onnx or .memoryless: name the file so")
    if file.is_dir():
        raise WriteError(f"{file} is a folder: name a file")
    if file.exists() and not force:
        raise WriteError(f"{file} is there already: name another file, or add `force=True`")


def exported(state: State) -> bytes:
    """A saved state as an ONNX file: uint8 photos (n, h, w, 3) in, `embed.answers.OUTPUTS` out."""
    import onnx

    from memoryless.embed.answers import append_answers
    from memoryless.embed.graph import LARGEST

    graph, arrays = state.content["features"], state.arrays("scorer")
    if len(graph) + sum(array.nbytes for array in arrays.values()) > LARGEST:
        raise ConfigError(
            f"{state.path} would have more than 2 GiB as one ONNX file, which none can have: "
            "export a model of fewer classes, or one with a smaller backbone"
        )
    model = onnx.load_model_from_string(graph)
    scorer, sure = restore(scorer_facts(state.description), arrays), state.description.confidence
    append_answers(model, scorer, len(state.classes.names), sure)
    own = {entry.key: entry.value for entry in model.metadata_props}  # such as a license
    onnx.helper.set_model_props(model, own | metadata(state))
    model.producer_version = version("memoryless")
    onnx.checker.check_model(model)
    return model.SerializeToString(deterministic=True)


def _check_exportable(state: State) -> None:
    """Raise unless the state has a graph from photos to features, and a layer over them."""
    from memoryless.embed.answers import KINDS, kinds_of

    about, path = state.description, state.path
    Model.of(state).check_taught()
    if about.preparation is None:
        raise ConfigError(
            f"{path} was made with `backbone=none` and is given features, not photos, so there "
            "is no way from a photo to an answer to export: read it as docs/model-format.md says"
        )
    if len(about.preparation.mean) != 3:
        raise ConfigError(
            f"{path} was taught on grey images of one channel, and an exported file takes photos "
            "in colour: learn images of three channels into another model, and export that"
        )
    state.arrays("scorer")  # raises where it is damaged
    if not kinds_of(scorer_facts(about)) <= set(KINDS):
        raise ConfigError(
            f"{path} scores features by {about.method}, which cannot be written as a graph: "
            "learn with another `method`, such as fixed+lda or lwf_kd+lda+widened"
        )


def metadata(state: State) -> dict[str, str]:
    """What the file says about itself; every value is text."""
    about = state.description
    assert about.backbone and about.confidence
    return {
        "classes": json.dumps(state.classes.names),
        "state": state.digest,
        "memoryless": version("memoryless"),
        "backbone": printable(without_folder(about.backbone.name)),
        "preparation": msgspec.json.encode(about.preparation).decode(),
        "temperature": repr(about.confidence.temperature),
        "threshold": repr(about.confidence.threshold),
        "privacy": honest(state),
    }


class Runner:
    """Runs an exported file on photos; any number of threads may share one."""

    def __init__(self, content: bytes):
        self._session = open_session(content)
        self._names = [output.name for output in self._session.get_outputs()]

    def answers(self, photos: np.ndarray) -> dict[str, np.ndarray]:
        """The outputs by name for photos of one size, uint8 (n, H, W, 3)."""
        try:
            found = self._session.run(self._names, {"photos": photos})
        except MemoryError:
            raise
        except Exception as error:  # onnxruntime's errors share no class but this
            n, height, width, _ = photos.shape
            raise ConfigError(
                f"the exported file cannot take {n} photos of {width} x {height} pixels at once "
                f"({cause(error)}): export the backbone for any number of images, and learn with "
                "that"
            ) from error
        return dict(zip(self._names, found, strict=True))


def drawings() -> list[list[Photo]]:
    """Embedded drawings as JPEG photos: a batch of each of some sizes."""
    _, drawn = read_drawings()
    batches = []
    for first, (height, width) in enumerate(SIZES):
        some = drawn[first :: len(SIZES), 0][:3]
        rows, columns = (np.arange(side) * SIDE // side for side in (height, width))
        named = enumerate(some[:, rows][:, :, columns])
        batches.append([Photo(f"drawing {i}", None, partial(_jpeg, pixels)) for i, pixels in named])
    return batches


def _jpeg(pixels: np.ndarray) -> io.BytesIO:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG")
    file.seek(0)
    return file


def compare(
    run: Runner,
    model: Model,
    batches: Sequence[Sequence[Photo]],
    progress: Progress = silent,
) -> Compared:
    """Compare an exported file with the model on batches of photos, each of one size."""
    model.open()
    parts = []
    for done, part in enumerate(ahead(partial(_compare_batch, run, model), batches), 1):
        parts.append(part)
        progress(done)
    return _joined(parts)


def _compare_batch(run: Runner, model: Model, photos: Sequence[Photo]) -> Compared:
    try:
        pixels, full = (
            np.stack([load(photo, least) for photo in photos]) for least in (model.least, WHOLE)
        )
    except DataError as error:
        return Compared(0, 0.0, 0, 0, (str(error),))
    answers = run.answers(pixels)
    own = model.judge(np.stack([model.feature(photo) for photo in pixels]))
    compared = Compared(
        photos=len(pixels),
        difference=float(np.abs(answers["probabilities"] - own.probabilities).max()),
        smaller=0,
        same=0,
        margin=float(np.abs(answers["margin"] - own.margin).max()),
        margins=(min(0.0, float(own.margin.min())), max(0.0, float(own.margin.max()))),
    )
    if pixels.shape == full.shape:
        return compared
    same = _first(answers) == _first(run.answers(full))
    return replace(compared, smaller=len(pixels), same=int(same.sum()))


def _first(answers: dict[str, np.ndarray]) -> np.ndarray:
    """The class that comes first, -1 where none fits."""
    return np.where(answers["known"], answers["probabilities"].argmax(1), -1)


def _joined(parts: Sequence[Compared]) -> Compared:
    photos, smaller, same = (
        sum(getattr(part, name) for part in parts) for name in ("photos", "smaller", "same")
    )
    # Not Python's max, which passes over nan.
    difference, margin = (
        float(np.max([0.0, *(getattr(part, name) for part in parts)]))
        for name in ("difference", "margin")
    )
    broken = tuple(sentence for part in parts for sentence in part.broken)
    ends = np.array([(0.0, 0.0), *(part.margins for part in parts)])
    margins = float(ends[:, 0].min()), float(ends[:, 1].max())
    return Compared(photos, difference, smaller, same, broken, margin, margins)


def _check_some(each: Sequence[Compared]) -> None:
    for compared in each:
        if not compared.photos:
            raise DataError(f"no photo could be compared: {compared.broken[0]}")


def _check_difference(compared: Compared) -> None:
    limits = {
        "probabilities": (compared.difference, LIMIT),
        "margins": (compared.margin, LIMIT * (compared.margins[1] - compared.margins[0])),
    }
    for what, (difference, limit) in limits.items():
        if not difference <= limit:  # nan is not
            raise ConfigError(
                f"the {what} of the exported file differ from the model's by up to "
                f"{difference:.2g}, more than {limit:.2g}, so it was not written: export the "
                "backbone so that a photo's features do not depend on the photos beside it"
            )


def export(model: Path, file: Path, /, *, check: Path | None = None, force: bool = False) -> int:
    """Write a model as one ONNX file for other programs, or as one .memoryless file to send.

    The ONNX file takes photos of any size and says class, probability, and whether any class fits.
    It is compared with the model first, and not written if they differ. If photos to compare on
    cannot be read, the exit code is 1. The .memoryless file is the model in its current state,
    without those before; it can learn more.

    Parameters
    ----------
    model
        File of the model.
    file
        The file to write, which ends in .onnx or .memoryless.
    check
        Photos to compare an ONNX file on, a file, folder or zip; by default some drawings only.
    force
        Replace a file that is there already.
    """
    if file.suffix == ENDING:
        _export_state(model, file, force)
        return 0
    found = find_photos(check, labelled=False) if check else None
    print_lines("note", found.notes if found else ())
    with Display("comparing photos", len(found.photos) if found else 0) as bar:
        done = export_onnx(model, file, found, force, bar)
    _print_export(model, file, done)
    return 1 if done.photos and done.photos.broken else 0


def _export_state(model: Path, file: Path, force: bool) -> None:
    state = export_state(model, file, force)
    classes = counted(len(state.classes.names), "class", "classes")
    bytes_ = size(file.stat().st_size)
    print_line("exported", f"{file}: {classes}, {bytes_}, state {state.number} alone")
    print_privacy(state)
    print_line("next", f"memoryless predict {shlex.quote(str(file))} PHOTO")


def _print_export(model: Path, file: Path, done: Exported) -> None:
    classes = counted(len(done.state.classes.names), "class", "classes")
    print_line("exported", f"{file}: {classes}, {size(done.size)}, state {done.state.digest[:12]}")
    print_line("takes", "photos: uint8 (n, height, width, 3), RGB, upright, one size a batch")
    print_line("gives", "scores, probabilities, margin and known of each photo")
    _print_compared("drawings", done.drawings)
    if done.photos:
        _print_compared("photos", done.photos)
        for sentence in done.photos.broken:
            print_line("broken", sentence)
    else:
        line = shlex.join(["memoryless", "export", str(model), str(file)])
        print_line("note", "only drawings were compared; compare photos of your own by "
                   f"{line} --check PHOTOS --force")  # fmt: skip
    say("")
    say(honest(done.state))
    say("")
    print_line("next", "docs/export.md has ten lines of Python that run it without memoryless")


def _print_compared(what: str, compared: Compared) -> None:
    number, smaller = f"{compared.photos:,} {what}", compared.smaller
    print_line("compared", f"on {number} probabilities differ by {compared.difference:.1g} at most")
    if smaller:
        share = f"{compared.same:,} of {smaller:,} large {what}"
        percent = f"{100 * compared.same / smaller:.1f} %"
        print_line("decoded", f"in full, {share} ({percent}) get the same answer")
    else:
        print_line("decoded", f"in full anyway: none of the {what} is large")
