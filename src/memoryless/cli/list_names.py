"""memoryless list prints every name that a setting takes.

The file is not called list.py: as part of the package that would hide Python's own `list`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def list_names() -> None:
    """Name data sets, orders, backbones, strategies; say what heads and the rest mean."""
    from memoryless.backbones import BACKBONES
    from memoryless.calibration import CALIBRATIONS
    from memoryless.data import SOURCES
    from memoryless.data.augment import AUGMENTATIONS
    from memoryless.heads import HEADS
    from memoryless.lab.presets import PRESETS
    from memoryless.lab.stream import ORDERS
    from memoryless.methods import METHODS
    from memoryless.schedules import LR_RULES, SCHEDULES
    from memoryless.statistics import FORMS
    from memoryless.strategies import STRATEGIES
    from memoryless.transports import TRANSPORTS

    tables: dict[str, Mapping[str, Any]] = {
        "data sets": SOURCES,
        "orders": ORDERS,
        "backbones": {**BACKBONES, "timm:NAME": None},
        "augmentations": AUGMENTATIONS,
        "strategies": STRATEGIES,
        "schedules": SCHEDULES,
        "lr later": LR_RULES,
        "presets": PRESETS,
        "heads": HEADS,
        "calibrations": CALIBRATIONS,
        "transports": TRANSPORTS,
        "statistics": FORMS,
        "methods": {n: f"{m.strategy} + {m.head} + {m.calibration}" for n, m in METHODS.items()},
    }
    for kind, table in tables.items():
        about = {n: e if isinstance(e, str) else getattr(e, "about", "") for n, e in table.items()}
        if not any(about.values()):
            print(f"{kind:14} {' '.join(table)}")
            continue
        print(kind)
        for name, meaning in about.items():
            print(f"  {name:16} {meaning}")
