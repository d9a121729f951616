"""Seeds are a pure function of the seed and what they are for."""

from __future__ import annotations

import hashlib

from memoryless.randomness import derive


def test_seeds_are_those_of_every_version():
    """A run that another version began must go on with the same numbers."""
    digest = hashlib.sha256(b"(7, 2, 'order')").digest()
    assert derive(7, 2, "order") == int.from_bytes(digest[:8], "big") // 2
    assert derive(0, "projection") == 1123641762343917299
    assert derive(-1, 0, "x") < 2**63  # which every generator takes


def test_every_word_of_the_context_makes_other_numbers():
    contexts = [(0,), (1,), (0, "a"), (0, "b"), (0, 1), (0, "1"), (0, 1, 2), (0, 12), (0, "a", 1)]
    assert len({derive(*context) for context in contexts}) == len(contexts)
