"""What the documentation tells people to type works, and what it names exists."""

from __future__ import annotations

import ast
import doctest
import re
import shlex
import shutil
import sys
import tomllib
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from PIL import Image

import memoryless
from conftest import make_folder
from memoryless import calibration, heads, metrics
from memoryless.card import HONEST
from memoryless.cli import app, main
from memoryless.data import samples
from memoryless.lab.config import Config
from memoryless.lab.runs import RunFolder
from memoryless.methods import METHODS, grid_of
from memoryless.transports import TRANSPORTS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "memoryless"
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md"]
PAGES += [str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").glob("*.md"))]
WRITTEN = [page for page in PAGES if page != "docs/settings.md"]  # that one is generated


def text_of(page: str) -> str:
    return (ROOT / page).read_text()


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text_of(page), flags=re.S)


def console_lines(page: str = "README.md") -> list[str]:
    """The commands of a page; what they print may stand below each."""
    return [line for line, _ in consoles(page)]


def consoles(page: str) -> list[tuple[str, list[str]]]:
    """The commands of a page, each with the lines that it is said to print."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks(page, "console"):
        first, *others = re.split(r"^\$ ", block, flags=re.M)
        assert not first and others
        found += [(command, shown) for command, *shown in map(str.splitlines, others)]
    return found


def headings(lines: list[str]) -> list[str]:
    """What lines begin with that say one thing each: "learns    90 photos" begins with learns."""
    return [line[:10].rstrip() for line in lines if re.match(r"[a-z][a-z ]{8} \S", line)]


@pytest.mark.parametrize("page", ["README.md", "docs/photos.md", "docs/merging.md"])
def test_commands_run_and_print_what_is_shown(page, tmp_path, monkeypatch, capsys):
    """In the order they stand there, in a folder with some drawings in the place of photos."""
    commands = [pair for pair in consoles(page) if pair[0].startswith(("memoryless ", "rm "))]
    assert len(commands) >= 5
    monkeypatch.chdir(tmp_path)
    make_folder(Path("photos"))
    make_birds()
    make_hospitals()
    few = partial(samples.write_samples, per_class=6, test_per_class=2)
    monkeypatch.setattr(samples, "write_samples", few)
    for command, shown in commands:
        if command.startswith("rm -r "):
            shutil.rmtree(command.removeprefix("rm -r "))
            continue
        capsys.readouterr()
        assert main(shlex.split(command)[1:]) == 0, command
        printed = capsys.readouterr().out.splitlines()
        assert set(headings(shown)) <= set(headings(printed)), command
    for code in blocks(page, "python") if page != "README.md" else []:
        exec(compile(code, page, "exec"), {})


BIRDS = {
    "spring": ["Indigo_Bunting", "Lazuli_Bunting", "Painted_Bunting"],
    "autumn": ["Red_winged_Blackbird", "Rusty_Blackbird"],
}


def make_birds() -> None:
    """Drawings under the names of the birds that pages show; photos of today, and tests."""
    samples.write_samples(Path("all"), classes=5, per_class=20, test_per_class=3)
    places = [(season, name) for season, names in BIRDS.items() for name in names]
    for drawn, (season, name) in zip(sorted(Path("all/train").iterdir()), places, strict=True):
        for i, file in enumerate(sorted(drawn.iterdir())):
            folders = [season, "taught"] if i < 10 else ["summer"]
            for folder in folders if i < 10 or name in BIRDS["spring"][:2] else []:
                (Path(folder) / name).mkdir(parents=True, exist_ok=True)
                shutil.copy(file, Path(folder) / name)
        shutil.copytree(Path("all/test") / drawn.name, Path("test") / name)
    Path("today").mkdir()
    for i in (1, 2, 3):
        Image.open(f"test/Lazuli_Bunting/000{i}.png").convert("RGB").save(f"today/{i}.jpg")


HOSPITALS = {
    "north-photos": {"Indigo_Bunting": slice(10), "Lazuli_Bunting": slice(10)},
    "south-photos": {"Lazuli_Bunting": slice(10, 20), "Painted_Bunting": slice(10)},
}


def make_hospitals() -> None:
    """Drawings under the names of birds in two places; of one class each has its own."""
    samples.write_samples(Path("pool"), classes=3, per_class=20, test_per_class=0)
    drawn = dict(zip(BIRDS["spring"], sorted(Path("pool/train").iterdir()), strict=True))
    for place, classes in HOSPITALS.items():
        for name, part in classes.items():
            (Path(place) / name).mkdir(parents=True)
            for file in sorted(drawn[name].iterdir())[part]:
                shutil.copy(file, Path(place) / name)


def test_readme_has_the_honest_sentence():
    (quoted,) = re.findall(r"(?:^> .*\n)+", text_of("README.md"), flags=re.M)
    assert quoted.replace("> ", "").split() == HONEST.format(smallest="k").split()


@pytest.mark.parametrize("page", PAGES)
def test_flags_are_those_of_the_command(page):
    """Every command of a page in code is one, and every flag in it is one of that command's."""
    prose = re.sub(r"```.*?```", "", text_of(page), flags=re.S)
    code = re.findall(r"`(memoryless [a-z][^`]*)`", prose)
    code += [line for line in console_lines(page) if line.startswith("memoryless ")]
    for words in map(str.split, code):
        arguments = app[words[1]].assemble_argument_collection()
        known = {name for argument in arguments for name in argument.names} | {"--help"}
        assert {word for word in words if word.startswith("--")} <= known, words


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


