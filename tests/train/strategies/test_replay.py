"""Replay keeps as many images as it may, and the right ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from conftest import STREAM, toy_learner
from memoryless.errors import ConfigError
from memoryless.images.dataset import ArrayImages, Split
from memoryless.randomness import numpy_generator
from memoryless.settings import ModelSettings
from memoryless.train.strategies.base import Totals
from memoryless.train.strategies.replay import Replay, herding


@pytest.mark.parametrize("exemplars", ["herding", "random"])
@pytest.mark.parametrize("share", [0.05, 0.1, 0.3])
def test_replay_never_exceeds_its_budget(exemplars, share, tiny):
    learner = toy_learner(tiny, strategy="replay", memory=share, exemplars=exemplars)
    for state in STREAM:
        before = learner.strategy.memory
        learner.learn(state.train, 2)
        memory = learner.strategy.memory
        assert len(memory) == min(round(share * 72), 24 * (state.index + 1))
        counts = np.bincount(memory.labels, minlength=2 * state.index + 2)
        assert counts.max() - counts.min() <= 1
        if before is not None:  # classes only ever lose images
            old = memory.labels < 2 * state.index
            assert set(memory.indices[old]) <= set(before.indices)


def test_herding_equals_a_direct_greedy_search():
    features = torch.randn(12, 5, generator=torch.Generator().manual_seed(3))
    directions = (features / features.norm(dim=1, keepdim=True)).numpy()
    mean = directions.mean(0) / np.linalg.norm(directions.mean(0))
    chosen: list[int] = []
    for _ in range(6):
        left = [i for i in range(12) if i not in chosen]
        gaps = [np.linalg.norm(mean - directions[[*chosen, i]].mean(0)) for i in left]
        chosen.append(left[int(np.argmin(gaps))])
    assert herding(features, 6).tolist() == chosen
    assert sorted(herding(features, 99).tolist()) == list(range(12))


def remember(images: list[int], classes: int, budget: int, **settings) -> Replay:
    """Replay after a state of these images of each class, numbered after `classes`."""
    strategy = Replay(ModelSettings(memory=0.5, **settings), Totals(9, 2 * budget))
    learn_more(strategy, images, classes)
    return strategy


def learn_more(strategy: Replay, images: list[int], classes: int) -> None:
    labels = np.repeat(np.arange(len(images)) + classes, images)
    indices = np.arange(len(labels)) + 100 * classes
    split = strategy.training_images(Split(POOL, labels, indices))
    strategy.end_state(None, split, lambda part: torch.tensor(part.indices + 1)[:, None].float())


POOL = ArrayImages(torch.zeros(1, 1, 1, 1, dtype=torch.uint8))


def test_the_budget_is_shared_and_the_first_classes_get_the_rest():
    strategy = remember([9, 9, 9], 0, budget=7)
    assert np.bincount(strategy.memory.labels).tolist() == [3, 2, 2]
    learn_more(strategy, [9, 9], 3)
    assert np.bincount(strategy.memory.labels).tolist() == [2, 2, 1, 1, 1]


def test_a_class_with_few_images_keeps_them_all():
    assert np.bincount(remember([1, 9], 0, budget=8).memory.labels).tolist() == [1, 4]


def test_a_state_trains_on_what_is_remembered_too():
    strategy = remember([4, 4], 0, budget=2)
    new = Split(POOL, np.array([2, 2]), np.array([200, 201]))
    joined = strategy.training_images(new)
    assert joined.labels.tolist() == [2, 2, 0, 1]
    assert joined.indices.tolist()[:2] == [200, 201]
    empty = Replay(ModelSettings(), Totals(9, 9))
    assert empty.training_images(new) is new


def test_random_exemplars_differ_by_class_and_are_always_the_same():
    one, two = (remember([9, 9], 0, budget=8, exemplars="random") for _ in range(2))
    assert one.memory.indices.tolist() == two.memory.indices.tolist()
    first, second = one.memory.indices[:4], one.memory.indices[4:] - 9
    assert first.tolist() != second.tolist()
    assert len({*first.tolist()}) == len({*second.tolist()}) == 4


def test_what_is_remembered_comes_back():
    strategy, again = remember([4, 4], 0, budget=4), Replay(ModelSettings(), Totals(9, 9))
    again.restore(strategy.tensors(), POOL)
    assert again.memory.labels.tolist() == strategy.memory.labels.tolist()
    assert again.memory.indices.tolist() == strategy.memory.indices.tolist()
    assert again.memory.images is POOL
    empty = Replay(ModelSettings(), Totals(9, 9))
    assert empty.tensors() == {}
    empty.restore({}, POOL)
    assert empty.memory is None


def test_replay_needs_a_stream_and_its_images():
    with pytest.raises(ConfigError, match="needs a stream whose size is known in advance"):
        _ = Replay(ModelSettings()).budget
    with pytest.raises(ConfigError, match="goes on only with the images of its past states"):
        Replay(ModelSettings(), Totals(9, 9)).restore({})


def test_exemplars_are_chosen_as_asked():
    """Features all of one direction: herding takes them as they come."""
    assert remember([9, 9], 0, budget=6).memory.indices.tolist() == [0, 1, 2, 9, 10, 11]
    drawn = remember([9, 9], 0, budget=6, exemplars="random").memory.indices.tolist()
    mine = [numpy_generator(0, "exemplars", c).permutation(9)[:3] + 9 * c for c in (0, 1)]
    assert drawn == np.concatenate(mine).tolist()
