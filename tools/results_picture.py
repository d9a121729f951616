"""Draws the summary of the results page as an SVG: a bar of top-1 for each method."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from results_numbers import MISSING, Row

LEFT, PLOT, LINE, TOP = 190, 330, 30, 44
KEPT, TIME = LEFT + PLOT + 110, LEFT + PLOT + 190
WIDTH = TIME + 12
BELOW = 58  # for ticks and the key
KEY = "stroke: range of seeds; dashed: chance; grey: never trained"
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #222 }
.back { fill: #fff } .axis { fill: #666 } .grid { stroke: #ddd }
.chance { stroke: #d55e00; stroke-dasharray: 4 3 }
.ours { fill: #0072b2 } .other { fill: #999 } .seeds { stroke: #222 }
.value { stroke: #fff; stroke-width: 4px; paint-order: stroke }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .back { fill: #1a1a1a } .axis { fill: #aaa } .grid { stroke: #444 }
  .seeds { stroke: #fff } .other { fill: #777 } .value { stroke: #1a1a1a }
}
"""


def picture(rows: Sequence[tuple[str, Row, str]], chance: str) -> str:
    """Rows of label, figures and training time; those that were not measured have no bar."""
    height = TOP + LINE * len(rows) + BELOW
    most = max((row.top1.mean for _, row, _ in rows if row), default=0.0)
    end = 10 * (int(most) // 10 + 1)
    parts = [_axis(end, height), *(_bar(i, *row, end) for i, row in enumerate(rows))]
    if chance != MISSING:
        parts.append(_upright("chance", float(chance), end, height))
    title = "Top-1 accuracy, bytes kept and training time of each method"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{title}">\n<title>{title}</title>\n<style>{STYLE}</style>\n'
        + '<rect class="back" width="100%" height="100%"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _at(value: float, end: int) -> float:
    return round(LEFT + PLOT * value / end, 1)


def _axis(end: int, height: int) -> str:
    """Ticks every ten percent, and headings."""
    lines = [
        _text(LEFT, 16, "average top-1 in percent", "start"),
        _text(KEPT, 16, "kept", "end"),
        _text(TIME, 16, "training", "end"),
        _text(LEFT, height - 12, KEY, "start", "axis"),
    ]
    for tick in range(0, end + 1, 10):
        lines.append(_upright("grid", tick, end, height))
        lines.append(_text(_at(tick, end), height - BELOW + 18, str(tick), "middle", "axis"))
    return "\n".join(lines)


def _upright(kind: str, value: float, end: int, height: int) -> str:
    """A line through all bars at a value."""
    x = _at(value, end)
    return f'<line class="{kind}" x1="{x}" x2="{x}" y1="{TOP - 6}" y2="{height - BELOW}"/>'


def _bar(i: int, name: str, row: Row, time: str, end: int) -> str:
    """A method's line; the thin stroke is the range of its seeds."""
    y = TOP + LINE * i
    lines = [_text(LEFT - 8, y + 14, name, "end")]
    if row:
        kind = "other" if row.method.startswith("untrained") else "ours"
        x, values = _at(row.top1.mean, end), row.top1.values.values()
        low, high = _at(min(values), end), _at(max(values), end)
        lines += [
            f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{round(x - LEFT, 1)}" height="20"/>',
            f'<line class="seeds" x1="{low}" x2="{high}" y1="{y + 10}" y2="{y + 10}"/>',
            _text(high + 5, y + 14, f"{row.top1.mean:.1f}", "start", "value"),
        ]
    lines += [_text(KEPT, y + 14, row.kept, "end"), _text(TIME, y + 14, time, "end")]
    return "\n".join(lines)


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
