"""`Composite`: components of elements that are made of several arrays, and `CompositeSpec`, which puts them together.

A pipeline hands such a component on as one value, as it does with an array. Only its spec knows how several of them
become a batch, and what a batch is taken apart into; what makes batches asks it. A class of such values derives from
:class:`Composite`, is structure to optree (its arrays are its leaves), and names its spec, which is registered by the
kind under which files know it (data layer).
"""

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
import optree

from stratax.base.shown import shown
from stratax.data.elements._spec import Nested, TensorSpec
from stratax.data.elements._tensor_shape import Shape, TensorShape, as_shape
from stratax.errors import BadTypeError

# Of its own, so that types that are registered here mean nothing to other users of optree.
NAMESPACE = "stratax"


class Composite:
    """A component of an element that is made of several arrays."""

    __slots__ = ()

    @property
    def spec(self) -> "CompositeSpec":
        """What describes the value."""
        raise NotImplementedError

    @property
    def shape(self) -> TensorShape:
        """The sizes of the dense array that it stands for, `None` where they differ."""
        raise NotImplementedError

    def numpy(self) -> np.ndarray:
        """Return the value as one array of NumPy."""
        raise NotImplementedError

    def on_host(self) -> Any:
        """Return the value as elements have it: of arrays of NumPy that fit together."""
        raise NotImplementedError


class CompositeSpec(abc.ABC):
    """What describes a component that is made of several arrays, and knows how such components become one.

    Args:
        shape: Sizes of the dense array that it stands for, `None` for those that differ; `None` without a rank.
        dtype: The dtype of its values.
    """

    # What files call it.
    kind: ClassVar[str]
    kinds: ClassVar[dict[str, "type[CompositeSpec]"]] = {}

    def __init_subclass__(cls) -> None:
        CompositeSpec.kinds[cls.kind] = cls

    def __init__(self, shape: object, dtype: np.dtype) -> None:
        self._shape = as_shape(shape)
        self._dtype = dtype

    @property
    def shape(self) -> TensorShape | None:
        """The sizes, `None` where they differ; `None` as a whole if the rank is not known."""
        return None if self._shape is None else TensorShape(self._shape)

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the values, as NumPy has it."""
        return self._dtype

    @property
    def is_boxed(self) -> bool:
        """Whether its values are Composites; else they are plain arrays, of which a batch is one."""
        return True

    @property
    @abc.abstractmethod
    def details(self) -> dict[str, Any]:
        """What there is beside shape and dtype, as JSON can hold it: arguments of the class."""

    @abc.abstractmethod
    def of(self, value: object) -> "CompositeSpec | None":
        """Return the spec of a value that this one may describe; None if it is of another class."""

    @property
    @abc.abstractmethod
    def part_specs(self) -> list[TensorSpec]:
        """The specs of the arrays that a value is made of."""

    @abc.abstractmethod
    def of_parts(self, parts: Sequence[Any]) -> Any:
        """Return the value that is made of some arrays, in the order of :attr:`part_specs`."""

    @abc.abstractmethod
    def empty(self) -> Any:
        """Return a value with nothing in it, of known rank."""

    @abc.abstractmethod
    def join(self, values: Sequence[Any]) -> Any:
        """Return a batch of such values."""

    @abc.abstractmethod
    def split(self, value: Any) -> list[Any]:
        """Return the slices of such a value along its first axis."""

    def rows(self, value: object, start: int, stop: int) -> Any:
        """Return some of the slices of such a value, together."""
        return self.unbatched().join(self.split(value)[start:stop])

    def with_shape(self, shape: Shape | None) -> "CompositeSpec":
        """Return the same of another shape."""
        return type(self)(shape, self._dtype, **self.details)  # type: ignore[call-arg]

    def batched(self, size: int | None) -> "CompositeSpec":
        """Return the spec of a batch of `size` such components."""
        return self.with_shape(None if self._shape is None else (size, *self._shape))

    def unbatched(self) -> "CompositeSpec":
        """Return the spec of the slices of such a component."""
        return self.with_shape(None if self._shape is None else self._shape[1:])

    def is_like(self, other: object) -> bool:
        """Return whether one node may give components of both specs: they differ in sizes at most."""
        return (
            isinstance(other, CompositeSpec)
            and self.kind == other.kind
            and self._dtype == other._dtype
            and self.details == other.details
        )

    def merged(self, other: "CompositeSpec") -> "CompositeSpec":
        """Return the spec of components that are like this one or like `other`."""
        return self.with_shape(merge_shapes(self._shape, other._shape))

    def is_compatible_with(self, other: object) -> bool:
        """Return whether `other`, a value or a spec, can be what this spec describes."""
        found = other if isinstance(other, CompositeSpec) else self.of(other)
        return (
            found is not None
            and self.is_like(found)
            and TensorShape(self._shape).is_compatible_with(found._shape)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CompositeSpec) and self.is_like(other) and self._shape == other._shape

    def __hash__(self) -> int:
        return hash((self.kind, self._shape, self._dtype))


def merge_shapes(first: Shape | None, second: Shape | None) -> Shape | None:
    """Return what two shapes have in common; None where their ranks differ."""
    if first is None or second is None or len(first) != len(second):
        return None
    return tuple(a if a == b else None for a, b in zip(first, second, strict=True))


def parts_of(values: object) -> list[Any]:
    """Return the arrays that a value is made of, or several in a list: a component that is an array is one."""
    return optree.tree_leaves(values, namespace=NAMESPACE)


def as_numpy_array(leaf: object) -> Any:
    """Return a component as an array of NumPy: a composite as the one that it stands for.

    Raises:
        BadTypeError: It is a Dataset.
    """
    if isinstance(leaf, Nested):
        refuse_numpy(leaf)
    return leaf.numpy() if isinstance(leaf, Composite) else leaf


def refuse_numpy(value: object) -> NoReturn:
    """Raise, for what is a Dataset or made of Datasets, or describes one."""
    raise BadTypeError(
        "as_numpy_iterator() is not supported for Datasets in elements, which are no arrays. Received: a component "
        f"{shown(value)}. Iterate over the Dataset itself, and over its windows: "
        "[list(window.as_numpy_iterator()) for window in ds]."
    )


def map_parts(function: Callable[[Any], Any], value: object) -> Any:
    """Return a composite of what a function makes of the arrays of another."""
    return optree.tree_map(function, value, namespace=NAMESPACE)


def is_composites(column: Any) -> bool:
    """Return whether a column of a block holds composites; there is at least one element in it."""
    return column.dtype.hasobject and column.ndim == 1 and isinstance(column[0], Composite)
