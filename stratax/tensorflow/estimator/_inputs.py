"""What an `input_fn` returns, as the input of steps (estimator layer)."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.data import Dataset, DatasetIterator
from stratax.data.dataset import OneShotIterator, dataset_of_parts
from stratax.distribute import DistributedDataset, InputContext, Strategy
from stratax.distribute.input import PreparedDataset, WholeBatches
from stratax.engine import StepInput
from stratax.tensorflow.estimator import _layout

if TYPE_CHECKING:
    from stratax.tensorflow.estimator._model import EstimatorModel


_OF_PYTHON = (bool, int, float, str, bytes)
_TENSORS = (jax.Array, np.ndarray, np.generic, list, *_OF_PYTHON)


class ModelInput:
    """The input of a model, whose features of strings are prepared on the host as the model needs them.

    Args:
        strategy: The strategy.
        preparation: The dataset, whose elements will be prepared.
        steps: Its steps.
        replicas_in_element: Of how many replicas an element of the dataset has the examples.

    Attributes:
        steps: The steps.
    """

    def __init__(
        self, strategy: Strategy, preparation: PreparedDataset, steps: StepInput, replicas_in_element: int = 1
    ) -> None:
        self.steps = steps
        self._strategy = strategy
        self._preparation = preparation
        self._replicas_in_element = replicas_in_element

    def build(self, model: "EstimatorModel", *, may_be_empty: bool = False) -> bool:
        """Trace a model in advance, with the first batch; steps are prepared as it asked for.

        Args:
            model: The model.
            may_be_empty: Whether an input without batches is right; then nothing is traced.

        Returns:
            Whether there are batches.

        Raises:
            DataError: The input has no batches, or the first one can't be read.
        """
        # Nothing is read ahead yet: the pass is only opened.
        self.steps.open_ahead()
        element, is_empty = self._first()
        if is_empty:
            if may_be_empty:
                return False
            raise errors.DataError(
                "The input has no batches. Expected: at least one. Received: "
                f"{shown(self._preparation.dataset)} from input_fn. Look at what it reads and filters, and whether "
                "batch(..., drop_remainder=True) leaves one."
            )
        model.build(_layout.first_rows(element, self._replicas_in_element))
        if model.prepares:
            model.choose_packing(element, getattr(self._preparation.dataset, "element_spec", None))
            self._preparation.prepare_by(model.prepare_batches, element)
        return True

    def _first(self) -> tuple[Any, bool]:
        """Return the first element of the input, in all workers, and whether there is none in any.

        A worker without batches gets one of the input's structure.
        """
        element, failure = None, None
        try:
            element = self._preparation.first()
        except StopIteration:
            spec = getattr(self._preparation.dataset, "element_spec", None)
            element = None if spec is None else _layout.example_of(spec)
            state = "none"
        except Exception as error:  # The others are told before it is raised.
            failure, state = error, f"{type(error).__name__}: {error}"
        else:
            state = ""
        found = [
            json.loads(text) for text in self._strategy.extended.membership.gather(json.dumps(state).encode())
        ]
        if failure is not None:
            raise failure
        for index, other in enumerate(found):
            if other not in ("", "none"):
                raise errors.DataError(
                    f"The input of worker {index} failed, so no worker can go on. Received from it: {other}. Its own "
                    "log has the traceback."
                )
        return element, all(found)

    def __enter__(self) -> "ModelInput":
        return self

    def __exit__(self, *raised: object) -> None:
        self.steps.__exit__(*raised)


def make_distributed(strategy: Strategy, make: Callable[[InputContext], Any]) -> ModelInput:
    """Make the input of a strategy whose replicas take one of the input's batches each.

    Args:
        strategy: The strategy.
        make: Calls the `input_fn`, once for each worker.
    """
    found: list[PreparedDataset] = []

    def prepare(context: InputContext) -> PreparedDataset:
        found.append(PreparedDataset(as_dataset(make(context))))
        return found[0]

    dataset = strategy.distribute_datasets_from_function(prepare)
    return ModelInput(strategy, found[0], StepInput.of_dataset(strategy, dataset))


def in_order(strategy: Strategy, make: Callable[[InputContext], Any]) -> ModelInput:
    """Make the input of a strategy in one process, whose steps give the input's batches as they are, in their order.

    Args:
        strategy: The strategy.
        make: Calls the `input_fn`.
    """
    replicas = strategy.num_replicas_in_sync
    context = InputContext(num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=replicas)
    preparation = PreparedDataset(as_dataset(make(context)))
    dataset = DistributedDataset(strategy, WholeBatches(preparation, replicas))
    return ModelInput(strategy, preparation, StepInput.of_dataset(strategy, dataset))


def make_divided(strategy: Strategy, dataset: Dataset) -> ModelInput:
    """Make the input of a strategy among whose replicas each batch is divided.

    Args:
        strategy: The strategy.
        dataset: The dataset.
    """
    preparation = PreparedDataset(dataset)
    steps = StepInput.of_dataset(strategy, preparation)
    return ModelInput(strategy, preparation, steps, strategy.num_replicas_in_sync)


def as_dataset(given: object) -> Dataset:
    """Return what an `input_fn` gave as a Dataset of batches.

    Args:
        given: A Dataset, an iterator of one, what the iterator's `get_next` gave in an `input_fn`, or tensors: one
            batch, which every step takes.

    Raises:
        BadTypeError: If it is none of these.
    """
    if isinstance(given, Dataset):
        return given
    if isinstance(given, OneShotIterator):
        return given.dataset
    if isinstance(given, DatasetIterator):
        # From where it is; it can't be begun anew.
        return Dataset.from_generator(lambda: given, output_signature=given.element_spec)
    of_parts = dataset_of_parts(given)
    if of_parts is not None:
        return of_parts
    # Text alone, a path most likely, is no batch, and nothing a forgotten `return`.
    if not isinstance(given, str | bytes | None):
        tensors = _as_tensors(given, is_pair=isinstance(given, list | tuple))
        if all(isinstance(leaf, _TENSORS) for leaf in jax.tree.leaves(tensors)):
            return Dataset.from_tensors(tensors if jax.tree.leaves(tensors) else _layout.EMPTY).repeat()
    raise errors.BadTypeError(
        "input_fn must return a Dataset of (features, labels), or these tensors themselves. "
        f"Received: {shown(given)}."
    )


class _Number(int):
    """A whole number as the key of a feature beside others that are text: the order of both is known."""

    def __lt__(self, other: Any) -> bool:
        return isinstance(other, str) or int(self) < other

    def __gt__(self, other: Any) -> bool:
        return not isinstance(other, str) and int(self) > other

    __eq__, __hash__ = int.__eq__, int.__hash__


def _as_tensors(given: object, *, is_pair: bool = False) -> Any:
    """Return tensors, in a structure of dicts and tuples; nested numbers and texts of Python are tensors, too.

    Args:
        given: What an `input_fn` returned, or a part of it.
        is_pair: Whether a tuple or list is one of features and labels.
    """
    if isinstance(given, Mapping):
        is_mixed = len({isinstance(key, str) for key in given}) > 1
        return {
            _Number(key) if is_mixed and isinstance(key, int) else key: _as_tensors(value)
            for key, value in given.items()
        }
    if not isinstance(given, list | tuple) or hasattr(given, "_fields"):
        return given
    if not is_pair and given and _is_of_python(given):
        return _as_lists(given)
    return tuple(_as_tensors(each) for each in given)


def _is_of_python(value: object) -> bool:
    return (
        all(map(_is_of_python, value)) if isinstance(value, list | tuple) else isinstance(value, _OF_PYTHON)
    )


def _as_lists(given: object) -> Any:
    return [_as_lists(each) for each in given] if isinstance(given, list | tuple) else given
