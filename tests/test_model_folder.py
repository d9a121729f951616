"""The folder of a model: every damage is seen, and a failed save loses nothing."""
