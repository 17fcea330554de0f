"""`stratax.print`: printing values of a compiled program while it runs (core layer)."""

import dataclasses
import functools
import pprint
import sys
from collections.abc import Callable
from typing import Any

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.summarized import escape_text, summarize_array
from stratax.core import known, regions
from stratax.core.control._range import TracedRange
from stratax.seams import jax as seam

_FILE = "file://"
# As many of each end of a dimension are shown.
_ENDS = 3


def print(
    *inputs: object,
    output_stream: object = None,
    summarize: int | None = None,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> None:
    """Print values; in a compiled function, every time the program runs and with the values that it computes.

    Follows `tf.print`, also in how arrays look, alone and in structures. Python's own `print` in a compiled function
    prints while the function is traced, once, and shows tracers. Inside `strategy.run` every replica prints. Several
    calls in one program print in their order where there is only one device in all; JAX does not order them in programs
    for several.

    Args:
        *inputs: What to print: arrays, variables, nested structures of them, and anything else.
        output_stream: An object with a method `write`, such as `sys.stdout`; `"file://path"`, to whose end it is
            written; or a function that takes text, such as `logging.info`. None is `sys.stderr`, as in TensorFlow.
        summarize: How many elements of each end of a dimension are shown: 3 if None; -1 for all.
        sep: What comes between the values.
        end: What comes after them.
        name: Ignored.

    Raises:
        BadTypeError: `sep` or `end` is not a string, or `summarize` no whole number.
        BadArgumentError: `output_stream` can't be written to.

    Example:
        >>> import sys
        >>> import jax.numpy as jnp
        >>> import stratax as sx
        >>> sx.print("loss:", jnp.arange(9) / 2, {"step": 1}, output_stream=sys.stdout)
        loss: [0 0.5 1 ... 3 3.5 4] {'step': 1}
    """
    for argument, text in (("sep", sep), ("end", end)):
        if not isinstance(text, str):
            raise errors.BadTypeError(
                f"`stratax.print` puts text between the values. Expected: {argument} to be a string. "
                f"Received: {argument}={shown(text)}."
            )
    if summarize is not None and (not isinstance(summarize, int) or summarize < -1):
        raise errors.BadTypeError(
            "`stratax.print` shows so many elements of each end of a dimension. Expected: summarize to be a whole "
            f"number, -1 for all. Received: summarize={shown(summarize)}."
        )
    send = _sender(output_stream)
    count = _ENDS if summarize is None else summarize
    is_compiled = regions.current_region() is not None
    values = jax.tree.map(_value, inputs, is_leaf=lambda value: _is_variable(value) or _is_shape(value))
    leaves, treedef = jax.tree.flatten(values, is_leaf=_is_shape)
    traced = [position for position, leaf in enumerate(leaves) if isinstance(leaf, jax.core.Tracer)]
    operands = [leaves[position] for position in traced]
    if is_compiled:
        # Where functions of `tf` know a value while they are traced, they give NumPy's arrays.
        leaves = [_mark_computed(leaf) for leaf in leaves]
        # What stands for something else, and can't be printed, says so now and not when the program runs.
        list(map(str, (leaf for leaf in leaves if hasattr(type(leaf), "stratax_description"))))
    for position in traced:
        leaves[position] = None
    write = Printing(send, leaves, traced, treedef, count, sep, end, is_anywhere=_is_anywhere(output_stream))
    # Within a compiled function also for constants: it prints whenever the program runs, not when it is
    # traced.
    if traced or is_compiled:
        seam.call_back(write, operands, ordered=_can_be_ordered())
    else:
        write()


@dataclasses.dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Printing:
    """What prints whenever a program runs.

    Attributes:
        send: Takes the text.
        leaves: The values, as leaves of a structure; None in the places of those that the program computes.
        traced: These places.
        treedef: The structure.
        count: How many elements of each end of a dimension are shown.
        sep: What comes between the values.
        end: What comes after them.
        is_anywhere: Whether any process may print it, as there is such a stream in each.
    """

    send: Callable[[str], None]
    leaves: list[Any]
    traced: list[int]
    treedef: Any
    count: int
    sep: str
    end: str
    is_anywhere: bool

    def __call__(self, *arrays: object) -> None:
        """Print, with what the program has computed."""
        found = list(self.leaves)
        for position, array in zip(self.traced, arrays, strict=True):
            found[position] = np.asarray(array).view(_Computed)
        values = jax.tree.unflatten(self.treedef, found)
        self.send(self.sep.join(_text(value, self.count) for value in values) + self.end)


def _value(value: Any) -> Any:
    return value.value if _is_variable(value) else value


def _is_variable(value: object) -> bool:
    return isinstance(value, keras.Variable)


def _can_be_ordered() -> bool:
    """Return whether the program is surely one for a single device: JAX orders callbacks in no other."""
    return jax.device_count() == 1


def _sender(output_stream: object) -> Callable[[str], None]:
    """Return a function that writes text to a stream, in one call, so that lines of several replicas do not mix."""
    # Looked up when it prints: tests and notebooks replace `sys.stderr`.
    if output_stream is None:
        return lambda text: _write(sys.stderr, text)
    if isinstance(output_stream, str) and output_stream.startswith(_FILE):
        return functools.partial(_append, output_stream.removeprefix(_FILE))
    if callable(getattr(output_stream, "write", None)):
        return functools.partial(_write, output_stream)
    if callable(output_stream):
        return lambda text: output_stream(text.removesuffix("\n"))
    raise errors.BadArgumentError(
        "`stratax.print` can't write to `output_stream`. Expected: an object with a method `write`, such as "
        "`sys.stdout`; 'file://' and a path; or a function that takes text. "
        f"Received: output_stream={shown(output_stream)}. Open the file first, or name it 'file:///path'."
    )


def _is_anywhere(output_stream: object) -> bool:
    return isinstance(output_stream, str | None) or output_stream is sys.stdout or output_stream is sys.stderr


def _write(stream: Any, text: str) -> None:
    stream.write(text)
    if hasattr(stream, "flush"):
        stream.flush()


def _append(path: str, text: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


class _Computed(np.ndarray):
    """What the program computed; arrays of NumPy that a user prints show as NumPy's."""

    def get_shape(self) -> tuple[int, ...]:
        return self.shape


def _mark_computed(leaf: object) -> Any:
    is_number = isinstance(leaf, np.generic) and leaf.dtype.kind not in "OSU"
    return np.asarray(leaf).view(_Computed) if is_number or type(leaf) is np.ndarray else leaf


class _Cell:
    """Stands in a structure for the text of an array, as wide as TensorFlow's placeholder."""

    def __init__(self, index: int) -> None:
        self._index = index

    def __repr__(self) -> str:
        return f"{_MARK}{chr(_FIRST + self._index)}"


# Characters that mean nothing, which no text has.
_MARK, _FIRST = "\ue000", 0xF0000


def _text(value: object, count: int) -> str:
    """Return what is printed of one of the values."""
    if isinstance(value, str):
        return str(value)
    texts: list[str] = []

    def cell(leaf: object) -> Any:
        text = _text_of_tensor(leaf, count)
        if text is None:
            return leaf
        texts.append(text)
        return _Cell(len(texts) - 1)

    structure = jax.tree.map(cell, value, is_leaf=lambda part: _is_composite(part) or _is_shape(part))
    if isinstance(structure, _Cell):
        return texts[0]
    first, *marked = pprint.pformat(structure).split(_MARK)
    return first + "".join(texts[ord(part[0]) - _FIRST] + part[1:] for part in marked)


def _text_of_tensor(leaf: object, count: int) -> str | None:
    """Return the text of a tensor; None of what Python shows."""
    if isinstance(leaf, bytes):
        return f'"{escape_text(leaf[:])}"'
    if _is_composite(leaf):
        return _text_of_composite(leaf, count)
    if isinstance(leaf, np.ndarray | np.generic) and not (
        hasattr(type(leaf), "get_shape") or known.is_text(leaf)
    ):
        return None
    is_array = isinstance(leaf, jax.Array | np.ndarray | np.generic | TracedRange)
    return summarize_array(np.asarray(leaf), count) if is_array else None


def _is_shape(value: object) -> bool:
    # JAX takes a shape of TensorFlow's for the tuple that it is.
    return hasattr(type(value), "num_elements")


def _is_composite(value: object) -> bool:
    # By protocol: what a ragged or sparse tensor is, is for the layers above to say.
    return hasattr(type(value), "row_lengths") or hasattr(type(value), "dense_shape")


def _text_of_composite(value: Any, count: int) -> str:
    if hasattr(type(value), "row_lengths"):
        return str(value.to_list())
    parts = [
        summarize_array(np.asarray(part), count) for part in (value.indices, value.values, value.dense_shape)
    ]
    return "'SparseTensor(indices={}, values={}, shape={})'".format(*parts)
