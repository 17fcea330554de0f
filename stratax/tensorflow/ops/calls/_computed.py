"""Functions that are written once, for NumPy's arrays on the host and for JAX' on devices (ops layer).

Such a function takes the library, `numpy` or `jax.numpy`, and arrays of it. What the two do differently stands here.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.indices import dim_of
from stratax.base.shown import shown
from stratax.base.tracing import is_symbolic_size, is_traced
from stratax.base.typing import Axis, DTypeLike, TensorLike
from stratax.data.elements import as_array, if_constant
from stratax.errors import BadTypeError
from stratax.tensorflow.ops.calls._host import ARRAY, NUMBER, TEXT, is_made_on_host, kinds_of
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.described import describe, docstring, parameter
from stratax.tensorflow.ops.calls.dtypes import as_dtype, device_dtype
from stratax.tensorflow.ops.calls.op import op


def is_host_call(*operands: object) -> bool:
    """Return whether a function of these operands computes on the host, where text and NumPy's arrays are."""
    kinds = kinds_of(operands)
    return bool(kinds & TEXT) or kinds & ~NUMBER == ARRAY or is_made_on_host(list(operands))


def call_with_library(function: Callable[..., Any], *operands: object, **options: object) -> Any:
    """Return `function(library, *arrays, **options)`.

    Args:
        function: Written for both libraries.
        operands: What it computes with: on the host if NumPy has all of it, else on a device. None stays.
        options: What else it takes, as it is.
    """
    given = [operand for operand in operands if operand is not None]
    if is_host_call(*given):
        # Infinite and undefined numbers are results, of which TensorFlow does not warn.
        with np.errstate(all="ignore"):
            return function(np, *map(_host, operands), **options)
    import jax.numpy as jnp

    arrays = [None if operand is None else on_device(operand) for operand in operands]
    return function(jnp, *arrays, **options)


def call_with_library_alike(function: Callable[..., Any], *operands: object, **options: object) -> Any:
    """Do the same with operands of which numbers and lists take the dtype of the arrays among them."""
    dtypes = [operand.dtype for operand in operands if hasattr(operand, "dtype")]
    if dtypes and len(dtypes) < len(operands):
        on_host = is_host_call(*operands)
        operands = tuple(_like(operand, np.dtype(dtypes[0]), on_host=on_host) for operand in operands)
    return call_with_library(function, *operands, **options)


def with_lists_alike(*operands: object) -> tuple[Any, ...]:
    """Return operands, of which lists take the first array's dtype, as a tensor is made of them in TensorFlow."""
    for operand in operands:
        if isinstance(operand, list | tuple):
            break
    else:
        # The usual call has no list, and must cost little.
        return operands
    dtype = None
    for operand in operands:
        if hasattr(operand, "dtype"):
            dtype = operand.dtype
            break
    if dtype is None or kinds_of(operands) & TEXT:
        return operands
    on_host = is_host_call(*operands)
    return tuple(
        _like(operand, np.dtype(dtype), on_host=on_host) if isinstance(operand, list | tuple) else operand
        for operand in operands
    )


def _like(operand: object, dtype: np.dtype, *, on_host: bool) -> Any:
    if operand is None or hasattr(operand, "dtype"):
        return operand
    if isinstance(operand, list | tuple) and _holds_array(operand):
        # Its tensors have dtypes of their own, wide ones among them.
        return operand
    if not on_host and not isinstance(operand, int | float | complex | list | tuple):
        return operand
    array = as_array(operand) if on_host or isinstance(operand, int | float | complex) else on_device(operand)
    # Fractions beside whole numbers stay what they are: TensorFlow raises, here the other operand is promoted.
    return operand if array.dtype.kind in "fc" and dtype.kind in "iub" else array.astype(dtype)


def _holds_array(operand: object) -> bool:
    if isinstance(operand, list | tuple):
        return any(map(_holds_array, operand))
    return hasattr(operand, "dtype")


def _host(operand: TensorLike) -> Any:
    # What stands for a block of a pipeline's elements has a `column`, and computes by itself.
    if operand is None or isinstance(operand, np.ndarray) or hasattr(type(operand), "column"):
        return operand
    return as_array(operand)


