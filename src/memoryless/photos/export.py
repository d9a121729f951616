"""memoryless export: a model as one ONNX file, or its current state as a model to send.

The ONNX file takes photos and gives answers; onnxruntime alone runs it. It consists of the graph
from photos to features, the layer over them, temperature and threshold. Before it is written, it
is compared with the model on the same pixels.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from PIL import Image

from memoryless.embed import without_folder
from memoryless.embed.session import open_session
from memoryless.errors import ConfigError, DataError, WriteError, cause
from memoryless.images.files import Photo
from memoryless.images.find import find_photos
from memoryless.images.quickdraw import read_drawings
from memoryless.images.read import load
from memoryless.model import Model
from memoryless.model.database import ENDING
from memoryless.model.description import State, scorer_facts
from memoryless.model.file import export_state, load_state
from memoryless.names import counted, printable, size
from memoryless.output import paragraph, print_line, print_lines, print_next
from memoryless.photos.embedding import Progress, silent
from memoryless.photos.kept import honest, print_privacy
from memoryless.progress import Display
from memoryless.stats.scorers import restore
from memoryless.store import write_bytes
from memoryless.threads import ahead

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

LIMIT = 1e-3
"""The largest difference in probability, and in margin as a share of the range of margins; what is
left between two runs of one graph is near 1e-6."""
# Width and height of drawings; a JPEG of the last size is decoded at half of it.
SIZES = ((28, 28), (200, 300), (2000, 1600))
WHOLE = 2**16  # no JPEG has a longer side: one is decoded in full to reach it


@dataclass(frozen=True)
class Compared:
    """An exported file compared with the model on the same photos, by numbers of each photo."""

    differences: np.ndarray  # (n,) the largest in any probability
    gaps: np.ndarray  # (n,) between the two margins
    margins: np.ndarray  # (n,) by the model
    same: np.ndarray
    """Whether each photo that is decoded at a reduced size has the same answer in full."""
    broken: tuple[str, ...] = ()
    """A sentence for each photo that cannot be read."""

    @property
    def difference(self) -> float:
        """The largest in any probability; nan if one is."""
        return float(self.differences.max())


class Exported(NamedTuple):
    """An exported state, and how far the file's answers are from the model's."""

    state: State
    drawings: Compared
    """On embedded drawings, in batches."""
    photos: Compared | None
    """On photos that were named, one at a time."""


def export_onnx(
    path: Path,
    file: Path,
    photos: Sequence[Photo] = (),
    force: bool = False,
    progress: Progress = silent,
) -> Exported:
    """Write a model as an ONNX file, compared on drawings and on photos.

    If anything fails, nothing is written, and a file that was there before stays.
    """
    if file.suffix.lower() != ".onnx":
        raise ConfigError(f"{file} does not end in .onnx or .memoryless: name the file so")
    if file.exists() and not force:
        raise WriteError(f"{file} is there already: name another file, or add `force=True`")
    content, done = onnx_bytes(load_state(path, names=("features", "scorer")), photos, progress)
    write_bytes(file, content, "file")
    return done


def onnx_bytes(
    state: State, photos: Sequence[Photo] = (), progress: Progress = silent
) -> tuple[bytes, Exported]:
    """Return a state as an ONNX file, once it was compared on drawings and on photos."""
    model = Model.of(state)
    model.check_taught()
    _check_exportable(state)
    model.open()  # raises where the stored graph is not one of ours
    content = exported(state)
    session = open_session(content)
    drawn = compare(session, model, drawings())
    named = compare(session, model, [[photo] for photo in photos], progress) if photos else None
    _check_difference(_joined([drawn, named] if named else [drawn]))
    return content, Exported(state, drawn, named)


def exported(state: State) -> bytes:
    """Return a saved state as an ONNX file, which takes uint8 photos (n, h, w, 3)."""
    import onnx

    from memoryless.embed.answers import append_answers
    from memoryless.embed.graph import LARGEST

    graph, arrays = state.graph, state.arrays["scorer"]
    assert graph is not None
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
    return bytes(model.SerializeToString(deterministic=True))


def _check_exportable(state: State) -> None:
    """Raise unless the state has a graph from photos to features, and a layer over them."""
    from memoryless.embed.answers import KINDS, kinds_of

    about, path = state.description, state.path
    if about.preparation is None:
        raise ConfigError(
            f"{path} was made with `backbone=none` and takes features, not photos: there is no "
            "network to export"
        )
    if len(about.preparation.mean) != 3:
        raise ConfigError(
            f"{path} learned grey images of one channel, and an exported file takes photos "
            "in colour: learn images of three channels into another model, and export that"
        )
    if not kinds_of(scorer_facts(about)) <= set(KINDS):
        raise ConfigError(
            f"{path} scores features by {about.method}, which cannot be written as a graph: "
            "learn with another `method`, such as fixed+lda or lwf_kd+lda+widened"
        )


def metadata(state: State) -> dict[str, str]:
    """Return what the file says about itself; every value is text."""
    about = state.description
    assert about.backbone
    assert about.confidence
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


def answer(session: InferenceSession, photos: np.ndarray) -> dict[str, np.ndarray]:
    """Return the outputs of an exported file, by name, for uint8 photos (n, H, W, 3)."""
    names = [output.name for output in session.get_outputs()]
    try:
        found = session.run(names, {"photos": photos})
    except MemoryError:
        raise
    except Exception as error:  # onnxruntime's errors share no class but this
        n, height, width, _ = photos.shape
        raise ConfigError(
            f"the exported file cannot take {n} photos of {width} x {height} pixels at once "
            f"({cause(error)}): export the backbone for any number of images, and learn with "
            "that"
        ) from error
    return dict(zip(names, found, strict=True))


def drawings() -> list[list[Photo]]:
    """Return embedded drawings as JPEG photos, in batches of one size each."""
    _, drawn = read_drawings()
    return [
        [_jpeg(pixels, size) for pixels in drawn[first :: len(SIZES), 0][:3]]
        for first, size in enumerate(SIZES)
    ]


def _jpeg(pixels: np.ndarray, size: tuple[int, int]) -> Photo:
    file = io.BytesIO()
    Image.fromarray(pixels).resize(size, Image.Resampling.NEAREST).save(file, "JPEG")
    return Photo("drawing", None, lambda _: io.BytesIO(file.getvalue()))


def compare(
    session: InferenceSession,
    model: Model,
    batches: Sequence[Sequence[Photo]],
    progress: Progress = silent,
) -> Compared:
    """Compare an exported file with the model on batches of photos, each of one size."""
    model.open()
    parts = []
    for done, part in enumerate(ahead(partial(_compare_batch, session, model), batches), 1):
        parts.append(part)
        progress(done)
    found = _joined(parts)
    if not len(found.differences):
        raise DataError(f"no photo could be compared: {found.broken[0]}")
    return found


def _compare_batch(session: InferenceSession, model: Model, photos: Sequence[Photo]) -> Compared:
    none = np.zeros(0)
    try:
        pixels, full = (
            np.stack([load(photo, side) for photo in photos]) for side in (model.min_side, WHOLE)
        )
    except DataError as error:
        return Compared(none, none, none, none, (str(error),))
    found = answer(session, pixels)
    own = model.classify(np.stack([model.embed_photo(photo) for photo in pixels]))
    reduced = pixels.shape != full.shape
    return Compared(
        np.abs(found["probabilities"] - own.probabilities).max(1),
        np.abs(found["margin"] - own.margin),
        own.margin,
        _first(found) == _first(answer(session, full)) if reduced else none,
    )


def _first(answers: dict[str, np.ndarray]) -> np.ndarray:
    """Return the likeliest class, -1 where none fits."""
    return np.where(answers["known"], answers["probabilities"].argmax(1), -1)


def _joined(parts: Sequence[Compared]) -> Compared:
    """Return the numbers of all photos, and all that are broken."""
    return Compared(
        np.concatenate([part.differences for part in parts]),
        np.concatenate([part.gaps for part in parts]),
        np.concatenate([part.margins for part in parts]),
        np.concatenate([part.same for part in parts]),
        tuple(sentence for part in parts for sentence in part.broken),
    )


def _check_difference(compared: Compared) -> None:
    """Raise unless the answers of a file are the model's; one photo alone has no range of margins,
    so those of all are compared together.
    """
    limits = {
        "probabilities": (compared.difference, LIMIT),
        "margins": (float(compared.gaps.max()), LIMIT * float(np.ptp([0.0, *compared.margins]))),
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
        done = export_onnx(model, file, found.photos if found else (), force, bar)
    _print_export(model, file, done)
    return 1 if done.photos and done.photos.broken else 0


def _export_state(model: Path, file: Path, force: bool) -> None:
    state = export_state(model, file, force)
    _print_exported(file, state)
    print_line("contains", f"state {state.number} alone, without those before")
    print_privacy(state)
    print_next(*(("predict", file, "PHOTO") if state.classes.names else ("learn", file, "PHOTOS")))


def _print_exported(file: Path, state: State) -> None:
    classes = counted(len(state.classes.names), "class", "classes")
    paragraph(f"Exported {file}: {classes}, {size(file.stat().st_size)}.")


def _print_export(model: Path, file: Path, done: Exported) -> None:
    _print_exported(file, done.state)
    print_line("takes", "photos: uint8 (n, height, width, 3), RGB, upright, one size a batch")
    print_line("gives", "scores, probabilities, margin and known for each photo")
    _print_compared("drawings", done.drawings)
    if done.photos:
        _print_compared("photos", done.photos)
        for sentence in done.photos.broken:
            print_line("broken", sentence)
    print_line("privacy", "it gives answers only; its answers can still hint at the photos used")
    if not done.photos:
        print_next("export", model, file, "--check", "PHOTOS", "--force")
    paragraph("docs/export.md has ten lines of Python that run the file.")


def _print_compared(what: str, compared: Compared) -> None:
    number = f"{len(compared.differences):,} {what}"
    print_line("compared", f"probabilities differ by at most {compared.difference:.1g} on {number}")
    if what == "photos" and len(compared.same):
        share = f"{int(compared.same.sum()):,} of {len(compared.same):,}"
        print_line("large", f"{share} large photos get the same answer at full size")
