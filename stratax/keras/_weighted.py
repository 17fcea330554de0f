"""What goes with a dataset that is given to Keras beside its elements: class weights, and no targets (keras layer)."""

from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.iteration import DatasetIterator, Stacks
from stratax.keras._dense import dense_arrays
from stratax.seams.keras import data_adapter_utils


class WeightedDataset:
    """A dataset of `(x, y)` with the weights of its classes as sample weights.

    Args:
        dataset: The dataset.
        class_weight: The weight of each class.
    """

    def __init__(self, dataset: Any, class_weight: dict[int, float]) -> None:
        self.dataset = dataset
        self._class_weight = class_weight

    def __iter__(self) -> "WeightedIterator":
        return WeightedIterator(iter(self.dataset), self._class_weight)

    def cardinality(self) -> int:
        """See `stratax.data.Dataset.cardinality`."""
        return int(self.dataset.cardinality())


class WeightedIterator(Stacks):
    """One pass over a :class:`WeightedDataset`, with the position of the dataset's own.

    Args:
        iterator: That of the dataset.
        class_weight: The weight of each class.
    """

    def __init__(self, iterator: DatasetIterator, class_weight: dict[int, float]) -> None:
        self._iterator = iterator
        self._class_weight = class_weight

    def __iter__(self) -> "WeightedIterator":
        return self

    def __next__(self) -> Any:
        batch = dense_arrays(next(self._iterator))
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(batch)
        if sample_weight is not None:
            raise errors.BadArgumentError(
                "class_weight can't be used with a dataset whose elements have sample weights. Received: "
                f"class_weight={shown(self._class_weight)}. Leave out one of them."
            )
        # By Keras' own function, which knows one-hot and integer targets.
        weights = data_adapter_utils.class_weight_to_sample_weights(y, self._class_weight)
        return x, y, np.asarray(weights)

    def next_block(self, k: int) -> tuple[Any, int]:
        """Return the next element, with a leading dimension of 1."""
        # Blocks of one: weights are computed batch by batch.
        return jax.tree.map(lambda leaf: np.asarray(leaf)[None], next(self)), 1

    def get_state(self) -> dict[str, Any]:
        return self._iterator.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        self._iterator.set_state(state)

    def close(self) -> None:
        self._iterator.close()


def make_targets_error(x: PyTree) -> errors.BadArgumentError:
    """Return the error where targets or weights are given beside a dataset."""
    return errors.BadArgumentError(
        "y and sample_weight can't be given with a dataset. Expected: a dataset whose elements are (x, y) or "
        f"(x, y, sample_weight). Received: x={shown(x)} together with y or sample_weight."
    )
