"""A run's bits are those of the version before; where these are unknown, those of a resumed run."""

from __future__ import annotations

import pytest
import torch

import golden
from memoryless.progress import Observer


@pytest.mark.parametrize("case", golden.CASES)
def test_bits_are_as_they_were(case, tmp_path, monkeypatch):
    now = golden.digests(golden.run_case(case, tmp_path / "whole"))
    stored = golden.read().get(golden.key(), {})
    if case not in stored:
        stored = {case: golden.digests(resumed(case, tmp_path / "parts", monkeypatch))}
    assert golden.differences({case: stored[case]}, {case: now}) == []


def resumed(case, output, monkeypatch):
    """The same run, stopped after every state."""

    class Stop(Observer):
        def state_finished(self, results):
            raise KeyboardInterrupt

    while True:
        try:
            return golden.run_case(case, output, Stop())
        except KeyboardInterrupt:
            pass


def test_a_changed_bit_is_seen():
    tensors = {"a": torch.zeros(2)}
    before = {"case": {"part": golden.digest(tensors)}}
    tensors["a"][1] = 1e-30
    after = {"case": {"part": golden.digest(tensors)}}
    assert len(golden.differences(before, after)) == 1
