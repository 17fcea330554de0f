"""`bfloat16_scope`: variables that are kept in float32 and used in bfloat16 (estimator layer)."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from stratax.tensorflow.ops.arrays import arrays
from stratax.tensorflow.ops.calls.dtypes import as_dtype
from stratax.tensorflow.v1 import VariableScope, get_variable_scope, variable_scope


@contextlib.contextmanager
def bfloat16_scope(name: str | None = None) -> Iterator[VariableScope]:
    """Have variables that are asked for in bfloat16 be float32, and be read as bfloat16, as `tf.tpu.bfloat16_scope`.

    Layers ask for variables of their inputs' dtype: cast the inputs in the scope, and the outputs behind it.

    Args:
        name: The name of a variable scope around it; None for none.

    Yields:
        The variable scope.
    """
    with variable_scope(name or "", custom_getter=_in_float32) as scope:
        yield scope


def _in_float32(getter: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    dtype: Any = kwargs.get("dtype") or get_variable_scope().dtype
    if str(as_dtype(dtype)) != "bfloat16":
        return getter(*args, **kwargs)
    kwargs["dtype"] = "float32"
    return arrays.cast(getter(*args, **kwargs), "bfloat16")
