from memoryless.estimator import IncrementalClassifier
from memoryless.lab.config import Config
from memoryless.lab.experiment import run
from memoryless.model import Model

__all__ = ["Config", "IncrementalClassifier", "Model", "__version__", "run"]
__version__: str
