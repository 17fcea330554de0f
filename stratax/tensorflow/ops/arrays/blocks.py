"""What trades pixels for channels or examples: `space_to_depth` and its like (ops layer).

NumPy arrays stay on the host (see `stratax.tensorflow.ops.calls._host`).
"""

from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.data.elements import sizes_of
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._host import is_on_host
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.op import op

_LAYOUTS = ("NHWC", "NCHW")


def _images(input: TensorLike, block_size: int, data_format: str) -> Any:
    """Return images with their channels last."""
    array = np.asarray(input) if is_on_host(input) else on_device(input)
    if array.ndim != 4 or data_format not in _LAYOUTS or int(block_size) < 2:
        raise BadArgumentError(
            f"The input has four dimensions, block_size is at least 2 and data_format one of {_LAYOUTS}. Received: "
            f"input of shape {array.shape}, block_size={shown(block_size)}, data_format={shown(data_format)}."
        )
    return array if data_format == "NHWC" else array.transpose(0, 2, 3, 1)


@op
def space_to_depth(input: TensorLike, block_size: int, data_format: str = "NHWC") -> Any:
    """Return images whose blocks of pixels have become channels, as `tf.nn.space_to_depth`.

    Args:
        input: Images, shape `(batch, height, width, channels)`.
        block_size: The height and width of a block.
        data_format: `"NHWC"` or `"NCHW"`.

    Returns:
        Shape `(batch, height / block_size, width / block_size, channels * block_size ** 2)`, where `input` is.

    Raises:
        BadArgumentError: If blocks don't fill the images.
    """
    array, block = _images(input, block_size, data_format), int(block_size)
    batch, height, width, channels = array.shape
    if height % block or width % block:
        raise BadArgumentError(
            f"Height and width must be multiples of block_size={block}. Received: images of {height} x {width} pixels."
        )
    # (batch, rows, rows of a block, columns, columns of a block, channels); a block's pixels go behind its place.
    cut = array.reshape(batch, height // block, block, width // block, block, channels)
    whole = cut.transpose(0, 1, 3, 2, 4, 5).reshape(batch, height // block, width // block, -1)
    return whole if data_format == "NHWC" else whole.transpose(0, 3, 1, 2)


@op
def depth_to_space(input: TensorLike, block_size: int, data_format: str = "NHWC") -> Any:
    """Return images whose channels have become blocks of pixels, as `tf.nn.depth_to_space`.

    The arguments are those of :func:`space_to_depth`, which it undoes.

    Raises:
        BadArgumentError: If channels don't fill blocks.
    """
    array, block = _images(input, block_size, data_format), int(block_size)
    batch, height, width, channels = array.shape
    if channels % block**2:
        raise BadArgumentError(
            f"The number of channels must be a multiple of block_size ** 2 = {block**2}. Received: {channels} channels."
        )
    # Channels count a block's rows first, then its columns, then its own channels.
    cut = array.reshape(batch, height, width, block, block, channels // block**2)
    whole = cut.transpose(0, 1, 3, 2, 4, 5).reshape(batch, height * block, width * block, -1)
    return whole if data_format == "NHWC" else whole.transpose(0, 3, 1, 2)


def _pairs(name: str, pairs: Any, num: int) -> list[tuple[int, ...]]:
    numbers = [sizes_of(name, pair) for pair in pairs]
    if len(numbers) != num or any(len(pair) != 2 or min(pair) < 0 for pair in numbers):
        raise BadArgumentError(
            f"{name} has two numbers for each of {num} dimensions, none of them negative. Received: "
            f"{name}={shown(pairs)}."
        )
    return numbers


@op
def space_to_batch(input: TensorLike, block_shape: TensorLike, paddings: TensorLike) -> Any:
    """Return arrays whose blocks have become examples, as `tf.space_to_batch`.

    Args:
        input: Shape `(batch, sizes, ...)`.
        block_shape: The block's size in each of the dimensions behind the batch; one number for the first two.
        paddings: How many zeros come before and behind each of these dimensions.

    Returns:
        Shape `(batch * elements of a block, sizes / block_shape, ...)`, where `input` is.

    Raises:
        BadArgumentError: If blocks don't fill the padded array.
    """
    array = np.asarray(input) if is_on_host(input) else on_device(input)
    block = _block(block_shape)
    pairs = _pairs("paddings", paddings, len(block))
    rest = array.ndim - len(block) - 1
    sizes = [size + sum(pair) for size, pair in zip(array.shape[1:], pairs, strict=False)]
    if rest < 0 or any(size % step for size, step in zip(sizes, block, strict=True)):
        raise BadArgumentError(
            "Each padded size must be a multiple of the block's. Received: padded sizes "
            f"{sizes}, block_shape={shown(block)}, input of shape {array.shape}."
        )
    if any(map(any, pairs)):
        import jax.numpy as jnp

        library: Any = np if isinstance(array, np.ndarray) else jnp
        array = library.pad(array, [(0, 0), *pairs, *[(0, 0)] * rest])
    num = len(block)
    cut = [part for size, step in zip(sizes, block, strict=True) for part in (size // step, step)]
    pieces = array.reshape([array.shape[0], *cut, *array.shape[1 + num :]])
    # The places in a block become the leading dimensions, before the batch: examples of one place lie together.
    order = [*range(2, 2 * num + 1, 2), 0, *range(1, 2 * num + 1, 2), *range(2 * num + 1, pieces.ndim)]
    shape = [size // step for size, step in zip(sizes, block, strict=True)]
    return pieces.transpose(order).reshape(
        [array.shape[0] * _product(block), *shape, *array.shape[1 + num :]]
    )


def _block(block_shape: TensorLike) -> tuple[int, ...]:
    sizes = sizes_of("block_shape", block_shape)
    if min(sizes, default=1) < 1:
        raise BadArgumentError(
            f"Blocks have sizes of at least 1. Received: block_shape={shown(block_shape)}."
        )
    # One number is the side of a square, as TensorFlow 1's block_size.
    return sizes * 2 if np.ndim(block_shape) == 0 else sizes


def _product(sizes: tuple[int, ...]) -> int:
    return int(np.prod(sizes, dtype=np.int64))


@op
def batch_to_space(input: TensorLike, block_shape: TensorLike, crops: TensorLike) -> Any:
    """Return arrays whose examples have become blocks, as `tf.batch_to_space`: what `space_to_batch` made.

    Args:
        input: Shape `(batch, sizes, ...)`.
        block_shape: The block's size in each of the dimensions behind the batch.
        crops: How many elements are cut off before and behind each of these dimensions afterwards.

    Raises:
        BadArgumentError: If examples don't fill blocks, or more is cut off than there is.
    """
    array = np.asarray(input) if is_on_host(input) else on_device(input)
    block = _block(block_shape)
    pairs = _pairs("crops", crops, len(block))
    num, examples = len(block), array.shape[0]
    sizes = [size * step for size, step in zip(array.shape[1:], block, strict=False)]
    is_cut = all(sum(pair) <= size for size, pair in zip(sizes, pairs, strict=False))
    if array.ndim <= num or examples % _product(block) or not is_cut:
        raise BadArgumentError(
            f"The batch must be a multiple of a block's {_product(block)} elements, and crops be within {sizes}. "
            f"Received: input of shape {array.shape}, crops={shown(crops)}."
        )
    pieces = array.reshape([*block, examples // _product(block), *array.shape[1:]])
    # Each dimension's blocks, followed by the places in them, which come from the front.
    between = [dim for step in range(num) for dim in (num + 1 + step, step)]
    whole = pieces.transpose([num, *between, *range(2 * num + 1, pieces.ndim)])
    whole = whole.reshape([examples // _product(block), *sizes, *array.shape[1 + num :]])
    return whole[(slice(None), *(slice(b, size - e) for size, (b, e) in zip(sizes, pairs, strict=True)))]
