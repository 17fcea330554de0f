"""The scope under which eager code runs while a GradientTape records (core layer)."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import keras
from jax.extend.core import set_current_trace

from stratax import errors
from stratax.base.shown import shown
from stratax.core import regions, storage
from stratax.core.gradients._tape_trace import is_eager


class WatchingScope(keras.StatelessScope):
    """Lets eager code run as it is while a tape learns which variables it reads.

    Keras notifies nobody that a variable is read except the scope that is active, so the tape makes one active; it
    passes everything through. Variables that layers create under it get their values at once.

    Args:
        outside: The scope that was active before, or None.
        trace: The JAX trace around the tape.
    """

    def __init__(self, outside: keras.StatelessScope | None, trace: object) -> None:
        super().__init__(collect_losses=outside is None or outside.collect_losses, initialize_variables=False)
        if outside is not None:
            # The same list: what layers add inside belongs to the scope around.
            self.losses = outside.losses
        self.outside = outside
        self._outside_trace = trace
        self._followed: list[Callable[[keras.Variable, Any], bool]] = []
        self._copies: dict[tuple[int, int], tuple[Any, Any]] = {}

    @contextlib.contextmanager
    def follow_by(self, is_followed_elsewhere: Callable[[keras.Variable, Any], bool]) -> Iterator[None]:
        """Hand out, inside the block, variables' values that a tape follows for another reason as copies."""
        self._followed.append(is_followed_elsewhere)
        try:
            yield
        finally:
            self._followed.remove(is_followed_elsewhere)

    def get_current_value(self, variable: keras.Variable) -> Any:
        """Return the value of `variable`, after telling the tapes that it was read."""
        value = None if self.outside is None else self.outside.get_current_value(variable)
        if value is None:
            value = regions.concrete_value(variable)
        value = self._own_value(variable, value)
        storage.notify(variable, value)
        return value

    def add_update(self, update: tuple[keras.Variable, Any]) -> None:
        """Assign at once, as eager code does."""
        variable, value = update
        if self.outside is not None:
            self.outside.add_update(update)
            return
        if isinstance(value, jax.core.Tracer) and is_eager(self._outside_trace):
            raise errors.TracingError(
                f"Variable {shown(variable.path)} was assigned inside a JAX transformation (jax.lax.scan, "
                "jax.jit, ...) "
                "under a GradientTape; its new value can't leave that transformation. Expected: assignments in "
                f"eager code or inside `stratax.function`. Received: value={value}. Return it and assign it outside."
            )
        variable._direct_assign(value)

    def _own_value(self, variable: keras.Variable, value: object) -> Any:
        """Return a value of the variable's own, as gradients are kept apart by object identity."""
        key = id(variable), id(value)
        # One copy for each value: two reads of a variable must be the same array for the tape.
        if key in self._copies:
            return self._copies[key][1]
        # The usual case: no copy is made.
        if not any(is_elsewhere(variable, value) for is_elsewhere in self._followed):
            return value
        with set_current_trace(self._outside_trace):
            self._copies[key] = value, jnp.array(value, copy=True)
        return self._copies[key][1]