def test_readme_make_targets_exist():
    targets = [line.split()[1] for line in console_lines() if line.startswith("make ")]
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", text_of("Makefile"), flags=re.M) for target in targets)


def test_every_install_line_carries_the_constraints():
    files = ["Makefile", "README.md", ".ci/run"]
    lines = [line for f in files for line in text_of(f).splitlines() if "pip install" in line]
    assert lines
    assert all("-c constraints.txt" in line for line in lines)


def test_readme_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    samples.write_samples(Path("drawings"), classes=4, per_class=6, test_per_class=1)
    model, laboratory = blocks("README.md", "python")
    exec(compile(model, "README.md", "exec"), {})
    classes = memoryless.Model.load("sketches from Python").classes
    assert classes == ("The Great Wall of China", "ambulance", "angel", "ant")
    assert ast.literal_eval(capsys.readouterr().out)[0] in classes
    exec(compile(laboratory, "README.md", "exec"), {})
    assert RunFolder(tmp_path / "runs/arrays/seed-0").complete


def test_readme_toml_is_a_config():
    (text,) = blocks("README.md", "toml")
    values = tomllib.loads(text)
    assert Config(**values).patience_later == 15


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", text_of(page))
    broken = [x for x in links if "://" not in x and not (ROOT / page).parent.joinpath(x).exists()]
    assert not broken


@pytest.mark.parametrize("page", WRITTEN)
def test_prose_fits_a_screen(page):
    prose = re.sub(r"```.*?```", "", text_of(page), flags=re.S).splitlines()
    assert not [line for line in prose if len(line) > 120 and not line.startswith("|")]


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
        assert row in text_of("docs/methods.md")


def test_versions_agree():
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    assert f"\nversion: {project['version']}\n" in text_of("CITATION.cff")


def test_the_house_is_drawn_as_it_is():
    """The drawing has the storeys of test_layers.py, and the tree every file."""
    drawing, *_ = blocks("docs/architecture.md", "")
    storeys: dict[int, set[str]] = {}
    storey = -1
    for line in drawing.splitlines():
        number, names = line[:3].strip(), re.split(r" {2,}", line[3:])[0].split()
        storey = int(number) if number else storey
        storeys.setdefault(storey, set()).update(names)
    assert [storeys[i] for i in sorted(storeys)] == _storeys()
    (tree,) = blocks("docs/architecture.md", "tree")
    assert _files(tree) == {str(p.relative_to(PACKAGE)) for p in PACKAGE.rglob("*.py")}


def _storeys() -> list[set[str]]:
    for node in ast.parse(text_of("tests/test_layers.py")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "STOREYS":
            return ast.literal_eval(node.value)
    raise AssertionError("test_layers.py has no STOREYS")


def _files(tree: str) -> set[str]:
    above: list[str] = []
    found = set()
    for line in tree.splitlines():
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2
        above = [*above[:depth], name]
        if not name.endswith("/"):
            found.add("".join(above))
    return found


def names_in(page: str) -> set[str]:
    """Backticked paths, dotted names and tests."""
    prose = re.sub(r"```.*?```", "", text_of(page), flags=re.S)
    found = re.findall(r"`([^`\n]+)`", prose)
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
    assert len(names) > 100
    assert not [name for name in sorted(names) if not exists(name)]


@pytest.mark.parametrize("page", WRITTEN)
def test_what_pages_name_exists(page):
    ours = ("memoryless.", "src/", "tests/", "tools/")
    names = [n for n in names_in(page) if n.startswith(ours) and "NAME" not in n]
    assert not [name for name in names if not exists(name)]


@pytest.mark.parametrize("name", ["lab/run.py", "heads.sew", "tests/test_heads.py::test_no", "a/"])
def test_what_does_not_exist_is_noticed(name):
    assert not exists(name)


def test_the_transport_of_the_map_works(monkeypatch):
    monkeypatch.setitem(TRANSPORTS, "shift", TRANSPORTS["none"])  # taken back afterwards
    (code,) = blocks("docs/architecture.md", "python")
    exec(compile(code, "architecture.md", "exec"), {})
    assert "finetune+ncm+shift" in grid_of("finetune")


@pytest.mark.parametrize("page", ["docs/api.md", "docs/estimator.md"])
def test_the_examples_of_a_page_give_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = "\n".join(blocks(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(examples, {}, page, page, 0)
    told: list[str] = []
    result = doctest.DocTestRunner().run(test, out=told.append)
    assert result.attempted > 30
    assert not result.failed, "".join(told)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (heads, ["current", "initial", "l2", "mean", "min_max", "siw"]),
        (calibration, ["mc_factors"]),
        (metrics, [name for name in vars(metrics) if name[0].islower()]),
        (memoryless, ["Model", "Config", "run"]),
    ],
)
def test_the_api_has_an_example_of_every_name(module, names):
    examples = "".join(blocks("docs/api.md", "pycon"))
    public = [name for name in names if callable(getattr(module, name))]
    assert public
    assert not [name for name in public if not re.search(rf"\b{name}\(", examples)]
