"""Passes over arrays that were given to Keras, in blocks of batches that are gathered at once (keras layer)."""

from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
from keras import tree

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.iteration import Stacks
from stratax.engine import NumberedPasses
from stratax.seams.keras import ArrayDataAdapter, array_slicing

_TRAINED = "_stratax_epochs_trained"


class ArrayPasses:
    """Passes over arrays, in the orders that Keras' adapter would give them.

    The order of each pass is a function of NumPy's global random state at the first one and of the pass' number: what
    others draw meanwhile has no part in it. NumPy's global state is advanced as Keras would advance it.

    Args:
        adapter: Keras' adapter.
    """

    def __init__(self, adapter: ArrayDataAdapter) -> None:
        self._adapter = adapter
        self._random: np.random.RandomState | None = None
        self._to_skip = 0

    def __iter__(self) -> Iterator[Any]:
        return ArrayPass(self, self._adapter)

    def __len__(self) -> int:
        return int(self._adapter.num_batches)

    def __repr__(self) -> str:
        return "<arrays>"

    def skip(self, passes: int) -> None:
        """Pass over the orders of some passes."""
        # Later: until a pass is opened, several workers may be in different random states.
        self._to_skip += max(0, passes)

    def draw(self) -> np.ndarray | None:
        """Draw the order of the next pass; None where it is that of the arrays."""
        self._settle()
        return self._next_order()

    @property
    def plan(self) -> str:
        """What arrays and batches have in common in which a position means the same."""
        shuffle, rows, batch = self._adapter._shuffle, self._adapter._num_samples, self._adapter.batch_size
        return f"arrays of {int(rows)} in batches of {int(batch)}, shuffle={shuffle!r}"

    def get_state(self) -> dict[str, Any]:
        """Return what the next pass' order comes from, as JSON can hold it."""
        self._settle()
        return {"random": _as_json(self._generator().get_state()) if self._adapter._shuffle else None}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on with the pass of a saved state, also over other arrays.

        Args:
            state: What :meth:`get_state` returned.
        """
        self._to_skip = 0
        if state["random"] is not None:
            self._random = np.random.RandomState()
            self._random.set_state(_of_json(state["random"]))

    def _settle(self) -> None:
        while self._to_skip:
            self._to_skip -= 1
            self._next_order()

    def _next_order(self) -> np.ndarray | None:
        if not self._adapter._shuffle:
            return None
        random = self._generator()
        is_in_step = _as_json(np.random.get_state()) == _as_json(random.get_state())
        # From a generator of its own, so that what the program draws between epochs changes no order.
        order = self._draw_order(random.permutation)
        # Nobody else has drawn: the global state is what Keras would have left.
        if is_in_step:
            np.random.set_state(random.get_state())
        else:
            self._draw_order(np.random.permutation)
        return order

    def _generator(self) -> np.random.RandomState:
        if self._random is None:
            self._random = np.random.RandomState()
            # Begins where Keras would: a seed that the user set decides the orders.
            self._random.set_state(np.random.get_state())
        return self._random

    def _draw_order(self, permutation: Callable[[int], np.ndarray]) -> np.ndarray:
        rows, size = int(self._adapter._num_samples), int(self._adapter.batch_size)
        if self._adapter._shuffle != "batch":
            return permutation(rows)
        starts = range(0, rows, size)
        # Keras' "batch" shuffle draws within each batch.
        return np.concatenate([permutation(min(size, rows - start)) + start for start in starts])


class ArrayPass(Stacks):
    """The batches of one pass; its position can be saved.

    Args:
        passes: What it is one of.
        adapter: Keras' adapter.
    """

    def __init__(self, passes: ArrayPasses, adapter: ArrayDataAdapter) -> None:
        self._passes = passes
        # As Keras slices them: pandas, tensors and sparse arrays among them.
        self._columns = array_slicing.convert_to_sliceable(adapter._inputs, target_backend="numpy")
        self._num_examples = int(adapter._num_samples)
        self._batch_size = int(adapter.batch_size)
        self._drawn_from: dict[str, Any] | None = None
        self._order: np.ndarray | None = None
        self._start = 0

    def __iter__(self) -> "ArrayPass":
        return self

    def __next__(self) -> Any:
        block, _ = self.next_block(1)
        return tree.map_structure(lambda column: column[0], block, none_is_leaf=False)

    def next_block(self, k: int) -> tuple[Any, int]:
        """Return up to `k` next batches of one size, stacked.

        Args:
            k: At most how many.

        Returns:
            The structure of a batch with arrays of shape `[count, batch, ...]` on the host, and the count.

        Raises:
            StopIteration: At the end of the pass.
        """
        self._begin()
        left = self._num_examples - self._start
        if left <= 0:
            raise StopIteration
        # Whole batches; a last one that is smaller comes alone.
        count = max(1, min(k, left // self._batch_size))
        rows = min(count * self._batch_size, left)
        begin, end = self._start, self._start + rows
        chosen = slice(begin, end) if self._order is None else self._order[begin:end]
        self._start += rows

        def gather(column: Any) -> np.ndarray:
            # One gather for all batches of the block.
            values = np.asarray(column.convert_to_numpy(column[chosen]))
            return values.reshape(count, rows // count, *values.shape[1:])

        return tree.map_structure(gather, self._columns, none_is_leaf=False), count

    def get_state(self) -> dict[str, Any]:
        """Return the position, as JSON can hold it."""
        # What the order was drawn from, and not the order: it is as long as the data.
        drawn_from = self._drawn_from or self._passes.get_state()
        return {**drawn_from, "plan": self._passes.plan, "start": self._start}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to a position; the passes after this one follow it.

        Args:
            state: What :meth:`get_state` returned.

        Raises:
            DataError: It belongs to other arrays, or to other batches of them.
        """
        if not isinstance(state, dict) or state.get("plan") != self._passes.plan:
            raise errors.DataError(
                "The saved position belongs to other input, so it means nothing here. "
                f"Expected: {self._passes.plan}. Received: {shown(state)}. Give the arrays and the batch_size with "
                "which it was saved."
            )
        self._passes.set_state(state)
        self._drawn_from = None
        self._begin()
        self._start = state["start"]

    def _begin(self) -> None:
        if self._drawn_from is None:
            self._drawn_from = self._passes.get_state()
            self._order = self._passes.draw()


