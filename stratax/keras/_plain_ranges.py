"""Labels and ids out of range in Keras' own loop, for models that have no strategy (keras layer)."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import keras

from stratax.core import known
from stratax.seams import keras as seam

_PARTS = {
    4: ("trainable_variables", "non_trainable_variables", "optimizer_variables", "metrics_variables"),
    3: ("trainable_variables", "non_trainable_variables", "metrics_variables"),
    2: ("trainable_variables", "non_trainable_variables"),
}


def install() -> None:
    """Have Keras look at what its compiled steps are given, as compiled functions do."""
    seam.install("stratax.keras", {"keras.src.backend.jax.trainer:JAXTrainer._make_function": _make_hook})


def _make_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _make_function(
        self: keras.Model, step_function: Callable[..., Any], concatenate_outputs: bool = False
    ) -> Any:
        # Steps that are not compiled (`run_eagerly`) know their numbers.
        if not hasattr(step_function, "trace"):
            return original(self, step_function, concatenate_outputs=concatenate_outputs)
        step = _Step(step_function, self.__dict__ if self.steps_per_execution > 1 else None)
        return original(self, step, concatenate_outputs=concatenate_outputs)

    return _make_function


class _Step:
    """A compiled step, called `(state, data)`, that does not run if numbers of `data` are out of range.

    Args:
        step: What `jax.jit` gave.
        kept: Where Keras keeps what the last step gave, if it runs several at a time: it does so behind the last, and
            one that fails would leave the variables without values. Else None.
    """

    def __init__(self, step: Any, kept: dict[str, Any] | None) -> None:
        self._step = step
        self._kept = kept
        self._watches: dict[Any, list[Any]] = {}

    def __call__(self, state: Any, data: Any) -> Any:
        leaves, structure = jax.tree.flatten(data)
        key = (structure, *[(leaf.shape, leaf.dtype) for leaf in leaves if hasattr(leaf, "shape")])
        watches = self._watches.get(key)
        if watches is None:
            with known.watching():
                # The call below finds this trace: nothing is traced twice.
                closed = self._step.trace(state, data).jaxpr
            given = len(closed.jaxpr.invars) - len(leaves)
            watches = self._watches[key] = known.watches_of(closed, [], None, first=given)
        known.check_ranges(watches, leaves, {})
        results, state = self._step(state, data)
        if self._kept is not None:
            self._kept["_jax_state"] = dict(zip(_PARTS[len(state)], state, strict=True))
        return results, state
