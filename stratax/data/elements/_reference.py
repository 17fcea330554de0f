"""`Reference`: what stands for a tensor or variable as a key of a dict (lowest layer)."""

from typing import Any

from stratax.base.shown import shown


class Reference:
    """Stands for an object, which itself has no hash, in sets and as a key of dicts.

    Two are equal if they stand for the same object, whatever its value.

    Args:
        value: The object, which is kept alive.
    """

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def deref(self) -> Any:
        """Return the object."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._value is other._value

    def __hash__(self) -> int:
        return hash(id(self._value))

    def __repr__(self) -> str:
        return f"<Reference wrapping {shown(self._value)}>"
