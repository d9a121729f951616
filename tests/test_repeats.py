"""Images that stand more than once: which leave, which stay, and how they are named."""

from __future__ import annotations

from pathlib import Path

from memoryless.images.decode import ImageFile
from memoryless.images.repeats import Example, part


def example(name: str, image: str, label: int = 0) -> Example:
    return Example(ImageFile(Path(name), image.encode(), 1, exif=True), label)


def test_images_of_their_own_all_stay():
    train, test = [example("a", "A"), example("b", "B", 1)], [example("c", "C")]
    parted = part(train, test)
    assert (parted.train, parted.test, parted.bad, parted.harmless) == (train, test, {}, [])


def test_several_labels_outweigh_both_splits():
    kept = example("k", "K")
    train = [example("a", "A", 0), kept, example("b", "A", 1)]
    parted = part(train, [example("c", "A", 1)])
    assert (parted.train, parted.test) == ([kept], [])
    assert parted.bad == {"a = b = c": "one image under several labels"}


def test_an_image_in_both_splits_stays_in_the_test():
    test = [example("c", "A")]
    parted = part([example("a", "A"), example("b", "B")], test)
    assert (parted.train, parted.test) == ([example("b", "B")], test)
    assert parted.bad == {"a = c": "one image in training and test"}


def test_repeats_within_a_class_stay_and_are_named_together():
    train = [example(str(i), "A") for i in range(5)]
    parted = part(train, [])
    assert (parted.train, parted.bad) == (train, {})
    assert parted.harmless == ["0 = 1 = 2 and 2 more"]
