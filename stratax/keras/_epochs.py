"""Batches for Keras' loop: whatever `fit` is given, as the steps of a strategy (keras layer)."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import jax
import keras
import numpy as np

from stratax import engine, errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data import Dataset
from stratax.data.foreign import adopt
from stratax.distribute import DistributedDataset, Strategy
from stratax.engine import DatasetPasses, NumberedPasses, StepInput, StepIterator, check_strategy
from stratax.keras import _weighted
from stratax.keras._array_pass import ArrayPasses, NumberedArrayPasses
from stratax.keras._creator import DatasetCreator
from stratax.keras._dense import as_dense, dense_batches
from stratax.seams import keras as seam


class StepAdapter(StepInput, seam.DataAdapter):
    """Input of a strategy, as Keras' loop takes it.

    Args:
        strategy: The strategy.
        dataset: The distributed dataset.
        batches: How many batches an epoch has, or None if unknown.
        inner: Keras' own adapter of the input, notified of the beginning and end of epochs; None for a dataset.
        origin: What the user gave, whose passes can be numbered: a Dataset or arrays; None for other input.
        preparation: What steps take of text; None where there is no text.
    """

    def __init__(
        self,
        strategy: Strategy,
        dataset: DistributedDataset,
        batches: int | None,
        inner: seam.DataAdapter | None = None,
        origin: Dataset | ArrayPasses | None = None,
        preparation: Any = None,
    ) -> None:
        if preparation is not None:
            treedef = preparation.treedef_of(dataset.element_spec)
            dataset = dataset.with_preparation(preparation, treedef, preparation.most_at_once)
        self._preparation = preparation
        super().__init__(strategy, dataset, batches)
        self._inner = inner
        self._structure: Any = None
        self._has_ended = False
        self._origin = origin

    @classmethod
    def of_input(
        cls,
        strategy: Strategy,
        x: PyTree,
        y: PyTree,
        sample_weight: PyTree,
        *,
        batch_size: int | None,
        steps: int | None,
        shuffle: bool,
        class_weight: object,
        preparation: Any = None,
    ) -> "StepAdapter":
        """Make the adapter for what a user gave to `fit`, `evaluate` or `predict`."""
        # Keras' `fit` hands validation data over as an adapter.
        if isinstance(x, StepAdapter):
            return x
        if isinstance(x, DatasetCreator):
            if steps is None:
                raise errors.BadArgumentError(
                    "A DatasetCreator does not say how many batches an epoch has. Expected: steps_per_epoch, or for "
                    "validation data validation_steps. Received: None."
                )
            x = strategy.distribute_datasets_from_function(x.dataset_fn, x.input_options)
        if not isinstance(x, Dataset):
            # Loaders of other libraries as Datasets.
            x = adopt(x)
        if isinstance(x, (Dataset, DistributedDataset)):
            if y is not None or sample_weight is not None:
                raise _weighted.make_targets_error(x)
            return cls._of_dataset(strategy, x, class_weight, preparation)
        inner = seam.data_adapters.get_data_adapter(
            x=x,
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps_per_epoch=steps,
            shuffle=shuffle,
            class_weight=class_weight,
        )
        # Arrays can be gathered in blocks of batches; all else is iterated batch by batch.
        arrays = ArrayPasses(inner) if isinstance(inner, seam.ArrayDataAdapter) else None
        dataset = strategy.extended.input.distribute(arrays or _Passes(inner))
        return cls(strategy, dataset, inner.num_batches, inner, arrays, preparation)

    @classmethod
    def _of_dataset(cls, strategy: Strategy, x: Any, class_weight: Any, preparation: Any) -> "StepAdapter":
        if isinstance(x, DistributedDataset):
            check_strategy(x, strategy)
            if class_weight is not None:
                raise errors.BadArgumentError(
                    "class_weight can't be used with a DistributedDataset. Expected: sample weights as the third "
                    f"component of its elements. Received: class_weight={shown(class_weight)}."
                )
            dataset = x
        else:
            batches = x if class_weight is None else _weighted.WeightedDataset(x, class_weight)
            dataset = strategy.extended.input.distribute(batches)
            # A sparse matrix can't be divided by its rows.
            dataset.convert_composites(as_dense)
        steps = int(dataset.cardinality())
        origin = x if isinstance(x, Dataset) else None
        return cls(strategy, dataset, steps if steps >= 0 else None, origin=origin, preparation=preparation)

    @classmethod
    def of_iterable(cls, batches: list[Any], strategy: Strategy, preparation: Any = None) -> "StepAdapter":
        """Make the adapter for a list of global batches of arrays."""
        # On the host, as all input is before it is divided.
        host = jax.tree.map(np.asarray, batches)
        dataset = strategy.experimental_distribute_dataset(host)
        return cls(strategy, dataset, len(batches), preparation=preparation)

    def number_passes(self, model: keras.Model) -> NumberedPasses | None:
        """Return the numbers of the passes over the input, or None where its passes have none.

        Args:
            model: The model that is trained.
        """
        source = self.dataset.source
        # The passes are those of the Dataset inside.
        source = source.dataset if isinstance(source, _weighted.WeightedDataset) else source
        if isinstance(self._origin, ArrayPasses):
            return NumberedArrayPasses(self._origin, model)
        if not isinstance(source, Dataset):
            return None
        return DatasetPasses(self.strategy, source, source if self._origin is None else self._origin)

    def example(self) -> Any:
        """Return the shapes and dtypes of the first global batch."""
        if self._structure is None:
            # Once: a look at the input may read from it.
            self._structure = self.first_structure()
        return self._structure

    def _look_ahead(self) -> Any:
        if self._is_read_once():
            return super()._look_ahead()
        # A pass of its own, as Keras makes to build a model: shuffling draws as many random numbers, and a PyDataset
        # is notified of its beginning and end.
        self.on_epoch_begin()
        batch = next(dense_batches(self._inner))  # type: ignore[arg-type]
        self.on_epoch_end()
        # Keras notifies of an end before the first epoch, which this look has brought about already.
        self._has_ended = True
        if self._preparation is not None:
            batch = self._preparation.of_batch(batch)
        return jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), batch)

    def _is_read_once(self) -> bool:
        """Return whether a look at the first batch has to be the beginning of the first pass.

        Generators can't be begun anew; datasets may be dear to open; workers that are stopped and started again have
        read ahead, and their batches come in another order.
        """
        inner = self._inner
        if isinstance(inner, seam.PyDatasetAdapter):
            return inner.enqueuer is not None
        return inner is None or self.is_generator

    @property
    def is_generator(self) -> bool:
        """Whether the input is a generator: it can't be begun anew, and others may take elements from it later."""
        return isinstance(self._inner, seam.GeneratorDataAdapter)

    def open(self) -> StepIterator:
        """Begin a pass; of a generator, go on with the one before unless it has ended, as some may be read already."""
        current = self.current
        # What was read ahead of a generator can't be given back to it.
        if self.is_generator and current is not None and not self.has_looked_ahead and current.available(1):
            return current
        return super().open()

    def global_batch_size(self) -> int:
        """Return the size of the first global batch."""
        if self._inner is not None and self._inner.batch_size is not None:
            return int(self._inner.batch_size)
        return int(jax.tree.leaves(self.example())[0].shape[0])

    def last_batch_size(self) -> int | None:
        """Return the size of an epoch's last batch if it is smaller than the others; None if it is not or unknown."""
        return self.partial_batch_size if self.has_partial_batch else None

    # Keras' interface.

    def get_jax_iterator(self) -> StepIterator:
        """Return a pass over the input."""
        return self.open()

    @property
    def num_batches(self) -> int | None:
        """How many batches an epoch has, or None."""
        return self.steps_in_pass

    @property
    def batch_size(self) -> int | None:
        """The global batch size, or None if unknown."""
        return self._inner.batch_size if self._inner is not None else None

    @property
    def has_partial_batch(self) -> bool | None:
        """Whether the last batch is smaller, or None if unknown."""
        return _ask_adapter(self._inner, "has_partial_batch")

    @property
    def partial_batch_size(self) -> int | None:
        """The size of the last batch if it is smaller, or None."""
        return _ask_adapter(self._inner, "partial_batch_size")

    def on_epoch_begin(self) -> None:
        """Begin an epoch; called by Keras' loop."""
        self._has_ended = False
        if self._inner is not None:
            self._inner.on_epoch_begin()

    def on_epoch_end(self) -> None:
        """End an epoch; called by Keras' loop, also before the first one."""
        # The look at the first batch has ended its own epoch.
        ended, self._has_ended = self._has_ended, False
        if self._inner is not None and not self.has_looked_ahead and not ended:
            self._inner.on_epoch_end()


