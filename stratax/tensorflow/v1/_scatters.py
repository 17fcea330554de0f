"""TensorFlow 1's functions that update some elements of a variable (v1 layer)."""

from collections.abc import Callable
from typing import Any

import keras

from stratax import errors
from stratax.base.recording import composite
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.core.state import IndexedSlices


def _check(name: str, ref: object) -> Any:
    if not isinstance(ref, keras.Variable) or not hasattr(type(ref), name):
        raise errors.BadTypeError(f"tf.{name} needs a variable. Received: ref={shown(ref)}. Use tf.Variable.")
    return ref


def _of_rows(name: str, what: str) -> Callable[..., Any]:
    def scatter(
        ref: object,
        indices: TensorLike,
        updates: TensorLike,
        use_locking: bool = True,
        name: str | None = None,
    ) -> Any:
        return getattr(_check(own_name, ref), own_name)(IndexedSlices(updates, indices))

    # `name` is TensorFlow's parameter in `scatter`.
    own_name = name
    return _name(
        scatter,
        name,
        f"{what} rows of a variable, as `tf.compat.v1.{name}`; in a `model_fn`, when it is run.",
    )


def _of_elements(name: str, what: str) -> Callable[..., Any]:
    def scatter(
        ref: object,
        indices: TensorLike,
        updates: TensorLike,
        use_locking: bool = True,
        name: str | None = None,
    ) -> Any:
        return getattr(_check(own_name, ref), own_name)(indices, updates)

    own_name = name
    return _name(
        scatter,
        name,
        f"{what} elements or slices of a variable by their positions, as `tf.compat.v1.{name}`.",
    )


def _name(function: Callable[..., Any], name: str, what: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{what}

Args:
    ref: The variable.
    indices: Which ones.
    updates: A value for each.
    use_locking: Ignored.
    name: Ignored.

Returns:
    The variable's new value; in a `model_fn` an operation that is worth it."""
    return composite(function)


scatter_add = _of_rows("scatter_add", "Add to")
scatter_sub = _of_rows("scatter_sub", "Subtract from")
scatter_mul = _of_rows("scatter_mul", "Multiply")
scatter_div = _of_rows("scatter_div", "Divide")
scatter_max = _of_rows("scatter_max", "Keep what is larger in")
scatter_min = _of_rows("scatter_min", "Keep what is smaller in")
scatter_update = _of_rows("scatter_update", "Replace")
batch_scatter_update = _of_rows("batch_scatter_update", "Replace elements of")
scatter_nd_add = _of_elements("scatter_nd_add", "Add to")
scatter_nd_sub = _of_elements("scatter_nd_sub", "Subtract from")
scatter_nd_update = _of_elements("scatter_nd_update", "Replace")
