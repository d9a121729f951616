"""Class-incremental learning that keeps no image of the past.

`Model` is what people keep, `IncrementalClassifier` the same with scikit-learn's manners; `Config`
and `run` are the laboratory's. They are imported when first used, so that `import memoryless` costs
nothing.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoryless.lab.config import Config
    from memoryless.lab.experiment import run
    from memoryless.model import Model
    from memoryless.model.estimator import IncrementalClassifier

__version__ = version("memoryless")
__all__ = ["Config", "IncrementalClassifier", "Model", "__version__", "run"]

PLACES = {
    "Config": "memoryless.lab.config",
    "IncrementalClassifier": "memoryless.model.estimator",
    "Model": "memoryless.model",
    "run": "memoryless.lab.experiment",
}


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module 'memoryless' has no attribute '{name}'")
    return getattr(import_module(PLACES[name]), name)
