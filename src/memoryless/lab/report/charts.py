"""Charts as SVG that stands in the page: text to select, its colours those of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from memoryless.lab.analysis.chart_style import (
    COLOURS,
    DASHES,
    MOST_MARKED,
    apart,
    around,
    byte_ticks,
    few_of,
    percent_ticks,
    spread,
    state_ticks,
    wrapped,
)
from memoryless.names import printable, size

LETTER = 7.4  # width of a character of 12 pixels, on average of the widest labels
LINE = 14  # height of a line of a label
STRIP = 50  # width of the place for methods that keep nothing


@dataclass(frozen=True)
class Format:
    """A chart's size in pixels, and how many characters a line of its labels may have."""

    name: str
    width: int
    height: int
    letters: int
    ticks: int


# On a phone a chart has other proportions, for its text stays as large.
FORMATS = (Format("narrow", 328, 300, 15, 6), Format("wide", 528, 320, 24, 10))


@dataclass(frozen=True)
class Line:
    """A line has a label and a value for each state, with its deviation over seeds, if any."""

    label: str
    values: Sequence[float]
    deviations: Sequence[float] = ()

    @property
    def ranges(self) -> list[tuple[float, float]]:
        deviations = self.deviations or [0.0] * len(self.values)
        return [around(v, d) for v, d in zip(self.values, deviations, strict=True)]


@dataclass(frozen=True)
class Dot:
    """A dot is a method's accuracy with what it keeps; `named` ones show their label."""

    label: str
    bytes_kept: int
    value: float
    deviation: float = 0
    named: bool = False
    on_front: bool = False

    @property
    def stands_out(self) -> bool:
        return self.named or self.on_front

    @property
    def range(self) -> tuple[float, float]:
        return around(self.value, self.deviation)


def in_each_format(draw: Callable[[Format], Markup]) -> Markup:
    """The chart in each format; the page's style shows the one that fits."""
    return Markup("").join(draw(form) for form in FORMATS)


@dataclass(frozen=True)
class Frame:
    """The area between the axes, and where values lie in it."""

    form: Format
    right: float
    xs: tuple[float, float]
    ys: tuple[float, float]
    left: float = 40
    top: float = 12
    bottom: float = 44

    def x(self, value: float) -> float:
        share = (value - self.xs[0]) / ((self.xs[1] - self.xs[0]) or 1)
        return self.left + share * (self.form.width - self.right - self.left)

    def y(self, value: float) -> float:
        share = (value - self.ys[0]) / ((self.ys[1] - self.ys[0]) or 1)
        return self.form.height - self.bottom - share * (self.form.height - self.bottom - self.top)


def accuracy_chart(lines: Sequence[Line], form: Format) -> Markup:
    """Lines show top-1 accuracy by state, each with its label at its end."""
    labels = [wrapped(printable(line.label), form.letters) for line in lines]
    states = max(len(line.values) for line in lines)
    ticks = percent_ticks(max(high for line in lines for _, high in line.ranges))
    frame = Frame(form, _room(labels), (0, states - 1), (0, ticks[-1]))
    ends = [(frame.x(len(line.values) - 1), frame.y(line.values[-1])) for line in lines]
    parts = [
        _percent_axis(frame, ticks),
        _state_axis(frame, states),
        *(_band(line, i, frame) for i, line in enumerate(lines) if any(line.deviations)),
        *(_line(line, i, frame) for i, line in enumerate(lines)),
        _labels(frame, ends, labels, [COLOURS[i % len(COLOURS)] for i in range(len(lines))]),
    ]
    return _svg(form, "top-1 accuracy by state", parts)


def bytes_chart(dots: Sequence[Dot], form: Format) -> Markup:
    """Dots show accuracy against bytes kept; what keeps nothing stands apart at the left."""
    labels = [wrapped(printable(dot.label), form.letters) for dot in dots if dot.named]
    kept = [dot.bytes_kept for dot in dots if dot.bytes_kept] or [1000]
    ticks = percent_ticks(max(dot.range[1] for dot in dots))
    low, high = _decade(min(kept), -1), _decade(max(kept), 1)
    strip = STRIP if any(not dot.bytes_kept for dot in dots) else 0
    scale = (math.log10(low), math.log10(high))
    frame = Frame(form, _room(labels), scale, (0, ticks[-1]), left=40 + strip, bottom=56)
    places = {dot: (_across(dot, frame), frame.y(dot.value)) for dot in dots}
    named = [dot for dot in dots if dot.named]
    parts = [
        _percent_axis(frame, ticks, 40),
        _byte_axis(frame, low, high),
        _strip(frame) if strip else Markup(""),
        _labels(frame, [places[dot] for dot in named], labels),
        *(_dot(dot, *places[dot]) for dot in dots if not dot.stands_out),
        _front([places[dot] for dot in dots if dot.on_front]),
        *(_bar(dot, places[dot][0], frame) for dot in named if dot.deviation),
        *(_dot(dot, *places[dot]) for dot in dots if dot.stands_out),  # nothing lies over them
    ]
    return _svg(form, "top-1 accuracy against bytes kept", parts)


