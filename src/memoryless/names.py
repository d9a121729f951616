"""Names and sizes: looked up in tables, listed in sentences, and shown safely."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from memoryless.errors import ConfigError, DataError

T = TypeVar("T")
LONGEST_NAME = 255  # bytes, as of a file's name
LONG = 30  # entries of a table; in a sentence nobody reads more
# An underscore between letters is no emphasis, and names full of them are easier to read as is.
MARKDOWN = re.compile(r"[\\`|<>*\[\]&~$]|(?<!\w)_|_(?!\w)")


def choose(kind: str, name: str, table: Mapping[str, T]) -> T:
    """Return the entry called `name`, or raise an error that lists what there is.

    >>> choose("head", "siv", {"siw": 1, "l2": 2})
    Traceback (most recent call last):
        ...
    memoryless.errors.ConfigError: unknown head 'siv': choose from siw, l2; did you mean 'siw'?
    """
    if name in table:
        return table[name]
    listed = first_ten(table) if len(table) > LONG else ", ".join(table)
    raise ConfigError(f"unknown {kind} '{name}': choose from {listed}{suggestion(name, table)}")


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: the known one that may have been meant.

    >>> suggestion("siv", ["siw", "l2"]), suggestion("lda", ["siw", "l2"])
    ("; did you mean 'siw'?", '')
    """
    close = difflib.get_close_matches(name, [other for other in known if other != name], n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def first_ten(offenders: Iterable[str]) -> str:
    """Return the first ten entries, and how many more there are.

    >>> first_ten(f"{i}.png" for i in range(12))
    '0.png, 1.png, 2.png, 3.png, 4.png, 5.png, 6.png, 7.png, 8.png, 9.png and 2 more'
    """
    listed = list(offenders)
    more = f" and {len(listed) - 10} more" if len(listed) > 10 else ""
    return ", ".join(listed[:10]) + more


def with_reasons(why: Mapping[str, str]) -> str:
    """Return the first ten names, each with the reason for it, and how many more there are.

    >>> with_reasons({"a.jpg": "it is empty"})
    'a.jpg (it is empty)'
    """
    return first_ten(f"{name} ({reason})" for name, reason in why.items())


def note(names: Sequence[str], one: str, many: str) -> Iterator[str]:
    """Yield a sentence that counts and names things, if there are any.

    >>> list(note(["a.jpg"], "link", "links")), list(note([], "link", "links"))
    (['1 link: a.jpg'], [])
    """
    if names:
        yield f"{counted(len(names), one, many)}: {first_ten(names)}"


def class_names(labels: Iterable[str]) -> Mapping[str, str]:
    """Return each label in Unicode's composed form; raise if it cannot name a class."""
    names: dict[str, str] = {}
    labels_of: dict[str, str] = {}
    for label in sorted(set(labels)):
        name = unicodedata.normalize("NFC", label)
        why = _unfit(name)
        if why:
            short = label if len(label) <= 40 else f"{label[:40]}..."
            raise DataError(f"the class name {short!a} {why}: rename the class")
        twin = labels_of.setdefault(name, label)
        if twin != label:
            raise DataError(
                f"the class names {twin!a} and {label!a} are the same to Unicode: rename "
                "one, or put their photos together"
            )
        names[label] = name
    return names


def utf8(text: object) -> str:
    """Return the text with its lone surrogates, which stand for bytes of file names, escaped."""
    return str(text).encode("utf-8", "backslashreplace").decode()


def _unfit(name: str) -> str:
    kinds = {unicodedata.category(sign) for sign in name}
    if "Cs" in kinds:  # how Python keeps bytes of a file's name that are no text
        return "is not valid UTF-8"
    if kinds & {"Cc", "Zl", "Zp"}:
        return "has control characters"
    if "/" in name or "\\" in name:
        return "has a slash"
    if not name.strip():
        return "is blank"
    size = len(name.encode())
    return f"has {size:,} bytes, more than {LONGEST_NAME}" if size > LONGEST_NAME else ""


def counted(number: int, one: str, many: str) -> str:
    """Return a number and its noun, in singular or plural.

    >>> counted(1, "entry", "entries"), counted(1200, "entry", "entries")
    ('1 entry', '1,200 entries')
    """
    return f"{number:,} {one if number == 1 else many}"


def natural(name: str) -> list[int | str]:
    """Return a key that sorts names as people count.

    >>> sorted(["a10.jpg", "a9.jpg", "b.jpg"], key=natural)
    ['a9.jpg', 'a10.jpg', 'b.jpg']
    """
    parts = re.split(r"(\d+)", name)  # every second part is a number
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]


def in_words(value: object) -> str:
    """Return a value as one would type it.

    >>> in_words((0, 1)), in_words([]), in_words(None), in_words(False), in_words(0.5)
    ('0 1', 'none', 'none', 'no', '0.5')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return " ".join(map(in_words, value)) or "none"
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def size(number: int) -> str:
    """Return a number of bytes as people read it.

    >>> size(999), size(13_107_200), size(2_500_000_000)
    ('999 bytes', '13.1 MB', '2.5 GB')
    """
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= one:
            return f"{number / one:.1f} {unit}"
    return f"{number:,} bytes"


def printable(text: str) -> str:
    r"""Return text that a terminal shows and does not obey: control characters become escapes.

    >>> printable("red \x1b[31m, e-acute \xe9")
    'red \\x1b[31m, e-acute é'
    """
    return "".join(
        sign.encode("unicode_escape").decode()
        if unicodedata.category(sign)[0] == "C" or sign in "\u2028\u2029"  # they end a line
        else sign
        for sign in text
    )


def markdown_text(text: str) -> str:
    r"""Escape text for one line or cell of Markdown, without markup, HTML or links.

    >>> markdown_text("a|b_c <i> _d_")
    'a\\|b_c \\<i\\> \\_d\\_'
    """
    return MARKDOWN.sub(r"\\\g<0>", printable(text))


def as_flags(text: str) -> str:
    """Return a sentence in which settings, written `name=value`, are flags of the command line.

    >>> as_flags("train with `held_out=0.1`, or add `skip_broken=True`; check `root`")
    'train with --held-out 0.1, or add --skip-broken; check --root'
    """

    def flag(found: re.Match[str]) -> str:
        name, value = found["name"].replace("_", "-"), found["value"]
        return f"--{name}" if value in (None, "True") else f"--{name} {value}"

    return re.sub(r"`(?P<name>[a-z_]+)(=(?P<value>[^`]*))?`", flag, text)
