"""How objects of a program's own become tensors (ops layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.errors import BadTypeError

_NUMBERS = (bool, int, float, complex, np.ndarray, np.generic)


class _Conversions:
    """The functions that make tensors of objects of one class, in the order in which they are asked."""

    def __init__(self) -> None:
        self._functions: list[tuple[int, Callable[..., Any]]] = []

    def add(self, priority: int, function: Callable[..., Any]) -> None:
        self._functions.append((priority, function))
        # Stable: of two alike the first that was registered comes first.
        self._functions.sort(key=lambda each: each[0])

    def convert(self, value: object) -> Any:
        for _, function in self._functions:
            made = function(value, dtype=None, name=None, as_ref=False)
            if made is not NotImplemented:
                return made
        raise BadTypeError(
            f"No function that is registered for objects of {type(value).__qualname__} makes a tensor of this one. "
            f"Received: {shown(value)}. Convert it before it is computed with."
        )


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Say how objects of a class become tensors, as `tf.register_tensor_conversion_function`.

    Functions of `tf`, `jax.numpy` and `keras.ops` take such objects from then on, as operands by themselves.

    Args:
        base_type: A class of the program's own, or several. Classes that are made of it have the function, too.
        conversion_func: Called as `conversion_func(value, dtype=None, name=None, as_ref=False)`; it gives a tensor, or
            `NotImplemented`, and then the next function is asked.
        priority: Functions with lower numbers are asked first.

    Raises:
        BadTypeError: If `base_type` is no class or one of numbers or NumPy's arrays, or takes no attributes, as
            Python's own; or if `conversion_func` can't be called.

    Example:
        >>> import stratax.tf as tf
        >>> class Celsius:
        ...     def __init__(self, degrees):
        ...         self.degrees = degrees
        >>> tf.register_tensor_conversion_function(
        ...     Celsius, lambda value, dtype=None, name=None, as_ref=False: tf.constant(value.degrees + 273.0)
        ... )
        >>> float(tf.add(Celsius(20.0), 1.0))
        294.0
    """
    classes = base_type if isinstance(base_type, tuple) else (base_type,)
    for cls in classes:
        if not isinstance(cls, type):
            raise BadTypeError(
                f"base_type must be a class or a tuple of classes. Received: {shown(base_type)}."
            )
        if issubclass(cls, _NUMBERS):
            raise BadTypeError(
                "Numbers and NumPy's arrays become tensors by themselves. Expected: a class of the program's own. "
                f"Received: base_type={shown(base_type)}."
            )
    if not callable(conversion_func):
        raise BadTypeError(f"conversion_func must be a function. Received: {shown(conversion_func)}.")
    for cls in classes:
        known = vars(cls).get("_tensor_conversions")
        if known is None:
            known = _Conversions()
            try:
                cls._tensor_conversions = known  # type: ignore[attr-defined]
                # JAX' own protocol: what computes with arrays asks objects for one by it.
                cls.__jax_array__ = lambda self: type(self)._tensor_conversions.convert(self)  # type: ignore[attr-defined]
            except TypeError as error:
                raise BadTypeError(
                    f"Python's own classes take no attributes. Received: base_type={shown(cls)}. Make a class of "
                    "this one, or convert its objects before they are computed with."
                ) from error
        known.add(priority, conversion_func)
