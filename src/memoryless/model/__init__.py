"""What people keep: a model, its description, and the SQLite file that it is stored in."""

from memoryless.model.lesson import Lesson, Suspect
from memoryless.model.model import Model

__all__ = ["Lesson", "Model", "Suspect"]
