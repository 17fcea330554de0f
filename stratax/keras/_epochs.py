"""Batches for Keras' loop: whatever `fit` is given, as the steps of a strategy (keras layer)."""

import time
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import numpy as np
from keras.src.backend.jax import trainer as keras_trainer
from keras.src.backend.jax.trainer import JAXEpochIterator
from keras.src.trainers import data_adapters
from keras.src.trainers.data_adapters import data_adapter, data_adapter_utils
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.data_adapters.generator_data_adapter import GeneratorDataAdapter
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter

from stratax import errors
from stratax.core import OutOfRangeError
from stratax.data import Dataset
from stratax.data._as_dataset import adopted
from stratax.distribute import DistributedDataset, DistributedIterator, Strategy
from stratax.keras import _array_pass


class StepIterator:
    """One pass over the input, in blocks of steps that one program runs.

    Args:
        iterator: The distributed iterator.
    """

    def __init__(self, iterator: DistributedIterator) -> None:
        self._iterator = iterator
        self._pending = 0

    def available(self, count: int) -> int:
        """How many of the next `count` steps one program can run: those of one shape. 0 at the end."""
        try:
            self._pending = self._iterator.peek_runs(0, count)[0][1]
        except OutOfRangeError:
            left = self._iterator.steps_ready
            self._pending = self._iterator.peek_runs(0, left)[0][1] if left else 0
        return self._pending

    def take_pending(self) -> tuple[int, Any]:
        """Takes the steps that :meth:`available` found: how many, and their batches (stacked if there are several)."""
        count = self._pending
        if count == 1:
            return 1, self._iterator.take()
        return count, self._iterator.take_block(count, count)

    @property
    def wait_seconds(self) -> float:
        """How long the program has waited for this pass's input, in seconds."""
        return self._iterator.input_wait_seconds

    def first_batch(self) -> Any:
        """The shapes and dtypes of the next global batch, as `jax.ShapeDtypeStruct`."""
        return self._iterator.global_structure()

    def close(self) -> None:
        """Ends the pass."""
        self._iterator.close()


