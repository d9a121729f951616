"""memoryless evaluate: how good a model is on test photos."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from memoryless.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryless.photos.evaluation import Evaluation


def evaluate(
    model: Path, test: Path, /, *, json: bool = False, html: Path | None = None, force: bool = False
) -> int:
    """Measure a model on photos of known classes; photos of other classes test what it rejects.

    Parameters
    ----------
    model
        File of the model.
    test
        Test photos in the same layouts as for memoryless learn; of train/ and test/, test/ is read.
    json
        Print every number as JSON, and nothing else.
    html
        File for one self-contained page, with the worst mistakes as pictures.
    force
        Write the page even if a file is there that is no page of memoryless.
    """
    from memoryless.cli.output import say, show
    from memoryless.cli.wording import reasons
    from memoryless.images.find import find_test
    from memoryless.names import printable
    from memoryless.photos import evaluation
    from memoryless.photos.page import check_page, summary, write_page
    from memoryless.photos.prediction import to_predict
    from memoryless.progress import Display
    from memoryless.store import to_json

    loaded, found = to_predict(model), find_test(test)
    if html:
        check_page(html, force)
    with Display("looking at photos", len(found.photos)) as bar:
        done = evaluation.evaluate(loaded, found.photos, bar)
    if html:
        write_page(html, str(model), str(test), done)
    if json:
        print(to_json(done.as_json()), end="")
    else:
        skipped = [f"not read: {reasons(found.not_read)}"] if found.not_read else []
        for line in [*found.notes, *skipped, *summary(done)]:
            say(line)
        for table in _tables(done):
            show(table)
        if html:
            say(f"the page is {html}")
    for error in done.broken.values():
        print("memoryless:", printable(error), file=sys.stderr)
    return 1 if done.broken else 0


def _tables(found: Evaluation) -> Iterator[Table]:
    states = [[str(s["state"]), str(s["classes"]), str(s["photos"]), f"{s['top1']:.1f}"]
              for s in found.states]  # fmt: skip
    yield Table("by state", "top-1 in percent, among all classes",
               ["state", "classes", "photos", "top-1"], states)  # fmt: skip
    classes = [[c["class"], str(c["state"]), str(c["photos"]), f"{c['top1']:.1f}"]
               for c in found.classes]  # fmt: skip
    yield Table("by class", "worst first", ["class", "state", "photos", "top-1"], classes)
    pairs = [[c["class"], c["taken_for"], f"{c['times']} of {c['photos']}"] for c in found.confused]
    if pairs:
        caption = "how many photos of a class were taken for another"
        yield Table("most confused", caption, ["class", "taken for", "photos"], pairs)
    if found.unknown:
        unknown = [[name, str(number)] for name, number in found.unknown.items()]
        yield Table("classes that the model does not know", "left out of the tables above",
                   ["class", "photos"], unknown)  # fmt: skip
