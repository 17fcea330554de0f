"""`DatasetSpec`: what describes a component that is a Dataset, or a batch of them (data layer)."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements._composite import Composite, merge_shapes
from stratax.data.elements._spec import Nested
from stratax.data.elements._structure import flatten, unflatten
from stratax.data.elements._tensor_shape import Shape, TensorShape, as_shape
from stratax.errors import DataError


class DatasetSpec:
    """The spec of a component that is itself a Dataset, as `window` makes them.

    Args:
        element_spec: Structure of the specs of the inner Dataset's elements.
        dataset_shape: How many Datasets a component is a batch of, `None` for sizes that differ; it is one Dataset
            when left out.
    """

    __slots__ = ("_dataset_shape", "_element_spec")

    def __init__(self, element_spec: PyTree, dataset_shape: object = ()) -> None:
        self._element_spec = element_spec
        self._dataset_shape = as_shape(dataset_shape)

    @property
    def shape(self) -> None:
        """The shape of a Dataset: it has none."""
        return None

    @property
    def dataset_shape(self) -> Shape | None:
        """How many Datasets a component is a batch of; `()` of one Dataset, None if the rank is not known."""
        return self._dataset_shape

    @property
    def element_spec(self) -> Any:
        """Structure of the specs of the inner Dataset's elements."""
        return self._element_spec

    @property
    def value_type(self) -> type:
        """The class of what it describes: something made of elements, as a Dataset is, or a batch of such."""
        return Nested if self._dataset_shape == () else Composite

    @staticmethod
    def from_value(value: Nested) -> "DatasetSpec":
        """Return the spec of a Dataset."""
        return DatasetSpec(value.element_spec)

    def batched(self, size: int | None) -> "DatasetSpec":
        """Return the spec of a batch of `size` such components."""
        return self._of_shape(None if self._dataset_shape is None else (size, *self._dataset_shape))

    def unbatched(self) -> "DatasetSpec":
        """Return the spec of the parts of such a component.

        Raises:
            DataError: It is one Dataset.
        """
        if self._dataset_shape == ():
            raise DataError(
                "Slicing dataset elements is not supported for rank 0: a component that is one Dataset has no parts. "
                f"Received: {shown(self)}. Take its elements with ds.flat_map(lambda window: window), or batch first."
            )
        return self._of_shape(None if self._dataset_shape is None else self._dataset_shape[1:])

    def _of_shape(self, shape: Shape | None) -> "DatasetSpec":
        made = DatasetSpec(self._element_spec)
        made._dataset_shape = shape
        return made

    def join(self, values: Sequence[Any]) -> Any:
        """Return a batch of such components.

        Raises:
            DataError: Some of them are batches of other sizes.
        """
        specs = [_spec_of(value) for value in values]
        if len({spec.dataset_shape for spec in specs}) > 1:
            shapes = [spec.dataset_shape for spec in specs]
            raise DataError(
                "Batches of Datasets that become one batch need one size. "
                f"Received: sizes={shown(shapes)}. Use unbatch before batch, or drop_remainder=True."
            )
        # Few programs make one.
        from stratax.data.elements._dataset_batch import DatasetBatch

        return DatasetBatch(values, functools.reduce(DatasetSpec.merged, specs) if specs else self)

    def split(self, value: Any) -> list[Any]:
        """Return the parts of such a component."""
        return list(value.rows)

    def is_compatible_with(self, other: object) -> bool:
        """Return whether a Dataset, a batch of them, or the spec of one, is described by this spec."""
        other = _spec_of(other) if isinstance(other, Nested | Composite) else other
        return (
            isinstance(other, DatasetSpec)
            and TensorShape(self._dataset_shape).is_compatible_with(other._dataset_shape)
            and self._of_parts(other, lambda a, b: bool(a.is_compatible_with(b)))
        )

    def is_subtype_of(self, other: object) -> bool:
        """Return whether what this spec describes is described by `other`, too."""
        return (
            isinstance(other, DatasetSpec)
            and _is_within(self._dataset_shape, other._dataset_shape)
            and self._of_parts(other, _is_subtype)
        )

    def most_specific_common_supertype(self, others: Sequence["DatasetSpec"]) -> "DatasetSpec | None":
        """Return the spec of the Datasets of this spec and of others; None if there is none."""
        if not all(self.is_like(other) for other in others):
            return None
        return functools.reduce(DatasetSpec.merged, others, self)

    def _of_parts(self, other: "DatasetSpec", holds: Callable[[Any, Any], bool]) -> bool:
        mine, structure = flatten(self._element_spec)
        theirs, same = flatten(other._element_spec)
        return structure == same and all(holds(a, b) for a, b in zip(mine, theirs, strict=True))

    def is_like(self, other: object) -> bool:
        """Return whether one node may give components of both specs: their elements differ in sizes at most."""
        return isinstance(other, DatasetSpec) and self._of_parts(other, lambda a, b: bool(a.is_like(b)))

    def merged(self, other: "DatasetSpec") -> "DatasetSpec":
        """Return the spec of components that are like this one or like `other`."""
        mine, structure = flatten(self._element_spec)
        theirs = flatten(other._element_spec)[0]
        made = DatasetSpec(unflatten(structure, [a.merged(b) for a, b in zip(mine, theirs, strict=True)]))
        return made._of_shape(merge_shapes(self._dataset_shape, other._dataset_shape))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DatasetSpec)
            and self._element_spec == other._element_spec
            and self._dataset_shape == other._dataset_shape
        )

    def __hash__(self) -> int:
        return hash((repr(self._element_spec), self._dataset_shape))

    def __repr__(self) -> str:
        return f"DatasetSpec({self._element_spec!r}, {TensorShape(self._dataset_shape)!r})"


def _spec_of(value: Any) -> Any:
    return value.spec if isinstance(value, Composite) else DatasetSpec(value.element_spec)


def _is_within(sizes: Shape | None, others: Shape | None) -> bool:
    if others is None or sizes is None:
        return others is None
    pairs = zip(sizes, others, strict=False)
    return len(sizes) == len(others) and all(b is None or a == b for a, b in pairs)


def _is_subtype(spec: Any, other: Any) -> bool:
    if hasattr(spec, "is_subtype_of"):
        return bool(spec.is_subtype_of(other))
    return type(spec) is type(other) and spec.dtype == other.dtype and _is_within(spec.shape, other.shape)
