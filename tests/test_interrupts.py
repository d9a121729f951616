"""Real interrupts of real commands end them with one sentence and exit code 130."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memoryless.interrupts import held_back
from photo_toys import make_colours, tiny_flags

ON_IMPORT = """
import os, runpy, signal, sys
module, *sys.argv[1:] = sys.argv[1:]
sent = []
def interrupt(event, details):
    if event == "import" and details[0] == module and not sent:
        sent.append(True)
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
runpy.run_module("memoryless", run_name="__main__", alter_sys=True)
"""
WITHIN = """
import os, runpy, signal, sys
module, *sys.argv[1:] = sys.argv[1:]
loaded, sent = [], []
def interrupt(frame, event, called):
    if getattr(called, "__name__", "") in ("create_dynamic", "exec_dynamic"):
        loaded.append(str(frame.f_locals["args"][0])) if event == "c_call" else loaded.pop()
    elif event == "call" and not sent and any(f"'{module}'" in name for name in loaded):
        if module != "onnx.onnx_cpp2py_export" or frame.f_code.co_name == "_create_":
            sent.append(True)
            os.kill(os.getpid(), signal.SIGINT)
sys.setprofile(interrupt)
runpy.run_module("memoryless", run_name="__main__", alter_sys=True)
"""

IN_A_TEXT = """
import sys
import memoryless.cli
def interrupt(words):
    eval("(_ for _ in ()).throw(KeyboardInterrupt())")
memoryless.cli._whole_help = interrupt
from memoryless.__main__ import main
sys.exit(main())
"""


def interrupted(code: str, *words: str, cwd=None) -> subprocess.CompletedProcess[str]:
    """A command that gets SIGINT just when it imports a module, or when code of the module, which
    is native, calls Python for the first time (where onnx makes its enums, which ended Python).
    """
    line = [sys.executable, "-c", code, *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=cwd)


@pytest.mark.parametrize("module", ["memoryless.interrupts", "memoryless.cli", "cyclopts", "rich"])
def test_before_a_command_has_begun(module):
    done = interrupted(ON_IMPORT, module, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "memoryless: stopped\n")


@pytest.mark.parametrize(
    ("code", "module"),
    [
        (WITHIN, "numpy._core._multiarray_umath"),
        (WITHIN, "onnx.onnx_cpp2py_export"),
        (ON_IMPORT, "onnxruntime.capi.onnxruntime_pybind11_state"),
        (ON_IMPORT, "onnx.compose"),
        (ON_IMPORT, "PIL"),
    ],
)
def test_while_a_library_is_imported(code, module, tiny_backbone, tmp_path):
    photos = make_colours(tmp_path / "photos", "red", "blue")
    words = ["learn", "m", str(photos), *tiny_flags(tiny_backbone)]
    done = interrupted(code, module, *words, cwd=tmp_path)
    assert done.returncode == 130, done.stderr
    assert done.stderr.splitlines()[-1].startswith(
        "memoryless: interrupted; the model is unchanged"
    )
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["photos"]


def test_while_code_is_run_from_text(tmp_path):
    """Of which Python takes a note that ends `python -m` by the signal, although it was caught."""
    (tmp_path / "stopped.py").write_text(IN_A_TEXT)
    command = [sys.executable, "-m", "stopped", "show", "m"]
    done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 130, done.stderr
    assert done.stderr.startswith(b"memoryless: interrupted; the model is unchanged")


def test_the_command_is_what_python_runs_too():
    facts = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())
    assert facts["project"]["scripts"] == {"memoryless": "memoryless.__main__:main"}


def test_an_interrupt_comes_after_the_block():
    done = []

    def work():
        with held_back():
            with held_back():
                os.kill(os.getpid(), signal.SIGINT)
                done.append("inner")
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with held_back():
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_import_as_they_are():
    def work() -> object:
        with held_back():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() is signal.default_int_handler
