"""Make docs/results.md, its picture and README's headline from figures of finished runs.

python tools/results.py collect NAME RUNS... [--methods FT ...] [--without '*+backward' ...]
python tools/results.py write
python tools/results.py check
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from results_numbers import Numbers
from results_page import FOLDER, HEADLINE, ROOT, find, label, ratio, render
from results_picture import picture

DATA, STATES = "quickdraw100", 10  # what the headline is of
BEGIN, END = "<!-- results: headline -->\n", "<!-- end -->"


def main(words: list[str]) -> int:
    """Do what the words say; the exit code tells whether `check` found all as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    doing = parser.add_subparsers(dest="what", required=True)
    collecting = doing.add_parser("collect", help="write docs/results/NAME.json from run folders")
    collecting.add_argument("name")
    collecting.add_argument("runs", nargs="+", type=Path)
    collecting.add_argument("--methods", nargs="+", default=[], help="score these anew")
    collecting.add_argument("--without", nargs="+", default=[], help="patterns of methods")
    doing.add_parser("write", help="write the page, the picture and README's block")
    doing.add_parser("check", help="say what is stale, and exit with 1 if anything is")
    given = parser.parse_args(words)
    if given.what == "collect":
        from results_collect import collect

        text = collect(given.runs, given.methods, given.without)
        (FOLDER / f"{given.name}.json").write_text(text)
        return 0
    stale = {file: text for file, text in made().items() if text != _text_of(file)}
    for file, text in stale.items():
        print(file.relative_to(ROOT), "is stale" if given.what == "check" else "written")
        if given.what == "write":
            file.write_text(text)
    return int(bool(stale) and given.what == "check")


def made(folder: Path = FOLDER) -> dict[Path, str]:
    """Every file that is made from the collected figures, and what it must hold."""
    numbers = Numbers(folder)
    readme = ROOT / "README.md"
    return {
        ROOT / "docs" / "results.md": render("page.md.j2", numbers),
        FOLDER / "summary.svg": _picture(numbers),
        readme: with_block(readme.read_text(), render("headline.md.j2", numbers)),
    }


def with_block(text: str, block: str) -> str:
    """A page with the block between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"README.md needs the two lines {BEGIN.strip()} and {END}")
    return f"{before}{BEGIN}\n{block}\n{END}{after}"


def _picture(numbers: Numbers) -> str:
    one = numbers.row(DATA, STATES, "FT")
    rows = [(label(wanted), find(numbers, DATA, STATES, wanted)) for wanted in HEADLINE]
    rows = [(name, row) for name, row in rows if row.memoryless]  # Full has no average over states
    timed = [(name, row, ratio(row, one)) for name, row in rows]
    return picture(timed, numbers.chance(DATA, STATES)[0])


def _text_of(file: Path) -> str:
    return file.read_text() if file.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
