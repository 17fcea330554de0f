"""`tf.keras.backend` as Keras 2 has it: array functions under their old names (keras2 layer).

They compute on a device with `keras.ops`, and on symbolic tensors make layers, as functions of Keras 3 do.
"""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from stratax.base.recording import RECORDER
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.errors import BadArgumentError, BadTypeError
from stratax.seams import keras2 as seam
from stratax.tensorflow.keras2 import symbolic_calls
from stratax.tensorflow.ops.arrays import arrays
from stratax.tensorflow.ops.calls.logits import remember_always
from stratax.tensorflow.ops.math import elementwise

_MISSING = object()


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that reduces an array over some of its axes."""

    def reduce(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
        return function(x, axis=axis, keepdims=keepdims)

    return _name(reduce, function)


def _along(function: Callable[..., Any], default: int) -> Callable[..., Any]:
    """Return a function that works along one axis."""

    def compute(x: TensorLike, axis: int = default) -> Any:
        return function(x, axis=axis)

    return _name(compute, function)


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of one array."""

    def compute(x: TensorLike) -> Any:
        return function(x)

    return _name(compute, function)


def _binary(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of two arrays."""

    def compute(x: TensorLike, y: TensorLike) -> Any:
        return function(x, y)

    return _name(compute, function)


def _name(function: Callable[..., Any], of: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = of.__name__
    function.__doc__ = f"Compute `keras.ops.{of.__name__}` with the arguments that Keras 2 has for it."
    return function


abs, cos, exp, log, round = map(_elementwise, (ops.abs, ops.cos, ops.exp, ops.log, ops.round))
sign, sin, softplus, softsign, square, tanh = map(
    _elementwise, (ops.sign, ops.sin, ops.softplus, ops.softsign, ops.square, ops.tanh)
)
all, any, max, mean, min, prod, std, sum, var, logsumexp = map(
    _reduction,
    (ops.all, ops.any, ops.max, ops.mean, ops.min, ops.prod, ops.std, ops.sum, ops.var, ops.logsumexp),
)
argmax, argmin = _along(ops.argmax, -1), _along(ops.argmin, -1)
cumprod, cumsum = _along(ops.cumprod, 0), _along(ops.cumsum, 0)
equal, greater, greater_equal, less, less_equal, maximum, minimum, not_equal, pow = map(
    _binary,
    (
        *(ops.equal, ops.greater, ops.greater_equal, ops.less, ops.less_equal),
        *(ops.maximum, ops.minimum, ops.not_equal, ops.power),
    ),
)


def sigmoid(x: TensorLike) -> Any:
    """Compute `keras.ops.sigmoid`."""
    return remember_always(ops.sigmoid(x), x, "sigmoid")


def softmax(x: TensorLike, axis: int = -1) -> Any:
    """Compute `keras.ops.softmax` with the arguments that Keras 2 has for it."""
    return remember_always(ops.softmax(x, axis=axis), x, "softmax", axis)


def sqrt(x: TensorLike) -> Any:
    """Return the square root, and 0 for negative numbers."""
    return ops.sqrt(ops.maximum(x, 0.0))


def elu(x: TensorLike, alpha: float = 1.0) -> Any:
    """Return `x` where it is positive, else `alpha * (exp(x) - 1)`."""
    return ops.elu(x, alpha=alpha)


def hard_sigmoid(x: TensorLike) -> Any:
    """Return `0.2 * x + 0.5` between 0 and 1, Keras 2's slope; Keras 3's is 1/6."""
    return ops.clip(0.2 * ops.convert_to_tensor(x) + 0.5, 0.0, 1.0)


def relu(x: TensorLike, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """Return `x` above a threshold, and `alpha * (x - threshold)` below it."""
    return keras.activations.relu(x, negative_slope=alpha, max_value=max_value, threshold=threshold)


def clip(x: TensorLike, min_value: Any, max_value: Any) -> Any:
    """Limit values; a bound of None is none."""
    if min_value is not None and max_value is not None:
        return elementwise.clip_by_value(x, min_value, max_value)
    low, high = -np.inf if min_value is None else min_value, np.inf if max_value is None else max_value
    return ops.clip(x, low, ops.maximum(low, high) if ops.is_tensor(high) else np.maximum(low, high))


def l2_normalize(x: TensorLike, axis: int | None = None) -> Any:
    """Divide by the Euclidean norm along an axis, or of all."""
    return x * ops.rsqrt(ops.maximum(ops.sum(ops.square(x), axis=axis, keepdims=True), 1e-12))


def cast(x: TensorLike, dtype: DTypeLike) -> Any:
    """Convert to a dtype."""
    return arrays.cast(x, keras.backend.standardize_dtype(dtype))


def cast_to_floatx(x: TensorLike) -> Any:
    """Convert to `keras.backend.floatx()`; a list or NumPy array stays on the host."""
    return ops.cast(x, keras.backend.floatx()) if ops.is_tensor(x) else np.asarray(x, keras.backend.floatx())


def arange(
    start: TensorLike, stop: TensorLike | None = None, step: Any = 1, dtype: DTypeLike = "int32"
) -> Any:
    """Return numbers from `start`, or 0, up to `stop`."""
    return ops.arange(start, stop, step, dtype=dtype)


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    name: str | None = None,
) -> Any:
    """Return an array of a constant, of `keras.backend.floatx()` unless it says otherwise."""
    result = ops.convert_to_tensor(value, dtype or keras.backend.floatx())
    return result if shape is None else ops.broadcast_to(result, shape)


def variable(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, constraint: Any = None
) -> keras.Variable:
    """Return a variable with an initial value."""
    result = keras.Variable(value, dtype=dtype or keras.backend.floatx(), name=name)
    result.constraint = constraint
    return result


def _make_filler(name: str) -> Callable[..., Any]:
    """Return a function that makes a variable, as Keras 2's `zeros` and `ones` do."""

    def fill(shape: Sequence[int], dtype: DTypeLike | None = None, name: str | None = None) -> keras.Variable:
        return variable(getattr(np, kind)(shape), dtype=dtype, name=name)

    kind = name
    fill.__name__ = fill.__qualname__ = name
    fill.__doc__ = f"Return a variable of {name}."
    return fill


zeros, ones = _make_filler("zeros"), _make_filler("ones")


def zeros_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Return zeros of the shape of another array."""
    return ops.zeros_like(x, dtype=dtype)


def ones_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Return ones of the shape of another array."""
    return ops.ones_like(x, dtype=dtype)


def eye(size: int | Sequence[int], dtype: DTypeLike | None = None, name: str | None = None) -> keras.Variable:
    """Return a variable that holds an identity matrix."""
    rows, columns = (size, size) if isinstance(size, int) else size
    return variable(np.eye(rows, columns), dtype=dtype, name=name)


def dtype(x: Any) -> str:
    """Return the name of an array's dtype."""
    return keras.backend.standardize_dtype(x.dtype)


def shape(x: Any) -> Any:
    """Return the shape, which is known while a function is traced; open sizes of symbolic tensors are symbols."""
    sizes = ops.shape(x)
    return symbolic_calls.sizes_of(x) if None in sizes else sizes


def int_shape(x: TensorLike) -> tuple[int | None, ...] | None:
    """Return the shape as a tuple, with None for sizes that a symbolic tensor leaves open."""
    found = getattr(x, "shape", None)
    return None if found is None else tuple(found)


def ndim(x: Any) -> int:
    """Return the number of dimensions."""
    return len(x.shape)


def count_params(x: Any) -> int:
    """Return the number of elements."""
    return int(np.prod(x.shape))


def is_sparse(tensor: TensorLike) -> bool:
    """Return whether a tensor is sparse."""
    return bool(getattr(tensor, "sparse", False))


def eval(x: TensorLike) -> np.ndarray:
    """Return the values as a NumPy array."""
    return ops.convert_to_numpy(x)


get_value = eval


def batch_get_value(tensors: Sequence[Any]) -> list[np.ndarray]:
    """Return the values of several arrays or variables."""
    return [eval(each) for each in tensors]


def set_value(x: keras.Variable, value: TensorLike) -> None:
    """Assign to a variable."""
    if not hasattr(x, "assign"):
        raise BadTypeError(
            "set_value assigns to a variable. Expected: a variable, such as optimizer.learning_rate. Received: "
            f"x={shown(x)}."
        )
    x.assign(value)


def batch_set_value(tuples: Sequence[tuple[keras.Variable, Any]]) -> None:
    """Assign to several variables."""
    for each, value in tuples:
        set_value(each, value)


def update(x: keras.Variable, new_x: Any) -> Any:
    """Assign to a variable, and return it."""
    return x.assign(new_x)


def update_add(x: keras.Variable, increment: Any) -> Any:
    """Add to a variable, and return it."""
    return x.assign_add(increment)


def update_sub(x: keras.Variable, decrement: Any) -> Any:
    """Subtract from a variable, and return it."""
    return x.assign_sub(decrement)


def moving_average_update(x: keras.Variable, value: TensorLike, momentum: Any) -> Any:
    """Assign `x * momentum + value * (1 - momentum)` to a variable, and return it."""
    return x.assign(x * momentum + value * (1.0 - momentum))


def learning_phase() -> Any:
    """Return 1 in a layer that is called with `training=True`, else 0; outside of calls what was set.

    In a graph that a session runs it is a tensor, which is fed 1 to train, unless it was set.
    """
    told, recorder = seam.training_of_call(), RECORDER.get()
    if told is None and recorder is not None and recorder.phase is not None:
        return recorder.phase
    return int(bool(told))


def set_learning_phase(value: int | bool) -> None:
    """Say what layers and models do in calls that do not say it themselves, until `clear_session`.

    Args:
        value: 1 for what they do in training, 0 for what they do else.

    Raises:
        BadArgumentError: For other values.
    """
    if value not in (0, 1):
        raise BadArgumentError(f"The learning phase is 0 or 1. Received: value={shown(value)}.")
    seam.set_phase(bool(value))


def in_train_phase(x: TensorLike, alt: Any, training: Any = None) -> Any:
    """Return `x`, or what it returns, in training, else `alt`."""
    chosen = x if (learning_phase() if training is None else training) else alt
    return chosen() if callable(chosen) else chosen


def in_test_phase(x: TensorLike, alt: Any, training: Any = None) -> Any:
    """Return `x`, or what it returns, outside of training, else `alt`."""
    return in_train_phase(alt, x, training=training)


def reset_uids() -> None:
    """Let Keras count automatic names from the beginning."""
    keras.backend.clear_session(free_memory=False)


def manual_variable_initialization(value: bool) -> None:
    """Accept what has no effect: variables have a value from the beginning."""


def print_tensor(x: TensorLike, message: str = "", summarize: int = 3) -> Any:
    """Print an array when the program reaches this place, and return it."""
    from stratax.core import print as print_array

    print_array(message, x)
    return x


def stop_gradient(variables: Any) -> Any:
    """Return what has no gradient: an array, or a list of them."""
    if isinstance(variables, (list, tuple)):
        return [ops.stop_gradient(each) for each in variables]
    return ops.stop_gradient(variables)


class _Function:
    """Computes outputs of symbolic tensors from values of others."""

    def __init__(self, inputs: Sequence[Any], outputs: object) -> None:
        self._model = keras.Function(list(inputs), outputs)

    def __call__(self, values: Sequence[Any]) -> Any:
        if not isinstance(values, (list, tuple)):
            values = [values]
        return keras.tree.map_structure(eval, self._model([ops.convert_to_tensor(each) for each in values]))


def function(
    inputs: TensorLike, outputs: TensorLike, updates: TensorLike | None = None, name: str | None = None
) -> Callable[..., Any]:
    """Return a function that computes symbolic tensors from the values of others.

    Args:
        inputs: Symbolic tensors, as `model.input`.
        outputs: Those to compute.
        updates: None; there are no updates.
        name: No effect.

    Returns:
        A function of a list of arrays that returns NumPy arrays.
    """
    if updates:
        raise BadArgumentError(
            f"There are no updates to run. Expected: updates=None. Received: updates={shown(updates)}."
        )
    return _Function(inputs if isinstance(inputs, (list, tuple)) else [inputs], outputs)


def placeholder(
    shape: Any = None,
    ndim: int | None = None,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
    name: str | None = None,
    ragged: bool = False,
) -> Any:
    """Return a symbolic tensor, as `keras.Input` with the dimension of examples in its shape."""
    batch_shape = tuple(shape) if shape is not None else (None,) * (ndim or 0)
    return keras.Input(
        batch_shape=batch_shape, dtype=dtype or keras.backend.floatx(), sparse=sparse, name=name
    )
