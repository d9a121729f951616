"""memoryless merge: several models become one."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from memoryless.model.file import State
    from memoryless.photos.merging import Merged


def merge(out: Path, /, *models: Path, same_class: Literal["refuse", "join"] = "refuse") -> None:
    """Merge models into a new one, equal to a model that was taught all their photos.

    No photo is needed, and the models stay as they are. They must see photos through the same
    network, prepared in the same way.

    Parameters
    ----------
    out
        File of the new model.
    models
        Files of two models or more.
    same_class
        What to do with a class that several models know: refuse to merge, or join its photos.
    """
    from memoryless.photos.merging import merge as merge_into

    _tell(merge_into(out, models, same_class), out)


def _tell(done: Merged, out: Path) -> None:
    from memoryless.cli.output import say
    from memoryless.cli.wording import size, tell, tell_each
    from memoryless.images.dataset import counted
    from memoryless.model.card import AVERAGED, parts_kept, privacy
    from memoryless.names import as_flags, first_ten

    about, sure = done.saved.description, done.saved.description.confidence
    for path, part in done.parts.items():
        states = counted(len(part.classes.learned), "state", "states")
        tell("merged", f"{path}: {_learned(part)}, {states}")
    joined = [f"{name} ({' and '.join(map(str, n))} photos)" for name, n in done.joined.items()]
    if joined:
        tell("joined", first_ten(joined))
    tell("made", f"{out} knows {_learned(done.saved)}")
    if sure and sure.averaged:
        tell("sure", f"temperature {sure.temperature:.3g}, threshold {sure.threshold:.3g}: "
             f"{AVERAGED}")  # fmt: skip
    ledger = ", ".join(
        f"{part} {size(number)}" for part, number in parts_kept(about.record).items()
    )
    tell("kept", f"{size(about.kept)} ({ledger}), and no photo")
    tell_each("note", done.notes)
    tell_each("warning", map(as_flags, done.warnings))
    say("")
    for sentence in privacy(done.saved):
        say(sentence)
    say("")
    tell("next", f"memoryless evaluate {shlex.quote(str(out))} TEST")


def _learned(state: State) -> str:
    from memoryless.images.dataset import counted

    classes = counted(len(state.classes.names), "class", "classes")
    return f"{classes} from {sum(state.classes.counts):,} photos"
