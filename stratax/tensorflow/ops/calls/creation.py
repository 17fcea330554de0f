"""Functions of `tf` that make arrays (ops layer).

What they make is on a device, except that `zeros_like` and `ones_like` follow their operand. In the functions that a
`Dataset` calls it is on the host: elements are there, with 64 bits, which a device would cut to 32.
"""

from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import as_numbers
from stratax.base.typing import DTypeLike, TensorLike
from stratax.core import storage
from stratax.data.elements import Composite, TensorMethods, sizes_of
from stratax.data.vectorise import in_pipeline
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls import _eager
from stratax.tensorflow.ops.calls._host import host_array, is_made_on_host, is_on_host, leaves_of
from stratax.tensorflow.ops.calls._keras_ops import ops, put
from stratax.tensorflow.ops.calls.dtypes import as_dtype, device_dtype
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.calls.text import as_text, holds_text

_OF_PYTHON = frozenset({bool, int, float, complex, list, tuple})


def lengths_of(name: str, shape: TensorLike) -> tuple[int, ...]:
    """Return the shape of what is to be made; see :func:`sizes_of`.

    Raises:
        BadArgumentError: A size is negative.
    """
    sizes = sizes_of(name, shape)
    for size in sizes:
        # A symbolic size is never negative.
        if type(size) is int and size < 0:
            raise BadArgumentError(
                f"An array has no negative sizes. Received: {name}={shown(sizes)}. Pass sizes of at least 0."
            )
    return sizes


@op
def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None) -> Any:
    """Return an array on the device for anything that can be one, as `tf.convert_to_tensor`.

    Args:
        value: A number, a nested list of numbers or arrays, a NumPy or JAX array, a variable (its value); or text.
        dtype: The dtype; by default that of `value`, float32 for Python floats and int32 for Python ints. JAX has no
            64-bit numbers unless its setting `jax_enable_x64` is on: float64 becomes float32, int64 int32.
        dtype_hint: Ignored.

    Returns:
        A `jax.Array` on the device of the enclosing `tf.device`, else on JAX's default device. In a function that a
        `Dataset` calls, an array of NumPy, with all its 64 bits. Of text, which devices don't hold, `bytes`, or a NumPy
        array of `bytes` objects.

    Raises:
        BadTypeError: If `value` can't be converted to `dtype`.

    Example:
        >>> import stratax.tf as tf
        >>> tf.convert_to_tensor([1, 2]).dtype
        dtype('int32')
        >>> tf.convert_to_tensor(["a", "b"]).numpy()
        array([b'a', b'b'], dtype=object)
    """
    wanted = None if dtype is None else as_dtype(dtype)
    # An empty list holds nothing that says that it is of text.
    if wanted is not None and wanted.hasobject and isinstance(value, list | tuple) and not leaves_of(value):
        value = np.empty(np.shape(value), object)
    is_text = holds_text(value)
    if wanted is not None and not is_text:
        _check_kind(value, wanted)
    if wanted is not None and is_text != wanted.hasobject:
        raise BadTypeError(
            "Text has the dtype tf.string, and nothing else has it. "
            f"Received: value={shown(value)}, dtype={shown(dtype)}. Leave out dtype, or convert the value first."
        )
    if is_text:
        return as_text("value", value)[()]
    if is_made_on_host(value):
        return host_array(value, wanted)
    return _send(value, wanted)


def _check_kind(value: TensorLike, dtype: np.dtype) -> None:
    """Raise where a conversion would cut off what a number is: TensorFlow converts arrays of NumPy only.

    Raises:
        BadTypeError: Of fractions for whole numbers, and of numbers for booleans.
    """
    kind = dtype.kind
    if kind not in "biu":
        return
    # What kinds are called "V" are short fractions.
    refused = frozenset("fciuV" if kind == "b" else "fcV")
    wrong = [leaf for leaf in leaves_of(value) if _kind_of(leaf) in refused]
    if wrong:
        raise BadTypeError(
            f"Cannot convert {shown(wrong[0])} to a tensor of dtype {dtype.name}. "
            f"Received: value={shown(value)}. Use tf.cast, or leave out dtype."
        )


