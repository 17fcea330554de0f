"""`stratax.print`: printing values of a compiled program while it runs (core layer)."""

import builtins
import sys
from collections.abc import Callable
from typing import Any

import jax
import keras
import numpy as np

from stratax import errors
from stratax._shown import shown
from stratax.core import _capture


def print(*args: object, sep: str = " ", end: str = "\n", output_stream: object = None) -> None:
    """Print values; in a compiled function, every time the program runs and with the values that it computes.

    Follows `tf.print`. Arrays are printed as NumPy prints them, in structures too. Python's own `print` in a compiled
    function prints while the function is traced, once, and shows tracers. Inside `strategy.run` every replica
    prints. Several calls in one program print in their order where there is only one device in all; JAX does not
    order them in programs for several.

    Args:
        *args: What to print: arrays, variables, nested structures of them, and anything else.
        sep: What comes between them.
        end: What comes after them.
        output_stream: An object with a method `write`, such as `sys.stdout`; None is `sys.stderr`, as in TensorFlow.

    Raises:
        BadTypeError: `sep` or `end` is not a string, or `output_stream` can't be written to.

    Example:
        >>> import sys
        >>> import jax.numpy as jnp
        >>> import stratax as sx
        >>> sx.print("loss:", jnp.arange(3), {"step": 1}, output_stream=sys.stdout)
        loss: [0 1 2] {'step': 1}
    """
    for name, text in (("sep", sep), ("end", end)):
        if not isinstance(text, str):
            raise errors.BadTypeError(
                f"`stratax.print` puts text between the values. Expected: {name} to be a string. "
                f"Received: {name}={shown(text)}."
            )
    if output_stream is not None and not callable(getattr(output_stream, "write", None)):
        raise errors.BadTypeError(
            "`stratax.print` can't write to `output_stream`. Expected: an object with a method `write`, such as "
            f"`sys.stdout`. Received: output_stream={shown(output_stream)}. Open the file first."
        )
    values = jax.tree.map(_plain, args, is_leaf=_is_variable)
    leaves, treedef = jax.tree.flatten(values)
    traced = [position for position, leaf in enumerate(leaves) if isinstance(leaf, jax.core.Tracer)]
    write = _writer(treedef, leaves, traced, sep, end, output_stream)
    # Within a compiled function also for constants: it prints whenever the program runs, not when it is
    # traced.
    if traced or _capture.current_region() is not None:
        jax.debug.callback(write, *(leaves[position] for position in traced), ordered=_can_be_ordered())
    else:
        write()


def _plain(value: Any) -> Any:
    return value.value if _is_variable(value) else value


def _is_variable(value: object) -> bool:
    return isinstance(value, keras.Variable)


def _can_be_ordered() -> bool:
    """Return whether the program is surely one for a single device: JAX orders callbacks in no other."""
    return jax.device_count() == 1


def _writer(
    treedef: Any, leaves: list[Any], traced: list[int], sep: str, end: str, output_stream: Any
) -> Callable[..., None]:
    """Return a function that prints once it is given the traced leaves' values."""
    constant = [None if position in set(traced) else leaf for position, leaf in enumerate(leaves)]

    def write(*arrays: Any) -> None:
        values = list(constant)
        for position, array in zip(traced, arrays, strict=True):
            values[position] = np.asarray(array)
        # Looked up when it prints: tests and notebooks replace `sys.stderr`.
        stream = sys.stderr if output_stream is None else output_stream
        text = sep.join(str(_shown(value)) for value in jax.tree.unflatten(treedef, values))
        # One call of write per line, so that lines of several replicas do not mix.
        builtins.print(text + end, end="", file=stream, flush=True)

    return write


class _Text:
    """Prints as its text, in structures too."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _shown(value: object) -> Any:
    """Return `value` with texts for the arrays in its structure."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else jax.tree.map(_shown_leaf, value)


def _shown_leaf(leaf: object) -> Any:
    if isinstance(leaf, bytes):
        return _Text(_quoted(leaf))
    if not isinstance(leaf, (jax.Array, np.ndarray, np.generic)):
        return leaf
    return _Text(
        np.array2string(np.asarray(leaf), formatter=_FORMATS) if np.ndim(leaf) else str(np.asarray(leaf))
    )


def _quoted(text: object) -> str:
    return f'"{text.decode(errors="replace")}"' if isinstance(text, bytes) else str(text)


# Text in arrays prints as TensorFlow prints it.
_FORMATS: Any = {"object": _quoted}
