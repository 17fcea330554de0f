"""Expressions that TensorFlow and `stratax.tf` both evaluate, by family, beside what TensorFlow 2.21 made of them.

A module of this package holds `CASES`, and the `.json` beside it what `tests.golden.make_surface` wrote.
"""

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

MODES = ("device", "host", "function")


class Case(NamedTuple):
    """An expression of `tf`, `np` and makers of inputs; statements that it needs stand before it, with `;` or lines.

    The makers are `f` (float32), `i` (int32), `b` (bool), `s` (text) and `a(values, dtype)`. They give arrays on a
    device, NumPy arrays, or arguments of a compiled function, as the mode says. In `a(..., "int64")` stands what only
    the host keeps whole.
    """

    code: str
    modes: Sequence[str] = MODES
    tolerance: float = 1e-5

    def __str__(self) -> str:
        return self.code


def evaluated(code: str, tf: Any, make: Callable[[Any], Any]) -> Any:
    """Return the value of the last expression of `code`.

    Args:
        code: As `Case` has it.
        tf: TensorFlow or `stratax.tf`.
        make: Makes an input of a NumPy array; it is called in the order in which they stand in the code.
    """
    space = {
        "tf": tf,
        "np": np,
        "f": lambda values: make(np.array(values, np.float32)),
        "i": lambda values: make(np.array(values, np.int32)),
        "b": lambda values: make(np.array(values, bool)),
        "a": lambda values, dtype: make(np.array(values, _dtype(tf, dtype))),
        "s": lambda values: tf.constant(values) if tf.__name__ == "tensorflow" else _text(values),
    }
    *before, last = ast.parse(code.strip()).body
    exec(compile(ast.Module(before, []), "<case>", "exec"), space)
    assert isinstance(last, ast.Expr), f"The last line is no expression: {code}"
    return eval(compile(ast.Expression(last.value), "<case>", "eval"), space)


def _dtype(tf: Any, dtype: str) -> Any:
    return (
        tf.bfloat16.as_numpy_dtype
        if dtype == "bfloat16" and hasattr(tf.bfloat16, "as_numpy_dtype")
        else dtype
    )


def _text(values: Any) -> Any:
    return np.vectorize(lambda text: text if isinstance(text, bytes) else text.encode(), otypes=[object])(
        values
    )[()]


def leaves(value: Any) -> list[Any]:
    """Return the arrays of a result, in an order that both libraries share: None stays, shapes become lists."""
    if value is None:
        return [None]
    if hasattr(value, "nested_row_splits"):
        return [*leaves(value.flat_values), *leaves(list(value.nested_row_splits))]
    if hasattr(value, "dense_shape") and hasattr(value, "indices"):
        return [leaf for part in (value.indices, value.values, value.dense_shape) for leaf in leaves(part)]
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    if hasattr(value, "as_list"):
        return [np.array(value.as_list(), np.int32)]
    return [np.asarray(value.numpy() if hasattr(value, "numpy") else value)]


def written(leaf: Any) -> Any:
    """Return a leaf as JSON holds it: dtype, shape and flat values."""
    if leaf is None:
        return None
    if leaf.dtype.kind in "OSU":
        texts = [text if isinstance(text, bytes) else str(text).encode() for text in np.ravel(leaf).tolist()]
        return ["text", list(leaf.shape), [text.decode("latin-1") for text in texts]]
    values = (
        np.ascontiguousarray(leaf).view(leaf.real.dtype) if leaf.dtype.kind == "c" and leaf.ndim else leaf
    )
    if leaf.dtype.kind == "c" and not leaf.ndim:
        values = np.array([leaf.real, leaf.imag])
    wide = (
        values.astype(np.float64) if values.dtype.kind == "V" or values.dtype.name == "bfloat16" else values
    )
    flat = np.ravel(wide)
    shown = [float(f"{number:.8g}") for number in flat.tolist()] if wide.dtype.kind == "f" else flat.tolist()
    return [leaf.dtype.name, list(leaf.shape), shown]


def names_in(code: str) -> list[str]:
    """Return the names of TensorFlow that an expression uses, as `tf.math.add`."""
    return re.findall(r"\btf(?:\.\w+)+", code)
