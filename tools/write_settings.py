"""Write docs/settings.md from the documented fields of the settings classes.

python tools/write_settings.py
"""

import ast
import inspect
import textwrap
from pathlib import Path

from memoryless import settings as parts
from memoryless.lab.config import Config, StreamSettings
from memoryless.strategies.base import BASE_RECIPE
from memoryless.strategies.lucir import LucirSettings
from memoryless.strategies.lwf import LwfSettings
from memoryless.strategies.lwf_kd import LwfKdSettings
from memoryless.strategies.replay import ReplaySettings

TITLES: dict[str, tuple[type, ...]] = {
    "Data": (parts.DataSettings, parts.SizeSettings),
    "Stream": (StreamSettings,),
    "Backbone": (parts.BackboneSettings,),
    "Training": (parts.TrainingSettings,),
    "One strategy's own": (LwfSettings, LwfKdSettings, LucirSettings, ReplaySettings),
    "Record": (parts.RecordSettings,),
    "Runs": (Config,),
}
HEAD = """# Settings

Every setting is a flag of `memoryless run` (`--epochs-later 10`), a key of its TOML file
(`epochs_later = 10`) and a field of `memoryless.Config`. A default in brackets is that of most
strategies; the others have their own, with its source, in `src/memoryless/strategies/`.
"""


def settings() -> str:
    """The page, with a table for each part of the config."""
    pages = [HEAD]
    for title, classes in TITLES.items():
        rows = [
            f"| `{f}` | {default} | {text} |" for c in classes for f, default, text in fields(c)
        ]
        pages.append(
            "\n".join([f"## {title}", "", "| setting | default | |", "| --- | --- | --- |", *rows])
        )
    return "\n\n".join(page.strip("\n") for page in pages) + "\n"


def fields(part: type) -> list[tuple[str, str, str]]:
    """Name, default and documentation of each field: the string that follows it."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
    assert isinstance(node, ast.ClassDef)
    found = []
    for field, text in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            assert isinstance(text.value, ast.Constant)
            name = field.target.id  # type: ignore[union-attr]
            found.append((name, default(name), " ".join(text.value.value.split())))
    return found


def default(name: str) -> str:
    value, open_value = getattr(Config(), name), BASE_RECIPE.get(name)
    if value is None:
        return "" if open_value is None else f"({show(open_value)})"
    return show(value)


def show(value: object) -> str:
    return f"`{' '.join(map(str, value)) if isinstance(value, tuple) else value}`"


if __name__ == "__main__":
    (Path(__file__).parents[1] / "docs" / "settings.md").write_text(settings())
