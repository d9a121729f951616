"""How strategies train; what they are stands in `memoryless.strategies`."""
