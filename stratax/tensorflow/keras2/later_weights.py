"""Weights that are loaded before a model has any: they wait for its layers, as TensorFlow's do (keras2 layer)."""

from collections.abc import Callable
from typing import Any

import keras

from stratax.checkpoint import saving
from stratax.core import host
from stratax.errors import RestoreError
from stratax.seams.keras import in_stateless_scope
from stratax.tensorflow.checkpoints import conversion


class LaterWeights(conversion.WeightsStatus):
    """What `Model.load_weights` returns of a model that is built by its first call: values wait for that.

    Args:
        model: The model.
        load: Loads its weights; what it returns says what was left.
    """

    def __init__(self, model: keras.Model, load: Callable[[], Any]) -> None:
        super().__init__([])
        self._model = model
        self._load = load
        saving.wait_for_layers(self)

    def settle(self) -> bool:
        """Load the weights if the model has any by now; return whether it had."""
        if not self._model.built or in_stateless_scope():
            return False
        host.forget(self)
        try:
            self._load()
        except Exception:
            if all(layer.built for layer in self._model._flatten_layers()):
                raise
            # A layer that is built when it is called has none yet.
            host.wait(self)
            return False
        return True

    def assert_consumed(self) -> "LaterWeights":
        """Check that the model has its weights.

        Raises:
            RestoreError: If it is not built yet.
        """
        if any(values is self for values in host.waiting()):
            raise RestoreError(
                "The model has no weights yet that values could be given to. Expected: assert_consumed() behind its "
                "first call. Received: a model that is not built."
            )
        return self

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed
