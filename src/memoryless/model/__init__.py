"""What people keep: a model, its description, and the SQLite file that it is stored in."""

from memoryless.model.lesson import Calibration, Lesson, Suspect
from memoryless.model.model import Model

__all__ = ["Calibration", "Lesson", "Model", "Suspect"]
