"""Write docs/settings.md from the documented fields of the settings classes.

python tools/write_settings.py
"""

import ast
import inspect
import textwrap
from pathlib import Path

from memoryless.lab import guide
from memoryless.strategies import BASE_RECIPE

HEAD = """# Settings

Every setting is a flag of `memoryless run` (`--epochs-later 10`), a key of its TOML file
(`epochs_later = 10`) and a field of `memoryless.Config`. `memoryless run --help` shows this page,
and `memoryless list` says what the names mean that settings take. Two flags are the command's own:
`--config FILE` names the TOML file, and `--control`, the default, runs the same stream through a
network that never learns too, which `--no-control` leaves out.

A setting that is left open is filled when a run starts, by the strategy or by the data; the default
then names the value of most, and after a semicolon who has another. The sources of strategies'
values stand in `src/memoryless/strategies.py`.

A shell completes commands and flags once `memoryless --install-completion` has told it how: it
writes a script for bash, zsh, fish or PowerShell to that shell's own place in your home folder, and
a line to its startup file. Open a new terminal afterwards. `--shell zsh` names a shell where it
cannot be told, and `--output FILE` another place for the script.
"""


def settings() -> str:
    """The page, with a table for each part of the config."""
    pages = [HEAD]
    for title, classes in guide.SECTIONS.items():
        rows = [f"| `{f}` | {default(f)} | {text} |" for c in classes for f, text in fields(c)]
        pages.append(
            "\n".join([f"## {title}", "", "| setting | default | |", "| --- | --- | --- |", *rows])
        )
    return "\n\n".join(page.strip("\n") for page in pages) + "\n"


def fields(part: type) -> list[tuple[str, str]]:
    """Name and documentation of each field, the string that follows it, with its choices."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
    assert isinstance(node, ast.ClassDef)
    found = []
    for field, text in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            assert isinstance(text.value, ast.Constant)
            name = field.target.id  # type: ignore[union-attr]
            found.append((name, " ".join(text.value.value.split()) + choices(name)))
    return found


def choices(name: str) -> str:
    listed = ", ".join(f"`{choice}`" for choice in guide.choices(name))
    return f" Choices: {listed}." if listed else ""


def default(name: str) -> str:
    """The default: as code where it is a value, in words where something else decides."""
    text = guide.default(name)
    return text if text == "none" or name in {**guide.DECIDED, **BASE_RECIPE} else f"`{text}`"


if __name__ == "__main__":
    (Path(__file__).parents[1] / "docs" / "settings.md").write_text(settings())
