"""The state of models without a strategy, which Keras' own loop takes and gives back (keras layer)."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import keras

from stratax.core.storage import REFERENCES_IN_LIST
from stratax.seams import keras as seam

_JAX_TRAINER = "keras.src.backend.jax.trainer:JAXTrainer"
# Where a model keeps what its last step gave, as long as Keras' loop holds it, too.
_LAST = "_stratax_last_state"
# An attribute of train functions that keep it there.
_NOTES = "_stratax_notes_state"
_PARTS = ("trainable_variables", "non_trainable_variables", "optimizer_variables", "metrics_variables")


def install() -> None:
    """Have Keras give away only arrays that nobody but the model's variables holds."""
    seam.install(
        "stratax.keras",
        {
            f"{_JAX_TRAINER}._get_jax_state": _state_hook,
            f"{_JAX_TRAINER}.jax_state_sync": _sync_hook,
            f"{_JAX_TRAINER}.make_train_function": _make_hook,
        },
    )


def _state_hook(original: Callable[..., tuple[list[Any], ...]]) -> Callable[..., tuple[list[Any], ...]]:
    @functools.wraps(original)
    def _get_jax_state(
        self: keras.Model, *, purge_model_variables: bool = False, **wanted: bool
    ) -> tuple[list[Any], ...]:
        state = original(self, purge_model_variables=purge_model_variables, **wanted)
        # A variable that was purged holds its array no more.
        owned = REFERENCES_IN_LIST - purge_model_variables
        for part in state:
            for position in range(len(part)):
                # Keras 3.15 donates the state. Another variable that was assigned this one, or whoever keeps its
                # value, must find it whole after the step. No local name for an array: it would count, too.
                if sys.getrefcount(part[position]) > owned:
                    part[position] = part[position].copy()
        if purge_model_variables:
            # What Keras gives variables back if the first step fails, which else had no values then.
            # Around Keras' own bookkeeping of attributes, which copies lists.
            names = [name for name in _PARTS if wanted.get(name)]
            self.__dict__["_jax_state"] = dict(zip(names, state, strict=True))
        return state

    return _get_jax_state


def _sync_hook(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def jax_state_sync(self: keras.Model) -> None:
        original(self)
        if self._jax_state_synced:
            # The arrays are the variables' again. Keras' loop keeps the lists until its next step and counts as
            # one more who holds them.
            self.__dict__["_jax_state"] = None
            for part in self.__dict__.pop(_LAST, ()):
                if isinstance(part, list):
                    part.clear()

    return jax_state_sync


def _make_hook(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def make_train_function(self: keras.Model, force: bool = False) -> None:
        original(self, force)
        function = self.train_function
        if not hasattr(function, _NOTES):
            self.train_function = _noting(self.__dict__, function)

    return make_train_function


def _noting(noted: dict[str, Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a train function that also notes the state that it returns, for :func:`_sync_hook`."""

    @functools.wraps(function)
    def train_function(state: object, iterator: object) -> Any:
        logs, state = function(state, iterator)
        noted[_LAST] = state
        return logs, state

    setattr(train_function, _NOTES, True)
    return train_function
