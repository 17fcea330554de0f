"""`tf.contrib.compiler`: what asks for XLA, which compiles all programs here."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any


@contextlib.contextmanager
def experimental_jit_scope(
    compile_ops: object = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """Leave a block as it is: XLA compiles it anyway, as `tf.contrib.compiler.jit.experimental_jit_scope` asks.

    Args:
        compile_ops: Ignored.
        separate_compiled_gradients: Ignored.
    """
    yield


def compile(computation: Callable[..., Any], inputs: Sequence[Any] | None = None) -> Any:
    """Return what a function computes, as `tf.contrib.compiler.xla.compile`.

    Args:
        computation: The function.
        inputs: Its arguments.

    Returns:
        A list of tensors, also where it is one; what the function gives, where that is a structure by names.
    """
    made = computation(*(inputs or ()))
    if made is None or isinstance(made, dict):
        return made
    return list(made) if isinstance(made, list | tuple) else [made]
