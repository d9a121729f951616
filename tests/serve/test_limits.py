"""Limits are numbers from 1."""

from __future__ import annotations

import pytest

from memoryless.errors import ConfigError
from memoryless.serve.limits import Limits


def test_a_limit_is_one_or_more():
    assert Limits(files=1).files == 1
    with pytest.raises(ConfigError, match="the limit files is 0: choose 1 or more"):
        Limits(files=0)