def _kind_of(leaf: Any) -> str | None:
    if isinstance(leaf, bool | np.generic):
        return None
    if isinstance(leaf, int | float | complex):
        return "i" if isinstance(leaf, int) else "f"
    # Tensors; arrays of NumPy are converted.
    is_tensor = hasattr(leaf, "dtype") and type(leaf) is not np.ndarray
    return np.dtype(leaf.dtype).kind if is_tensor else None


def on_device(value: Any, dtype: Any = None) -> Any:
    """Return numbers as an array on the device.

    Raises:
        BadTypeError: If `value` is text, which devices do not hold.
        BadArgumentError: If a whole number of 64 bits does not fit into the 32 that it has there.
    """
    # The usual operand is there already.
    if dtype is None and type(value) is _eager.Jax.array:
        return value
    if holds_text(value):
        raise _not_of_devices(value)
    return _send(value, None if dtype is None else as_dtype(dtype))


def _send(value: Any, dtype: np.dtype | None) -> Any:
    """Return what is no text as an array on the device; see :func:`on_device`."""
    if dtype is None and type(value) is _eager.Jax.array:
        return value
    kind = type(value)
    # Most values are neither symbols for sizes nor objects nor whole numbers of 64 bits.
    if kind not in _OF_PYTHON and (kind is not np.ndarray or value.dtype not in _eager.PLAIN_DTYPES):
        value = as_numbers(value)
        if getattr(getattr(value, "dtype", None), "kind", "") == "O":
            raise _not_of_devices(value)
        # For a float dtype large integers are rounded, which is what was asked for.
        if dtype is None or dtype.kind in "iu":
            storage.check_fits([value])
    return put(value, None if dtype is None else device_dtype(dtype))


def _not_of_devices(value: object) -> BadTypeError:
    return BadTypeError(
        "Devices hold numbers, not text or objects. Expected: a number, or a nested list or array of numbers. "
        f"Received: value={shown(value)}. Keep it as a Python or NumPy value."
    )


@op(name_default="Const")
def constant(value: Any, dtype: object = None, shape: TensorLike | None = None) -> Any:
    """Return an array of given values, as `tf.constant`.

    Args:
        value: A number or a nested list of numbers, or an array; or text.
        dtype: As in :func:`convert_to_tensor`.
        shape: The shape; a single value fills it. By default that of `value`.

    Returns:
        A `jax.Array` on the device of the enclosing `tf.device`, else on JAX's default device; of text what
        :func:`convert_to_tensor` gives.

    Raises:
        BadTypeError: If `value` can't be converted to `dtype`, or has neither one element nor as many as `shape`.

    Example:
        >>> import stratax.tf as tf
        >>> tf.constant([[1.0, 2.0]]).shape
        TensorShape([1, 2])
    """
    array = convert_to_tensor(value, dtype)
    if shape is None:
        return array
    sizes, count = lengths_of("shape", shape), np.size(array)
    library: Any = np if holds_text(array) or is_on_host(array) else ops
    array = as_text("value", array) if holds_text(array) else array
    # A single value fills the shape, as in TensorFlow.
    if count == 1:
        return library.broadcast_to(library.reshape(array, ()), sizes)
    if count != int(np.prod(sizes, dtype=np.int64)):
        raise BadTypeError(
            f"The values do not fill the shape. Expected: one value, or as many as shape={shown(sizes)} has. "
            f"Received: {count} values."
        )
    return library.reshape(array, sizes)


