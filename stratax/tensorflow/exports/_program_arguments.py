"""The arguments that the host gives an exported program (export layer)."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import export

from stratax.errors import TracingError
from stratax.tensorflow.exports._blank_sizes import BATCH


class HostArguments:
    """The arguments that the host gives a program.

    Args:
        given: By the ids of values, as the trace has them; None in the trace that finds out which there are.
        token: An argument of the trace that finds out.
        scope: Of symbols for sizes.

    Attributes:
        specs: What was asked for, by id.
    """

    def __init__(self, given: Mapping[str, Any] | None, token: Any, scope: Any) -> None:
        self._given = given
        self._token = token
        self._scope = scope
        self._made: dict[str, Any] = {}
        self.specs: dict[str, jax.ShapeDtypeStruct] = {}

    def of(self, id: str, dims: Sequence[int | str], dtype: object) -> Any:
        """Return a value as an array of the trace.

        Args:
            id: The value's.
            dims: Its sizes.
            dtype: Its dtype.

        Raises:
            TracingError: The trace that finds out did not ask for it.
        """
        if id not in self._made:
            spec = self.note(id, dims, dtype)
            if self._given is None:
                blank = jnp.zeros(spec.shape, spec.dtype)
                self._made[id] = jax.lax.optimization_barrier((blank, self._token))[0]
            elif id in self._given:
                self._made[id] = self._given[id]
            else:
                raise TracingError(
                    "An exported function computes something else each time that it is traced: it asked for another "
                    "value of the host. Expected: a function that does the same each time."
                )
        return self._made[id]

    def note(self, id: str, dims: Sequence[int | str], dtype: object) -> jax.ShapeDtypeStruct:
        """Note that a value is an argument; return what it is."""
        self.specs[id] = jax.ShapeDtypeStruct(self.symbolic(dims), jax.dtypes.canonicalize_dtype(dtype))
        return self.specs[id]

    def id_of(self, value: object) -> str | None:
        """Return the id of a value that was asked for as an array of the trace; None for another one."""
        return next((id for id, made in self._made.items() if made is value), None)

    @property
    def is_traced(self) -> bool:
        """Whether there is a program."""
        return True

    @property
    def has_batch(self) -> bool:
        """Whether one of those that were asked for has the batch's size."""
        return any(str(size) == BATCH for spec in self.specs.values() for size in spec.shape)

    def blank(self, dims: Sequence[int | str]) -> Any:
        """Return an array of these sizes."""
        return jnp.zeros(self.symbolic(dims), jnp.int32)

    def symbolic(self, dims: Sequence[int | str]) -> tuple[Any, ...]:
        """Return sizes as JAX has them."""
        # A trailing comma: of one size, too, a tuple.
        return tuple(export.symbolic_shape(",".join(map(str, dims)) + ",", scope=self._scope)) if dims else ()


class NoArguments(HostArguments):
    """Of a row: nothing enters the program."""

    def __init__(self) -> None:
        super().__init__(None, None, None)

    @property
    def is_traced(self) -> bool:
        return False


def argument_name(id: str) -> str:
    """Return what an argument of the program is called, by the id of the value that it is."""
    return id.removeprefix("in/") if id.startswith("in/") else f"host/{id}"
