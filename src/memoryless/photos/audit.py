"""memoryless audit: which photos a model learned, as well as attacks find it out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memoryless import pages
from memoryless.images.find import Found
from memoryless.model.file import load_state
from memoryless.names import as_flags, counted
from memoryless.output import print_line, reasons, report_broken, say, show
from memoryless.photos.attacks import ALL, Audit, Exposure, audit_photos, find_both
from memoryless.photos.evaluate import check_page
from memoryless.photos.kept import parts_kept
from memoryless.progress import Display
from memoryless.stats.membership import Estimate
from memoryless.store import to_json
from memoryless.tables import Table

ATTACKS = {
    "score": "from its answers: how far a photo's own class scores above the best other one",
    "distance": "from its file: how near a photo's feature is to the stored mean of its class",
    "scatter": "from its file: how near it is to that mean, measured by the stored scatter; this "
    "is certain where fewer photos were learned than a feature has numbers",
}
LEVELS = {
    99: "for certain",
    90: "almost for certain",
    60: "better than by guessing",
    0: "hardly better than by guessing",
}
"""How well an attack does, by the least AUROC of each."""
GIVE = 90
"""From this AUROC on, the file should not be given to others."""
TOGETHER = (
    "each class less the middle between the means of its members and of its others, so that "
    "classes compare"
)
LIMITS = (
    "An audit shows what these attacks reach with these photos. It is no proof that none reaches "
    "more."
)
MEASURES = {
    "auroc": (
        "AUROC",
        "how often a photo that was used looks more so than one that was not: 50 is guessing, 100 "
        "is certainty; in brackets the interval that 95 % of 1,000 bootstrap draws lie in",
    ),
    "tpr": (
        "TPR at 1 % FPR",
        "percent of used photos that are found while at most 1 % of the others are taken for used; "
        "of fewer than 100 others, none is; in brackets the interval as above",
    ),
}


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
    """Measure how well attacks find out which photos a model learned.

    The exit code does not depend on the attacks' success.

    Parameters
    ----------
    model
        File of the model.
    members
        Photos that the model learned, in the same layouts as for memoryless learn; of train/ and
        test/, train/ is read.
    others
        Photos of the same classes that it did not learn; of train/ and test/, test/ is read.
    json
        Print every number as JSON, and nothing else.
    html
        File for one self-contained page, without photos, for a data-protection file.
    force
        Write the page even if a file is there that is no page of memoryless.
    """
    saved, found = load_state(model), find_both(members, others)
    if html:
        check_page(html, force)
    used, unused = (side.photos for side in found)
    read = zip((members, others), found, strict=True)
    places = [f"{pages.name_of(place)}: {side.layout}" for place, side in read]
    with Display("auditing photos", len(used) + len(unused)) as bar:
        done = audit_photos(saved, used, unused, places, bar)
    if html:
        pages.write(html, render(done), "html")
    if json:
        print(to_json(done.as_json()), end="")
    else:
        _print_audit(found, done, html)
    return report_broken(done.broken.values())


def _print_audit(found: tuple[Found, Found], done: Audit, html: Path | None) -> None:
    for side in found:
        skipped = [f"not read: {reasons(side.not_read)}"] if side.not_read else []
        for line in [*side.notes, *skipped]:
            say(line)
    for line in summary(done):
        say(as_flags(line))
    for measure, (title, caption) in MEASURES.items():
        show(Table(title, caption, *columns(done, measure)))
    if done.left_out:
        rows = [[name] for name in done.left_out]
        show(Table("not audited", "classes without photos here", ["class"], rows))
    say(LIMITS)
    if html:
        say(f"the page is {html}")
    else:
        print_line("next", "the same command with --html FILE writes a page for a data-protection "
                   "file")  # fmt: skip


def summary(found: Audit) -> Iterator[str]:
    """The result, what is kept, how well attacks do, then warnings.

    If the members are doubtful, warnings come first.
    """
    warnings = [f"Mind: {warning}." for warning in found.warnings]
    if found.doubtful:
        yield from warnings
        yield "So nothing that follows shows that the model is safe."
    else:
        yield _result(found)
    yield _kept(found)
    yield _reached(found.whole)
    if not found.doubtful:
        yield from warnings
    if found.broken:
        yield f"{counted(len(found.broken), 'photo', 'photos')} could not be read."


def _result(found: Audit) -> str:
    """The result in one sentence; anyone with the file has the answers too."""
    areas = {name: reached.auroc.value for name, reached in found.whole.attacks.items()}
    right = f"is right in {areas['score']:.0f} of 100 pairs of a used and an unused photo."
    if len(areas) == 1:
        return f"Anyone who sees this model's answers {right}"
    best = max(areas.values())
    level = next(words for least, words in LEVELS.items() if best >= least)
    sentence = (
        f"Anyone with this model's file can determine {level} which of these photos were used; "
        f"anyone who only sees its answers {right}"
    )
    give = " Give others the ONNX file that memoryless export writes instead."
    return sentence + give * (best >= GIVE)


def _kept(found: Audit) -> str:
    model, smallest = found.model, found.smallest
    photos = counted(smallest["photos"], "photo", "photos")
    return (
        f"Of the photos that it learned, the model keeps {sum(model['record'].values()):,} "
        f"bytes ({', '.join(parts_kept(model['record']))}) for "
        f"{counted(model['classes'], 'class', 'classes')}; the smallest, "
        f"{smallest['class']}, had {photos}."
    )


def _reached(whole: Exposure) -> str:
    areas = {name: reached.auroc for name, reached in whole.attacks.items()}
    stored = {name: area.value for name, area in areas.items() if name != "score"}
    text = (
        "An attack on the model's answers finds out whether a given photo was among them with an "
        f"AUROC of {estimate(areas['score'])}, where 50 is guessing and 100 is certainty"
    )
    if not stored:
        return f"{text}; its file was not attacked, because its features are trained."
    best = max(stored, key=lambda name: stored[name])
    return f"{text}; an attack on its file, by {best}, with one of {estimate(areas[best])}."


def estimate(of: Estimate) -> str:
    """A number with its interval.

    >>> estimate(Estimate(79.61, 77.2, 81.9))
    '79.6 (77-82)'
    """
    return f"{of.value:.1f} ({of.low:.0f}-{of.high:.0f})"


def columns(found: Audit, measure: str) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of a measure: all classes, then each."""
    attacks = list(found.whole.attacks)
    head = ["class", *(f"by {name}" for name in attacks), "members", "others"]
    rows = [
        [row.name]
        + [estimate(getattr(row.attacks[name], measure)) for name in attacks]
        + [f"{row.members:,}", f"{row.others:,}"]
        for row in (found.whole, *found.classes)
    ]
    return head, rows


