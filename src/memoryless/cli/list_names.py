"""memoryless list prints every name that a setting takes.

The file is not called list.py: as part of the package that would hide Python's own `list`.
"""

from __future__ import annotations

from collections.abc import Iterable


def list_names() -> None:
    """Name data sets, orders, backbones, strategies, heads, calibrations, transports, methods."""
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

    names: dict[str, Iterable[str]] = {
        "data sets": SOURCES,
        "orders": ORDERS,
        "backbones": [*BACKBONES, "timm:NAME"],
        "augmentations": AUGMENTATIONS,
        "strategies": STRATEGIES,
        "schedules": SCHEDULES,
        "lr later": LR_RULES,
        "heads": HEADS,
        "calibrations": CALIBRATIONS,
        "transports": TRANSPORTS,
        "statistics": FORMS,
        "presets": PRESETS,
    }
    for kind, table in names.items():
        print(f"{kind:14} {' '.join(table)}")
    print("methods")
    for name, method in METHODS.items():
        print(f"  {name:14} {method.strategy} + {method.head} + {method.calibration}")
