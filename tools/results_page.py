"""Renders docs/results.md and the headline in README.md from collected figures and templates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from results_numbers import MISSING, Numbers, Row, Score, kept, verdict
from results_text import Cell, markdown, table, wrap

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "results"
PUBLISHED = ROOT / "src" / "memoryless" / "lab" / "analysis" / "published.json"
Wanted = str | Mapping[str, Any]  # a method, or a method and settings of its run

MIDDLE: dict[str, Any] = {"level": "middle", "square_roots": True}
UNSAID = "\0"  # stands for a sentence of which nothing was measured, and goes with its line
DRAWN = (10, 20, 50)  # numbers of states in the paper, which claims are looked at for
HEADLINE: list[Mapping[str, Any]] = [
    {"method": "FT", "about": "fine-tuning as it is"},
    {"method": "inFT", "about": "with initial classifiers (the paper)"},
    {"method": "inFT_siw", "about": "the same, standardised (the paper)"},
    {"method": "finetune+ncm+linear", "about": "class means, moved by a linear map"},
    {"method": "finetune+rda+widened", "about": "covariances of middle stages, moved", **MIDDLE},
    {"method": "lwf_kd+siw", "about": "distillation, with the paper's siw"},
    {"method": "lwf_kd+fetril+linear", "about": "distillation, means of middle stages", **MIDDLE},
    {"method": "lwf_kd+rda+widened", "about": "distillation, with covariances", **MIDDLE},
    {"method": "frozen+rda", "about": "covariances; trained in state 0 only", **MIDDLE},
    {"method": "untrained+lda", "about": "control: weights as drawn, never trained", **MIDDLE},
    {"method": "Full", "about": "all classes at once; not memoryless"},
]


class Page:
    """What templates can call; every number of a page comes from here."""

    def __init__(self, numbers: Numbers):
        self.numbers = numbers
        ours = (self.chance, self.by_states, self.by_kind, self.summary, self.claims)
        others = (verdict, depending, kept, published, self.commands, self.versions)
        self.calls = {
            "row": numbers.row,
            "cell": lambda *facts, **settings: str(numbers.row(*facts, **settings)),
            "gain": lambda a, b, k="top1": getattr(a, k) - getattr(b, k),
            **{call.__name__: call for call in (*ours, *others)},
        }

    def chance(self, data: str, states: int) -> str:
        """Top-1 / top-5 of guessing."""
        guessed = self.numbers.chance(data, states)
        return MISSING if MISSING in guessed else " / ".join(guessed)

    def by_states(
        self,
        data: str,
        states: Sequence[int],
        methods: Sequence[Wanted],
        chance: bool = True,
        **settings: Any,
    ) -> str:
        """A table of methods by the number of states; what was not run at all is left out."""
        found = {
            label(wanted): [find(self.numbers, data, T, wanted, **settings) for T in states]
            for wanted in methods
        }
        aside = {label(wanted) for wanted in methods if len(methods) > 1 and is_aside(wanted)}
        ours = [rows for name, rows in found.items() if name not in aside]
        run = [any(rows) for rows in zip(*ours, strict=True)]
        states = [T for T, some in zip(states, run, strict=True) if some]
        lines: list[list[Cell]] = []
        if chance:
            lines.append(["chance", "", *(self.chance(data, T) for T in states)])
        for name, rows in found.items():
            cells = [row for row, some in zip(rows, run, strict=True) if some]
            if any(cells):
                lines.append([name, next(row.kept for row in cells if row), *cells])
        if not states:
            return "Not run yet."
        return table(["method", "kept", *(f"T={T}" for T in states)], lines)

    def by_kind(
        self,
        data: str,
        states: int,
        names: Sequence[str],
        columns: Mapping[str, Wanted],
        title: str = "head",
    ) -> str:
        """A table of heads by columns, each a method in which {} stands for the head."""
        lines: list[list[Cell]] = []
        for name in names:
            line: list[Cell] = [name]
            for wanted in columns.values():
                asked = {"method": wanted} if isinstance(wanted, str) else dict(wanted)
                asked["method"] = asked["method"].format(name)
                line.append(find(self.numbers, data, states, asked))
            lines += [line] if any(line[1:]) else []
        return table([title, *columns], lines)

    def summary(
        self, data: str, states: int, methods: Sequence[Mapping[str, Any]], unit: str = "FT"
    ) -> str:
        """A table of what methods reach and cost; `unit` has the time that others are told in."""
        head = ["method", "what it is", "top-1", "top-5", "at the end", "kept", "training time"]
        guessed = ["chance", "guessing", *self.numbers.chance(data, states), "", "", ""]
        one = self.numbers.row(data, states, unit)
        rows = [find(self.numbers, data, states, wanted) for wanted in methods]
        lines: list[list[Cell]] = [
            [
                wanted["method"],
                wanted["about"],
                *averages(row),
                row.last_top1,
                row.kept,
                ratio(row, one),
            ]
            for wanted, row in zip(methods, rows, strict=True)
        ]
        return table(head, [guessed, *lines], rows)

    def claims(self, claims: Sequence[tuple[str, str, str]], k: str = "top5") -> str:
        """A table of claims that one method is above another: the verdicts, and the numbers."""
        sets = {"drawings": ("quickdraw100", DRAWN), "CIFAR-100": ("cifar100", (10,))}
        lines: list[list[str]] = [["claim of the paper"]]
        lines += [[f"{text}: {better} > {worse}"] for text, better, worse in claims]
        for title, (data, states) in sets.items():
            run = [T for T in states if self.numbers.row(data, T, "FT")]
            lines[0] += [title, *(f"T={T}{self._one_seed(data, T)}" for T in run)] if run else []
            for line, (_, better, worse) in zip(lines[1:], claims, strict=True):
                line.extend(self._judged(better, worse, k, data, run) if run else [])
        return markdown(lines[0], lines[1:])

    def _one_seed(self, data: str, states: int) -> str:
        seeds = len(self.numbers.row(data, states, "FT").top1.values)
        return ", one seed" if seeds == 1 else ""

    def _judged(
        self, better: str, worse: str, k: str, data: str, states: Sequence[int]
    ) -> list[str]:
        """The verdict over these numbers of states, and both means for each."""
        high, low = (
            [getattr(self.numbers.row(data, T, method), k) for T in states]
            for method in (better, worse)
        )
        pairs = [*zip(high, low, strict=True)]
        some = [T for T, (h, w) in zip(states, pairs, strict=True) if h and w]
        where = f" (T = {', '.join(map(str, some))})" if 0 < len(some) < len(states) else ""
        judged = verdict(*(h.above(w) for h, w in pairs)) + where
        return [judged, *(against(h, w) for h, w in pairs)]

    def commands(self, *names: str) -> str:
        """What was typed to make the runs of these files."""
        typed = dict.fromkeys(made["command"] for made in self.numbers.made(*names))
        lines = [f"$ {command}" for command in typed]
        return "\n".join(["```console long", *lines, "```"]) if lines else "Not run yet."

    def versions(self) -> str:
        """Versions of Python and torch, cores, and the commits, of all runs."""
        made = self.numbers.made()
        pairs = {(m["python"], m["torch"].split("+")[0], m["cores"]) for m in made}
        texts = [f"Python {p}, torch {t}, {c} cores" for p, t, c in sorted(pairs)]
        commits = sorted({m["commit"][:7] for m in made if m["commit"]})
        return f"{'; '.join(texts)}; commits {', '.join(f'`{commit}`' for commit in commits)}"


def averages(row: Row) -> tuple[Cell, Cell]:
    """Top-1 and top-5 over later states; what learned all classes at once has none."""
    return (row.top1, row.top5) if row.memoryless else ("", "")


def find(numbers: Numbers, data: str, states: int, wanted: Wanted, **settings: Any) -> Row:
    """The row of a method, or of a method with settings of its own."""
    asked = {"method": wanted} if isinstance(wanted, str) else dict(wanted)
    shown = ("label", "about")
    asked = settings | {name: value for name, value in asked.items() if name not in shown}
    return numbers.row(data, states, **asked)


def is_aside(wanted: Wanted) -> bool:
    """Whether a row only stands beside others: the control, and what is not memoryless."""
    return label(wanted).endswith(")")


def label(wanted: Wanted) -> str:
    """The name that a table shows: the method's, unless another is given."""
    if isinstance(wanted, str):
        return label({"method": wanted})
    if "label" in wanted:
        return wanted["label"]
    notes = {"Full": " (not memoryless)", "untrained+lda": " (control)"}
    return wanted["method"] + notes.get(wanted["method"], "")