def render(found: Audit) -> str:
    """The page of an audit."""
    kept = [[name, f"{size:,}"] for name, size in parts_kept(found.model["record"]).items()]
    left_out = [[name] for name in found.left_out]
    return pages.render(
        "audit",
        title=f"Audit of {pages.name_of(found.model['file'])}",
        summary=summary(found),
        limits=[LIMITS, found.honest],
        measures=[
            pages.table(title, *columns(found, measure), f"{caption[0].upper()}{caption[1:]}.")
            for measure, (title, caption) in MEASURES.items()
        ],
        attacks=[(f"by {name}", ATTACKS[name]) for name in found.whole.attacks] + [(ALL, TOGETHER)],
        left_out=pages.table("Classes of the model that were not audited", ["class"], left_out),
        kept=pages.table("What is kept of photos", ["part", "bytes"], kept),
        about=_facts(found),
    )


def _facts(found: Audit) -> list[tuple[str, Any]]:
    model, backbone = found.model, found.model["backbone"]
    network = f"{backbone['name']}, SHA-256 {backbone['sha256']}" if backbone else "trained"
    return [
        ("model", pages.name_of(model["file"])),
        ("state", f"{model['state']}, digest {model['digest']}"),
        ("written", f"{model['date']}, by memoryless {model['memoryless']}"),
        ("method", model["method"]),
        ("backbone", network),
        *found.places.items(),
        ("audited", found.date),
        ("with", ", ".join(f"{name} {number}" for name, number in found.versions.items())),
    ]