class StepAdapter(data_adapter.DataAdapter):
    """Input of a strategy, as Keras' loop takes it.

    Args:
        strategy: The strategy.
        dataset: The distributed dataset.
        batches: How many batches an epoch has, or None if unknown.
        inner: Keras' own adapter of the input, told of the beginning and end of epochs; None for a dataset.
    """

    def __init__(
        self,
        strategy: Strategy,
        dataset: DistributedDataset,
        batches: int | None,
        inner: data_adapter.DataAdapter | None = None,
    ) -> None:
        self.strategy = strategy
        self.dataset = dataset
        self._batches = batches
        self._inner = inner
        self._next: StepIterator | None = None
        self._structure: Any = None
        self._has_ended = False
        self._opened: list[StepIterator] = []
        self._waited = 0.0
        self._started = time.perf_counter()

    @classmethod
    def of_input(
        cls,
        strategy: Strategy,
        x: Any,
        y: Any,
        sample_weight: Any,
        *,
        batch_size: int | None,
        steps: int | None,
        shuffle: bool,
        class_weight: Any,
    ) -> "StepAdapter":
        """The adapter for what a user gave to `fit`, `evaluate` or `predict`."""
        if isinstance(x, StepAdapter):
            return x
        x = adopted(x)
        if isinstance(x, (Dataset, DistributedDataset)):
            _refuse_targets(x, y, sample_weight)
            return cls._of_dataset(strategy, x, class_weight)
        inner = data_adapters.get_data_adapter(
            x=x,
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps_per_epoch=steps,
            shuffle=shuffle,
            class_weight=class_weight,
        )
        source = strategy.extended.source_of_batches(_Passes(inner))
        return cls(strategy, DistributedDataset(strategy, source), inner.num_batches, inner)

    @classmethod
    def _of_dataset(cls, strategy: Strategy, x: Any, class_weight: Any) -> "StepAdapter":
        if isinstance(x, DistributedDataset):
            if x.strategy is not strategy:
                raise errors.StrategyError(
                    "A dataset that was distributed by one strategy was given to a model of another. Received: a "
                    f"dataset of {x.strategy!r} for a model of {strategy!r}. Distribute it with the model's strategy."
                )
            if class_weight is not None:
                raise errors.BadArgumentError(
                    "class_weight can't be used with a DistributedDataset. Expected: sample weights as the third "
                    f"component of its elements. Received: class_weight={class_weight!r}."
                )
            dataset = x
        else:
            batches = x if class_weight is None else _Weighted(x, class_weight)
            dataset = strategy.experimental_distribute_dataset(batches)
        steps = dataset.cardinality()
        return cls(strategy, dataset, steps if steps >= 0 else None)

    @classmethod
    def of_iterable(cls, batches: list[Any], strategy: Strategy) -> "StepAdapter":
        """The adapter for a list of global batches of arrays."""
        host = jax.tree.map(np.asarray, batches)
        return cls(strategy, strategy.experimental_distribute_dataset(host), len(batches))

    def open(self) -> StepIterator:
        """Begins a pass; the one that :meth:`example` looked into, if it has not begun."""
        iterator, self._next = self._next or StepIterator(iter(self.dataset)), None
        self._close_passes()
        self._opened.append(iterator)
        return iterator

    def example(self) -> Any:
        """The shapes and dtypes of the first global batch."""
        if self._structure is None:
            try:
                self._structure = self._first_structure()
            except (OutOfRangeError, StopIteration):
                raise errors.DataError(
                    f"The input has no batches. Expected: at least one. Received: {self.dataset!r}."
                ) from None
        return self._structure

    def _first_structure(self) -> Any:
        if self._is_read_once():
            if self._next is None:
                self._next = StepIterator(iter(self.dataset))
            return self._next.first_batch()
        # A pass of its own, as Keras makes to build a model: shuffling draws as many random numbers, and a PyDataset
        # is told of its beginning and end.
        self.on_epoch_begin()
        batch = next(iter(self._inner.get_numpy_iterator()))  # type: ignore[union-attr]
        self.on_epoch_end()
        self._has_ended = True
        return jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), batch)

    def _is_read_once(self) -> bool:
        """Whether a look at the first batch has to be the beginning of the first pass.

        Generators can't be begun anew; datasets may be dear to open; workers that are stopped and started again have
        read ahead, and their batches come in another order.
        """
        inner = self._inner
        if isinstance(inner, PyDatasetAdapter):
            return inner.enqueuer is not None
        return inner is None or isinstance(inner, GeneratorDataAdapter)

    def global_batch_size(self) -> int:
        """The size of the first global batch."""
        if self._inner is not None and self._inner.batch_size is not None:
            return int(self._inner.batch_size)
        return int(jax.tree.leaves(self.example())[0].shape[0])

    def last_batch_size(self) -> int | None:
        """The size of an epoch's last batch if it is smaller than the others, or None if it is not or unknown."""
        return self.partial_batch_size if self.has_partial_batch else None

    def wait_share(self) -> float:
        """The share of the time since this adapter was made that was spent waiting for input, 0 to 1."""
        return self.wait_seconds() / max(time.perf_counter() - self._started, 1e-9)

    def wait_seconds(self) -> float:
        """How long the program has waited for input, in seconds."""
        return self._waited + sum(iterator.wait_seconds for iterator in self._opened)

    def _close_passes(self) -> None:
        for iterator in self._opened:
            self._waited += iterator.wait_seconds
            iterator.close()
        self._opened.clear()

    def __enter__(self) -> "StepAdapter":
        return self

    def __exit__(self, *_: object) -> None:
        for iterator in [*self._opened, *([self._next] if self._next else [])]:
            iterator.close()

    # Keras' interface.

    def get_jax_iterator(self) -> StepIterator:
        """A pass over the input."""
        return self.open()

    @property
    def num_batches(self) -> int | None:
        """How many batches an epoch has, or None."""
        return self._batches

    @property
    def batch_size(self) -> int | None:
        """The global batch size, or None if unknown."""
        return self._inner.batch_size if self._inner is not None else None

    @property
    def has_partial_batch(self) -> bool | None:
        """Whether the last batch is smaller, or None if unknown."""
        return _known(self._inner, "has_partial_batch")

    @property
    def partial_batch_size(self) -> int | None:
        """The size of the last batch if it is smaller, or None."""
        return _known(self._inner, "partial_batch_size")

    def on_epoch_begin(self) -> None:
        """Told by Keras' loop."""
        self._has_ended = False
        if self._inner is not None:
            self._inner.on_epoch_begin()

    def on_epoch_end(self) -> None:
        """Told by Keras' loop, also before the first epoch."""
        ended, self._has_ended = self._has_ended, False
        if self._inner is not None and self._next is None and not ended:
            self._inner.on_epoch_end()


