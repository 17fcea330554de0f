"""`DatasetCreator`: input of `fit` that each input pipeline makes for itself (keras layer)."""

from collections.abc import Callable
from typing import Any

from stratax.base.shown import shown
from stratax.errors import BadTypeError


class DatasetCreator:
    """A function that makes a dataset, as `x` of `fit`: called for each input pipeline with an `InputContext`.

    Follows `tf.keras.utils.experimental.DatasetCreator` of Keras 2. `fit` has to be given `steps_per_epoch`. Under a
    `ParameterServerStrategy` each worker calls the function, which is pickled by cloudpickle, and reads its own
    batches; `validation_data` is read by the chief.

    Args:
        dataset_fn: Takes an `InputContext`; returns a dataset of batches of one replica.
        input_options: A `stratax.distribute.InputOptions`, or None.

    Raises:
        BadTypeError: If `dataset_fn` is not callable.
    """

    def __init__(self, dataset_fn: Callable[[Any], Any], input_options: object = None) -> None:
        if not callable(dataset_fn):
            raise BadTypeError(
                "DatasetCreator expects a function that takes an InputContext and returns a dataset. Received: "
                f"dataset_fn={shown(dataset_fn)}."
            )
        self.dataset_fn = dataset_fn
        self.input_options = input_options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the function returns."""
        return self.dataset_fn(*args, **kwargs)
