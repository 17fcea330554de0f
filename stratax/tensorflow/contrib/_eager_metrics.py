"""`tf.contrib.eager.metrics`: means that are called with batches."""

from typing import Any

import jax.numpy as jnp
import keras

from stratax import errors
from stratax.tensorflow.ops.calls.creation import on_device


class _Measured(keras.metrics.Mean):
    """What all of them have in common.

    Args:
        name: Its name.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch, and return what was given.

        Args:
            *args: What the metric measures.
            **kwargs: Likewise.
        """
        self.update_state(*args, **kwargs)
        return args[0] if len(args) == 1 else args

    def init_variables(self) -> None:
        """Forget all batches."""
        self.reset_state()

    def _add(self, values: object, weights: object) -> None:
        keras.metrics.Mean.update_state(
            self, on_device(values), None if weights is None else on_device(weights)
        )


class Mean(_Measured):
    """The weighted mean of values, as `tf.contrib.eager.metrics.Mean`.

    Args:
        name: Its name.
        dtype: Ignored.
        use_global_variables: Ignored.
    """

    def __init__(
        self, name: str | None = None, dtype: object = None, use_global_variables: bool = False
    ) -> None:
        super().__init__(name=name or "mean")

    def update_state(self, values: object, weights: object = None) -> None:
        """Take the values of one more batch into account.

        Args:
            values: The values.
            weights: Their weights; None for 1.
        """
        self._add(values, weights)


class Accuracy(_Measured):
    """How often predictions are the labels, as `tf.contrib.eager.metrics.Accuracy`.

    Args:
        name: Its name.
        dtype: Ignored.
    """

    def __init__(self, name: str | None = None, dtype: object = None) -> None:
        super().__init__(name=name or "accuracy")

    def update_state(self, labels: Any, predictions: Any, weights: Any = None) -> None:
        """Take the values of one more batch into account.

        Args:
            labels: The truth.
            predictions: Of the labels' shape.
            weights: The examples' weights; None for 1.

        Raises:
            BadArgumentError: If shapes differ.
        """
        labels, predictions = on_device(labels), on_device(predictions)
        if labels.shape != predictions.shape:
            raise errors.BadArgumentError(
                f"Shapes of labels and predictions are unequal. Received: {labels.shape} and {predictions.shape}."
            )
        self._add((labels == predictions).astype(jnp.float32), weights)


class CategoricalAccuracy(Accuracy):
    """How often the largest prediction is that of the label, as `tf.contrib.eager.metrics.CategoricalAccuracy`."""

    def update_state(self, labels: object, predictions: object, weights: object = None) -> None:
        super().update_state(
            jnp.argmax(on_device(labels), -1), jnp.argmax(on_device(predictions), -1), weights
        )


class SparseAccuracy(Accuracy):
    """How often the largest prediction is the label's, a number, as `tf.contrib.eager.metrics.SparseAccuracy`."""

    def update_state(self, labels: object, predictions: object, weights: object = None) -> None:
        chosen = jnp.argmax(on_device(predictions), -1)
        super().update_state(on_device(labels).astype(chosen.dtype), chosen, weights)


class BinaryAccuracy(Accuracy):
    """How often a prediction is on the label's side of a threshold, as `tf.contrib.eager.metrics.BinaryAccuracy`.

    Args:
        threshold: From which a prediction is positive, beyond it.
        name: Its name.
        dtype: Ignored.
    """

    def __init__(self, threshold: float, name: str | None = None, dtype: object = None) -> None:
        super().__init__(name=name or "binary_accuracy")
        self._threshold = threshold

    def update_state(self, labels: object, predictions: object, weights: object = None) -> None:
        chosen = on_device(predictions) > self._threshold
        super().update_state(on_device(labels).astype(bool), chosen, weights)
