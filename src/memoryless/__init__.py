"""Class-incremental learning that keeps no image of the past.

`Model` is what people keep, `IncrementalClassifier` the same with scikit-learn's interface;
`Config` and `run` are the laboratory's. They are imported when first used, so that `import
memoryless` costs nothing. Editors and type checkers find them in `__init__.pyi`.
"""

from importlib import import_module
from typing import Any

__all__ = ["Config", "IncrementalClassifier", "Model", "__version__", "run"]

MODULES = {
    "Config": "memoryless.lab.config",
    "IncrementalClassifier": "memoryless.estimator",
    "Model": "memoryless.model",
    "run": "memoryless.lab.experiment",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("memoryless")
    if name not in MODULES:
        raise AttributeError(f"module 'memoryless' has no attribute '{name}'")
    return getattr(import_module(MODULES[name]), name)
