"""Imports point one way: a module imports only from its own line or those above it."""

from __future__ import annotations

import ast
from pathlib import Path

import memoryless

LAYERS = [
    {"errors"},
    {"recipes", "metrics", "randomness"},
    {"config"},
    {"data"},
    {"stream"},
    {"backbones"},
    {"losses", "schedules", "features", "statistics"},
    {"scorers"},
    {"transports", "calibration", "heads"},
    {"store"},
    {"record"},
    {"network"},
    {"strategies"},
    {"training", "methods"},
    {"inference"},
    {"scoring"},
    {"learner"},
    {"runs"},
    {"states"},
    {"presets", "experiment"},
    {"analysis"},
    {"paper", "report"},
    {"cli"},
    {"__main__"},
]
ROOT = Path(memoryless.__file__).parent
RANK = {name: i for i, names in enumerate(LAYERS) for name in names}


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The parts of the package that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = [node.module or ""]
            if node.module == "memoryless":
                names = [f"memoryless.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("memoryless.")}
    return found


def test_every_module_has_its_layer():
    assert {part_of(p) for p in ROOT.rglob("*.py")} - {"__init__"} == set(RANK)


def test_imports_point_one_way():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in ROOT.rglob("*.py")
        if part_of(path) != "__init__"
        for name in imports(path)
        if RANK[name] > RANK[part_of(path)]
        or (RANK[name] == RANK[part_of(path)] and name != part_of(path))
    ]
    assert not wrong


def test_only_training_calls_backward():
    callers = {part_of(p) for p in ROOT.rglob("*.py") if ".backward()" in _code(p)}
    assert callers == {"training"}


def _code(path: Path) -> str:
    return ast.unparse(ast.parse(path.read_text()))