@op
def fill(dims: TensorLike, value: TensorLike) -> Any:
    """Return an array of shape `dims` filled with a scalar, as `tf.fill`; on a device if it is a number.

    Raises:
        BadArgumentError: If `value` has dimensions.
    """
    if np.ndim(value):
        raise BadArgumentError(
            f"Only a scalar fills an array. Received: value={shown(value)}. Use tf.broadcast_to, or tf.tile."
        )
    if holds_text(value):
        # A view of one value can't be written to.
        return np.broadcast_to(as_text("value", value), lengths_of("dims", dims)).copy()
    if is_made_on_host(value):
        return np.broadcast_to(host_array(value), lengths_of("dims", dims)).copy()
    return ops.broadcast_to(on_device(value), lengths_of("dims", dims))


@op
def zeros(shape: TensorLike, dtype: DTypeLike = "float32") -> Any:
    """Return zeros on a device, as `tf.zeros`; empty strings on the host where `dtype` is `tf.string`."""
    wanted = as_dtype(dtype)
    sizes = lengths_of("shape", shape)
    if wanted.hasobject:
        # Text lives on the host: devices hold numbers only.
        return np.full(sizes, b"", object)
    return np.zeros(sizes, wanted) if in_pipeline() else ops.zeros(sizes, dtype=device_dtype(wanted))


@op
def ones(shape: TensorLike, dtype: DTypeLike = "float32") -> Any:
    """Return an array of ones on a device, as `tf.ones`."""
    if in_pipeline():
        return np.ones(lengths_of("shape", shape), as_dtype(dtype))
    return ops.ones(lengths_of("shape", shape), dtype=device_dtype(dtype))


@op
def eye(
    num_rows: int,
    num_columns: int | None = None,
    batch_shape: TensorLike | None = None,
    dtype: DTypeLike = "float32",
) -> Any:
    """Return identity matrices on a device, as `tf.eye`.

    Args:
        num_rows: How many rows.
        num_columns: How many columns; None for as many.
        batch_shape: The dimensions before those of a matrix; None for one matrix.
        dtype: The dtype.
    """
    sizes = (
        *lengths_of("num_rows", num_rows),
        *lengths_of("num_columns", num_rows if num_columns is None else num_columns),
    )
    # One matrix, broadcast to the batch.
    before = () if batch_shape is None else lengths_of("batch_shape", batch_shape)
    if in_pipeline():
        return np.broadcast_to(np.eye(*sizes, dtype=as_dtype(dtype)), (*before, *sizes)).copy()
    return ops.broadcast_to(ops.eye(*sizes, dtype=device_dtype(dtype)), (*before, *sizes))


@op
def zeros_like(input: Any, dtype: Any = None) -> Any:
    """Return zeros of the shape and, unless `dtype` says otherwise, the dtype of `input`, where it is."""
    if holds_text(input):
        return np.full(as_text("input", input).shape, b"", object)[()]
    if is_on_host(input):
        return np.zeros_like(input, dtype=dtype)
    return _like(ops.zeros_like, input, dtype)


@op
def ones_like(input: Any, dtype: Any = None) -> Any:
    """Return ones of the shape and, unless `dtype` says otherwise, the dtype of `input`, where it is."""
    if is_on_host(input):
        return np.ones_like(input, dtype=dtype)
    return _like(ops.ones_like, input, dtype)


def _like(make: Any, value: TensorLike, dtype: DTypeLike) -> Any:
    # Neither lists nor variables, of which Keras' functions read no dtype.
    array = value if hasattr(value, "_keras_history") else on_device(value)
    return make(array, dtype=None if dtype is None else device_dtype(dtype))


def is_tensor(x: TensorLike) -> bool:
    """Return whether `x` is an array or variable of this library, or an element of a Dataset, as `tf.is_tensor`.

    NumPy's own arrays are none.
    """
    # What has a tensor's methods: elements, which pipelines ask without JAX.
    if isinstance(x, TensorMethods | Composite):
        return True
    import jax
    import keras

    return isinstance(x, (jax.Array, keras.Variable, keras.KerasTensor))
