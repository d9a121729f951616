"""Random draws of torch are a pure function of the seed and what they are for."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from memoryless.randomness import numpy_generator
from memoryless.train.randomness import seeded, torch_generator


@pytest.mark.parametrize("make", [numpy_generator, torch_generator])
def test_generators_are_their_own(make):
    def draw(random) -> list[float]:
        drawn = torch.rand(4, generator=random) if make is torch_generator else random.random(4)
        return drawn.tolist()

    torch.manual_seed(1)
    np.random.seed(1)
    first = draw(make(3, "x"))
    torch.rand(5)
    assert draw(make(3, "x")) == first
    assert draw(make(3, "y")) != first != draw(make(4, "x"))


@pytest.mark.parametrize("error", [None, ZeroDivisionError])
def test_the_callers_numbers_go_on_after_seeded(error):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with pytest.raises(error) if error else nullcontext(), seeded(9):
        inside = torch.rand(3)
        if error:
            raise error
    assert torch.equal(torch.rand(3), expected)
    torch.manual_seed(9)
    assert torch.equal(inside, torch.rand(3))
