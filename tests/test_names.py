"""Names are looked up with a hint, listed in short, and shown as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import hostile_text
from memoryless.errors import ConfigError
from memoryless.names import as_flags, choose, first_ten, printable

TABLE = {"siw": 1, "l2": 2}


@pytest.mark.parametrize(
    ("name", "hint"), [("siv", "; did you mean 'siw'?"), ("SIW", ""), ("", ""), ("x" * 5000, "")]
)
def test_what_is_not_there_is_named_with_what_is(name, hint):
    with pytest.raises(ConfigError) as caught:
        choose("head", name, TABLE)
    assert str(caught.value) == f"unknown head '{name}': choose from siw, l2{hint}"


def test_of_a_long_table_ten_are_named():
    table = dict.fromkeys(f"class {i}" for i in range(1000))
    with pytest.raises(ConfigError) as caught:
        choose("class", "klass 999", table)
    listed = ", ".join(f"class {i}" for i in range(10))
    assert str(caught.value) == (
        f"unknown class 'klass 999': choose from {listed} and 990 more; did you mean 'class 999'?"
    )


@pytest.mark.parametrize(
    ("number", "end"), [(0, ""), (1, "0"), (10, "8, 9"), (11, "8, 9 and 1 more")]
)
def test_ten_are_listed_and_the_rest_counted(number, end):
    assert first_ten(map(str, range(number))).endswith(end)
    assert first_ten(map(str, range(number))).count(",") == max(min(number, 10) - 1, 0)


@given(hostile_text)
def test_no_control_sign_is_left(text):
    shown = printable(text)
    assert "\x1b" not in shown
    assert len(shown.splitlines()) <= 1
    assert printable("é🦕 a") == "é🦕 a"


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("check `root`", "check --root"),
        ("`held_out=0.1` or `skip_broken=True`", "--held-out 0.1 or --skip-broken"),
        ("`transports=none`, `grey=False`", "--transports none, --grey False"),
        ("no settings here: a=b", "no settings here: a=b"),
        ("`Not One` and ``", "`Not One` and ``"),
    ],
)
def test_settings_become_flags(text, flags):
    assert as_flags(text) == flags


@given(st.text(alphabet="abc _=:.0", max_size=30))
def test_what_has_no_setting_stays_as_it_is(text):
    assert as_flags(text) == text
