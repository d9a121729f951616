"""Write docs/settings.md from the documented fields of the settings classes.

python tools/write_settings.py
"""

import ast
import inspect
import textwrap
from pathlib import Path

from memoryless.lab.config import Config
from memoryless.lab.settings_help import SECTIONS
from memoryless.names import in_words
from memoryless.strategies import BASE_RECIPE, STRATEGIES

HEAD = """# Settings

Every setting is a flag of `memoryless run` (`--epochs-later 10`), a key of its TOML file
(`epochs_later = 10`) and a field of `memoryless.Config`. `memoryless run --help` shows the same
text, and `memoryless list` explains the names that settings take. The command itself has two more
flags: `--config FILE` names the TOML file, and `--control`, the default, runs the untrained control
too, which `--no-control` leaves out.

A setting without a default takes its value from the strategy or the data when a run starts. The
last table has the values of strategies; `src/memoryless/strategies.py` has their sources.

`memoryless --install-completion` lets the shell (bash, zsh, fish or PowerShell) complete commands
and flags in new terminals. It writes a script into your home folder and a line into the shell's
startup file. `--shell zsh` names another shell, and `--output FILE` another file.
"""


def settings() -> str:
    """Return the page, with a table for each section and one of the strategies' own values."""
    pages = [HEAD]
    for title, classes in SECTIONS.items():
        rows = [f"| `{f}` | {default(f)} | {text} |" for c in classes for f, text in fields(c)]
        pages.append(table(title, "| setting | default | |", "| --- | --- | --- |", *rows))
    rows = [f"| `{n}` | {in_words(value)} | {others(n)} |" for n, value in BASE_RECIPE.items()]
    head = "| setting | most strategies | others |"
    pages.append(table("Values of strategies", head, "| --- | --- | --- |", *rows))
    return "\n\n".join(page.strip("\n") for page in pages) + "\n"


def table(title: str, *lines: str) -> str:
    """Return a section with a table."""
    return "\n".join([f"## {title}", "", *lines])


def fields(part: type) -> list[tuple[str, str]]:
    """Return name and documentation of each field: the string that follows it."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
    assert isinstance(node, ast.ClassDef)
    found = []
    for field, text in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            assert isinstance(text.value, ast.Constant)
            name = field.target.id  # type: ignore[union-attr]
            found.append((name, " ".join(text.value.value.split())))
    return found


def default(name: str) -> str:
    """Return the default as code, or nothing where something else decides."""
    value = getattr(Config, name)
    return "" if value in (None, ()) else f"`{in_words(value)}`"


def others(name: str) -> str:
    """Return the strategies that have another value than most."""
    own = {n: s.recipe[name] for n, s in STRATEGIES.items() if name in s.recipe}
    return ", ".join(f"{strategy} {in_words(value)}" for strategy, value in own.items())


if __name__ == "__main__":
    (Path(__file__).parents[1] / "docs" / "settings.md").write_text(settings())
