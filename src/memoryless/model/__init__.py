"""What people keep: a model, its description, and the SQLite file that it is stored in."""

from memoryless.model.model import Model
from memoryless.model.report import Calibration, LearningReport, Suspect

__all__ = ["Calibration", "LearningReport", "Model", "Suspect"]
