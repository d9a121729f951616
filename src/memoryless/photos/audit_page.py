"""An audit in sentences and as one self-contained HTML page, which holds no photo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memoryless import pages
from memoryless.images.dataset import counted
from memoryless.membership import Estimate
from memoryless.model.card import parts_kept
from memoryless.pages import table
from memoryless.photos.auditing import ALL, Audit, Exposure

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
"""How well one can tell, by the least AUROC of each."""
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
        "percent of used photos that are told while at most 1 % of the others are taken for used; "
        "of fewer than 100 others, none is; in brackets the interval as above",
    ),
}


def summary(found: Audit) -> Iterator[str]:
    """The verdict, what is kept, how well one can tell, then warnings; where the members are in
    doubt, warnings first.
    """
    warnings = [f"Mind: {warning}." for warning in found.warnings]
    if found.doubtful:
        yield from warnings
        yield "So nothing that follows shows that the model is safe."
    else:
        yield _verdict(found)
    yield _kept(found)
    yield _told(found.whole)
    if not found.doubtful:
        yield from warnings
    if found.broken:
        yield f"{counted(len(found.broken), 'photo', 'photos')} could not be read."


def _verdict(found: Audit) -> str:
    """What it comes to, in words; whoever has the files has the answers too."""
    areas = {name: told.auroc.value for name, told in found.whole.attacks.items()}
    right = f"is right in {areas['score']:.0f} of 100 pairs of a used and an unused photo."
    if len(areas) == 1:
        return f"Whoever sees this model's answers {right}"
    best = max(areas.values())
    level = next(words for least, words in LEVELS.items() if best >= least)
    told = (
        f"Whoever has this model's file can tell {level} which of these photos were used; "
        f"whoever only sees its answers {right}"
    )
    give = " Give others the ONNX file that memoryless export writes instead."
    return told + give * (best >= GIVE)


def _kept(found: Audit) -> str:
    model, smallest = found.model, found.smallest
    photos = counted(smallest["photos"], "photo", "photos")
    return (
        f"Of the photos that it was taught with, the model keeps {sum(model['record'].values()):,} "
        f"bytes ({', '.join(parts_kept(model['record']))}) for "
        f"{counted(model['classes'], 'class', 'classes')}; the smallest, "
        f"{smallest['class']}, had {photos}."
    )


def _told(whole: Exposure) -> str:
    areas = {name: told.auroc for name, told in whole.attacks.items()}
    stored = {name: area.value for name, area in areas.items() if name != "score"}
    told = (
        "Whether a given photo was among them can be told from the model's answers with an AUROC "
        f"of {estimate(areas['score'])}, where 50 is guessing and 100 is certainty"
    )
    if not stored:
        return f"{told}; its file, whose features are trained, were not attacked."
    best = max(stored, key=lambda name: stored[name])
    return f"{told}; from the model's file, by {best}, with one of {estimate(areas[best])}."


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


def write_audit(path: Path, found: Audit) -> None:
    """Write the page to a file."""
    pages.write(path, render(found), "html")


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
            table(title, *columns(found, measure), f"{caption[0].upper()}{caption[1:]}.")
            for measure, (title, caption) in MEASURES.items()
        ],
        attacks=[(f"by {name}", ATTACKS[name]) for name in found.whole.attacks] + [(ALL, TOGETHER)],
        left_out=table("Classes of the model that were not audited", ["class"], left_out),
        kept=table("What is kept of photos", ["part", "bytes"], kept),
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