def array_function(
    name: str,
    parameters: str,
    compute: Callable[..., Any],
    what: str,
    operand: str = "An array, or a number.",
) -> Any:
    """Make a function of `tf.math`.

    Args:
        name: Its name there.
        parameters: The names of its operands, which have one dtype.
        compute: Takes the library and its arrays; see :func:`call_with_library_alike`.
        what: What it gives, for the docstring.
        operand: What its operands are, for the docstring.
    """
    operands = parameters.split()
    signature = inspect.Signature([parameter(each, TensorLike) for each in operands], return_annotation=Any)

    def function(*args: object, **kwargs: object) -> Any:
        # Operands by name as well: `compute` takes them in order.
        given = signature.bind(*args, **kwargs).arguments
        return call_with_library_alike(compute, *(given[each] for each in operands))

    doc = docstring(
        f"{what}, as `tf.{name}`.",
        {
            "Args": dict.fromkeys(operands, operand),
            "Returns": "An array of the broadcast shape; on the host if the operands are.",
        },
    )
    describe(function, name.rpartition(".")[2], compute.__module__, signature, doc)
    return op(function)


def as_floating(array: Any) -> Any:
    """Return whole numbers and booleans as float32, as what is computed of them are fractions; others as they are."""
    return array.astype("float32") if np.dtype(array.dtype).kind in "iub" else array


def dtype_in(library: object, dtype: DTypeLike) -> Any:
    """Return what a dtype is called in a library: devices have none of 64 bits.

    Raises:
        BadTypeError: It is that of text, which numbers do not become by themselves.
    """
    if as_dtype(dtype).hasobject:
        raise BadTypeError(
            f"Numbers do not become text. Received: dtype={shown(dtype)}. Use tf.strings.as_string."
        )
    return as_dtype(dtype) if library is np else device_dtype(dtype)


def require_known(name: str, value: TensorLike, remedy: str) -> np.ndarray:
    """Return a value that a result's shape depends on.

    Args:
        name: The argument's name.
        value: The value.
        remedy: What to write instead in a compiled function: a sentence.

    Raises:
        BadTypeError: If it is known only when a compiled program runs.
    """
    value = if_constant(value)
    # Keras' symbolic tensors have a history, and no values.
    if is_traced(value) or hasattr(value, "_keras_history"):
        raise BadTypeError(
            f"The shape of the result depends on the values of `{name}`, which are known only when the compiled "
            f"program runs. Expected: an array whose values are known. Received: {name}={shown(value)}. {remedy}"
        )
    # Of a list of numbers NumPy makes 64 bits.
    return np.asarray(as_array(value) if isinstance(value, list | tuple) else value)


def whole_number(name: str, value: Any, remedy: str = "Pass an int.") -> int:
    """Return a whole number that a result's shape depends on, or JAX' symbol for one; see :func:`require_known`.

    Raises:
        BadTypeError: If it is none, or is known only when a compiled program runs.
    """
    if type(value) is int:
        return value
    if is_symbolic_size(value):
        return value  # type: ignore[no-any-return]
    array = require_known(name, value, remedy)
    if array.dtype.kind not in "iub" or array.ndim:
        raise BadTypeError(f"{name} must be a whole number. Received: {name}={shown(value)}.")
    return int(array)


def check_axis(axis: Axis, rank: int, name: str = "axis") -> int:
    """Return a dimension's number, counted from the first.

    Raises:
        BadTypeError: If it is no whole number, or is known only when a compiled program runs.
        BadArgumentError: If there is no such dimension.
    """
    return dim_of(whole_number(name, axis), rank, name)


def library_of(*values: object) -> Any:
    """Return what computes with values where they are, as a tape or a trace follows them: NumPy, or JAX' NumPy."""
    if not any(hasattr(value, "aval") for value in values):
        return np
    import jax.numpy as jnp

    return jnp


def scatter_at(
    library: object, array: Any, index: Sequence[Any] | Any, updates: Any, how: str = "set"
) -> Any:
    """Return `array` with elements at `index` set, or combined with `updates`: "add", "min", "max", "multiply".

    Args:
        library: NumPy or JAX' NumPy.
        array: An array of it, which stays as it is.
        index: As in `array[index]`, not negative. On a device what lies outside is left out.
        updates: An array that fits.
        how: What is done.
    """
    if library is not np:
        # As TensorFlow on GPUs: what is out of range is left out. On the host callers have checked it.
        reference = array.at[index]
        return getattr(reference, how)(updates, mode="drop", wrap_negative_indices=False)
    result = array.copy()
    if how == "set":
        result[index] = updates
    else:
        # `ufunc.at` counts an index twice that is there twice.
        _COMBINE[how].at(result, index, updates)
    return result


# What NumPy has for methods of JAX' `at`.
_COMBINE = {
    "add": np.add,
    "subtract": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "multiply": np.multiply,
}