class EpochIterator(JAXEpochIterator):
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
        total = self.steps_per_epoch or self._num_batches
        iterator = self._current_iterator if self.steps_per_epoch else None
        if iterator is None or not iterator.available(1):
            iterator = adapter.open()
        self._current_iterator = iterator
        step = 0
        while total is None or step < total:
            wanted = (
                self.steps_per_execution if total is None else min(self.steps_per_execution, total - step)
            )
            steps = iterator.available(wanted)
            if not steps:
                self._ended(step)
                break
            yield step, step + steps - 1, iterator
            step += steps
        adapter.on_epoch_end()

    def _ended(self, step: int) -> None:
        self._current_iterator = None
        if self.steps_per_epoch:
            self._interrupted_warning()
        elif self._num_batches is None:
            self._num_batches = step


def _known(adapter: data_adapter.DataAdapter | None, name: str) -> Any:
    """What a Keras adapter knows of its input, or None; those of generators raise where they know nothing."""
    try:
        return None if adapter is None else getattr(adapter, name)
    except NotImplementedError:
        return None


class _Passes:
    """A Keras data adapter as something to iterate several times."""

    def __init__(self, adapter: data_adapter.DataAdapter) -> None:
        self._adapter = adapter

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self._adapter, ArrayDataAdapter):
            return _array_pass.ArrayPass(self._adapter)
        return iter(self._adapter.get_numpy_iterator())

    def __len__(self) -> int:
        batches = self._adapter.num_batches
        if batches is None:
            raise TypeError("the number of batches is unknown")
        return batches

    def __repr__(self) -> str:
        return f"<input of {type(self._adapter).__name__}>"


class _Weighted:
    """A dataset of `(x, y)` with the weights of its classes as sample weights."""

    def __init__(self, dataset: Iterable[Any], class_weight: dict[int, float]) -> None:
        self._dataset = dataset
        self._class_weight = class_weight

    def __iter__(self) -> Iterator[Any]:
        for element in self._dataset:
            x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(element)
            if sample_weight is not None:
                raise errors.BadArgumentError(
                    "class_weight can't be used with a dataset whose elements have sample weights. Received: "
                    f"class_weight={self._class_weight!r}. Leave out one of them."
                )
            weights = data_adapter_utils.class_weight_to_sample_weights(y, self._class_weight)
            yield x, y, np.asarray(weights)

    def cardinality(self) -> int:
        """As the dataset says."""
        return int(self._dataset.cardinality())  # type: ignore[attr-defined]


def _refuse_targets(x: Any, y: Any, sample_weight: Any) -> None:
    if y is not None or sample_weight is not None:
        raise errors.BadArgumentError(
            "y and sample_weight can't be given with a dataset. Expected: a dataset whose elements are (x, y) or "
            f"(x, y, sample_weight). Received: x={x!r} together with y or sample_weight."
        )


def install() -> None:
    """Gives Keras' loop the epoch iterator that knows strategies' input, once."""
    keras_trainer.JAXEpochIterator = EpochIterator