def against(high: Score, low: Score) -> str:
    """Two means with the sign between them that is true."""
    if not (high and low):
        return MISSING
    one, two = f"{high.mean:.1f}", f"{low.mean:.1f}"
    sign = "=" if one == two else ">" if high.mean > low.mean else "<"
    return f"{one}\N{NO-BREAK SPACE}{sign}\N{NO-BREAK SPACE}{two}"


def ratio(row: Row, one: Row) -> str:
    """How long a training takes in times of another."""
    if not (row and one):
        return MISSING
    times = row.seconds / one.seconds
    return "none" if times < 0.05 else f"{times:.1f} x"


def depending(answers: Sequence[bool], yes: str, no: str, unclear: str = "") -> str:
    """The sentence that is true: where a claim holds, does not, or seeds differ; none where
    nothing was measured.
    """
    texts = {"holds": yes, "does not hold": no, "unclear": unclear or "Seeds differ on it."}
    return texts.get(verdict(answers), UNSAID)


def published(method: str, states: int) -> str:
    """The paper's own top-5 on CIFAR-100."""
    tables = json.loads(PUBLISHED.read_text())
    accuracies = tables["methods"].get(method, {"accuracy": {}})["accuracy"]
    value = accuracies.get("CIFAR100", {}).get(str(states))
    value = tables["full"]["CIFAR100"] if method == "Full" else value
    return MISSING if value is None else f"{value:.1f}"


def render(name: str, numbers: Numbers) -> str:
    """A template's text, its prose wrapped."""
    loader = FileSystemLoader(FOLDER)
    settings = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    template = Environment(loader=loader, **settings).get_template(name)
    text = template.render(**Page(numbers).calls, HEADLINE=HEADLINE, MIDDLE=MIDDLE)
    return wrap(re.sub(rf"\n?[ \t]*{UNSAID}", "", text))
