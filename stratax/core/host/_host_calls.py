"""Functions on the host that a running program calls, and whose results it goes on with (core layer).

JAX' own callbacks hand their function arrays of JAX, and to look at one may take the very thread that waits for it;
here it gets NumPy's. What such a function raises ends the program with an error of JAX that has its text alone; whoever
runs a program asks for the error itself.
"""

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jax_core

from stratax import errors
from stratax.base.shown import shown
from stratax.seams import jax as seam

# `call_p.bind(*arrays, function=of NumPy arrays, types=of its results)`
call_p = jax_core.Primitive("stratax_call")
call_p.multiple_results = True
seam.lower_as_call(call_p)


# What functions have raised and nobody has been told of, by number. Several replicas may raise, and one is told.
_raised: dict[int, Exception] = {}
_numbers = itertools.count()
_MOST_KEPT = 32
_NUMBER = re.compile(r"\(host call (\d+)\)")


class _HostCallError(Exception):
    """Stands for an error on its way through a program, which keeps nothing but the message."""


def raise_own(error: jax.errors.JaxRuntimeError) -> None:
    """Raise what a function on the host has raised, if that is what ended a program.

    Args:
        error: What the program has ended with.
    """
    for number in _NUMBER.findall(str(error)):
        own = _raised.pop(int(number), None)
        if own is not None:
            seam.forget_failed()
            raise own from None


def own_of(error: BaseException) -> BaseException:
    """Return what a function of :func:`call_on_host` has raised, of what its call in a program raised.

    Args:
        error: What came out of the call.
    """
    cause = error.__cause__ if isinstance(error, _HostCallError) else None
    return error if cause is None else cause


def _note_error(error: Exception) -> _HostCallError:
    number = next(_numbers)
    _raised[number] = error
    while len(_raised) > _MOST_KEPT:
        _raised.pop(next(iter(_raised)), None)
    return _HostCallError(f"{type(error).__name__}: {error} (host call {number})")


def call_on_host(
    function: Callable[..., Any], arrays: Sequence[Any], types: Sequence[jax.ShapeDtypeStruct]
) -> list[Any]:
    """Call a function on the host whenever the program that is traced comes to this point.

    Args:
        function: Takes the arrays as NumPy arrays of its own, and returns a sequence of results.
        arrays: Tracers and constants.
        types: The types of the results.

    Returns:
        The results, as tracers.
    """

    def call_noted(*given: object) -> tuple[Any, ...]:
        try:
            return call_checked(*given)
        except Exception as error:
            raise _note_error(error) from error

    def call_checked(*given: object) -> tuple[Any, ...]:
        # Copies: the arrays are views of the program's memory.
        made = function(*(np.array(array) for array in given))
        if len(made) != len(types):
            raise errors.BadArgumentError(
                f"A function on the host returned {len(made)} results. Expected: {len(types)}, as Tout says."
            )
        return tuple(_check(array, kind) for array, kind in zip(made, types, strict=True))

    results = call_p.bind(*(jnp.asarray(array) for array in arrays), function=call_noted, types=tuple(types))
    return list(results)


def _check(array: object, kind: jax.ShapeDtypeStruct) -> np.ndarray:
    found = np.asarray(array)
    if found.dtype.kind not in "biufcV" or found.shape != kind.shape:
        raise errors.BadArgumentError(
            "A function on the host returned an array of another type than a compiled program expects. Expected: "
            f"{kind.dtype}{list(kind.shape)}, as Tout says. Received: {found.dtype}{list(found.shape)}, "
            f"{shown(array)}. Declare it with Tout=tf.TensorSpec(shape, dtype)."
        )
    return np.ascontiguousarray(found, kind.dtype).reshape(kind.shape)
