"""Clipping by norms (tf layer)."""

from collections.abc import Sequence
from typing import Any

from stratax.tf._creation import on_device
from stratax.tf._keras_ops import ops


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """`t` scaled down to a norm of at most `clip_norm`, as `tf.clip_by_norm`; on a device.

    Args:
        t: An array.
        clip_norm: The largest norm, a number.
        axes: The dimensions that a norm is taken over; None: all.
        name: Ignored.

    Returns:
        An array of t's shape.
    """
    array = on_device(t)
    squares = ops.sum(ops.square(array), axis=axes, keepdims=True)
    # A norm of 0 has no gradient; its own square root is never used.
    norm = ops.sqrt(ops.where(squares > 0, squares, 1.0))
    return array * (clip_norm / ops.maximum(norm, clip_norm))


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Any:
    """The norm of several arrays as if they were one, as `tf.linalg.global_norm`; None entries are left out."""
    arrays = [on_device(array) for array in t_list if array is not None]
    return ops.sqrt(sum((ops.sum(ops.square(array)) for array in arrays), start=on_device(0.0)))


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Any]:
    """Arrays scaled down together to a norm of at most `clip_norm`, as `tf.clip_by_global_norm`; on a device.

    Args:
        t_list: Arrays, such as gradients; None entries stay.
        clip_norm: The largest norm, a number.
        use_norm: The arrays' norm, if known already.
        name: Ignored.

    Returns:
        The arrays, and the norm they had.
    """
    norm = global_norm(t_list) if use_norm is None else use_norm
    scale = clip_norm / ops.maximum(norm, clip_norm)
    clipped = [None if array is None else _scaled(on_device(array), scale) for array in t_list]
    return clipped, norm


def _scaled(array: Any, scale: Any) -> Any:
    return array * ops.cast(scale, array.dtype)
