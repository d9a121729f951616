"""memoryless export: a model as one ONNX file, or its current state as a model to send."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoryless.export import Compared, Exported


def export(model: Path, file: Path, /, *, check: Path | None = None, force: bool = False) -> int:
    """Write a model as one ONNX file for other programs, or as one .memoryless file to send.

    The ONNX file takes photos of any size and says class, probability, and whether any class fits.
    It is compared with the model first, and not written if they differ. If photos to compare on
    cannot be read, the exit code is 1. The .memoryless file is the model in its current state,
    without those before; it can be taught on.

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
    from memoryless.model.database import ENDING

    if file.suffix == ENDING:
        _export_state(model, file, force)
        return 0
    from memoryless.cli.wording import tell_each
    from memoryless.export import export as write
    from memoryless.images.find import find_photos
    from memoryless.progress import Display

    found = find_photos(check, labelled=False) if check else None
    tell_each("note", found.notes if found else ())
    with Display("comparing photos", len(found.photos) if found else 0) as bar:
        done = write(model, file, found, force, bar)
    _tell(model, file, done)
    return 1 if done.photos and done.photos.broken else 0


def _export_state(model: Path, file: Path, force: bool) -> None:
    from memoryless.cli.output import say
    from memoryless.cli.wording import size, tell
    from memoryless.images.dataset import counted
    from memoryless.model.card import privacy
    from memoryless.model.file import export_state

    state = export_state(model, file, force)
    classes = counted(len(state.classes.names), "class", "classes")
    tell("exported", f"{file}: {classes}, {size(file.stat().st_size)}, state {state.number} alone")
    say("")
    for sentence in privacy(state):
        say(sentence)
    say("")
    tell("next", f"memoryless predict {shlex.quote(str(file))} PHOTO")


def _tell(model: Path, file: Path, done: Exported) -> None:
    from memoryless.cli.output import say
    from memoryless.cli.wording import size, tell, tell_each
    from memoryless.images.dataset import counted
    from memoryless.model.card import honest

    classes = counted(len(done.state.classes.names), "class", "classes")
    tell("exported", f"{file}: {classes}, {size(done.size)}, state {done.state.digest[:12]}")
    tell("takes", "photos: uint8 (n, height, width, 3), RGB, upright, one size a batch")
    tell("gives", "scores, probabilities, margin and known of each photo")
    _tell_compared("drawings", done.drawings)
    if done.photos:
        _tell_compared("photos", done.photos)
        tell_each("broken", done.photos.broken)
    else:
        command = shlex.join(["memoryless", "export", str(model), str(file)])
        tell("note", "only drawings were compared; compare photos of your own by "
             f"{command} --check PHOTOS --force")  # fmt: skip
    say("")
    say(honest(done.state))
    say("")
    tell("next", "docs/export.md has ten lines of Python that run it without memoryless")


def _tell_compared(what: str, compared: Compared) -> None:
    from memoryless.cli.wording import tell

    number, smaller = f"{compared.photos:,} {what}", compared.smaller
    tell("compared", f"on {number} probabilities differ by {compared.difference:.1g} at most")
    if smaller:
        share = f"{compared.same:,} of {smaller:,} large {what}"
        percent = f"{100 * compared.same / smaller:.1f} %"
        tell("decoded", f"in full, {share} ({percent}) get the same answer")
    else:
        tell("decoded", f"in full anyway: none of the {what} is large")
