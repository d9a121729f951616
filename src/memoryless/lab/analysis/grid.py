"""The laboratory's name for a table."""

from memoryless.tables import Table as Grid

__all__ = ["Grid"]
