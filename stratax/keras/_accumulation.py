"""What `fit` does at its end about gradients that were accumulated and not applied (keras layer)."""

from typing import Any

import keras

from stratax.core import Function
from stratax.distribute import Strategy, keras_hooks
from stratax.distribute.replicas import enter_contexts
from stratax.seams import keras as seam


class FlushAccumulatedGradients(keras.callbacks.Callback):
    """Applies the gradients of an unfinished window when training ends.

    Args:
        strategy: The model's strategy.
    """

    def __init__(self, strategy: Strategy) -> None:
        super().__init__()
        self._strategy = strategy

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Flush gradients at the end; called by Keras' loop before the callbacks of the user."""
        optimizer = self.model.optimizer
        steps = getattr(optimizer, "gradient_accumulation_steps", None)
        # A window that is complete has been applied.
        if not steps or not optimizer.built or int(optimizer._iterations) % steps == 0:
            return

        def flush() -> None:
            # Only what shapes the program; the optimizer's variables carry the rest.
            self._strategy.extended.place_program()
            with keras_hooks.applying(optimizer):
                keras_hooks.flush(optimizer, _KERAS_APPLY)

        with enter_contexts(self._strategy, None):
            Function(flush, autograph=False)()


_KERAS_APPLY = seam.original("keras.src.optimizers.base_optimizer:BaseOptimizer.apply")