@dataclasses.dataclass(frozen=True, slots=True)
class NoSteps:
    """In the place of a pass: no step is run, as all of the epoch are done.

    Attributes:
        logs: What the last of them logged.
    """

    logs: dict[str, Any]


class EpochIterator(seam.JAXEpochIterator):
    """Keras' epoch iterator, with blocks of true lengths where the input is a strategy's.

    Keras gives callbacks the index of a last batch that may not exist (with 7 batches and `steps_per_execution=3`: 8);
    here the number of steps of a block is known before it is run.
    """

    _num_batches: int | None
    _current_iterator: Any

    def _enumerate_iterator(self) -> Iterator[tuple[int, int, Any]]:
        if not isinstance(self.data_adapter, StepAdapter):
            yield from super()._enumerate_iterator()
            return
        adapter = self.data_adapter
        adapter.on_epoch_begin()
        # Known after the first pass, or from the input's length.
        total = self.steps_per_epoch or self._num_batches
        iterator, step = adapter.begin_epoch(self._current_iterator if self.steps_per_epoch else None)
        self._current_iterator = iterator
        if adapter.is_generator:
            # Only what the epoch takes: Keras takes no more from a generator, either.
            iterator.limit_ahead(math.inf if total is None else total - step)
        if step and (step == total or not iterator.available(1)):
            # A backup was written after an epoch's last step: what follows the steps is still to be done.
            yield step - 1, step - 1, NoSteps(adapter.logs_before)
        is_over = yield from engine.blocks(iterator, done=step, total=total, at_most=self.steps_per_execution)
        if is_over:
            self._end_epoch(adapter.steps_done)
        adapter.on_epoch_end()

    def _end_epoch(self, step: int) -> None:
        # The next epoch begins a pass.
        self._current_iterator = None
        if self.steps_per_epoch:
            self._interrupted_warning()
        elif self._num_batches is None:
            # Keras shows progress against it from the next epoch on.
            self._num_batches = step


def _ask_adapter(adapter: seam.DataAdapter | None, name: str) -> Any:
    """Return what a Keras adapter knows of its input, or None; those of generators raise where they know nothing."""
    try:
        return None if adapter is None else getattr(adapter, name)
    except NotImplementedError:
        return None


class _Passes:
    """A Keras data adapter of other input than arrays as something to iterate several times."""

    def __init__(self, adapter: seam.DataAdapter) -> None:
        self._adapter = adapter

    def __iter__(self) -> Iterator[Any]:
        return dense_batches(self._adapter)

    def __len__(self) -> int:
        batches = self._adapter.num_batches
        if batches is None:
            raise TypeError("the number of batches is unknown")
        return batches

    def __repr__(self) -> str:
        return f"<input of {type(self._adapter).__name__}>"


def install() -> None:
    """Give Keras' loop the epoch iterator that knows strategies' input."""
    path = "keras.src.backend.jax.trainer:JAXEpochIterator"
    seam.install("stratax.keras", {path: lambda _: EpochIterator})
