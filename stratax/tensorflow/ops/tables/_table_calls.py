"""How compiled programs reach a table that changes: calls on the host, one behind another (ops layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.tracing import is_traced, is_tracing
from stratax.base.typing import DTypeLike
from stratax.core import host, regions
from stratax.tensorflow.ops.tables.numeric_tables import fitting


class TableCalls:
    """The calls that compiled programs make on one table.

    JAX has no order between calls on the host unless one needs what the other gives. Each call takes a number from a
    variable and leaves the next one, so they are made in the order in which they were traced, also in loops and
    branches, and from one program to the next.
    """

    def __init__(self) -> None:
        self._turn: Any = None

    def make(
        self,
        function: Callable[..., Any],
        operands: Sequence[Any],
        dtype: DTypeLike | None = None,
        shape: tuple[int, ...] = (),
    ) -> Any:
        """Have the program that is traced call a function whenever it runs.

        Args:
            function: Takes the operands: NumPy arrays for those that the program computes, the others as they are.
            operands: Its arguments.
            dtype: That of the numbers that it gives; None if it gives nothing.
            shape: Their shape.
        """
        import jax
        import jax.numpy as jnp

        traced = [index for index, operand in enumerate(operands) if is_traced(operand)]
        kinds = [] if dtype is None else [jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(dtype))]

        def call_function(turn: np.ndarray, *computed: np.ndarray) -> list[Any]:
            given = list(operands)
            for index, array in zip(traced, computed, strict=True):
                given[index] = array
            made = function(*given)
            # What 32 bits do not hold raises, and is not cut off.
            return [turn + np.int32(1), *(fitting(np.asarray(made), kind.dtype) for kind in kinds)]

        turn = self._variable()
        # JAX has no derivative of what the host computes.
        arrays = [jax.lax.stop_gradient(jnp.asarray(operands[index])) for index in traced]
        count, *results = host.call_on_host(
            call_function, [turn.value, *arrays], [jax.ShapeDtypeStruct((), np.int32), *kinds]
        )
        turn.assign(count)
        return results[0] if results else None

    def wait(self) -> None:
        """Wait until programs that were dispatched have made their calls."""
        if self._turn is not None and not is_tracing():
            np.asarray(self._turn.value)

    def _variable(self) -> Any:
        if self._turn is None:
            import keras

            # Every call reads and writes this number: so calls come one behind another, also those of several programs.
            with regions.outside_scopes():
                self._turn = keras.Variable(0, dtype="int32", trainable=False)
        return self._turn
