"""Write docs/settings.md from the documented fields of memoryless.config.

python tools/write_settings.py
"""

import ast
import inspect
from pathlib import Path

from memoryless import config

TITLES = {
    "DataConfig": "Data",
    "StreamConfig": "Stream",
    "BackboneConfig": "Backbone",
    "TrainingConfig": "Training",
    "RecordConfig": "Record",
    "Config": "Runs",
}
HEAD = """# Settings

Every setting is a flag of `memoryless run` (`--epochs-later 10`), a key of its TOML file
(`epochs_later = 10`) and a field of `memoryless.config.Config`.
"""


def settings() -> str:
    """The page, with a table for each part of the config."""
    classes = {
        n.name: n for n in ast.parse(inspect.getsource(config)).body if n.__class__ is ast.ClassDef
    }
    parts = [HEAD]
    for name, title in TITLES.items():
        rows = [f"| `{f}` | {default} | {text} |" for f, default, text in fields(classes[name])]
        parts.append(
            "\n".join([f"## {title}", "", "| setting | default | |", "| --- | --- | --- |", *rows])
        )
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def fields(node: ast.ClassDef) -> list[tuple[str, str, str]]:
    """Name, default and documentation of each field: the string that follows it."""
    found = []
    for field, text in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            assert isinstance(text.value, ast.Constant)
            value = getattr(config.Config(), field.target.id)  # type: ignore[union-attr]
            found.append((field.target.id, show(value), " ".join(text.value.value.split())))
    return found


def show(value: object) -> str:
    if value is None:
        return ""
    return f"`{' '.join(map(str, value)) if isinstance(value, tuple) else value}`"


if __name__ == "__main__":
    (Path(__file__).parents[1] / "docs" / "settings.md").write_text(settings())