class NumberedArrayPasses(NumberedPasses):
    """Passes over arrays.

    Args:
        arrays: The passes.
        model: The model that is trained. Arrays come without an identity, so it counts its epochs.
    """

    def __init__(self, arrays: ArrayPasses, model: keras.Model) -> None:
        self._arrays = arrays
        self._model = model
        self.trained = model.__dict__.get(_TRAINED, 0)

    def begin(self) -> None:
        """Do nothing: a pass draws its order when it is read."""

    def skip(self, passes: int) -> None:
        self._arrays.skip(passes)

    def note_trained(self, epochs: int) -> None:
        # Around Keras' own tracking of attributes.
        self._model.__dict__[_TRAINED] = max(epochs, self._model.__dict__.get(_TRAINED, 0))

    def get_state(self) -> dict[str, Any]:
        return self._arrays.get_state()

    def set_state(self, state: dict[str, Any] | None, *, again: bool) -> bool:
        if state is None or "random" not in state:
            return False
        self._arrays.set_state(state)
        return True


def _as_json(state: PyTree) -> list[Any]:
    kind, keys, position, has_gauss, cached = state
    # 624 numbers of 32 bits, which as hexadecimal digits take half the room.
    return [kind, np.asarray(keys).tobytes().hex(), position, has_gauss, cached]


def _of_json(state: list[Any]) -> tuple[Any, ...]:
    kind, keys, *rest = state
    return (kind, np.frombuffer(bytes.fromhex(keys), np.uint32), *rest)
