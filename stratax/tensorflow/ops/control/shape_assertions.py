"""Assertions on shapes and dtypes, as in `tf.debugging`, which are known while a function is traced (ops layer)."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls.dtypes import as_dtype

# TensorFlow's symbols: a dimension of any size, and any number of dimensions in front.
_ANY_SIZE = (None, ".")
_ANY_DIMENSIONS = (Ellipsis, "*")


def assert_rank(x: TensorLike, rank: int, message: str | None = None, name: str | None = None) -> None:
    """Assert that an array has so many dimensions, as `tf.debugging.assert_rank`.

    Args:
        x: The array.
        rank: How many.
        message: What the error says first.
        name: Ignored.

    Raises:
        BadArgumentError: It has more or fewer.
    """
    expected = _rank(rank)
    if len(np.shape(x)) != expected:
        raise _wrong_rank(x, str(expected), message)


def assert_rank_at_least(
    x: TensorLike, rank: int, message: str | None = None, name: str | None = None
) -> None:
    """Assert that an array has so many dimensions or more, as `tf.debugging.assert_rank_at_least`.

    Args:
        x: The array.
        rank: How many.
        message: What the error says first.
        name: Ignored.

    Raises:
        BadArgumentError: It has fewer.
    """
    expected = _rank(rank)
    if len(np.shape(x)) < expected:
        raise _wrong_rank(x, f"at least {expected}", message)


def assert_rank_in(
    x: TensorLike, ranks: Iterable[int], message: str | None = None, name: str | None = None
) -> None:
    """Assert that an array has one of several numbers of dimensions, as `tf.debugging.assert_rank_in`.

    Args:
        x: The array.
        ranks: The numbers.
        message: What the error says first.
        name: Ignored.

    Raises:
        BadArgumentError: It has another one.
    """
    expected = tuple(_rank(rank) for rank in ranks)
    if len(np.shape(x)) not in expected:
        raise _wrong_rank(x, f"in {expected}", message)


def assert_scalar(tensor: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Assert that an array has no dimensions, as `tf.debugging.assert_scalar`.

    Args:
        tensor: The array.
        message: What the error says first.
        name: Ignored.

    Raises:
        BadArgumentError: It has some.
    """
    if np.shape(tensor):
        raise BadArgumentError(f"{_prefix(message)}Expected scalar shape, saw shape: {np.shape(tensor)}.")


