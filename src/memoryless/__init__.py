"""Class-incremental learning that keeps no image of the past.

`Model` is what people keep, `IncrementalClassifier` the same with scikit-learn's manners; `Config`
and `run` are the laboratory's. They are imported when first used, so that `import memoryless` costs
nothing. Editors and type checkers find them in `__init__.pyi`.
"""

from importlib import import_module
from importlib.metadata import version
from typing import Any

__version__ = version("memoryless")
__all__ = ["Config", "IncrementalClassifier", "Model", "__version__", "run"]

MODULES = {
    "Config": "memoryless.lab.config",
    "IncrementalClassifier": "memoryless.estimator",
    "Model": "memoryless.model",
    "run": "memoryless.lab.experiment",
}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module 'memoryless' has no attribute '{name}'")
    return getattr(import_module(MODULES[name]), name)
