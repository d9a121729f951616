"""The pages of the documentation as tests read them: text, blocks of code, and commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "memoryless"
DOCS = [p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "docs").rglob("*.md"))]
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]
PAGES += ["benchmarks/README.md", *DOCS]
WRITTEN = [page for page in PAGES if page != "docs/settings.md"]  # that one is generated


def text_of(page: str) -> str:
    return (ROOT / page).read_text()


def prose_of(page: str) -> str:
    """What stands outside blocks of code."""
    return re.sub(r"^```.*?^```$", "", text_of(page), flags=re.S | re.M)


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(page), flags=re.S | re.M)


def consoles(page: str, language: str = "console") -> list[tuple[str, list[str]]]:
    """The commands of a page, each with the lines that it is said to print."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks(page, language):
        first, *others = re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.M)
        assert not first, f"{page}: a block begins with what is no command: {first}"
        found += [(command, shown) for command, *shown in map(str.splitlines, others)]
    return found


def commands(page: str) -> list[list[str]]:
    """The words of every command in a block of the page, without what stands after a #."""
    lines = [line for kind in ("console", "shell-session") for line, _ in consoles(page, kind)]
    return [shlex.split(line, comments=True) for line in lines]


def headings(lines: list[str]) -> list[str]:
    """Return what sentences and indented lines begin with.

    >>> headings(["Done: birds knows 5 classes.", "  file      birds.memoryless", "  owl 24"])
    ['Done:', 'file']
    """
    sentences = [found[0] for line in lines if (found := re.match(r"[A-Z][a-z]+:?(?= )", line))]
    indented = [line[2:12].rstrip() for line in lines if re.match(r"  [a-z][a-z ]{8} \S", line)]
    return [*sentences, *indented]


def masked(line: str) -> str:
    """A line without its numbers, spaces and the mark of the Pareto front, which differ between one
    training and another.

    >>> masked(" FT   27.9   -1.5   26.0 kB  *"), masked("FT 3 nothing")
    ('FT # # #', 'FT # #')
    """
    text = re.sub(r"[-+]?\d[\d.,]*", "#", " ".join(line.removesuffix("*").split()))
    return re.sub(r"# (bytes|kB|MB)|\bnothing\b", "#", text)
