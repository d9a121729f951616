"""Markdown of result pages: tables with the best in bold, their captions, wrapped prose."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Sequence

from results_numbers import MISSING, Row, Score

WORDS = ("no", "one", "two", "three", "four", "five")

Cell = str | Row | Score


def table(head: Sequence[str], lines: Sequence[Sequence[Cell]], rows: Sequence[Row] = ()) -> str:
    """A table of rows' pairs, or of the figures of `rows`, with a caption."""
    pairs = [cell for line in lines for cell in line if isinstance(cell, Row)]
    return markdown(head, bold(lines)) + "\n\n" + caption(rows or pairs, bool(pairs))


def bold(lines: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """Cells as text, in each column the best figures of memoryless methods in bold.

    Only cells of as many seeds as most have compete, and one alone is not the best of anything.
    """
    columns = [_rivals(column) for column in zip(*lines, strict=True)]
    best = [[max(values) for values in zip(*map(contest, cells), strict=True)] for cells in columns]
    return [[_bold(cell, top) for cell, top in zip(line, best, strict=True)] for line in lines]


def _rivals(column: Sequence[Cell]) -> list[Cell]:
    """The cells of a column that may be compared with each other."""
    able = [cell for cell in column if contest(cell)]
    alike = Counter(map(seeds_of, able))
    usual = max(alike, key=lambda seeds: (alike[seeds], seeds), default=0)
    return [cell for cell in able if seeds_of(cell) == usual] if alike[usual] > 1 else []


def seeds_of(cell: Cell) -> int:
    """Of how many seeds a cell is."""
    scores = cell.top1 if isinstance(cell, Row) else cell
    return len(scores.values) if isinstance(scores, Score) else 0


def contest(cell: Cell) -> list[float]:
    """With which numbers a cell can be the best of its column: none, one, or two of a pair."""
    if isinstance(cell, str) or not cell or not cell.memoryless:
        return []
    return [cell.top1.mean, cell.top5.mean] if isinstance(cell, Row) else [cell.mean]


def _bold(cell: Cell, best: Sequence[float]) -> str:
    marks = [own == top for own, top in zip(contest(cell), best, strict=False)]
    if not any(marks) or all(marks):
        return f"**{cell}**" if marks and all(marks) else str(cell)
    halves = zip(str(cell).split(" / "), marks, strict=True)
    return " / ".join(f"**{half}**" if mark else half for half, mark in halves)


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table with numbers to the right."""
    numbers = [any(re.match(rf"\**[+-]?\d|{MISSING}", cell) for cell in column)
               for column in zip(*lines, strict=True)]  # fmt: skip
    ruler = ["---:" if some else "---" for some in numbers]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ruler, *lines])


def caption(rows: Sequence[Row], pairs: bool = True) -> str:
    """What the cells of a table are, and over how many seeds."""
    methods: dict[int, dict[str, None]] = {}
    for row in rows:
        if row:
            methods.setdefault(len(row.top1.values), {})[row.method] = None
    several = [number for number in methods if number > 1]
    usual = max(several, key=lambda n: len(methods[n]), default=min(methods, default=0))
    parts = ["top-1 / top-5 in percent" if pairs else "percent"]
    parts += [f"{'± over ' * (usual > 1)}{_count(usual)}"] if usual else []
    for number in sorted(methods.keys() - {usual}):
        who = "without ±" if number == 1 else ", ".join(methods[number])
        parts.append(f"{who}: {_count(number)}")
    if not all(rows):
        parts.append(f"{MISSING} not run")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _count(seeds: int) -> str:
    number = WORDS[seeds] if seeds < len(WORDS) else str(seeds)
    return f"{number} seed{'s' * (seeds > 1)}"


def wrap(text: str, width: int = 118) -> str:
    """Prose in lines of at most so many characters; code, tables and headings as they are."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.S | re.M)
    wrapped = [part if part.startswith("```") else _wrap(part, width) for part in parts]
    return re.sub(r"\n{3,}", "\n\n", "".join(wrapped)).strip("\n") + "\n"


def _wrap(prose: str, width: int) -> str:
    """Lines that go on from each other are joined, and broken anew."""
    lines: list[str] = []
    for line in (line.rstrip() for line in prose.split("\n")):
        begins = not line or re.match(r"\s*([|#<!]|[-*] |\d+\. )", line)
        after = lines[-1] if lines else ""
        if begins or not after or re.match(r"[|#<!]", after):
            lines.append(line)
        else:
            lines[-1] += " " + line.strip()
    return "\n".join(_fill(line, width) for line in lines)


def _fill(line: str, width: int) -> str:
    if not line or re.match(r"\s*[|#<!]", line):
        return line
    bullet = re.match(r"\s*([-*] |\d+\. )?", line)
    indent = " " * len(bullet.group()) if bullet else ""
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
