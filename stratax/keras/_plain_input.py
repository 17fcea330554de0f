"""Datasets in Keras' own loop, for models that have no strategy (keras layer)."""

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import keras
import numpy as np
from keras import tree

from stratax import errors
from stratax.base import tracebacks
from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data import Dataset
from stratax.distribute import DistributedDataset
from stratax.distribute.replicas import is_default
from stratax.keras import _weighted
from stratax.keras._dense import dense_arrays
from stratax.seams import keras as seam


class DatasetAdapter(seam.DataAdapter):
    """A Dataset of batches as Keras takes it: a new pass for every epoch, batches on the host.

    Args:
        dataset: A `Dataset`, or a `DistributedDataset` of the default strategy.
        class_weight: See `keras.Model.fit`.
    """

    def __init__(self, dataset: Any, class_weight: dict[int, float] | None = None) -> None:
        self._dataset = dataset if class_weight is None else _weighted.WeightedDataset(dataset, class_weight)

    def get_numpy_iterator(self) -> Iterator[Any]:
        """Return the batches of a pass, of NumPy arrays."""
        for batch in self._dataset:
            # Without None as a leaf: a batch without sample weights has None in their place.
            yield tree.map_structure(np.asarray, dense_arrays(batch), none_is_leaf=False)

    def get_jax_iterator(self) -> Iterator[Any]:
        """Return the batches of a pass.

        Raises:
            DataError: If there are none. Keras would let a `StopIteration` out of `fit`.
        """
        # Keras would end the epoch without a word, and fail later.
        is_empty = True
        for batch in self._dataset:
            is_empty = False
            yield tree.map_structure(_as_on_device, dense_arrays(batch), none_is_leaf=False)
        if is_empty:
            raise errors.DataError(
                f"The input has no batches. Expected: at least one. Received: {shown(self._dataset)}."
            )

    @property
    def num_batches(self) -> int | None:
        """How many batches a pass has, or None if that is unknown or there is no end."""
        batches = int(self._dataset.cardinality())
        return batches if batches >= 0 else None

    @property
    def batch_size(self) -> int | None:
        """None: a Dataset does not say how large its batches are."""
        return None

    @property
    def has_partial_batch(self) -> bool | None:
        """None: whether the last batch is smaller is seen when it comes."""
        return None

    @property
    def partial_batch_size(self) -> int | None:
        """The size of the last batch: None, for the same reason."""
        return None


def _as_on_device(leaf: Any) -> Any:
    """Return numbers of the host with the dtype that a device has for them: of others JAX 0.11 warns at each `fit`."""
    if not isinstance(leaf, np.ndarray) or leaf.dtype.kind not in "iufc":
        return leaf
    return leaf.astype(jax.dtypes.canonicalize_dtype(leaf.dtype), copy=False)


def warn_of_lost_position(callbacks: object, x: PyTree) -> None:
    """Warn that a backup within an epoch holds no position in the input of a model that has no strategy.

    Args:
        callbacks: What `fit` is given.
        x: The input likewise.
    """
    if not isinstance(x, (Dataset, DistributedDataset)) or not isinstance(callbacks, (list, tuple)):
        return
    for callback in callbacks:
        if isinstance(callback, keras.callbacks.BackupAndRestore) and callback.save_freq != "epoch":
            warnings.warn(
                f"BackupAndRestore(save_freq={shown(callback.save_freq)}) saves no position in the input of a model "
                "without a strategy: a resumed run begins its epoch anew, with the weights from the middle of it. "
                "Create the model in a scope, `OneDeviceStrategy` for one device, to go on with the next batch, or "
                "save at epochs.",
                RuntimeWarning,
                stacklevel=stack_level(),
            )


def install() -> None:
    """Have Keras take Datasets wherever it takes input."""
    seam.install("stratax.keras", {"keras.src.trainers.data_adapters:get_data_adapter": _hook})


def _hook(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def get_data_adapter(
        x: Any,
        y: PyTree = None,
        sample_weight: PyTree = None,
        *args: object,
        class_weight: Any = None,
        **kwargs: object,
    ) -> Any:
        if not isinstance(x, (Dataset, DistributedDataset)):
            return original(x, y, sample_weight, *args, class_weight=class_weight, **kwargs)
        if y is not None or sample_weight is not None:
            raise _weighted.make_targets_error(x)
        # Its elements are values of replicas, which Keras' own loop can't compute with.
        if isinstance(x, DistributedDataset) and not is_default(x.strategy):
            raise errors.StrategyError(
                "A dataset that a strategy has distributed was given to a model that has none. Expected: the Dataset "
                f"itself, or a model of that strategy. Received: a dataset of {shown(x.strategy)}. Build and compile "
                "the model in `with strategy.scope():`, or give `fit` the Dataset."
            )
        return DatasetAdapter(x, class_weight)

    return tracebacks.shortened(get_data_adapter)
