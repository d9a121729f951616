"""Arrays become data sets, and shares of classes are held out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from memoryless.errors import DataError
from memoryless.images import from_arrays, hold_out
from memoryless.images.dataset import (
    ArrayImages,
    Dataset,
    Split,
    as_images,
    check_classes,
    hold_out_groups,
)

GREY = np.zeros((2, 8, 8), np.uint8)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (np.zeros((2, 8, 8)), [0, 1], r"images must be uint8 .*, not float64 \(2, 8, 8\)"),
        (GREY.astype(object), [0, 1], r"not object \(2, 8, 8\)"),
        (np.zeros((2, 8, 9), np.uint8), [0, 1], "images must be square"),
        (np.zeros((3, 8, 8), np.uint8), [0, 1], "one for each of the 2 labels"),
        (GREY, [0.5, 1], "one integer an image"),
        (GREY, [0, -1], "1 training label out of range 0..0, at 1: number the classes from 0"),
        (GREY, [0, 2], "has 1 class without a training image: 1; number the classes"),
        (GREY[:0], np.zeros(0, int), "has 1 class without a training image: 0"),
    ],
)
def test_bad_arrays(images, labels, message):
    with pytest.raises(DataError, match=message):
        from_arrays(images, np.array(labels), images, np.array(labels))


def test_labels_and_classes_that_do_not_agree():
    with pytest.raises(DataError, match=r"1 test label out of range 0\.\.1, at 1: number"):
        from_arrays(GREY, np.array([0, 1]), GREY, np.array([0, 2]), classes=("a", "b"))
    split = Split.whole(ArrayImages(torch.zeros(0, 1, 8, 8, dtype=torch.uint8)), np.zeros(0))
    with pytest.raises(DataError, match="none has no class with training and test images: add"):
        check_classes(Dataset("none", (), split, split, 8))


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=60),
    st.floats(0.01, 0.99),
    st.integers(0, 9),
)
def test_hold_out_takes_some_of_each_class_and_leaves_some(labels, share, context):
    array = np.array(labels)
    mask = hold_out(array, share, context)
    assert (mask == hold_out(array, share, context)).all()
    for label in set(labels):
        mine = mask[array == label]
        wanted = min(max(round(len(mine) * share), 1), len(mine) - 1)
        assert mine.sum() == wanted


def test_arrays_that_are_reversed_or_read_only_are_taken_without_a_warning():
    images = np.arange(4 * 8 * 8, dtype=np.uint8).reshape(4, 8, 8)
    images.flags.writeable = False
    labels = np.array([0, 1, 0, 1])
    dataset = from_arrays(images, labels, images[::-1], labels[::-1])
    assert (dataset.test.read(np.array([3]))[0, 0].numpy() == images[0]).all()


def test_parts_of_a_split_keep_labels_and_images_together():
    pixels = torch.arange(5, dtype=torch.uint8).view(5, 1, 1, 1)
    split = Split.whole(ArrayImages(pixels), np.array([4, 3, 2, 1, 0]))
    part = split.take(np.array([3, 1])).join(split.take(split.labels == 4))
    assert (part.labels.tolist(), part.indices.tolist()) == ([1, 3, 4], [3, 1, 0])
    assert part.read(np.array([2, 0])).flatten().tolist() == [0, 3]
    assert (len(part), part.stored_bytes) == (3, 3)
    assert part.relabel(part.labels + 5).labels.tolist() == [6, 8, 9]


def test_images_in_every_form_are_read_alike():
    pixels = np.random.default_rng(0).integers(0, 256, (4, 8, 8, 3), dtype=np.uint8)
    first = torch.from_numpy(pixels).permute(0, 3, 1, 2)
    for images in (as_images(pixels), as_images(first), as_images(as_images(pixels))):
        assert torch.equal(images.read(np.array([2])), first[2:3])


@pytest.mark.parametrize(
    ("shape", "channels"),
    [((2, 8, 8), 1), ((2, 8, 8, 1), 1), ((2, 8, 8, 3), 3), ((2, 1, 8, 8), 1), ((2, 3, 8, 8), 3),
     ((2, 1, 3, 3), 1), ((2, 3, 3, 3), 3), ((2, 1, 1, 1), 1)],
)  # fmt: skip
def test_channels_are_not_taken_for_sides(shape, channels):
    images = as_images(np.zeros(shape, np.uint8))
    side = shape[2]
    assert images.shape == (channels, side, side)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=40))
def test_groups_are_held_out_whole_and_something_of_each_class_is_left(pairs):
    labels = np.unique([label for label, _ in pairs], return_inverse=True)[1]
    groups = np.array([group * 10 for _, group in pairs]) + labels  # a group has one class
    mask = hold_out_groups(labels, groups, 0.2, 0)
    for group in np.unique(groups):
        assert len(set(mask[groups == group])) == 1
    assert (np.bincount(labels[~mask], minlength=labels.max() + 1) > 0).all()
    single = [len(set(groups[labels == c])) == 1 for c in range(labels.max() + 1)]
    held = np.bincount(labels[mask], minlength=labels.max() + 1)
    assert all((n == 0) == alone for n, alone in zip(held, single, strict=True))


def test_without_repeats_a_fifth_is_held_out():
    labels = np.repeat(np.arange(3), 10)
    mask = hold_out_groups(labels, np.arange(30), 0.2, 1)
    assert np.bincount(labels[mask]).tolist() == [2, 2, 2]
    assert (mask != hold_out_groups(labels, np.arange(30), 0.2, 2)).any()


@pytest.mark.parametrize("seed", range(20))
def test_a_large_group_is_not_held_out_where_a_small_one_can_be(seed):
    labels, groups = np.zeros(100, dtype=int), np.r_[np.zeros(90, dtype=int), np.arange(1, 11)]
    assert 0 < hold_out_groups(labels, groups, 0.2, seed).sum() <= 20


@pytest.mark.parametrize("seed", range(20))
def test_a_group_of_two_classes_is_held_out_in_both_or_none(seed):
    labels, groups = np.repeat([0, 1], 10), np.r_[np.arange(10), 0, 1, np.arange(10, 18)]
    mask = hold_out_groups(labels, groups, 0.3, seed)
    assert mask[0] == mask[10]
    assert mask[1] == mask[11]
