"""Values whose components have several shapes: what can be made and gathered, but not computed with (distribute layer).

A replica's program has one shape, so the components of a `PerReplica` have one. TensorFlow traces a function once per
replica, and lets the components differ.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratax import errors
from stratax.base.shown import shown
from stratax.core import known
from stratax.core.storage import place
from stratax.distribute.replicas import _contexts
from stratax.distribute.replicas._values import (
    PerReplica,
    find_first_devices,
    format_components,
    per_replica_from_components,
    refuse_use,
)

# The shape and the name of the dtype of a component, as what JSON can hold.
Spec = list[Any]


@refuse_use
class UnevenPerReplica:
    """One value with a component for every replica, of several shapes.

    `Strategy.gather` and `Strategy.reduce` with an axis take it, `Strategy.run` does not.

    Args:
        components: One array for each replica of this process, of one dtype.
        mesh: The strategy's.
    """

    __array_ufunc__ = None

    def __init__(self, components: Sequence[Any], mesh: Mesh) -> None:
        # This process's own: the others' components are theirs.
        devices = find_first_devices(mesh)
        self._values = tuple(
            jax.device_put(component, device) for component, device in zip(components, devices, strict=True)
        )

    @property
    def values(self) -> tuple[jax.Array, ...]:
        """The components of this process, each on its replica's device."""
        return self._values

    def _describe(self) -> str:
        shapes = ", ".join(str(value.shape) for value in self._values)
        return f"a per-replica value with components of shapes {shapes}"

    def __str__(self) -> str:
        return format_components(self._values, is_repr=False)

    def __repr__(self) -> str:
        return format_components(self._values, is_repr=True)


def from_components(components: Sequence[Any], mesh: Mesh) -> Any:
    """Make a value of one array for each replica of this process: a `PerReplica` where they have one shape."""
    shapes = {np.shape(component) for component in components}
    if len(shapes) == 1 and known.is_taken(list(components)):
        return PerReplica(known.as_result(np.stack(components)))
    if len(shapes) == 1:
        return per_replica_from_components(components, mesh)
    if len({len(shape) for shape in shapes}) > 1 or len({_dtype(part) for part in components}) > 1:
        listing = ", ".join(f"{_dtype(part)}{list(np.shape(part))}" for part in components)
        raise errors.StructureError(
            "The components of a per-replica value must all have the same number of dimensions and the same dtype. "
            f"Received, replica by replica: {listing}."
        )
    return UnevenPerReplica(components, mesh)


def check_none(leaves: Sequence[Any], where: str) -> None:
    """Refuse components of several shapes where replicas compute with them.

    Raises:
        StructureError: If there are any.
    """
    for leaf in leaves:
        if isinstance(leaf, UnevenPerReplica):
            raise errors.StructureError(
                f"{where} got components of several shapes, and every replica runs the same compiled program. "
                f"Expected: components of one shape. Received: {leaf._describe()}. Pad them to one shape, or combine "
                "them first, outside of compiled functions, with strategy.gather(value, axis)."
            )


def specs_of(leaf: object) -> list[Spec] | None:
    """Return the shapes and dtypes of a value's components here; None where it is not per replica."""
    if isinstance(leaf, UnevenPerReplica):
        return [[list(value.shape), value.dtype.name] for value in leaf.values]
    if isinstance(leaf, PerReplica) and not leaf.solo:
        return [[list(leaf.shape), leaf.dtype.name]] * len(leaf.values)
    return None


def gather(
    leaf: Any, specs: list[Spec], axis: int, mesh: Mesh, gather_alike: Callable[[PerReplica, int], jax.Array]
) -> jax.Array:
    """Concatenate components that may differ along a dimension.

    Args:
        leaf: The value: of this process the components.
        specs: The shapes and dtypes of the components of all replicas.
        axis: The dimension.
        mesh: That of the replicas.
        gather_alike: Concatenates components of one shape, with those of the other workers.

    Returns:
        An array, on every replica's device.

    Raises:
        StructureError: If the components differ in something else.
    """
    dim = _contexts.check_axis(axis, len(specs[0][0]))
    # Everything but the dimension that is concatenated.
    others = {(len(shape), *shape[:dim], *shape[dim + 1 :], dtype) for shape, dtype in specs}
    if len(others) > 1:
        listing = shown([f"{dtype}{shape}" for shape, dtype in specs])
        raise errors.StructureError(
            f"Components that are concatenated along axis {axis} must be alike in dtype and in all other dimensions. "
            f"Received, replica by replica: {listing}."
        )
    parts = [np.asarray(value) for value in leaf.values]
    sizes = [shape[dim] for shape, _ in specs]
    # Other processes hold the rest.
    if len(parts) < len(specs):
        parts = _from_all_workers(
            parts, sizes, dim, lambda padded: gather_alike(from_components(padded, mesh), dim)
        )
    whole = np.concatenate(parts, dim)
    return place([whole], NamedSharding(mesh, PartitionSpec()))[0]


def _from_all_workers(
    parts: list[np.ndarray], sizes: list[int], dim: int, gather_alike: Callable[[list[np.ndarray]], jax.Array]
) -> list[np.ndarray]:
    """Gather the components of all replicas: padded to one size, and cut again."""
    # Few sizes mean few programs.
    size = 1 << (max(sizes) - 1).bit_length() if max(sizes) else 0
    padded = [_pad(part, size, dim) for part in parts]
    everything = np.asarray(gather_alike(padded))
    pieces = np.split(everything, len(sizes), dim) if size else [everything] * len(sizes)
    # The padding goes, by the sizes that all have exchanged.
    return [np.take(piece, range(own), dim) for piece, own in zip(pieces, sizes, strict=True)]


def _pad(part: np.ndarray, size: int, dim: int) -> np.ndarray:
    widths = [(0, size - part.shape[dim] if axis == dim else 0) for axis in range(part.ndim)]
    return np.pad(part, widths)


def _dtype(component: object) -> str:
    return np.dtype(component.dtype if hasattr(component, "dtype") else np.asarray(component).dtype).name
