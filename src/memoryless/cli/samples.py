"""memoryless samples: drawings to try the commands on."""

from __future__ import annotations

import shlex
from pathlib import Path


def samples(folder: Path, /) -> None:
    """Write some drawings as folders of PNG files, for those who have no photos at hand.

    Parameters
    ----------
    folder
        A new or empty folder.
    """
    from memoryless.cli.output import say
    from memoryless.images.samples import write_samples

    write_samples(folder)
    say(f"next: memoryless learn MODEL {shlex.quote(str(folder))}")
