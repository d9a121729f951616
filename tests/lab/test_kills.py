"""Runs that are killed anywhere and started again end with the same bytes."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from conftest import make_photos
from memoryless.strategies import STRATEGIES

KILLS = int(os.environ.get("MEMORYLESS_KILLS", "100"))
FLAGS = (
    "--data folder --image-size 8 --width 2 --states 3 --epochs 2 --batch-size 4 --lr 0.01 "
    "--statistics full --held-out 0.2 --threads 1 --device cpu --no-control"
).split()
# Every state boundary, and one epoch inside each state; one of each kind always.
MOMENTS = [[0, 1], [0], [1, 1], [1], [2, 1], [2]]


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> Path:
    return make_photos(tmp_path_factory.mktemp("data") / "photos")


@pytest.fixture(scope="module")
def whole(photos, forks, tmp_path_factory) -> Path:
    """The run that no one killed."""
    output = tmp_path_factory.mktemp("whole") / "out"
    assert forks.run("run", *FLAGS, "--root", str(photos), "--output", str(output)).code == 0
    return output / "seed-0"


def assert_same(one: Path, two: Path) -> None:
    files = sorted(p.relative_to(one) for p in one.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(two) for p in two.rglob("*") if p.is_file())
    tensors = [file for file in files if file.suffix == ".safetensors"]
    assert tensors
    for file in tensors:
        assert (one / file).read_bytes() == (two / file).read_bytes(), file


@pytest.mark.parametrize(
    "moment",
    [m if m in ([0], [1, 1]) else pytest.param(m, marks=pytest.mark.kills) for m in MOMENTS],
    ids=str,
)
def test_after_sigkill_it_ends_with_the_same_bytes(moment, photos, whole, forks, tmp_path):
    words = ["run", *FLAGS, "--root", str(photos), "--output", str(tmp_path / "out")]
    assert forks.run(*words, die_at=moment).code == -9
    ended = forks.run(*words)
    assert (ended.code, ended.err) == (0, "")
    assert_same(tmp_path / "out" / "seed-0", whole)


@pytest.mark.kills
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_killed_at_random_moments(strategy, photos, forks, tmp_path):
    """Of every strategy its share of the kills; one that comes after the end is none."""
    projection = ["--projection", "20"] if strategy == "frozen" else []
    flags = [*FLAGS, "--root", str(photos), "--strategy", strategy, *projection]
    started = time.perf_counter()
    assert forks.run("run", *flags, "--output", str(tmp_path / "whole")).code == 0
    seconds = time.perf_counter() - started
    rng = random.Random(strategy)
    killed = 0
    while killed < -(-KILLS // len(STRATEGIES)):
        output = tmp_path / f"killed-{killed}"
        words = ["run", *flags, "--output", str(output)]
        moment = rng.uniform(0, seconds)
        died = forks.run(*words, kill_after=moment).code == -9
        ended = forks.run(*words)
        assert (ended.code, ended.err) == (0, ""), moment
        assert_same(output / "seed-0", tmp_path / "whole" / "seed-0")
        killed += died
        seconds *= 1 if died else 0.8  # the first run was slower than this one
