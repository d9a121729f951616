"""What the documentation tells people to type works, and what it names exists."""

from __future__ import annotations

import ast
import doctest
import re
import sys
import tomllib
from importlib import import_module

import pytest

import memoryless
from memoryless.cli import app
from memoryless.lab.config import Config
from memoryless.stats.calibration import CALIBRATIONS
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import METHODS, grid_of
from memoryless.stats.transports import TRANSPORTS
from memoryless.strategies import STRATEGIES
from pages import DOCS, PACKAGE, PAGES, ROOT, WRITTEN, blocks, prose_of, text_of


@pytest.mark.parametrize("page", WRITTEN)
def test_flags_exist(page):
    """Flags in backticks are of some command, or of pip, make and pytest."""
    names = {
        name
        for command in app
        if not command.startswith("-")
        for argument in app[command].assemble_argument_collection()
        for name in argument.names
    }
    flags = re.findall(r"`(--[a-z-]+)", text_of(page))
    flags = [flag for flag in flags if page != "CHANGELOG.md" or flag not in RENAMED]
    assert set(flags) <= names | {"--help", "--version"}


RENAMED = {"--holdout", "--roots", "--lr-rule"}


def test_the_file_of_settings_is_a_config():
    (text,) = blocks("docs/lab/reproduce.md", "toml")
    values = tomllib.loads(text)
    assert Config(**values).patience_later == 15


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", text_of(page))
    broken = [x for x in links if "://" not in x and not (ROOT / page).parent.joinpath(x).exists()]
    assert not broken


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_headings(page):
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text_of(page))
    for file, anchor in links:
        target = (ROOT / page).parent / file if file else ROOT / page
        assert anchor in anchors(target.read_text()), (file, anchor)


def anchors(text: str) -> set[str]:
    """What headings are called in links: small letters, blanks as hyphens, no other signs."""
    titles = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


WORDS = [
    "state", "stream", "class order", "strategy", "head", "calibration", "transport", "method",
    "record", "statistics", "level", "held-out images", "validation images", "control", "Full",
]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_the_laboratory_explains_its_words(word):
    assert re.search(rf"^\| \*\*{word}\*\* \| .+ \|$", text_of("docs/lab/index.md"), re.M)


AVOID = (
    "anew|mend|mended|whoever|manners|aloud|house|storey|storeys|"
    "(?:is|are|was|were) told|(?:is|are) of (?:a|the|one|few|no)"
)


@pytest.mark.parametrize("page", ["README.md", *DOCS])
def test_words_to_avoid(page):
    """These made earlier pages hard to read; CONTRIBUTING.md says how to write instead."""
    prose = re.sub(r"`[^`]*`", "", prose_of(page))
    assert not re.findall(rf"\b(?:{AVOID})\b", prose, flags=re.I)


def test_the_readme_is_short():
    assert len(text_of("README.md").splitlines()) <= 120


def test_the_site_has_every_page():
    """`make docs` checks that all pages of the list exist, and every link between them."""
    listed = re.findall(r"^ +- (?:[^:\n]+: )?([\w/-]+\.md)$", text_of("mkdocs.yml"), flags=re.M)
    assert sorted(f"docs/{page}" for page in listed) == DOCS


@pytest.mark.parametrize("page", PAGES)
def test_prose_fits_a_screen(page):
    """But for rows of tables and the addresses that links lead to."""
    prose = [x for x in prose_of(page).splitlines() if not re.match(r"\||\[[^]]+\]: ", x)]
    assert not [line for line in prose if len(line) > 120]


@pytest.mark.parametrize("page", WRITTEN)
def test_tables_have_as_many_cells_in_every_row(page):
    rows = re.findall(r"^\|.*\|$(?:\n^\|.*\|$)*", text_of(page), flags=re.M)
    for table in rows:
        cells = {re.sub(r"\\\||`[^`]*`", "", row).count("|") for row in table.splitlines()}
        assert len(cells) == 1, table


