"""Python functions as operations: `tf.py_function`, `tf.numpy_function`, `tf.compat.v1.py_func` (ops layer).

Eagerly and in pipelines they are called at once. A compiled program calls them on the host whenever it runs; it has to
know the shapes of what they return, so that `Tout` says them.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import Array, DTypeLike, PyTree, TensorLike
from stratax.core import host, regions
from stratax.data import elements
from stratax.data.vectorise import in_pipeline, on_host
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls._host import is_numpy
from stratax.tensorflow.ops.calls.creation import convert_to_tensor
from stratax.tensorflow.ops.calls.dtypes import as_dtype, device_dtype
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.calls.text import as_text, holds_text
from stratax.tensorflow.ops.control.flow import parts_of


@op
def py_function(func: Callable[..., Any] | None = None, inp: Any = None, Tout: Any = None) -> Any:
    """Call a Python function of tensors, as `tf.py_function`.

    Args:
        func: The function; left out, the result is a decorator. In a pipeline and in a compiled function it gets arrays
            on the host, with a tensor's methods.
        inp: The list of its arguments.
        Tout: The dtype of what it returns, or a `TensorSpec`, or a list of them for a function that returns several. A
            compiled function has to know the shape: `tf.TensorSpec(shape, dtype)`.

    Returns:
        What the function returned, as a tensor; with a list in `Tout` a list of tensors. Eagerly a gradient passes
        through the function, in a compiled function none does: a `GradientTape` raises.

    Raises:
        BadArgumentError: If `func` is not callable, or `Tout` says no shape where a function is compiled.
        BadTypeError: If the function returns another dtype than `Tout` says, or text in a compiled function.

    Example:
        >>> import stratax.tf as tf
        >>> tf.py_function(lambda x: x + 1.0, [tf.constant([1.0, 2.0])], tf.float32).tolist()
        [2.0, 3.0]
    """
    if func is None:
        return _decorator(py_function, Tout)
    _check(func, Tout)
    given = list(inp or [])
    is_list = isinstance(Tout, list | tuple)
    types = list(Tout) if is_list else [Tout]
    if _is_compiled(given):
        made = _call_by_program("tf.py_function", _on_elements(func), given, types)
    else:
        # Outside of programs it is called at once, with tensors that have values.
        arguments = [elements.as_tensor(part) if in_pipeline() else _tensor(part) for part in given]
        results = _as_list(func(*arguments), len(types))
        made = [_declare(result, kind) for result, kind in zip(results, types, strict=True)]
    return made if is_list else made[0]


@op
def numpy_function(
    func: Callable[..., Any] | None = None, inp: Any = None, Tout: Any = None, stateful: bool = True
) -> Any:
    """Call a Python function of NumPy arrays, as `tf.numpy_function`. No gradient passes through it.

    Args:
        func: The function; left out, the result is a decorator.
        inp: The list of its arguments.
        Tout: The dtype of what it returns, or a `TensorSpec`, or a list of them for a function that returns several. A
            compiled function has to know the shape: `tf.TensorSpec(shape, dtype)`.
        stateful: Ignored: the function is called whenever the program runs.

    Returns:
        What the function returned, as a tensor, or as a list of several.

    Raises:
        BadArgumentError: If `func` is not callable, or `Tout` says no shape where a function is compiled.
        BadTypeError: If text leaves or enters a compiled program.

    Example:
        >>> import numpy as np
        >>> import stratax.tf as tf
        >>> tf.numpy_function(np.cumsum, [tf.constant([1, 2, 3])], tf.int32).tolist()
        [1, 3, 6]
    """
    if func is None:
        return _decorator(numpy_function, Tout)
    _check(func, Tout)
    given = list(inp or [])
    types = list(Tout) if isinstance(Tout, list | tuple) else [Tout]
    if _is_compiled(given):
        from stratax.tensorflow.ops.arrays.arrays import stop_gradient

        constants = [part if holds_text(part) else stop_gradient(_tensor(part)) for part in given]
        made = _call_by_program("tf.numpy_function", func, constants, types)
    elif in_pipeline():
        results = _as_list(func(*(elements.as_plain(part) for part in given)), len(types))
        made = [_cast(result, kind) for result, kind in zip(results, types, strict=True)]
    else:
        # Eagerly TensorFlow does not look at Tout.
        result = func(*map(_array, given))
        made = [_tensor(leaf) for leaf in parts_of(result)[0]]
    if not made:
        return None
    return made[0] if len(made) == 1 else made


def py_func(
    func: Callable[..., Any], inp: Any, Tout: DTypeLike, stateful: bool = True, name: str | None = None
) -> Any:
    """Call a Python function of NumPy arrays, as `tf.compat.v1.py_func`; see :func:`numpy_function`."""
    return numpy_function(func, inp, Tout, stateful, name=name)


def _decorator(caller: Callable[..., Any], types: object) -> Callable[..., Any]:
    if types is None:
        raise BadArgumentError(
            "As a decorator it needs Tout, the dtype of what the function returns. Pass Tout=."
        )

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call_function(*args: object) -> Any:
            return caller(function, list(args), types)

        return call_function

    return decorate


def _check(func: object, types: object) -> None:
    if not callable(func):
        raise BadArgumentError(f"func must be callable. Received: func={shown(func)}.")
    if types is None:
        raise BadArgumentError("Tout must say the dtype of what the function returns. Received: Tout=None.")


def _is_compiled(given: list[Any]) -> bool:
    if in_pipeline():
        return False
    if any(map(is_traced, given)):
        return True
    return regions.current_region() is not None


def _tensor(value: TensorLike) -> Any:
    return elements.as_tensor(as_text("inp", value)) if holds_text(value) else convert_to_tensor(value)


def _array(value: TensorLike) -> Any:
    # A copy, as TensorFlow gives the function one.
    return as_text("inp", value)[()] if holds_text(value) else np.array(value)


def _as_list(result: Array, count: int) -> list[Any]:
    """Return what a function gave as a list of as many parts as were declared."""
    if result is None:
        parts: list[Any] = []
    # Where one result is declared, a list is that result.
    elif isinstance(result, list | tuple) and (count != 1 or len(result) == 1):
        parts = list(result)
    else:
        parts = [result]
    if len(parts) != count:
        raise BadArgumentError(
            f"The function returned {len(parts)} values, and Tout has {count}. Received: {shown(result)}."
        )
    return parts


def _declare(result: Array, declared: Any) -> Any:
    """Return a result as a tensor of what was declared: a tensor keeps its dtype, and has to have that one."""
    dtype = as_dtype(getattr(declared, "dtype", declared))
    if holds_text(result) or dtype.hasobject:
        return convert_to_tensor(result, dtype)
    # A device may have 32 bits where 64 were declared.
    narrow = device_dtype(dtype) if hasattr(result, "addressable_shards") or is_traced(result) else None
    if hasattr(result, "dtype") and not is_numpy(result) and str(result.dtype) not in (str(dtype), narrow):
        raise BadTypeError(
            f"The function returned a tensor of another dtype than Tout says. Expected: {dtype}. "
            f"Received: {result.dtype}. Convert it with tf.cast."
        )
    return convert_to_tensor(result, dtype) if narrow is None else result


def _cast(result: Array, declared: Any) -> Any:
    dtype = as_dtype(getattr(declared, "dtype", declared))
    if holds_text(result) or dtype.hasobject:
        return elements.as_element(convert_to_tensor(result, dtype))
    return elements.as_element(np.asarray(result, dtype))


def _on_elements(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy arrays that calls one of tensors on the host."""

    def call_function(*arrays: object) -> Any:
        # As a pipeline does: on the host, where nothing waits for a device that waits for this function.
        with on_host():
            return func(*(elements.as_element(array) for array in arrays))

    return call_function