def assert_shapes(
    shapes: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Assert that arrays have shapes whose sizes agree, as `tf.debugging.assert_shapes`.

    Args:
        shapes: Pairs of an array and its shape: sizes as numbers; names, which stand for one size everywhere; None or
            `"."` for any size; and `...` or `"*"`, at the beginning only, for any dimensions. A string is a shape of
            names with one letter. An array without dimensions counts as one of one element.
        data: Ignored: the message says which sizes differ.
        summarize: Ignored.
        message: What the error says first.
        name: Ignored.

    Raises:
        BadArgumentError: They don't, or a shape is none.
    """
    del data, summarize, name
    pairs = list(shapes.items() if isinstance(shapes, Mapping) else shapes)
    sizes: dict[Any, tuple[int, str]] = {}
    for array, given in pairs:
        if given is not None:
            _check_shape(tuple(np.shape(array)), _symbols(array, given, message), sizes, message)


def _symbols(array: Array, given: object, message: str | None) -> tuple[Any, ...]:
    if not hasattr(given, "__iter__"):
        raise BadArgumentError(
            f"{_prefix(message)}Specified shape must be an iterable. Received: {shown(given)} for an array of shape "
            f"{np.shape(array)}."
        )
    symbols = tuple(given)
    # TensorFlow allows it in front only, so that what follows counts from the last dimension.
    if any(symbol in _ANY_DIMENSIONS for symbol in symbols[1:]):
        raise BadArgumentError(
            f"{_prefix(message)}Symbol `...` or `*` for a variable number of unspecified dimensions is only allowed as "
            f"the first entry. Received: {shown(symbols)}."
        )
    return symbols


def _check_shape(
    shape: tuple[int, ...], symbols: tuple[Any, ...], sizes: dict[Any, tuple[int, str]], message: str | None
) -> None:
    """Raise unless a shape fits; note the sizes that its names stand for."""
    is_inner = bool(symbols) and symbols[0] in _ANY_DIMENSIONS
    wanted = symbols[1:] if is_inner else symbols
    # TensorFlow takes what has no dimensions for one element.
    actual = shape or ((1,) if len(wanted) <= 1 else ())
    if is_inner:
        if len(wanted) > len(actual):
            raise _wrong_rank_of(shape, f"at least {len(wanted)}", message)
        actual = actual[len(actual) - len(wanted) :]
    elif not wanted:
        wanted = (1,)
    if len(wanted) != len(actual):
        raise _wrong_rank_of(shape, str(len(wanted)), message)
    for dimension, (symbol, size) in enumerate(zip(wanted, actual, strict=True)):
        if symbol in _ANY_SIZE:
            continue
        number = _as_number(symbol)
        expected, source = (
            (number, "explicitly")
            if number is not None
            else sizes.setdefault(symbol, (size, f"by dimension {dimension} of a tensor of shape {shape}"))
        )
        if expected != size:
            raise BadArgumentError(
                f"{_prefix(message)}Dimension {dimension} must have size {expected}, specified {source}. Received size "
                f"{size}, shape {shape}."
            )


def _as_number(symbol: Any) -> int | None:
    try:
        return int(symbol)
    except (TypeError, ValueError):
        return None


def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> None:
    """Assert that an array has a dtype, as `tf.debugging.assert_type`.

    Args:
        tensor: The array.
        tf_type: The dtype.
        message: What the error says first.
        name: Ignored.

    Raises:
        BadTypeError: It has another one.
    """
    found = _dtype_of(tensor)
    if found != as_dtype(tf_type):
        raise BadTypeError(
            f"{_prefix(message)}tensor must be of type {as_dtype(tf_type).name}; got {found.name}."
        )


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Assert that an array is of whole numbers, as `tf.debugging.assert_integer`.

    Args:
        x: The array.
        message: What the error says first.
        name: Ignored.

    Raises:
        BadTypeError: It is not.
    """
    found = _dtype_of(x)
    if np.dtype(found).kind not in "iu":
        raise BadTypeError(
            f'{_prefix(message)}Expected "x" to be integer type. Found: tensor of dtype {found.name}.'
        )


def assert_proper_iterable(values: TensorLike) -> None:
    """Assert that a value is a collection of tensors, and no tensor or text itself.

    Follows `tf.debugging.assert_proper_iterable`.

    Args:
        values: The value.

    Raises:
        BadTypeError: It is not.
    """
    is_one = isinstance(values, str | bytes) or hasattr(values, "dtype")
    if is_one or not hasattr(values, "__iter__"):
        what = 'a "proper" iterable' if is_one else "iterable"
        raise BadTypeError(f'Expected argument "values" to be {what}. Found: {type(values)}.')


def assert_same_float_dtype(tensors: Iterable[Any] | None = None, dtype: DTypeLike | None = None) -> Any:
    """Return the dtype of floating point numbers that arrays share, as `tf.debugging.assert_same_float_dtype`.

    Args:
        tensors: The arrays; None for none. What is None among them is left out.
        dtype: The dtype that they are to have; None for that of the first.

    Returns:
        The dtype; float32 if nothing says another one.

    Raises:
        BadArgumentError: They have different dtypes, or one that is not of floating point numbers.
    """
    arrays = [tensor for tensor in tensors or () if tensor is not None]
    wanted = [np.dtype(as_dtype(dtype))] if dtype is not None else []
    # Of nothing at all TensorFlow says float32.
    found = [*wanted, *(np.dtype(_dtype_of(array)) for array in arrays)] or [np.dtype(np.float32)]
    for one, other in itertools.pairwise(found):
        if one != other:
            raise BadArgumentError(f"Arrays must be of the same type. Received: {one.name} and {other.name}.")
    if found[0].kind != "f" and found[0].name != "bfloat16":
        raise BadArgumentError(f"Expected floating point type, got {found[0].name}.")
    return as_dtype(found[0])


def is_numeric_tensor(tensor: TensorLike) -> bool:
    """Return whether a value is an array of numbers, as `tf.debugging.is_numeric_tensor`; Python's numbers are none.

    Args:
        tensor: Anything.
    """
    dtype = getattr(tensor, "dtype", None)
    if dtype is None:
        return False
    return np.dtype(_dtype_of(tensor)).kind in "iufc" or np.dtype(_dtype_of(tensor)).name == "bfloat16"


def _dtype_of(value: TensorLike) -> Any:
    # Keras names dtypes by strings.
    return as_dtype(value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype)


def _rank(rank: Any) -> int:
    if np.shape(rank) != () or np.asarray(rank).dtype.kind not in "iu":
        raise BadArgumentError(f"Rank must be a scalar, a whole number. Received: rank={shown(rank)}.")
    return int(rank)


def _wrong_rank(x: TensorLike, expected: str, message: str | None) -> BadArgumentError:
    return _wrong_rank_of(tuple(np.shape(x)), expected, message)


def _wrong_rank_of(shape: tuple[int, ...], expected: str, message: str | None) -> BadArgumentError:
    return BadArgumentError(
        f"{_prefix(message)}Tensor must have rank {expected}. Received rank {len(shape)}, shape {shape}."
    )


def _prefix(message: str | None) -> str:
    return f"{message}. " if message else ""
