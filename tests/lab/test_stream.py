"""Orders and splits: every class exactly once, whatever is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import make_toy
from memoryless.errors import ConfigError, DataError
from memoryless.lab.stream import BELOUADAH, Stream, state_sizes

TOY = make_toy(classes=7)


@given(st.integers(1, 300), st.data())
def test_equal_states_drop_no_class(classes, data):
    states = data.draw(st.integers(1, classes))
    sizes = state_sizes(str(states), classes)
    assert len(sizes) == states
    assert sum(sizes) == classes
    assert max(sizes) - min(sizes) <= 1


@given(st.lists(st.integers(1, 20), min_size=2, max_size=9))
def test_explicit_sizes_are_taken(sizes):
    assert state_sizes(",".join(map(str, sizes)), sum(sizes)) == sizes


@given(st.integers(1, 7), st.integers(0, 2**40))
def test_stream_gives_every_class_and_image_once(states, seed):
    stream = Stream(TOY, str(states), f"seed:{seed}")
    assert sorted(stream.order) == list(range(7))
    assert sorted(stream.classes) == sorted(TOY.classes)
    trained = np.concatenate([state.train.indices for state in stream])
    assert sorted(trained) == list(range(len(TOY.train)))
    for state in stream:
        seen = state.past + stream.sizes[state.index]
        assert set(state.train.labels) == set(range(state.past, seen))
        assert set(state.test.labels) == set(range(seen))
        original = TOY.train.labels[state.train.indices]
        assert (np.array(stream.order)[state.train.labels] == original).all()
    assert sorted(stream[-1].test.indices) == list(range(len(TOY.test)))


def test_stream_slices():
    stream = Stream(TOY, "3")
    assert [s.index for s in stream[1:]] == [1, 2]
    assert stream[-1].index == 2
    with pytest.raises(IndexError):
        stream[3]


def test_order_seeds_differ():
    orders = {tuple(Stream(TOY, "1", f"seed:{n}").order) for n in range(9)}
    assert len(orders) > 5
    assert Stream(TOY, "1", "natural").order == list(range(7))
    assert sorted(Stream(TOY, "1", "seed:" + "9" * 99).order) == list(range(7))


def test_belouadah_is_a_permutation_for_cifar100_only():
    assert sorted(BELOUADAH) == list(range(100))
    with pytest.raises(ConfigError, match="order belouadah is for cifar100, not toy"):
        Stream(TOY, "1", "belouadah")


@pytest.mark.parametrize("order", ["icarl", "pycil"])
def test_the_order_of_icarl_and_pycil(order):
    """The first classes of CIFAR-100 as papers list them, from PyCIL's log."""
    toy = make_toy(classes=100, train=1, test=1)
    assert Stream(toy, "10", order).order[:10] == [68, 56, 78, 8, 23, 84, 90, 65, 74, 76]
    assert sorted(Stream(TOY, "1", order).order) == list(range(7))


def test_order_from_a_file(tmp_path):
    file = tmp_path / "order.txt"
    file.write_text("6\n5\n4\n3\n2\n1\n0\n")
    assert Stream(TOY, "2", str(file)).order == [6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"0\n1\n2\n3\n4\n5\n", "lacks 6: name each class exactly once"),
        (b"0\n1\n2\n3\n4\n5\n6\n6\n", "names a class twice"),
        (b"0\nfox\n2\n3\n4\n5\n99\n", "names unknown classes: fox, 99; name those of toy"),
        (b"\xff\xfe\x00\x81", "cannot be read"),
        (b"9" * 5000, "names unknown classes: 9999"),
    ],
)
def test_bad_order_files(tmp_path, content, message):
    file = tmp_path / "order.txt"
    file.write_bytes(content)
    with pytest.raises(DataError, match=message):
        Stream(TOY, "2", str(file))


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ("8", "8 states cannot be made of 7 classes: choose states from 1 to 7"),
        ("0", "0 states cannot be made of 7 classes"),
        ("4,4", "states 4,4 bring 8 classes, the data set has 7"),
        ("7,0", "the sizes must be at least 1"),
        ("ten", "states 'ten' is neither a number nor a list such as 50,10,10"),
        ("-1", "neither a number"),
        ("2," + "1" * 5000, "is neither a number nor a list such as 50,10,10"),
    ],
)
def test_bad_states(states, message):
    with pytest.raises(ConfigError, match=message):
        Stream(TOY, states)


@pytest.mark.parametrize("order", ["seed:" + "1" * 5000, "x" * 5000, "natual"])
def test_unknown_orders(order):
    with pytest.raises(
        ConfigError, match="choose natural, seed:N with a number N, belouadah, icarl, pycil, or a"
    ):
        Stream(TOY, "2", order)


def test_no_classes_make_no_states():
    with pytest.raises(DataError, match="a data set without classes gives no states: add images"):
        state_sizes("1", 0)
