"""Text as functions of `tf` and of pipelines have it: `bytes`, one or an array, with what tensors have (data layer).

In programs that import `stratax.tf`, its operators are those of TensorFlow's strings: `==` and `!=` compare and `+`
joins element by element, and `str` is UTF-8. Python's would find `b"a"` and `"a"` different.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.tensors import has_tensors
from stratax.data.elements._array import ElementArray
from stratax.data.elements._composite import Composite, map_parts
from stratax.data.elements._tensor import TensorMethods, tensor_repr, tensor_str
from stratax.data.elements._tensor_shape import TensorShape
from stratax.errors import BadArgumentError, BadTypeError

_OBJECT = np.dtype(object)
# What TensorFlow has no operator for.
_REFUSED = (
    "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
)  # fmt: skip


def encode_text(array: np.ndarray) -> np.ndarray | None:
    """Return text, of NumPy's kinds or objects, as an array of `bytes` objects; None where some object is no text."""
    if array.dtype.kind == "U":
        return np.char.encode(array, "utf-8").astype(object)
    if array.dtype.kind == "S":
        return array.astype(object)
    values = array.reshape(-1).tolist()
    kinds = set(map(type, values))
    # Strings that are bytes already need no copy.
    if kinds <= {bytes}:
        return array
    if not all(issubclass(kind, str | bytes) for kind in kinds):
        return None
    made = np.empty(len(values), object)
    made[:] = [value.encode() if isinstance(value, str) else bytes(value) for value in values]
    return made.reshape(array.shape)


def without_tensors(value: Any) -> Any:
    """Return nested lists with plain `bytes` for texts that have a tensor's methods."""
    if isinstance(value, TextScalar):
        return value[:]
    kinds = set(map(type, value)) if isinstance(value, list | tuple) else set()
    if any(issubclass(kind, TextScalar | list | tuple) for kind in kinds):
        return [without_tensors(part) for part in value]
    return value


def _operand(value: object) -> Any:
    """Return what is beside text: `bytes`, or an array of them; NotImplemented of what has operators of its own.

    Raises:
        BadTypeError: It is a number, or holds one.
    """
    # A part of all is `bytes` itself, the quickest way.
    if isinstance(value, bytes):
        return value[:]
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list | tuple):
        value = np.array(without_tensors(value), object)
    if isinstance(value, np.ndarray):
        array = value.view(np.ndarray)
        if array.dtype.kind in "USO" and (texts := encode_text(array)) is not None:
            return texts
    elif not isinstance(value, int | float | complex | np.generic) and not hasattr(
        type(value), "__jax_array__"
    ):
        return NotImplemented
    raise BadTypeError(
        "Text is compared with text, and joined to text, only. Expected: a string, or an array or list of strings. "
        f"Received: {shown(value)}. Convert numbers with tf.strings.as_string, or text with tf.strings.to_number."
    )


def _make_comparison(name: str) -> Callable[[Any, Any], Any]:
    compute, if_unlike = (np.equal, False) if name == "eq" else (np.not_equal, True)

    def compare(self: object, other: object) -> Any:
        other = _operand(other)
        if other is NotImplemented:
            return NotImplemented
        mine = plain_text(self)
        if type(mine) is bytes and type(other) is bytes:
            return np.asarray((mine == other) is not if_unlike).view(ElementArray)
        try:
            found = compute(_as_array(mine), _as_array(other))
        # As in TensorFlow: of shapes that do not fit, nothing is equal.
        except ValueError:
            found = if_unlike
        return np.asarray(found, bool).view(ElementArray)

    compare.__name__ = f"__{name}__"
    return compare


def _make_joining(*, is_reversed: bool) -> Callable[[Any, Any], Any]:
    def join(self: Any, other: Any) -> Any:
        other = _operand(other)
        if other is NotImplemented:
            return NotImplemented
        mine = plain_text(self)
        first, second = (other, mine) if is_reversed else (mine, other)
        if type(first) is bytes and type(second) is bytes:
            return TextScalar(first + second)
        try:
            return _of_text(np.asarray(_as_array(first) + _as_array(second), object))
        except ValueError as e:
            raise BadArgumentError(
                "Arrays of text that are joined need shapes that fit together. Received: "
                f"{np.shape(first)} and {np.shape(second)}. Make them alike with tf.reshape or tf.expand_dims."
            ) from e

    join.__name__ = "__radd__" if is_reversed else "__add__"
    return join


def _refusing(name: str) -> Callable[[Any, Any], Any]:
    def refuse(self: object, other: object) -> Any:
        raise BadTypeError(
            f"Text has no operator `{name}`. Expected: `==`, `!=` or `+` with other text. Received: {shown(self)} and "
            f"{shown(other)}. Use the functions of tf.strings."
        )

    refuse.__name__ = name
    return refuse


def _as_array(value: object) -> np.ndarray:
    """Return text as an array of objects; NumPy would make `bytes` a string of its own."""
    if isinstance(value, np.ndarray):
        return value
    made = np.empty((), object)
    made[()] = value
    return made


def _of_text(array: np.ndarray) -> Any:
    return array.view(TextArray) if array.ndim else TextScalar(array[()])


