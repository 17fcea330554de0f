"""Shapes of what layers give, where they depend on how sizes that are not known divide (keras2 layer).

Keras 3 finds them with a symbol for these sizes, which JAX can't divide by a number: a layer that makes videos of
images, `reshape(images, (-1, frames, height, width, 3))`, can't be called. TensorFlow's graphs take it.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import keras

from stratax.seams import keras2 as seam

_SPEC = "keras.src.backend:compute_output_spec"
# What Keras calls a size that is not known.
_SYMBOL = "dynamic_dimension"
# By what most numbers that programs divide by divide, 16 among them, and 240, and 1001.
_DIVISIBLE = 2**6 * 3**3 * 5 * 7 * 11 * 13
_TRIED = (2 * _DIVISIBLE, 3 * _DIVISIBLE)


def install() -> None:
    """Put it in place; safe to call again."""
    seam.widen(_SPEC, _wrap_spec)


def _wrap_spec(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compute_output_spec(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return original(fn, *args, **kwargs)
        except Exception as error:
            if not any(_SYMBOL in str(each) for each in _causes(error)):
                raise
            tried = [_of_size((args, kwargs), size) for size in _TRIED]
            try:
                first, second = (original(fn, *own_args, **own_kwargs) for own_args, own_kwargs in tried)
            except Exception:
                raise error from None
        return keras.tree.map_structure(_of_both, first, second)

    return compute_output_spec


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _of_size(tree: Any, size: int) -> Any:
    """Return a structure with tensors that have this size where theirs is not known."""

    def fill(each: Any) -> Any:
        if not isinstance(each, keras.KerasTensor):
            return each
        shape = tuple(size if dim is None else dim for dim in each.shape)
        return keras.KerasTensor(shape, each.dtype, sparse=each.sparse)

    return keras.tree.map_structure(fill, tree)


def _of_both(first: Any, second: Any) -> Any:
    """Return what a tensor is in both trials: sizes that differ are not known."""
    if not isinstance(first, keras.KerasTensor):
        return first
    sizes = zip(first.shape, second.shape, strict=True)
    return keras.KerasTensor(
        tuple(one if one == other else None for one, other in sizes), first.dtype, sparse=first.sparse
    )
