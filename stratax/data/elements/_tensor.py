"""`TensorMethods`: what TensorFlow's tensors have beside what arrays have (data layer)."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import PIPELINE
from stratax.data.elements._reference import Reference
from stratax.data.elements._tensor_shape import TensorShape
from stratax.errors import BadArgumentError, UnimplementedError


def check_shape(have: tuple[int, ...], want: object) -> None:
    """Raise unless `have` is what `want`, with None where a size is not known, describes."""
    if not TensorShape(have).is_compatible_with(want):
        raise BadArgumentError(
            f"set_shape does not fit the array. Expected: shape={shown(want)}. Received: an array of shape {have}. "
            "Correct the shape, or change it with tf.reshape."
        )


def _make_undefined(name: str, in_pipelines: str | None = None) -> property:
    """Return an attribute that only tensors of TensorFlow's graphs have; in a Dataset's functions it may be a text."""

    def refuse(self: object) -> str:
        if in_pipelines is not None and PIPELINE.get() is not None:
            return in_pipelines
        # An AttributeError, so that `hasattr` says that it is not there.
        raise AttributeError(
            f"Only the tensors of a graph have `{name}`. Expected: a tensor that a model_fn has named. Received: an "
            f"array, whose value is known by itself. Leave out `.{name}`, or keep a name of your own beside it.",
            name=name,
        )

    return property(refuse, doc=f"Raise an AttributeError: arrays have no `{name}`.")


def tensor_str(array: Any) -> str:
    """Return an array as `print` shows a tensor of TensorFlow."""
    return f"tf.Tensor({_values(array, str)}, shape={tuple(array.shape)}, dtype={_dtype_name(array)})"


def tensor_repr(array: Any) -> str:
    """Return an array as `repr` shows a tensor of TensorFlow."""
    return (
        f"<tf.Tensor: shape={tuple(array.shape)}, dtype={_dtype_name(array)}, numpy={_values(array, repr)}>"
    )


def _values(array: object, text_of: Callable[[Any], str]) -> str:
    if str(getattr(array, "dtype", "")).startswith("key<"):
        # A key of `jax.random`, which is no array of NumPy's.
        return text_of(array)
    values = bytes(array) if isinstance(array, bytes) else np.asarray(array)
    text = text_of(values) if isinstance(values, bytes) or values.ndim else str(values)
    return f"\n{text}" if "\n" in text else text


def _dtype_name(array: Any) -> str:
    return "string" if getattr(array.dtype, "kind", "") == "O" else str(array.dtype.name)


class TensorMethods:
    """Methods of `tf.Tensor`, for classes that have a `shape`."""

    __slots__ = ()
    shape: Any

    def get_shape(self) -> TensorShape:
        """Return the shape, as a tensor's `get_shape`."""
        return TensorShape(self.shape)

    def _numpy(self) -> Any:
        # As TensorFlow's own libraries ask for it.
        return self.numpy()  # type: ignore[attr-defined]

    def set_shape(self, shape: object) -> None:
        """Check that the array has a shape, as a tensor's `set_shape`: shapes are known.

        Args:
            shape: The sizes, None where they do not matter.

        Raises:
            BadArgumentError: If it has another one.
        """
        check_shape(tuple(self.shape), shape)

    def ref(self) -> Reference:
        """Return what stands for this object in sets and as a key of dicts."""
        return Reference(self)

    def experimental_ref(self) -> Reference:
        """Return what :meth:`ref` returns."""
        return Reference(self)

    name = _make_undefined("name", in_pipelines="tensor:0")
    op = _make_undefined("op")
    graph = _make_undefined("graph")

    def consumers(self) -> NoReturn:
        """Raise: what uses an array is not known.

        Raises:
            UnimplementedError: Always.
        """
        raise UnimplementedError(
            "What consumes a tensor is known of the graphs of TensorFlow 1 only. Expected: a program that does not "
            f"ask for it. Received: consumers() of an array of shape {tuple(self.shape)}. Leave the call out."
        )

    def eval(self, feed_dict: object = None, session: object = None) -> NoReturn:
        """Raise: it is no tensor of a graph, which a session evaluates.

        Args:
            feed_dict: Ignored.
            session: Ignored.

        Raises:
            UnimplementedError: Always.
        """
        raise UnimplementedError(
            "A session evaluates tensors of a graph, and this one is of none. Expected: x.numpy() where the program "
            f"computes at once. Received: eval() of an array of shape {tuple(self.shape)}. Write x.numpy(), or "
            "return the value from the compiled function or the model_fn."
        )