class TextArray(ElementArray):
    """A component of text: `bytes` in an array of objects, each of which is a :class:`TextScalar`."""

    def __array_finalize__(self, source: object) -> None:
        # What is computed with text need not be text.
        if not self.dtype.hasobject:
            self.__class__ = ElementArray  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        # NumPy would begin with an empty array of numbers.
        return _of_text, (self.view(np.ndarray),)

    def __getitem__(self, key: Any) -> Any:
        found = np.ndarray.__getitem__(self, key)
        return TextScalar(found) if isinstance(found, bytes) else found

    def numpy(self) -> Any:
        """Return the texts as a NumPy array of `bytes` objects."""
        return np.array(self)


# NumPy takes other subclasses of `bytes` for integers (seen in 2.4), and this one by its first base for what it is.
class TextScalar(np.bytes_, TensorMethods):  # type: ignore[misc]
    """A component that is one text: `bytes` with the methods of a tensor.

    NumPy makes an array of its own strings of it, which end before the first of their last zero bytes.
    """

    shape = TensorShape(())  # type: ignore[assignment]
    dtype = property(lambda self: _OBJECT)
    # NumPy's arrays leave operators to this class.
    __array_priority__ = 100
    __hash__ = bytes.__hash__

    def __reduce__(self) -> Any:
        return TextScalar, (bytes(self),)

    def item(self) -> bytes:  # type: ignore[override]
        """Return the text as plain `bytes`."""
        return bytes(self)

    tolist = item

    def numpy(self) -> bytes:
        """Return the text as plain `bytes`."""
        return bytes(self)

    def __format__(self, spec: str) -> str:
        return format(bytes(self), spec)

    def __str__(self) -> str:
        return tensor_str(self)

    def __repr__(self) -> str:
        return tensor_repr(self)


def _define(kind: Any) -> None:
    for name in ("eq", "ne"):
        setattr(kind, f"__{name}__", _make_comparison(name))
    kind.__add__, kind.__radd__ = _make_joining(is_reversed=False), _make_joining(is_reversed=True)


_define(TextArray)
_define(TextScalar)
for _name in _REFUSED:
    for _method in (f"__{_name}__", f"__r{_name}__"):
        setattr(TextArray, _method, _refusing(_method))


def plain_text(text: Any) -> Any:
    """Return text that has a tensor's methods as plain `bytes`, or an array of them."""
    return text[:] if isinstance(text, bytes) else text.view(np.ndarray)


def as_element(leaf: object) -> Any:
    """Return a component as a function gets it: one of numbers with TensorFlow's operators.

    In programs that import `stratax.tf` text has them, too; else it, and everything else, stays as it is.
    """
    # A view, without a copy.
    if type(leaf) is np.ndarray and not leaf.dtype.hasobject:
        return leaf.view(ElementArray)
    if isinstance(leaf, np.generic):
        return leaf if leaf.dtype.kind in "USO" else np.asarray(leaf).view(ElementArray)
    if isinstance(leaf, Composite):
        return map_parts(as_element, leaf)
    return as_tensor(leaf) if isinstance(leaf, bytes | np.ndarray) and has_tensors() else leaf


def as_tensor(leaf: object) -> Any:
    """Return a component with the methods of TensorFlow's tensors; what is neither an array nor text as it is."""
    # The usual ones first: this is asked for every element.
    if type(leaf) is np.ndarray:
        return _of_text(leaf) if leaf.dtype.hasobject else leaf.view(ElementArray)
    if isinstance(leaf, bytes):
        return leaf if type(leaf) is TextScalar else TextScalar(leaf)
    if isinstance(leaf, Composite):
        return map_parts(as_tensor, leaf)
    return as_element(leaf) if isinstance(leaf, np.generic) else leaf


def if_tensors(leaf: object) -> Any:
    """Return what :func:`as_tensor` does in programs that import `stratax.tf`; in others the leaf."""
    return as_tensor(leaf) if type(leaf) is np.ndarray and has_tensors() else leaf


def as_tensors(result: Any) -> Any:
    """Return what a function of `tf` gives on the host, arrays and text of it as :func:`as_tensor` does.

    Args:
        result: An array or text, a list, tuple or dict of them; everything else stays as it is, strings of NumPy too.
    """
    kind = type(result)
    if kind is np.ndarray:
        is_text = result.dtype.hasobject and (not result.size or isinstance(result.flat[0], bytes))
        return as_tensor(result) if is_text or result.dtype.kind not in "OSU" else result
    if kind is ElementArray:
        return result
    if kind is bytes or isinstance(result, np.generic | Composite):
        return as_tensor(result)
    if kind is list or kind is tuple:
        return kind(as_tensors(part) for part in result)
    if kind is dict:
        return {key: as_tensors(part) for key, part in result.items()}
    # Named tuples, as of tf.unique.
    if isinstance(result, tuple) and hasattr(kind, "_fields"):
        return kind(*(as_tensors(part) for part in result))
    return result


def as_plain(leaf: object) -> Any:
    """Return the value that :func:`as_element` or :func:`as_tensor` was given."""
    if isinstance(leaf, TextScalar):
        return leaf[:]
    return leaf.view(np.ndarray)[()] if isinstance(leaf, ElementArray) else leaf