def _room(labels: Iterable[Sequence[str]]) -> float:
    """Pixels at the right for the widest line of the labels."""
    return 26 + LETTER * max((len(line) for label in labels for line in label), default=0)


def _decade(number: int, side: int) -> float:
    """The next half power of ten below or above a number, so that nothing lies on an edge."""
    half = 2 * math.log10(number)
    return 10 ** ((math.floor(half) if side < 0 else math.ceil(half)) / 2 + side * 0.1)


def _across(dot: Dot, frame: Frame) -> float:
    return frame.x(math.log10(dot.bytes_kept)) if dot.bytes_kept else frame.left - STRIP / 2


def _svg(form: Format, title: str, parts: Iterable[Markup]) -> Markup:
    return Markup(
        '<svg class="chart {name}" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">'
        "{inside}</svg>\n"
    ).format(
        name=form.name,
        width=form.width,
        height=form.height,
        title=title,
        inside=Markup("").join(parts),
    )


def _text(x: float, y: float, text: str, anchor: str = "middle", kind: str = "") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="{}">{}</text>').format(
        x, y, anchor, kind, text
    )


def _rule(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return Markup(
        '<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>'
    ).format(x1, y1, x2, y2, kind)  # fmt: skip


def _percent_axis(frame: Frame, ticks: Sequence[int], left: float | None = None) -> Markup:
    left = frame.left if left is None else left
    right = frame.form.width - frame.right
    middle = (frame.y(ticks[0]) + frame.y(ticks[-1])) / 2
    title = Markup(
        '<text transform="translate(11 {:.1f}) rotate(-90)" text-anchor="middle">'
        "top-1 accuracy (%)</text>"
    ).format(middle)
    return title + Markup("").join(
        _rule(left, frame.y(t), right, frame.y(t), "grid" if t else "axis")
        + _text(left - 6, frame.y(t) + 4, str(t), "end", "tick")
        for t in ticks
    )


def _state_axis(frame: Frame, states: int) -> Markup:
    below = frame.y(0) + 16
    ticks = [_text(frame.x(t), below, str(t), kind="tick") for t in _states(frame, states)]
    middle = (frame.left + frame.form.width - frame.right) / 2
    return Markup("").join([*ticks, _text(middle, below + 20, "state")])


def _states(frame: Frame, states: int) -> list[int]:
    return state_ticks(states, frame.form.ticks)


def _byte_axis(frame: Frame, low: float, high: float) -> Markup:
    below = frame.y(0) + 16
    ticks = [
        _rule(x, frame.y(0), x, frame.y(0) + 4, "axis") + _text(x, below, text, kind="tick")
        for x, text in _few(byte_ticks(math.ceil(low), math.floor(high)), frame)
    ]
    middle = (frame.left + frame.form.width - frame.right) / 2
    return Markup("").join([*ticks, _text(middle, below + 32, "bytes kept of the past")])


def _few(ticks: dict[int, str], frame: Frame) -> list[tuple[float, str]]:
    """Places and texts of ticks that touch neither each other nor what stands at the left."""
    places = [(frame.x(math.log10(number)), text) for number, text in ticks.items()]
    halves = [LETTER * len(text) / 2 for _, text in places]
    spans = [(x - half, x + half) for (x, _), half in zip(places, halves, strict=True)]
    return [places[i] for i in apart(spans, frame.left + 2, 4)]


def _strip(frame: Frame) -> Markup:
    """The place of methods that keep nothing, at the left of the axis of bytes."""
    edge, low = frame.left, frame.y(0)
    words = [
        _text(edge - STRIP / 2, low + 16 + 13 * i, word, kind="tick")
        for i, word in enumerate(("nothing", "kept"))
    ]
    return _rule(edge, frame.top, edge, low, "apart") + Markup("").join(words)


def _line(line: Line, i: int, frame: Frame) -> Markup:
    points = [(frame.x(t), frame.y(v)) for t, v in enumerate(line.values)]
    path = Markup(
        '<polyline points="{}" fill="none" stroke="{}" stroke-width="2" stroke-dasharray="{}"/>'
    ).format(
        _points(points),
        COLOURS[i % len(COLOURS)],
        " ".join(map(str, DASHES[i % len(DASHES)])) or "none",
    )
    few = few_of(range(len(points)), MOST_MARKED)
    marks = [
        _mark(i, x, y, f"{printable(line.label)}, state {t}: {value:.1f} %", t in few)
        for t, ((x, y), value) in enumerate(zip(points, line.values, strict=True))
    ]
    return Markup("<g>{}{}</g>").format(path, Markup("").join(marks))


def _band(line: Line, i: int, frame: Frame) -> Markup:
    """The deviation over seeds, to both sides of a line."""
    above = [(frame.x(t), frame.y(high)) for t, (_, high) in enumerate(line.ranges)]
    below = [(frame.x(t), frame.y(low)) for t, (low, _) in enumerate(line.ranges)]
    return Markup('<polygon points="{}" fill="{}" class="band"/>').format(
        _points([*above, *below[::-1]]), COLOURS[i % len(COLOURS)]
    )


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


SHAPES = (
    "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0z",
    "M-3-3h6v6h-6z",
    "M0-4l4 7h-8z",
    "M0-4.4l4.4 4.4l-4.4 4.4l-4.4-4.4z",
    "M0 4l4-7h-8z",
    "M-1.4-4h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6v-2.8h2.6z",
)


def _mark(i: int, x: float, y: float, title: str, is_seen: bool) -> Markup:
    """A mark tells its value where a pointer rests on it, seen or not."""
    return Markup(
        '<path d="{}" transform="translate({:.1f} {:.1f})" fill="{}"{}><title>{}</title></path>'
    ).format(
        SHAPES[i % len(SHAPES)], x, y, COLOURS[i % len(COLOURS)],
        Markup("" if is_seen else ' opacity="0"'), title,
    )  # fmt: skip


def _dot(dot: Dot, x: float, y: float) -> Markup:
    kept = size(dot.bytes_kept) if dot.bytes_kept else "nothing kept"
    return Markup(
        '<circle cx="{:.1f}" cy="{:.1f}" r="{}" class="{}"><title>{}, {}: {:.1f} %</title></circle>'
    ).format(
        x, y, 4 if dot.named else 3, "dot" if dot.stands_out else "dot other",
        printable(dot.label), kept, dot.value,
    )  # fmt: skip


def _bar(dot: Dot, x: float, frame: Frame) -> Markup:
    """The deviation over seeds, above and below a dot."""
    low, high = dot.range
    return _rule(x, frame.y(low), x, frame.y(high), "bar")


def _front(points: Sequence[tuple[float, float]]) -> Markup:
    """Steps lead from each method of the front to the next that needs more and reaches more."""
    corners: list[tuple[float, float]] = []
    for x, y in points:
        corners += [(x, corners[-1][1]), (x, y)] if corners else [(x, y)]
    return Markup('<polyline points="{}" class="front"/>').format(_points(corners))


def _labels(
    frame: Frame,
    ends: Sequence[tuple[float, float]],
    labels: Sequence[Sequence[str]],
    colours: Sequence[str] = (),
) -> Markup:
    """Labels stand at the right, apart from each other, each led to by a line of its colour.

    Without colours the lines are dotted and faint: they cross the chart, and are no data.
    """
    heights = [LINE * len(label) + 4 for label in labels]
    places = spread([y for _, y in ends], heights, 4, frame.form.height - 4)
    left = frame.form.width - frame.right
    kind = "leader" if colours else "leader dotted"
    return Markup("").join(
        Markup('<path d="M{:.1f} {:.1f}L{:.1f} {:.1f}h5" stroke="{}" class="{}"/>{}').format(
            x, y, left + 14, place, colour, kind, _lines(left + 22, place, label)
        )
        for (x, y), place, label, colour in zip(
            ends, places, labels, colours or ["var(--faint)"] * len(ends), strict=True
        )
    )


def _lines(x: float, middle: float, label: Sequence[str]) -> Markup:
    top = middle - LINE * (len(label) - 1) / 2 + 4
    return Markup("").join(
        _text(x, top + LINE * i, line, "start", "label") for i, line in enumerate(label)
    )
