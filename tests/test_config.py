"""Settings of an experiment come back from what is stored."""

from __future__ import annotations

from pathlib import Path

from memoryless.lab.config import Config


def test_stored_settings_come_back():
    done = Config(strategy="lwf_kd", root=Path("x"), seeds=(1, 2)).resolved()
    assert Config(**done.to_dict()).resolved() == done
    lists = {k: list(v) if isinstance(v, tuple) else v for k, v in done.to_dict().items()}
    assert Config(**lists).resolved() == done
