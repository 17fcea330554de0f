"""Batches for Keras' loop: whatever `fit` is given, as the steps of a strategy (keras layer)."""

import time
from collections.abc import Iterator
from typing import Any

import jax
import keras
import numpy as np
from keras.src.backend.jax import trainer as keras_trainer
from keras.src.backend.jax.trainer import JAXEpochIterator
from keras.src.trainers import data_adapters
from keras.src.trainers.data_adapters import data_adapter
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.data_adapters.generator_data_adapter import GeneratorDataAdapter
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter

from stratax import errors
from stratax._shown import shown
from stratax.core import OutOfRangeError
from stratax.data import Dataset
from stratax.data._as_dataset import adopted
from stratax.distribute import DistributedDataset, Strategy
from stratax.keras import _weighted
from stratax.keras._array_pass import ArrayPasses
from stratax.keras._dense import dense_batches
from stratax.keras._numbered_passes import NumberedPasses, numbered
from stratax.keras._resumption import Resumption, random_before, resumed
from stratax.keras._step_iterator import NoSteps, StepIterator


class StepAdapter(data_adapter.DataAdapter):
    """Input of a strategy, as Keras' loop takes it.

    Args:
        strategy: The strategy.
        dataset: The distributed dataset.
        batches: How many batches an epoch has, or None if unknown.
        inner: Keras' own adapter of the input, told of the beginning and end of epochs; None for a dataset.
        origin: What the user gave, whose passes can be numbered: a Dataset or arrays; None for other input.

    Attributes:
        passes: The numbers of the passes, from when :meth:`begin_training` was called, or None.
        resumption: How an interrupted training goes on, until it does.
        notes_random: Whether to note the global random state before a pass whose order comes from it.
        random_before_pass: What was noted.
        logs_before: What the last step logged before an interruption.
    """

    def __init__(
        self,
        strategy: Strategy,
        dataset: DistributedDataset,
        batches: int | None,
        inner: data_adapter.DataAdapter | None = None,
        origin: Dataset | ArrayPasses | None = None,
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
        self._origin = origin
        self.passes: NumberedPasses | None = None
        self.resumption: Resumption | None = None
        self.notes_random = False
        self.random_before_pass: dict[str, Any] | None = None
        self.logs_before: dict[str, Any] = {}
        self._epoch = 0
        self._taken_before = 0
        self._steps_per_epoch: int | None = None
        self._steps_to_pass_over: list[int] = []

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
            _weighted.refuse_targets(x, y, sample_weight)
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
        arrays = ArrayPasses(inner) if isinstance(inner, ArrayDataAdapter) else None
        source = strategy.extended.source_of_batches(arrays or _Passes(inner))
        return cls(strategy, DistributedDataset(strategy, source), inner.num_batches, inner, arrays)

    @classmethod
    def _of_dataset(cls, strategy: Strategy, x: Any, class_weight: Any) -> "StepAdapter":
        if isinstance(x, DistributedDataset):
            if x.strategy is not strategy:
                raise errors.StrategyError(
                    "A dataset that was distributed by one strategy was given to a model of another. Received: a "
                    f"dataset of {shown(x.strategy)} for a model of {shown(strategy)}. Distribute it with the "
                    "model's strategy."
                )
            if class_weight is not None:
                raise errors.BadArgumentError(
                    "class_weight can't be used with a DistributedDataset. Expected: sample weights as the third "
                    f"component of its elements. Received: class_weight={shown(class_weight)}."
                )
            dataset = x
        else:
            batches = x if class_weight is None else _weighted.Weighted(x, class_weight)
            dataset = strategy.experimental_distribute_dataset(batches)
        steps = dataset.cardinality()
        return cls(
            strategy, dataset, steps if steps >= 0 else None, origin=x if isinstance(x, Dataset) else None
        )

    @classmethod
    def of_iterable(cls, batches: list[Any], strategy: Strategy) -> "StepAdapter":
        """The adapter for a list of global batches of arrays."""
        host = jax.tree.map(np.asarray, batches)
        return cls(strategy, strategy.experimental_distribute_dataset(host), len(batches))

    def open(self) -> StepIterator:
        """Begins a pass; the one that :meth:`example` looked into, if it has not begun."""
        iterator, self._next = self._next or self._new_pass(), None
        self._close_passes()
        self._opened.append(iterator)
        return iterator

    def _new_pass(self) -> StepIterator:
        if self.notes_random:
            self.random_before_pass = random_before(self)
        if self.passes is not None:
            self.passes.begin()
        return StepIterator(iter(self.dataset))

    @property
    def current(self) -> StepIterator | None:
        """The pass that was opened last."""
        return self._opened[-1] if self._opened else None

    def begin_training(self, model: keras.Model, initial_epoch: int, steps_per_epoch: int | None) -> None:
        """Has the passes be those of the epochs from `initial_epoch` on.

        Epochs before it that this process has not trained on this input were trained by another: they are skipped.

        Args:
            model: The model that is trained.
            initial_epoch: The first epoch of `fit`.
            steps_per_epoch: How many steps each has; None: a pass.
        """
        source = self.dataset.source
        source = source.dataset if isinstance(source, _weighted.Weighted) else source
        self.passes = numbered(self.strategy, model, source, self._origin)
        self._epoch, self._steps_per_epoch = initial_epoch, steps_per_epoch
        if self.passes is not None:
            self._skip(max(0, initial_epoch - self.passes.trained))

    def _skip(self, epochs: int) -> None:
        """Has the next epoch begin as if so many had been trained before it."""
        steps = self._steps_per_epoch
        if self.passes is None or epochs < 1:
            return
        if steps is None:
            self.passes.skip(epochs)
        elif self.num_batches is None:
            self._steps_to_pass_over += [steps] * epochs
        else:
            passes, taken = _windows(epochs, steps, self.num_batches)
            self.passes.skip(passes)
            self._steps_to_pass_over = [taken] if taken else []

    def skip_to(self, epoch: int) -> None:
        """Goes on with an epoch of which nothing but its number is known."""
        if self.passes is not None and self._next is not None:
            # It was looked into to build the model, and is not the first pass then.
            self._next.close()
            self._next = None
            self.passes.skip(-1)
        self._skip(epoch - self._epoch)
        self._epoch = epoch

    def resume(self, resumption: Resumption) -> None:
        """Has training go on from a saved position."""
        position, self.resumption = resumption.position, resumption
        # The pass that is gone on with is opened as the one before the saved next one.
        again = position["steps"] > 0
        if self.passes is not None and not self.passes.set_state(position["passes"], again=again):
            self.skip_to(resumption.epoch)
            return
        self._epoch, self._steps_to_pass_over = resumption.epoch, []
        if self.passes is not None and self._next is not None:
            # A generator is kept: it can't be begun anew, and is at its beginning.
            self._next.close()
            self._next = None

    @property
    def passes_span_epochs(self) -> bool:
        """Whether an epoch is a number of steps, and goes on with the pass that the one before it has left."""
        return self._steps_per_epoch is not None

    @property
    def steps_done(self) -> int:
        """How many steps of the epoch are done."""
        return 0 if self.current is None else self.current.steps_taken - self._taken_before

    def begin_epoch(self, iterator: StepIterator | None) -> tuple["StepIterator", int]:
        """The pass that an epoch of training begins or goes on with, and how many of the epoch's steps are done.

        Args:
            iterator: The pass that the epoch before has left, or None.
        """
        if self.passes is not None:
            self._epoch += 1
            self.passes.note_trained(self._epoch)
        steps, self._steps_to_pass_over = self._steps_to_pass_over, []
        for count in steps:
            iterator = self._going_on(iterator)
            iterator.pass_over(count)
        resumption, self.resumption = self.resumption, None
        done = 0 if resumption is None else resumption.steps
        if resumption is not None and resumption.position["steps"]:
            iterator = resumed(self, resumption)
        if iterator is None or not done:
            iterator = self._going_on(iterator)
        if resumption is not None:
            resumption.restore()
            self.logs_before = resumption.logs
        self._taken_before = iterator.steps_taken - done
        return iterator, done

    def _going_on(self, iterator: StepIterator | None) -> StepIterator:
        return self.open() if iterator is None or not iterator.available(1) else iterator

    def example(self) -> Any:
        """The shapes and dtypes of the first global batch."""
        if self._structure is None:
            try:
                self._structure = self._first_structure()
            except (OutOfRangeError, StopIteration):
                raise errors.DataError(
                    f"The input has no batches. Expected: at least one. Received: {shown(self.dataset)}."
                ) from None
        return self._structure

    def _first_structure(self) -> Any:
        if self._is_read_once():
            if self._next is None:
                self._next = self._new_pass()
            return self._next.first_batch()
        # A pass of its own, as Keras makes to build a model: shuffling draws as many random numbers, and a PyDataset
        # is told of its beginning and end.
        self.on_epoch_begin()
        batch = next(dense_batches(self._inner))  # type: ignore[arg-type]
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
        iterator, step = adapter.begin_epoch(self._current_iterator if self.steps_per_epoch else None)
        self._current_iterator = iterator
        if step and (step == total or not iterator.available(1)):
            # A backup was written after an epoch's last step: what follows the steps is still to be done.
            yield step - 1, step - 1, NoSteps(adapter.logs_before)
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


def _windows(epochs: int, steps_per_epoch: int, steps_in_pass: int) -> tuple[int, int]:
    """How many whole passes some epochs of so many steps take, and how many steps of the next one."""
    passes = taken = 0
    for _ in range(epochs):
        taken = min(taken + steps_per_epoch, steps_in_pass)
        if taken == steps_in_pass:
            # An epoch that finds too few steps ends with the pass.
            passes, taken = passes + 1, 0
    return passes, taken


def _known(adapter: data_adapter.DataAdapter | None, name: str) -> Any:
    """What a Keras adapter knows of its input, or None; those of generators raise where they know nothing."""
    try:
        return None if adapter is None else getattr(adapter, name)
    except NotImplementedError:
        return None


class _Passes:
    """A Keras data adapter of other input than arrays as something to iterate several times."""

    def __init__(self, adapter: data_adapter.DataAdapter) -> None:
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
    """Gives Keras' loop the epoch iterator that knows strategies' input, once."""
    keras_trainer.JAXEpochIterator = EpochIterator
