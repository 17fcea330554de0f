"""Functions of `tf` about shapes (ops layer). Shapes are always known, so all of them answer on the host."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import is_symbolic_size
from stratax.base.typing import DTypeLike, TensorLike
from stratax.data.elements import TensorShape, sizes_of
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.arrays.arrays import identity, shape
from stratax.tensorflow.ops.calls.op import op


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """Return the shape that two broadcast to, as `tf.broadcast_static_shape`.

    Args:
        shape_x: A `tf.TensorShape`, or a list of sizes; None is a size that is not known.
        shape_y: Another.

    Raises:
        BadArgumentError: If they do not broadcast.
    """
    # From the last dimension on; one that is missing counts as 1.
    pairs = itertools.zip_longest(reversed(tuple(shape_x)), reversed(tuple(shape_y)), fillvalue=1)
    sizes = [_common(x, y, shape_x, shape_y) for x, y in pairs]
    return TensorShape(reversed(sizes))


def _common(x: int | None, y: int | None, shape_x: object, shape_y: object) -> int | None:
    if x == 1 or y == 1:
        return y if x == 1 else x
    if x is None or y is None:
        # A known size above 1 is what the other one has to be, if it is not 1.
        return y if x is None else x
    if x != y:
        raise BadArgumentError(
            "These shapes do not broadcast. Expected: equal sizes, or 1, in each dimension counted from the last. "
            f"Received: {shown(shape_x)} and {shown(shape_y)}."
        )
    return x


@op
def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Any:
    """Return the shape that two broadcast to, an array on the host, as `tf.broadcast_dynamic_shape`."""
    sizes = broadcast_static_shape(sizes_of("shape_x", shape_x), sizes_of("shape_y", shape_y))
    return np.array(tuple(sizes), object if any(map(is_symbolic_size, sizes)) else np.int32)


@op
def shape_n(input: Sequence[Any], out_type: DTypeLike = "int32") -> list[Any]:
    """Return the sizes of each of several arrays, as `tf.shape_n`."""
    return [shape(each, out_type) for each in input]


@op
def identity_n(input: Sequence[Any]) -> list[Any]:
    """Return the same values of several arrays, as `tf.identity_n`: of variables their values now."""
    return [identity(each) for each in input]


@op
def ensure_shape(x: TensorLike, shape: Any) -> Any:
    """Return `x`, having checked that its shape is `shape`, as `tf.ensure_shape`.

    Args:
        x: An array.
        shape: The sizes; None for a size that is not checked, or for all of them.

    Raises:
        BadArgumentError: If it has another shape. Shapes are known while a function is traced, so it is checked then.
    """
    have = tuple(np.shape(x))
    wanted = None if shape is None else tuple(shape) if np.ndim(shape) else (shape,)
    if wanted is not None and not _fits(have, wanted):
        raise BadArgumentError(
            f"An array has another shape. Expected: {shown(wanted)}. Received: {shown(have)}."
        )
    return identity(x)


def _fits(have: Sequence[int | None], wanted: Sequence[Any]) -> bool:
    return len(have) == len(wanted) and all(
        size is None or want is None or size == want for size, want in zip(have, wanted, strict=True)
    )


@op
def required_space_to_batch_paddings(
    input_shape: TensorLike, block_shape: TensorLike, base_paddings: TensorLike | None = None
) -> tuple[Any, Any]:
    """Return the paddings and crops with which blocks divide a shape, as `tf.required_space_to_batch_paddings`.

    Args:
        input_shape: The sizes of the dimensions that are cut.
        block_shape: The sizes of the blocks.
        base_paddings: The least paddings, shape `[n, 2]`; zeros if None.

    Returns:
        The paddings and the crops, arrays of shape `[n, 2]` on the host.

    Raises:
        BadArgumentError: If there is not a block size of at least 1 for each dimension.
    """
    sizes, blocks = (
        np.array(sizes_of("input_shape", input_shape)),
        np.array(sizes_of("block_shape", block_shape)),
    )
    if len(sizes) != len(blocks) or (blocks < 1).any():
        raise BadArgumentError(
            "There is a block size of at least 1 for each dimension. Received: input_shape="
            f"{shown(input_shape)}, block_shape={shown(block_shape)}."
        )
    base = np.zeros((len(blocks), 2), int) if base_paddings is None else np.asarray(base_paddings)
    before = base[:, 0]
    # How much is missing to the next multiple of the block.
    more = -(sizes + before + base[:, 1]) % blocks
    paddings = np.stack([before, base[:, 1] + more], 1)
    # What the block needed more comes off again, the base paddings stay.
    crops = np.stack([np.zeros_like(more), more], 1)
    return paddings.astype(np.int32), crops.astype(np.int32)
