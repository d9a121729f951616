"""Names that count how often they are looked up, for tests of what grows with the classes."""

from __future__ import annotations


class Name(str):
    """A name that counts how often any name is hashed or compared."""

    looked_up = 0

    def __hash__(self) -> int:
        Name.looked_up += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        Name.looked_up += 1
        return super().__eq__(other)


def some_names(number: int) -> list[Name]:
    """So many names, which nobody has looked up yet; another call gives equal ones."""
    Name.looked_up = 0
    return [Name(f"class {i}") for i in range(number)]