def test_settings_page_is_the_config(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    from write_settings import settings

    assert text_of("docs/settings.md") == settings()


def test_methods_page_names_every_method():
    for name, method in METHODS.items():
        row = f"| {name} | {method.strategy} | {method.head} | {method.calibration} |"
        assert row in text_of("docs/lab/methods.md")


@pytest.mark.parametrize(
    "name", [*STRATEGIES, *HEADS, *TRANSPORTS, *(name for name in CALIBRATIONS if name != "none")]
)
def test_methods_page_has_a_row_for_every_part_of_a_method(name):
    assert re.search(rf"^\| `{name}` \| .+ \|$", text_of("docs/lab/methods.md"), flags=re.M)


def test_versions_agree():
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    assert f"\nversion: {project['version']}\n" in text_of("CITATION.cff")


def test_the_layers_are_drawn_as_they_are():
    drawing, *_ = blocks("docs/architecture.md", "")
    layers: dict[int, set[str]] = {}
    layer = -1
    for line in drawing.splitlines():
        number, names = line[:3].strip(), re.split(r" {2,}", line[3:])[0].split()
        layer = int(number) if number else layer
        layers.setdefault(layer, set()).update(names)
    assert [layers[i] for i in sorted(layers)] == _layers()


def _layers() -> list[set[str]]:
    for node in ast.parse(text_of("tests/test_layers.py")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LAYERS":
            return eval(ast.unparse(node.value))  # sets, and unions of them
    raise AssertionError("test_layers.py has no LAYERS")


def names_in(page: str) -> set[str]:
    """Backticked paths, dotted names and tests."""
    found = re.findall(r"`([^`\n]+)`", prose_of(page))
    return {name for name in found if re.fullmatch(r"[\w/]+([./]|::)[\w./:]*", name)}


def exists(name: str) -> bool:
    path, _, test = name.partition("::")
    if path.endswith((".py", "/")):
        places = [place for place in (ROOT / path, PACKAGE / path) if place.exists()]
        return bool(places) and (not test or f"def {test}(" in places[0].read_text())
    if path.endswith((".json", ".safetensors")):
        return any(path.split(".")[0] in p.read_text() for p in PACKAGE.rglob("*.py"))
    return resolves(path.removeprefix("memoryless.").split("."))


def resolves(parts: list[str]) -> bool:
    """Whether this is a module of the package, or a name in one, or in a class of one."""
    for number in range(len(parts), -1, -1):
        try:
            thing = import_module(".".join(["memoryless", *parts[:number]]))
        except ImportError:
            continue
        return all((thing := _member(thing, part)) is not MISSING for part in parts[number:])
    return False


MISSING = object()


def _member(thing: object, name: str) -> object:
    fields = getattr(thing, "__dataclass_fields__", {})
    return fields.get(name) or getattr(thing, name, MISSING)


def test_what_the_map_names_exists():
    names = {name for name in names_in("docs/architecture.md") if not name.startswith("states/")}
    assert len(names) > 50
    assert not [name for name in sorted(names) if not exists(name)]


@pytest.mark.parametrize("page", WRITTEN)
def test_what_pages_name_exists(page):
    ours = ("memoryless.", "src/", "tests/", "tools/")
    names = [n for n in names_in(page) if n.startswith(ours) and "NAME" not in n]
    assert not [name for name in names if not exists(name)]


@pytest.mark.parametrize("name", ["lab/ran.py", "heads.sew", "tests/test_heads.py::test_no", "a/"])
def test_what_does_not_exist_is_noticed(name):
    assert not exists(name)


def test_the_parts_of_a_method_that_a_page_adds_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(HEADS, "dots", HEADS["ncm"])  # taken back afterwards
    monkeypatch.setitem(TRANSPORTS, "shift", TRANSPORTS["none"])
    (code,) = blocks("docs/lab/add-a-method.md", "python")
    exec(compile(code, "add-a-method.md", "exec"), {})
    assert "finetune+dots+shift" in grid_of("finetune")


def test_the_examples_of_python_give_what_they_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = "docs/python.md"
    examples = "\n".join(blocks(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(examples, {}, page, page, 0)
    told: list[str] = []
    result = doctest.DocTestRunner().run(test, out=told.append)
    assert result.attempted > 30
    assert not result.failed, "".join(told)


def documented() -> list[str]:
    return re.findall(r"^::: ([\w.]+)$", text_of("docs/reference.md"), flags=re.M)


def test_the_reference_names_what_exists():
    assert not [name for name in documented() if not exists(name)]


def test_the_reference_has_every_public_name():
    shown = {name.rpartition(".")[2] for name in documented()}
    assert {*memoryless.__all__} - {"__version__"} <= shown


def test_the_bar_of_the_readme_is_that_of_the_evidence():
    bar = text_of("docs/lab/archive.md").partition("\n## The bar\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \d \| (\S+) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|$", bar, re.M)
    assert (len(rows), len({*rows})) == (3, 1)  # three orders, the same answers
    ours, theirs, difference, low, high = rows[0]
    good = text_of("README.md").partition("\n## What it does well\n")[2].partition("\n## ")[0]
    for part in (f"| {ours} %", f"| {theirs} %", f"difference {difference}", f"{low} to {high})"):
        assert part in good
