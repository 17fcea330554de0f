"""What describes an iterator or an Optional, for the `input_signature` of a compiled function (core layer)."""

import abc
from typing import Any, Self

import jax

from stratax.core.regions._stream import Optional, Stream


class _ElementsSpec(abc.ABC):
    """What describes something by the elements that it has or gives.

    Args:
        element_spec: The structure of the specs of an element.
    """

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec: object) -> None:
        self._element_spec = element_spec

    @property
    def shape(self) -> None:
        """The shape, which there is none of."""
        return None

    @property
    def element_spec(self) -> Any:
        """The structure of the specs of an element."""
        return self._element_spec

    @property
    @abc.abstractmethod
    def value_type(self) -> type:
        """The class of what it describes."""

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """Return what describes a value.

        Args:
            value: Something with an `element_spec`.
        """
        return cls(value.element_spec)

    def is_compatible_with(self, other: object) -> bool:
        """Return whether a value, or what describes one, is described by this spec."""
        kinds: tuple[type[Any], ...] = (type(self), self.value_type)
        if not isinstance(other, kinds):
            return False
        mine, structure = jax.tree.flatten(self._element_spec)
        theirs, same = jax.tree.flatten(other.element_spec)
        return structure == same and all(  # type: ignore[operator]
            a.is_compatible_with(b) for a, b in zip(mine, theirs, strict=True)
        )

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._element_spec == other._element_spec  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._element_spec!r},)"


class OptionalSpec(_ElementsSpec):
    """What describes an Optional, as `tf.OptionalSpec`."""

    __slots__ = ()

    @property
    def value_type(self) -> type:
        """The class of an Optional."""
        return Optional


class IteratorSpec(_ElementsSpec):
    """What describes an iterator of a Dataset, as `tf.data.IteratorSpec`."""

    __slots__ = ()

    @property
    def value_type(self) -> type:
        """The class of what a compiled function can take elements from."""
        return Stream
