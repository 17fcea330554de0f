"""`DatasetSpec`: what describes a Dataset that is itself a component of an element (data layer)."""

from collections.abc import Callable, Sequence
from typing import Any

from stratax.base.typing import PyTree
from stratax.data.elements._spec import Nested
from stratax.data.elements._structure import flatten, unflatten


class DatasetSpec:
    """The spec of a component that is itself a Dataset, as `window` makes them.

    Args:
        element_spec: Structure of the specs of the inner Dataset's elements.
        dataset_shape: Ignored: one component is one Dataset.
    """

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec: PyTree, dataset_shape: object = ()) -> None:
        self._element_spec = element_spec

    @property
    def shape(self) -> None:
        """The shape of a Dataset: it has none."""
        return None

    @property
    def element_spec(self) -> Any:
        """Structure of the specs of the inner Dataset's elements."""
        return self._element_spec

    @property
    def value_type(self) -> type:
        """The class of what it describes: something made of elements, as a Dataset is."""
        return Nested

    @staticmethod
    def from_value(value: Nested) -> "DatasetSpec":
        """Return the spec of a Dataset."""
        return DatasetSpec(value.element_spec)

    def is_compatible_with(self, other: object) -> bool:
        """Return whether a Dataset, or the spec of one, is described by this spec."""
        other = DatasetSpec(other.element_spec) if isinstance(other, Nested) else other
        return isinstance(other, DatasetSpec) and self._of_parts(
            other, lambda a, b: bool(a.is_compatible_with(b))
        )

    def is_subtype_of(self, other: object) -> bool:
        """Return whether what this spec describes is described by `other`, too."""
        return isinstance(other, DatasetSpec) and self._of_parts(other, _is_subtype)

    def most_specific_common_supertype(self, others: Sequence["DatasetSpec"]) -> "DatasetSpec | None":
        """Return the spec of the Datasets of this spec and of others; None if there is none."""
        parts, structure = flatten(self._element_spec)
        for other in others:
            if not isinstance(other, DatasetSpec) or flatten(other._element_spec)[1] != structure:
                return None
            theirs = flatten(other._element_spec)[0]
            if not all(a.is_like(b) for a, b in zip(parts, theirs, strict=True)):
                return None
            parts = [a.merged(b) for a, b in zip(parts, theirs, strict=True)]
        return DatasetSpec(unflatten(structure, parts))

    def _of_parts(self, other: "DatasetSpec", holds: Callable[[Any, Any], bool]) -> bool:
        mine, structure = flatten(self._element_spec)
        theirs, same = flatten(other._element_spec)
        return structure == same and all(holds(a, b) for a, b in zip(mine, theirs, strict=True))

    def is_like(self, other: object) -> bool:
        """Return whether `other` describes a Dataset of such elements, too."""
        return self == other

    def merged(self, other: object) -> "DatasetSpec":
        """Return this one: the spec of either Dataset."""
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec) and self._element_spec == other._element_spec

    def __hash__(self) -> int:
        return hash(repr(self._element_spec))

    def __repr__(self) -> str:
        return f"DatasetSpec({self._element_spec!r}, TensorShape([]))"


def _is_subtype(spec: Any, other: Any) -> bool:
    if hasattr(spec, "is_subtype_of"):
        return bool(spec.is_subtype_of(other))
    if type(spec) is not type(other) or spec.dtype != other.dtype:
        return False
    if other.shape is None or spec.shape is None:
        return other.shape is None
    sizes = zip(spec.shape, other.shape, strict=False)
    return len(spec.shape) == len(other.shape) and all(b is None or a == b for a, b in sizes)
