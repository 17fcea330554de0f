"""What an `input_fn` returns, as the input of steps (estimator layer)."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax._shown import shown
from stratax.data import Dataset
from stratax.distribute import InputContext, Strategy
from stratax.engine import StepInput


def distributed(strategy: Strategy, make: Callable[[InputContext], Any]) -> StepInput:
    """Make the input of a strategy whose replicas take one of the input's batches each.

    Args:
        strategy: The strategy.
        make: Calls the `input_fn`, once for each worker.
    """
    dataset = strategy.distribute_datasets_from_function(lambda context: as_dataset(make(context)))
    return StepInput.of_dataset(strategy, dataset)


def as_dataset(given: Any) -> Dataset:
    """Return what an `input_fn` gave as a Dataset of batches.

    Args:
        given: A Dataset, an iterator of one, or tensors: one batch, which every step takes.

    Raises:
        BadTypeError: If it is none of these.
    """
    if isinstance(given, Dataset):
        return given
    leaves = jax.tree.leaves(given)
    if leaves and all(isinstance(leaf, jax.Array | np.ndarray | np.generic | int | float) for leaf in leaves):
        return Dataset.from_tensors(jax.tree.map(np.asarray, given)).repeat()
    raise errors.BadTypeError(
        "input_fn must return a Dataset of (features, labels), or these tensors themselves. "
        f"Received: {shown(given)}."
    )


def features_and_labels(element: Any) -> tuple[Any, Any]:
    """Divide an element of the input, as TensorFlow does.

    Raises:
        BadArgumentError: If it is a tuple of another length than 2.
    """
    if not isinstance(element, list | tuple):
        return element, None
    if len(element) != 2:
        raise errors.BadArgumentError(
            f"input_fn must give features, or pairs of features and labels. Received: a tuple of {len(element)}. Put "
            "several tensors into a dict."
        )
    return element[0], element[1]
