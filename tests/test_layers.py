"""Imports point down, each module has its tests, and nothing global is set."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path, PurePath

import pytest

import memoryless

LAYERS = [
    {"errors", "interrupts", "names", "tables"},
    {"settings", "strategies", "store", "tensors", "output", "pages", "progress", "randomness",
     "threads"},
    {"images", "embed"},
    {"stats"},
    {"train"},
    {"model"},
    {"lab", "photos"},
    {"serve"},
    {"cli", "estimator", "__main__"},
]  # fmt: skip
ROOT = Path(memoryless.__file__).parent
TESTS = Path(__file__).parent
LAYER = {name: i for i, names in enumerate(LAYERS) for name in names}
# Modules without a test file of their name, and why.
ELSEWHERE = {
    "__init__": "what it exports, and that it does so lazily, is tested here",
    "__main__": "test_cli runs `python -m memoryless`",
    "images/__init__": "it names what images/dataset holds",
    "model/__init__": "it names what model/model holds",
    "stats/__init__": "it is empty",
    "lab/__init__": "test_frame reads results through it",
    "tables": "a dataclass without a method",
    "photos/__init__": "it is empty",
    "lab/described": "test_runs damages files in the ways that it checks",
    "serve/__init__": "it is empty",
    "train/__init__": "it is empty",
    "train/strategies/__init__": "it is empty",
}
NEED_TORCH = {"lab.experiment", "lab.estimate"}  # and train, but for these
TORCHLESS = {"train", "train.strategies", "train.schedules", "train.checkpoint"}


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports, without its name."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (n.removeprefix("memoryless.") for n in names if n.startswith("memoryless."))


@cache
def imports(path: Path) -> set[str]:
    """The parts of the package that a file imports."""
    return {name.split(".")[0] for name in imported(path)}


def test_every_module_has_its_layer():
    assert {part_of(p) for p in modules()} - {"__init__"} == set(LAYER)


def test_imports_point_down():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules()
        if part_of(path) != "__init__"
        for name in imports(path)
        if LAYER[name] > LAYER[part_of(path)]
    ]
    assert not wrong


def test_within_a_layer_there_is_no_cycle():
    graph: dict[str, set[str]] = {name: set() for name in LAYER}
    for path in modules():
        if part_of(path) != "__init__":
            graph[part_of(path)] |= imports(path) - {part_of(path)}
    TopologicalSorter(graph).prepare()  # raises CycleError
    assert "stats" in graph["train"]  # edges are found at all


@pytest.mark.parametrize(
    ("part", "others"),
    [
        ("photos", {"lab"}),
        ("lab", {"photos", "model"}),
        ("train", {"model", "lab", "photos", "cli"}),
        ("serve", {"lab", "train"}),
    ],
)
def test_parts_that_never_import_each_other(part, others):
    for path in modules():
        if part_of(path) == part:
            assert not imports(path) & others, path


@pytest.mark.parametrize("part", ["photos", "model"])
def test_photos_import_training_only_where_a_model_is_trained(part):
    for path in modules():
        if part_of(path) == part:
            for node in tree_of(path).body:
                module = getattr(node, "module", None) or ""
                assert not module.startswith("memoryless.train."), path


def test_the_command_line_is_thin():
    """A command shows and asks: it neither scores nor trains, nor computes with arrays."""
    for path in modules():
        if part_of(path) == "cli":
            libraries = {
                n.split(".")[0]
                for node in ast.walk(tree_of(path))
                if isinstance(node, ast.Import | ast.ImportFrom)
                for n in [getattr(node, "module", None) or node.names[0].name]
            }
            assert "numpy" not in libraries, path
            assert "torch" not in libraries, path
            used = {name for name in imported(path) if name.startswith("train.")}
            assert all(name.startswith("train.schedules") for name in used), path


def files_of_tests(name: str) -> list[str]:
    """The files that may test a module: its mirror first, as stats/test_heads.py."""
    path = PurePath(name)
    leaf = path.parent.name if path.name == "__init__" else path.name
    *_, parent, last = ("memoryless", *name.removesuffix("/__init__").split("/"))
    return [f"{path.parent}/test_{leaf}.py", f"test_{parent}_{last}.py", f"test_{last}.py"]


def test_every_module_has_its_test_file():
    """No two modules share one."""
    found: dict[str, str] = {}
    for path in modules():
        name = path.relative_to(ROOT).with_suffix("").as_posix()
        if name in ELSEWHERE:
            continue
        there = [test for test in files_of_tests(name) if (TESTS / test).exists()]
        assert there, f"{name} has no test file: add {files_of_tests(name)[0]}"
        assert there[0] not in found, f"{name} and {found[there[0]]} share {there[0]}"
        found[there[0]] = name


def test_exceptions_to_that_are_modules_without_one():
    for name in ELSEWHERE:
        assert (ROOT / f"{name}.py").exists(), name
        mirror = PurePath(name).parent / f"test_{PurePath(name).name}.py"
        assert not (TESTS / mirror).exists(), name


def test_tests_do_not_import_tests():
    names = {path.stem for path in TESTS.rglob("test_*.py")}
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").rsplit(".", 1)[-1] not in names, path
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & names, path


def calls(path: Path) -> list[str]:
    """What a file calls, as it is written."""
    tree = tree_of(path)
    return [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def callers(*names: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for path in modules()
        if any(call.rsplit(".", 1)[-1] in names for call in calls(path))
    }


def test_only_training_calls_backward():
    assert callers("backward") == {"train/loop.py"}


def test_only_seeded_sets_torchs_seed():
    """Elsewhere a generator of its own is seeded, which no one else draws from."""
    seeding = [
        (path.relative_to(ROOT).as_posix(), call)
        for path in modules()
        for call in calls(path)
        if call.rsplit(".", 1)[-1] in ("manual_seed", "manual_seed_all", "seed")
    ]
    assert sorted(seeding) == [
        ("train/randomness.py", "torch.Generator().manual_seed"),
        ("train/randomness.py", "torch.manual_seed"),
    ]
    source = ast.parse((ROOT / "train" / "randomness.py").read_text())
    (seeded,) = [n for n in source.body if getattr(n, "name", "") == "seeded"]
    assert "torch.manual_seed(seed)" in ast.unparse(seeded)


def test_only_commands_set_threads():
    assert callers("set_num_threads", "set_num_interop_threads") == {"lab/experiment.py"}


GLOBAL_SETTERS = {"set_default_dtype", "set_default_device", "use_deterministic_algorithms"}
GLOBAL_SETTERS |= {"set_printoptions", "seterr", "simplefilter", "filterwarnings", "basicConfig"}


def test_no_module_sets_what_a_whole_program_shares():
    """No defaults of torch, NumPy, warnings or logging but within `catch_warnings`; no plots'."""
    for path in modules():
        tree = tree_of(path)
        within = {
            id(node)
            for block in ast.walk(tree)
            if isinstance(block, ast.With)
            and "catch_warnings" in str([*map(ast.unparse, block.items)])
            for node in ast.walk(block)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and id(node) not in within:
                name = ast.unparse(node.func).rsplit(".", 1)[-1]
                assert name not in GLOBAL_SETTERS, (path, node.lineno)
                assert not ast.unparse(node.func).endswith("rcParams.update"), (path, node.lineno)
            targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
            for target in targets if isinstance(node, ast.Assign | ast.AugAssign) else ():
                assert "rcParams" not in ast.unparse(target), (path, node.lineno)
                assert not ast.unparse(target).startswith("os.environ"), (path, node.lineno)


REFUSE_TORCH = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("torch is imported")
sys.meta_path.insert(0, Refuse())
"""


def without_torch(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", REFUSE_TORCH + code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_only_training_imports_torch():
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in modules()
        if path.stem != "__main__"
    } - {"__init__"}
    torchless = {n for n in names - NEED_TORCH if part_of(ROOT / n.replace(".", "/")) != "train"}
    done = without_torch("\n".join(f"import memoryless.{n}" for n in torchless | TORCHLESS))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["run", "paper"])
def test_help_imports_no_torch(command):
    done = without_torch(
        f"from memoryless.cli import main\nsys.exit(main(['{command}', '--help']))"
    )
    assert done.returncode == 0, done.stderr
    assert "--held-out" in done.stdout


def test_without_torch_a_run_would_fail():
    """What the two tests above rest on."""
    done = without_torch("import memoryless.train.loop")
    assert "torch" in done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize("name", memoryless.__all__)
def test_what_the_package_exports_is_there(name):
    assert getattr(memoryless, name) is not memoryless
    assert name == "__version__" or getattr(memoryless, name).__name__ == name


def test_what_it_does_not_export_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'memoryless' has no attribute 'modle'"):
        _ = memoryless.modle
