"""A model that people keep: its classes and features, and the SQLite file that stores it."""

from memoryless.model.evaluation import Evaluation, Mistake
from memoryless.model.model import Model
from memoryless.model.report import Calibration, LearningReport, Suspect

__all__ = ["Calibration", "Evaluation", "LearningReport", "Mistake", "Model", "Suspect"]
