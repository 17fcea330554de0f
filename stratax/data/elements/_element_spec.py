"""Specs of elements: which they are, and whether others are alike (data layer)."""

from typing import Any

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements._composite import Composite, CompositeSpec
from stratax.data.elements._dataset_spec import DatasetSpec
from stratax.data.elements._spec import Nested, TensorSpec
from stratax.data.elements._structure import Row, Structure, flatten, leaf_names, unflatten
from stratax.errors import BadArgumentError, DataError


def spec_of_row(row: Row, structure: Structure) -> Any:
    """Return the structure of specs that describes one element."""
    return unflatten(structure, [spec_of_leaf(leaf) for leaf in row])


def spec_of_leaf(leaf: Any) -> Any:
    """Return the spec of one component: of an array, of several, or of an inner Dataset."""
    if isinstance(leaf, Nested):
        return DatasetSpec(leaf.element_spec)
    return leaf.spec if isinstance(leaf, Composite) else TensorSpec.from_array(leaf)


def check_same(
    row: Row,
    structure: Structure,
    spec: PyTree,
    where: str,
    error: type[BadArgumentError] = DataError,
) -> None:
    """Raise unless an element has the structure, dtypes and rank (known sizes may differ) of `spec`.

    Args:
        row: Leaves of the element.
        structure: Structure of the element.
        spec: Structure of TensorSpec that earlier elements had.
        where: Who made the element, for the message.
        error: What is raised.

    Raises:
        BadArgumentError: The two differ; the message names both.
    """
    specs, expected = flatten(spec)
    if structure != expected:
        raise error(
            f"{where} gave elements of different structure. Expected, as before: {shown(spec)}. "
            f"Received: element={shown(spec_of_row(row, structure))}. Return the same structure for every element."
        )
    for leaf, want, name in zip(row, specs, leaf_names(structure), strict=True):
        have: Any = want.of(leaf) if isinstance(want, CompositeSpec) else None
        have = spec_of_leaf(leaf) if have is None else have
        # What an inner Dataset gives is checked when it gives it.
        if isinstance(want, DatasetSpec) or isinstance(have, DatasetSpec):
            continue
        ranks_differ = want.shape is not None and len(want.shape) != len(have.shape or ())
        if not want.is_like(have) or ranks_differ:
            raise error(
                f"{where} gave elements of different {'shape rank' if ranks_differ else 'dtype'}. Expected, as "
                f"before: {name}={shown(want)}. Received: {name}={shown(have)}. Return the same for every element, for "
                "instance with an explicit dtype."
            )
