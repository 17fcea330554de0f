"""Specs of plans that a function makes, one for each element: what holds for one need not for the next (data layer)."""

from typing import Any

from stratax.base.surroundings import Slot, Surroundings
from stratax.base.typing import PyTree
from stratax.data.elements import flatten, unflatten

_IS_ONE: Slot[bool] = Slot("one of many", False)


# Whether the plan whose spec is asked for is one of those that a function makes.
is_one_of_many = _IS_ONE.get


def one_of_many() -> Surroundings:
    """Mark a block within which specs claim no size that follows from how many elements there are."""
    return _IS_ONE.holding(True)


def merge_specs(spec: PyTree, other: object) -> Any:
    """Merge specs into what describes elements of both; `spec` where they are of different structure or dtypes."""
    mine, structure = flatten(spec)
    theirs, other_structure = flatten(other)
    if structure != other_structure:
        # Elements of different structure have no spec in common: whoever reads one of them raises.
        return spec
    pairs = zip(mine, theirs, strict=True)
    return unflatten(structure, [_merge(a, b) for a, b in pairs])


def _merge(a: Any, b: Any) -> Any:
    return a.merged(b) if a.is_like(b) else a
