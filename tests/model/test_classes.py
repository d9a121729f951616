"""Names, counts and learned of classes, through learning, forgetting, renaming and merging."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from counted_names import Name, some_names
from memoryless.model.classes import Classes, Learned, model_name


def test_more_photos_of_a_class_are_told_by_the_state_that_brought_them():
    classes = Classes().learn({"cat": 5, "dog": 7}, "d0").learn({"ant": 6, "cat": 8}, "d1")
    assert classes.names == ("cat", "dog", "ant")
    assert classes.counts == (13, 7, 6)
    assert classes.first == (0, 0, 1)
    assert classes.learned == (
        Learned(date="d0", photos=12),
        Learned(date="d1", photos=14, more={"cat": 8}),
    )
    assert classes.brought() == [{"cat": 5, "dog": 7}, {"cat": 8, "ant": 6}]


def test_a_forgotten_class_leaves_no_number_behind():
    classes = Classes().learn({"cat": 5, "dog": 7}, "d0").learn({"ant": 6, "cat": 8}, "d1")
    left = classes.forget(["cat"])
    assert (left.names, left.counts, left.first) == (("dog", "ant"), (7, 6), (0, 1))
    assert left.learned == (
        Learned(date="d0", photos=7),
        Learned(date="d1", photos=6),
    )


def test_a_renamed_class_is_renamed_in_every_state():
    classes = Classes().learn({"cat": 5}, "d0").learn({"cat": 8}, "d1").rename({"cat": "lynx"})
    assert classes.names == ("lynx",)
    assert classes.learned[1].more == {"lynx": 8}


def test_merged_learned_tell_which_model_learned_them():
    a = Classes().learn({"cat": 5, "dog": 7}, "d0")
    b = Classes().learn({"cat": 4, "ant": 9}, "d1").learn({"cat": 3}, "d2")
    whole = Classes().merge(a, "A").merge(b, "B")
    assert whole.names == ("cat", "dog", "ant")
    assert whole.counts == (12, 7, 9)
    assert [state.model for state in whole.learned] == ["A", "B", "B"]
    assert [state.more for state in whole.learned] == [{}, {"cat": 4}, {"cat": 3}]
    again = Classes().merge(whole, "both")
    assert [state.model for state in again.learned] == ["A", "B", "B"]


def test_merged_models_of_one_name_are_numbered():
    one = Classes().learn({"cat": 5}, "d0")
    two = Classes().learn({"dog": 5}, "d1").learn({"ant": 5}, "d2")
    both = Classes().merge(one, "m").merge(two, "m")
    assert [state.model for state in both.learned] == ["m", "m-2", "m-2"]
    again = Classes().merge(one, "m").merge(both, "both").merge(one, "m-2")
    assert [state.model for state in again.learned] == ["m", "m-2", "m-2-2", "m-2-2", "m-2-3"]


def test_a_model_is_called_as_the_last_part_of_its_path(tmp_path, monkeypatch):
    (tmp_path / "north").mkdir()
    monkeypatch.chdir(tmp_path / "north")
    paths = ["a b/c", "c/", "./c.memoryless", ".", "../north", "x/..", ".memoryless"]
    assert [model_name(p) for p in paths] == ["c", "c", "c", "north", "north", "north", "model"]


def test_every_change_looks_each_name_up_a_few_times():
    """Nothing is searched for in a list, and no state is asked for every class."""
    first, again = some_names(500), some_names(500)
    taught, more = Classes(), Classes().learn(dict.fromkeys(again, 5), "d")
    for name in first:
        taught = replace(taught, names=(*taught.names, name), counts=(*taught.counts, 5),
                         first=(*taught.first, len(taught.first)),
                         learned=(*taught.learned, Learned(date="d", photos=5)))  # fmt: skip
    Name.looked_up = 0
    taught.learn(dict.fromkeys(again, 5), "d")
    taught.forget(again[::2])
    taught.rename({again[0]: "other"})
    taught.merge(more, "more")
    more.merge(taught, "taught")
    assert Name.looked_up < 50 * 500


counts = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), min_size=1)


@given(st.lists(counts, min_size=1, max_size=6), st.sets(st.sampled_from("abcdef")))
def test_forgetting_is_as_if_the_class_had_never_been(states, gone):
    learned, never = Classes(), Classes()
    for count in states:
        learned = learned.learn(count, "d")
        never = never.learn({name: n for name, n in count.items() if name not in gone}, "d")
    assert learned.forget(gone) == never
