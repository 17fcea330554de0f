"""Many small arrays in few large buffers, so that a collective is called seldom (distribute layer)."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

# Which arrays go together: the indices of each pack, together every index once.
Packs = tuple[tuple[int, ...], ...]


def plan_packs(arrays: Sequence[jax.Array], *, num_packs: int, bytes_per_pack: int) -> Packs:
    """Decide which arrays go into one buffer: neighbours of one dtype, up to a size.

    Args:
        arrays: The arrays, concrete or traced, of any shapes and dtypes.
        num_packs: Into how many packs of about one size to split the arrays of each dtype; 0: each by itself.
        bytes_per_pack: The largest size of a pack, in bytes; 0: as `num_packs` says. An array of this size or
            larger is a pack of its own.

    Returns:
        The packs, in the order of their first arrays.
    """
    if num_packs == 0:
        return tuple((index,) for index in range(len(arrays)))
    by_dtype: dict[np.dtype, list[int]] = {}
    for index, array in enumerate(arrays):
        # Concatenating several dtypes would convert them.
        by_dtype.setdefault(np.dtype(array.dtype), []).append(index)
    packs = []
    for indices in by_dtype.values():
        total = sum(_num_bytes(arrays[index]) for index in indices)
        packs += _split(arrays, indices, bytes_per_pack or -(-total // num_packs))
    # In the order of their first arrays, as gradients are computed, so that a pack need not wait for the last
    # one.
    return tuple(sorted(packs))


def pack(arrays: Sequence[jax.Array], packs: Packs) -> list[jax.Array]:
    """Lay the arrays of each pack end to end.

    Args:
        arrays: The arrays.
        packs: What `plan_packs` decided for them.

    Returns:
        One array for each pack: one-dimensional, or the array itself where a pack has only one.
    """
    return [
        arrays[indices[0]]
        if len(indices) == 1
        else jnp.concatenate([jnp.ravel(arrays[index]) for index in indices])
        for indices in packs
    ]


def unpack(buffers: Sequence[jax.Array], packs: Packs, arrays: Sequence[jax.Array]) -> list[jax.Array]:
    """Take the buffers apart again.

    Args:
        buffers: As `pack` made them, with other values and perhaps another dtype.
        packs: What `plan_packs` decided.
        arrays: The arrays that were packed; only their shapes count.

    Returns:
        One array for each of `arrays`, in their order and shapes.
    """
    unpacked: dict[int, jax.Array] = {}
    for buffer, indices in zip(buffers, packs, strict=True):
        if len(indices) == 1:
            unpacked[indices[0]] = buffer
            continue
        # Known while tracing: splits are slices and no gathers.
        ends = np.cumsum([arrays[index].size for index in indices])[:-1]
        for index, part in zip(indices, jnp.split(buffer, ends), strict=True):
            unpacked[index] = jnp.reshape(part, arrays[index].shape)
    return [unpacked[index] for index in range(len(arrays))]


def _split(arrays: Sequence[jax.Array], indices: Sequence[int], limit: int) -> list[tuple[int, ...]]:
    packs: list[list[int]] = []
    open_pack: list[int] = []
    filled = 0
    for index in indices:
        size = _num_bytes(arrays[index])
        if size >= limit:
            # Copying it into a buffer would gain nothing; the small ones around it still go together.
            packs.append([index])
            continue
        if not open_pack or filled + size > limit:
            open_pack, filled = [], 0
            packs.append(open_pack)
        open_pack.append(index)
        filled += size
    return [tuple(members) for members in packs]


def _num_bytes(array: jax.Array) -> int:
    return int(array.size) * np.dtype(array.dtype).itemsize
