"""Shapes that layers are given and give, and symbolic calls that Keras 3 refuses (keras2 layer).

Keras 2 gives `build` shapes that have methods, `input_shape.as_list()`; Keras 3 gives tuples.

What a layer gives Keras 3 finds with a symbol for sizes that are not known, which JAX can't divide by a number: a layer
that makes videos of images, `reshape(images, (-1, frames, height, width, 3))`, can't be called. TensorFlow's graphs
take it, and a `Lambda` whose function uses a tensor of the model besides its argument.
"""

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np

from stratax.data.elements import TensorShape
from stratax.errors import TracingError
from stratax.seams import keras2 as seam
from stratax.tensorflow.keras2 import symbolic_calls

# Methods of a layer that take shapes of inputs.
_OF_SHAPES = ("build", "compute_output_shape")
_SPEC = "keras.src.backend:compute_output_spec"
# What Keras calls a size that is not known.
_SYMBOL = "dynamic_dimension"
# By what most numbers that programs divide by divide, 16 among them, and 240, and 1001.
_DIVISIBLE = 2**6 * 3**3 * 5 * 7 * 11 * 13
_TRIED = (2 * _DIVISIBLE, 3 * _DIVISIBLE)


def install() -> None:
    """Put all in place; safe to call again."""
    seam.widen(_SPEC, _wrap_spec)
    seam.widen("keras:KerasTensor.__getitem__", symbolic_calls.slice_symbolically)
    seam.widen("keras:Layer.__init_subclass__", _giving_shapes)
    seam.widen("keras:layers.Lambda.__call__", _wrap_lambda)


def _giving_shapes(original: object) -> Any:
    """Give layers of programs shapes with the methods of TensorFlow's, where Keras 3 gives tuples."""
    del original

    def init_subclass(cls: Any, /, **kwargs: object) -> None:
        super(keras.Layer, cls).__init_subclass__(**kwargs)
        if cls.__module__.partition(".")[0] in ("keras", "keras_hub", "stratax"):
            return
        for name in _OF_SHAPES:
            own = vars(cls).get(name)
            # A function, and not what a wrapper of its own or a descriptor is.
            if isinstance(own, types.FunctionType):
                setattr(cls, name, _with_shapes(own))

    return classmethod(init_subclass)


def _with_shapes(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def method(self: object, *args: object, **kwargs: object) -> Any:
        return function(
            self, *map(_as_shapes, args), **{name: _as_shapes(each) for name, each in kwargs.items()}
        )

    return method


def _as_shapes(value: Any) -> Any:
    if isinstance(value, TensorShape) or not isinstance(value, (list, tuple, dict)):
        return value
    if isinstance(value, dict):
        return {name: _as_shapes(each) for name, each in value.items()}
    if all(each is None or isinstance(each, (int, np.integer)) for each in value):
        return TensorShape(value)
    return type(value)(map(_as_shapes, value)) if type(value) in (list, tuple) else value


def _wrap_spec(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compute_output_spec(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if seam.is_built_by_call((args, kwargs)):
            # Keras goes on with the call then.
            raise TracingError("The layers of a model_fn are built when they are called.")
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
        return keras.tree.map_structure(of_both, first, second)

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


def of_both(first: Any, second: Any) -> Any:
    """Return what a tensor is in both trials: sizes that differ are not known."""
    if not isinstance(first, keras.KerasTensor):
        return first
    sizes = zip(first.shape, second.shape, strict=True)
    return keras.KerasTensor(
        tuple(one if one == other else None for one, other in sizes), first.dtype, sparse=first.sparse
    )


def _wrap_lambda(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _has_symbol((args, kwargs)) and _uses_symbol(self.function):
            # Its operations belong to the model, as if they stood there without a layer around them.
            return self.call(*args, **kwargs)
        return original(self, *args, **kwargs)

    return __call__


def _uses_symbol(function: Any) -> bool:
    for cell in getattr(function, "__closure__", None) or ():
        try:
            found = cell.cell_contents
        except ValueError:
            # A variable of the function around it that has no value yet.
            continue
        if _has_symbol(found):
            return True
    return False


def _has_symbol(tree: Any) -> bool:
    return any(isinstance(each, keras.KerasTensor) for each in keras.tree.flatten(tree))
