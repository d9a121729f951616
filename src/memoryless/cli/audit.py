"""memoryless audit: how well one can tell which photos a model was taught with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from memoryless.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryless.images.find import Found
    from memoryless.photos.auditing import Audit


def audit(
    model: Path,
    /,
    *,
    members: Path,
    others: Path,
    json: bool = False,
    html: Path | None = None,
    force: bool = False,
) -> int:
    """Measure how well photos that a model was taught with can be told from others.

    However well they can be told apart, the exit code is 0: that is a measurement.

    Parameters
    ----------
    model
        File of the model.
    members
        Photos that the model was taught with, in the same layouts as for memoryless learn; of
        train/ and test/, train/ is read.
    others
        Photos of the same classes that it was not taught with; of train/ and test/, test/ is read.
    json
        Print every number as JSON, and nothing else.
    html
        File for one self-contained page, without photos, for a data-protection file.
    force
        Write the page even if a file is there that is no page of memoryless.
    """
    from memoryless.model.file import load_state
    from memoryless.pages import name_of
    from memoryless.photos import auditing
    from memoryless.photos.audit_page import write_audit
    from memoryless.photos.page import check_page
    from memoryless.progress import Display
    from memoryless.store import to_json

    saved, found = load_state(model), auditing.find_both(members, others)
    if html:
        check_page(html, force)
    used, unused = (side.photos for side in found)
    read = zip((members, others), found, strict=True)
    places = [f"{name_of(place)}: {side.layout}" for place, side in read]
    with Display("auditing photos", len(used) + len(unused)) as bar:
        done = auditing.audit(saved, used, unused, places, bar)
    if html:
        write_audit(html, done)
    if json:
        print(to_json(done.as_json()), end="")
    else:
        _tell(found, done, html)
    return _report(done)


def _tell(found: tuple[Found, Found], done: Audit, html: Path | None) -> None:
    from memoryless.cli.output import say, show
    from memoryless.cli.wording import reasons, tell
    from memoryless.names import as_flags
    from memoryless.photos.audit_page import LIMITS, summary

    for side in found:
        skipped = [f"not read: {reasons(side.not_read)}"] if side.not_read else []
        for line in [*side.notes, *skipped]:
            say(line)
    for line in summary(done):
        say(as_flags(line))
    for table in _tables(done):
        show(table)
    say(LIMITS)
    if html:
        say(f"the page is {html}")
    else:
        tell("next", "the same command with --html FILE writes a page for a data-protection file")


def _tables(done: Audit) -> Iterator[Table]:
    from memoryless.photos.audit_page import MEASURES, columns

    for measure, (title, caption) in MEASURES.items():
        yield Table(title, caption, *columns(done, measure))
    if done.left_out:
        rows = [[name] for name in done.left_out]
        yield Table("not audited", "classes that there were no photos of", ["class"], rows)


def _report(done: Audit) -> int:
    """Print on standard error which photos are broken; gives the exit code."""
    from memoryless.names import printable

    for error in done.broken.values():
        print("memoryless:", printable(error), file=sys.stderr)
    return 1 if done.broken else 0