def _call_by_program(what: str, func: Callable[..., Any], given: list[Any], types: list[Any]) -> list[Any]:
    import jax

    kinds = [jax.ShapeDtypeStruct(_shape(what, kind), device_dtype(_dtype(what, kind))) for kind in types]
    # Text stays where it is: no program takes it, and it is the same in all its runs.
    texts = {place: _array(part) for place, part in enumerate(given) if holds_text(part)}
    numbers = [convert_to_tensor(part) for place, part in enumerate(given) if place not in texts]
    count = len(given)

    def call_function(*arrays: Array) -> list[Any]:
        left = iter(arrays)
        # Scalars are NumPy's own, as TensorFlow gives them to a graph's functions.
        arguments = [texts[place] if place in texts else next(left)[()] for place in range(count)]
        return _as_list(func(*arguments), len(kinds))

    return host.call_on_host(call_function, numbers, kinds)


def _dtype(what: str, declared: Any) -> Any:
    dtype = as_dtype(getattr(declared, "dtype", declared))
    if dtype.hasobject:
        raise BadTypeError(
            f"{what} in a compiled function can't return text, which devices don't hold. Call it in Dataset.map, or "
            "outside of the compiled function."
        )
    return dtype


def _shape(what: str, declared: PyTree) -> tuple[int, ...]:
    sizes = getattr(declared, "shape", None) if hasattr(declared, "is_compatible_with") else None
    # XLA allocates a result before Python is called.
    if sizes is None or None in sizes:
        raise BadArgumentError(
            f"A compiled function has to know the shape of what {what} returns before it runs. Expected: "
            f"Tout=tf.TensorSpec(shape, dtype), with all sizes. Received: Tout={shown(declared)}. Declare it, or call "
            "the function in Dataset.map, where shapes may vary."
        )
    return tuple(sizes)
