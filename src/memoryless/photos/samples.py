"""memoryless samples: drawings to try the commands on."""

from __future__ import annotations

from pathlib import Path

from memoryless.images import samples as drawings
from memoryless.output import print_next


def samples(folder: Path, /) -> None:
    """Write some drawings as folders of PNG files, to try the commands without photos.

    Parameters
    ----------
    folder
        A new or empty folder.
    """
    drawings.write_samples(folder)
    print_next("learn", "MODEL", folder)
