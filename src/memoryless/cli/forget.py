"""memoryless forget: classes that a model is to know no longer."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoryless.photos.forgetting import Forgotten


def forget(model: Path, name: str, /, *names: str, dry_run: bool = False) -> None:
    """Forget classes for good: this cannot be undone.

    Name, count, mean and row of each class go, and every earlier state of the model. The
    command prints what cannot be taken out.

    Parameters
    ----------
    model
        File of the model.
    name
        A class, as memoryless show names it; after -- it may begin with a dash.
    names
        More classes.
    dry_run
        Tell what would go and what would stay, and change nothing.
    """
    from memoryless.cli.wording import tell, tell_each
    from memoryless.images.dataset import counted
    from memoryless.names import first_ten
    from memoryless.photos.forgetting import forget

    done = forget(model, [name, *names], dry_run)
    gone = first_ten(f"{name} ({counted(n, 'photo', 'photos')})" for name, n in done.photos.items())
    left, states = counted(done.left, "class", "classes"), counted(done.states, "state", "states")
    knows = "would know" if dry_run else "knows"
    tell("forgets" if dry_run else "forgot", f"{gone}; {model} {knows} {left} now")
    tell("deletes" if dry_run else "deleted", f"{states}: memoryless undo cannot go back there")
    tell_each("remains", _remains(done))
    if done.left == 0:
        tell("note", "the model knows no class now, and keeps nothing of those it knew")
    if done.left == 1:
        tell("warning", "a model of one class takes every photo for it: teach it another")
    if dry_run:
        tell("dry run", "nothing was changed; without --dry-run this cannot be undone")
    else:
        tell("next", f"memoryless show {shlex.quote(str(model))}")


def _remains(done: Forgotten) -> list[str]:
    """What forgetting cannot take out."""
    from memoryless.names import first_ten

    weight = "a weight of at most" if done.again else "weight"
    spread = "their spread, in the covariance that all classes share: " + first_ten(
        f"{name} with {weight} {100 * share:.3g} % ({done.photos[name]:,} of {done.all:,} photos)"
        for name, share in done.weights.items()
    )
    told = (
        "so whoever has this file can still tell almost for certain which photos of theirs were "
        "used; only a model made with learn --forgettable forgets that too"
    )
    exactly = "nothing in the covariance: each class's own scatter was kept, and taken out exactly"
    sure = "their held-out photos in temperature and threshold, which rest on those of all classes"
    copies = "what was made before: exports, copies, backups and merged models"
    if not done.left:
        return [copies]
    kept = [exactly] if done.exact else [spread, *([told] if done.told else [])]
    return [*kept, *([sure] if done.held_out else []), copies]
