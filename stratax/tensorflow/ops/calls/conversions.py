"""How objects of a program's own become tensors (ops layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.errors import BadTypeError

_NUMBERS = (bool, int, float, complex, np.ndarray, np.generic)


# What a class has that a function was registered for: the functions with their priorities, as they came.
_FUNCTIONS = "_stratax_conversions"


def _convert(value: object) -> Any:
    """Return the tensor that the first function makes which is registered for a class of the object."""
    known = [each for cls in type(value).__mro__ for each in vars(cls).get(_FUNCTIONS, ())]
    # Stable: of two alike that of the nearer class, or which was registered first, is asked first.
    for _, function in sorted(known, key=lambda each: each[0]):
        # The keywords with which TensorFlow calls it.
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
        priority: Functions with lower numbers are asked first, whichever of an object's classes they are for.

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
        try:
            # Its own only: `_convert` looks at its bases, too.
            setattr(cls, _FUNCTIONS, (*vars(cls).get(_FUNCTIONS, ()), (priority, conversion_func)))
            # JAX' own protocol: what computes with arrays asks objects for one by it.
            cls.__jax_array__ = _convert  # type: ignore[attr-defined]
        except TypeError as error:
            raise BadTypeError(
                f"Python's own classes take no attributes. Received: base_type={shown(cls)}. Make a class of "
                "this one, or convert its objects before they are computed with."
            ) from error
