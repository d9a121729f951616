"""memoryless samples: drawings to try the commands on."""

from __future__ import annotations

from pathlib import Path

from memoryless.images import samples as drawings
from memoryless.output import command, say


def samples(folder: Path, /) -> None:
    """Write some drawings as folders of PNG files, to try the commands without photos.

    Parameters
    ----------
    folder
        A new or empty folder.
    """
    drawings.write_samples(folder)
    say(f"next: {command('learn', 'MODEL', folder)}")
