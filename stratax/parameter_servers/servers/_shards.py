"""`Shards`: the arrays that one parameter server keeps, and the programs that update them.

Arrays are never changed where they lie while somebody reads them: an update makes new ones and puts them in place of
the old ones in one go, so that whoever reads gets one version of each. Where nobody reads, the old memory is used for
the new values.
"""

import collections
import contextlib
import dataclasses
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import export

from stratax.base.shown import shown
from stratax.errors import AbortedError, BadArgumentError, FailedPreconditionError

# Of how many steps it is remembered that their updates have been made.
_MOST_REMEMBERED = 100_000
# The least number of rows that programs are compiled for.
_LEAST_ROWS = 16
_logger = logging.getLogger("stratax")


@dataclasses.dataclass(slots=True, eq=False)
class _Shard:
    """One array with how often it has been changed, and how many are sending it now."""

    value: jax.Array
    version: int = 0
    num_readers: int = 0


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Update:
    """A compiled update.

    Attributes:
        replaced: Which arrays it replaces.
        read: Which ones it reads besides.
        fills: What fills up each array that it is sent; None where it is always of one size.
        in_place: The program, which reuses the memory of what it replaces.
        anew: The program, which does not.
    """

    replaced: tuple[str, ...]
    read: tuple[str, ...]
    fills: tuple[int | None, ...]
    in_place: Any
    anew: Any


class Shards:
    """Arrays by name, with versions, and the updates that tasks have defined.

    All methods may be called from several threads. Programs run outside of the interpreter's lock.

    Example:
        >>> shards = Shards()
        >>> shards.create("w", np.zeros(2, "float32"))
        True
        >>> with shards.reading(["w"], {}) as (versions, arrays):
        ...     print(versions, arrays)
        {'w': 0} {'w': array([0., 0.], dtype=float32)}
    """

    def __init__(self) -> None:
        # Held while references are exchanged and programs are dispatched, not while they run or arrays travel.
        self._lock = threading.Lock()
        self._shards: dict[str, _Shard] = {}
        self._updates: dict[str, _Update] = {}
        # What was there when somebody has marked it, by who has.
        self._marks: dict[str, dict[str, _Shard]] = {}
        self._num_applied: collections.Counter[str] = collections.Counter()
        # What has been done once, the oldest first.
        self._done: collections.OrderedDict[tuple[str, str], None] = collections.OrderedDict()

    @property
    def names(self) -> list[str]:
        """The names of all arrays, in the order in which they were created."""
        with self._lock:
            return list(self._shards)

    @property
    def num_bytes(self) -> int:
        """How many bytes the arrays have."""
        with self._lock:
            return sum(shard.value.nbytes for shard in self._shards.values())

    @property
    def marks(self) -> list[str]:
        """The names of all marks."""
        with self._lock:
            return list(self._marks)

    def create(self, name: str, value: object) -> bool:
        """Begin to keep an array, unless there is one of that name: a task that starts again creates all anew.

        Args:
            name: The name of the variable, or of its shard.
            value: Its first value, which is copied.

        Returns:
            Whether it was created.

        Raises:
            BadArgumentError: There is one of that name, of another shape or dtype.
        """
        array = jax.numpy.array(value)
        with self._lock:
            if name not in self._shards:
                self._shards[name] = _Shard(array)
                return True
            have = self._shards[name].value
        if (have.shape, have.dtype) != (array.shape, array.dtype):
            raise BadArgumentError(
                f"There is a variable {shown(name)} of another kind. Expected: shape={have.shape}, dtype={have.dtype}. "
                f"Received: shape={array.shape}, dtype={array.dtype}. Rename the new one, or start the job anew."
            )
        return False

    def make(self, name: str, program: bytes) -> bool:
        """Begin to keep an array that is computed here, unless there is one of that name.

        Args:
            name: The name of the variable, or of its shard.
            program: A function without arguments that gives its first value, exported by JAX.

        Returns:
            Whether it was created.

        Raises:
            BadArgumentError: The bytes are no exported function.
        """
        with self._lock:
            if name in self._shards:
                return False
        array = jax.jit(_load_program(program, name).call)()
        with self._lock:
            # Two tasks may have begun at once; both would compute the same.
            return self._shards.setdefault(name, _Shard(array)).value is array

    @contextlib.contextmanager
    def reading(
        self, names: Sequence[str], known: dict[str, int], mark: str | None = None
    ) -> Iterator[tuple[dict[str, int], dict[str, np.ndarray]]]:
        """Give the versions of arrays, and those that changed, which stay as they are during the block.

        Args:
            names: Which ones.
            known: Versions that the reader has; arrays of these are left out.
            mark: Gives what was there at this mark, and what is there now of what was created since; None for all that
                is there now.

        Raises:
            AbortedError: There is no such mark any more.
            FailedPreconditionError: There is none of a name.
        """
        with self._lock:
            marked = {} if mark is None else self._marks.get(mark)
            if marked is None:
                raise AbortedError(
                    "What was marked to be read is gone: the connection that it was marked over has broken. Mark it "
                    "again."
                )
            shards = {name: marked.get(name) or self._get(name) for name in names}
            versions = {name: shard.version for name, shard in shards.items()}
            changed = {name: shard for name, shard in shards.items() if known.get(name) != shard.version}
            values = {name: shard.value for name, shard in changed.items()}
            for shard in changed.values():
                shard.num_readers += 1
        try:
            # Views of the arrays' memory. Outside of the lock: an update that was just dispatched may still run.
            yield versions, {name: np.asarray(value) for name, value in values.items()}
        finally:
            del values
            with self._lock:
                for shard in changed.values():
                    shard.num_readers -= 1

    def mark(self, name: str) -> None:
        """Keep all arrays as they are now, for who reads them by this mark: what changes from now on is made anew.

        Args:
            name: The mark's name; an earlier mark of that name is dropped.
        """
        self.unmark(name)
        with self._lock:
            self._marks[name] = dict(self._shards)
            for shard in self._shards.values():
                shard.num_readers += 1

    def unmark(self, name: str) -> None:
        """Drop a mark, if there is one of that name."""
        with self._lock:
            for shard in self._marks.pop(name, {}).values():
                shard.num_readers -= 1

    def rows(self, names: Sequence[str], numbers: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return rows of arrays, each of one version.

        Args:
            names: Which arrays.
            numbers: Which rows of each, as integers of 32 bits.

        Raises:
            BadArgumentError: An array has no such rows, or none at all.
            FailedPreconditionError: There is none of a name.
        """
        filled = [_fill(array, 0) for array in numbers]
        with self._lock:
            values = [self._get(name).value for name in names]
            for name, value, rows in zip(names, values, numbers, strict=True):
                _check_rows(name, value, rows)
            # Dispatched under the lock, and not waited for: no update is made in the memory that they read.
            found = [_take(value, rows) for value, rows in zip(values, filled, strict=True)]
            del values
        return [np.asarray(value)[: len(rows)] for value, rows in zip(found, numbers, strict=True)]

    def assign(self, names: Sequence[str], values: Sequence[np.ndarray]) -> dict[str, int]:
        """Replace arrays, all in one go.

        Args:
            names: Which ones.
            values: Their new values, which are copied.

        Returns:
            Their new versions.

        Raises:
            BadArgumentError: A value is of another shape or dtype than the array.
            FailedPreconditionError: There is none of a name.
        """
        arrays = [jax.numpy.array(value) for value in values]
        with self._lock:
            self._check_fits(names, arrays)
            return self._replace(names, [self._get(name) for name in names], arrays)

    def define(
        self,
        update: str,
        program: bytes,
        replaced: Sequence[str],
        read: Sequence[str],
        fills: Sequence[int | None] = (),
    ) -> None:
        """Take a program that updates arrays.

        Args:
            update: The name of the update; an update of that name is kept.
            program: A function of three lists of arrays, exported by JAX: those that it replaces, others that it reads,
                and what is sent with each call, gradients for instance. It returns the new values of the first.
            replaced: The names of the arrays of the first list.
            read: The names of those of the second.
            fills: For each of the third what it is filled up with, where it may have any number of rows: the program is
                compiled for some numbers. None where it may not.

        Raises:
            BadArgumentError: The bytes are no exported function.
        """
        with self._lock:
            if update in self._updates:
                return
        exported = _load_program(program, update)
        made = _Update(
            tuple(replaced),
            tuple(read),
            tuple(fills),
            jax.jit(exported.call, donate_argnums=0),
            jax.jit(exported.call),
        )
        with self._lock:
            self._updates.setdefault(update, made)

    def apply(
        self,
        update: str,
        sent: list[np.ndarray],
        once: str | None = None,
        assigned: Mapping[str, np.ndarray] | None = None,
    ) -> dict[str, int]:
        """Run an update, and assign other arrays behind it, in one go.

        Args:
            update: Its name.
            sent: The arrays that it is given, which are copied and taken out of the list.
            once: What the update is for. Another one of that name for the same is not run: a step that was begun by a
                task that was given up may come from two tasks.
            assigned: New values of arrays, by name, which are copied.

        Returns:
            The versions of the arrays that it replaced.

        Raises:
            BadArgumentError: A value is of another shape or dtype than the array.
            FailedPreconditionError: There is no such update, or not all of its arrays.
        """
        assigned = assigned or {}
        others = [jax.numpy.array(value) for value in assigned.values()]
        with self._lock:
            found = self._updates.get(update)
        if found is None:
            raise FailedPreconditionError(
                f"There is no update {shown(update)}. Define it before it is applied."
            )
        # Before the lock is taken again: this copies.
        arrays = _take_arrays(sent, found.fills or (None,) * len(sent))
        with self._lock:
            self._check_fits(list(assigned), others)
            if once is not None and not self._is_first(update, once):
                return {name: self._get(name).version for name in found.replaced}
            shards = [self._get(name) for name in found.replaced]
            read = [self._get(name).value for name in found.read]
            values = [shard.value for shard in shards]
            is_read = any(shard.num_readers for shard in shards)
            new = (found.anew if is_read else found.in_place)(values, read, arrays)
            self._num_applied[update] += 1
            versions = self._replace(found.replaced, shards, new)
            # Behind the update, which may be of the same array.
            return versions | self._replace(list(assigned), [self._get(name) for name in assigned], others)

    def _is_first(self, update: str, once: str) -> bool:
        if (update, once) in self._done:
            _logger.info("An update that came twice, of a step that two workers have run, was made once.")
            return False
        self._done[update, once] = None
        if len(self._done) > _MOST_REMEMBERED:
            self._done.popitem(last=False)
        return True

    def num_applied(self, update: str) -> int:
        """Return how many times an update was applied."""
        with self._lock:
            return self._num_applied[update]

    def _get(self, name: str) -> _Shard:
        try:
            return self._shards[name]
        except KeyError:
            raise FailedPreconditionError(
                f"This server keeps no variable {shown(name)}. Expected: one that was created, in this start of the "
                f"server. Received: {len(self._shards)} others."
            ) from None

    def _check_fits(self, names: Sequence[str], arrays: Sequence[jax.Array]) -> None:
        for name, array in zip(names, arrays, strict=True):
            have = self._get(name).value
            if (have.shape, have.dtype) != (array.shape, array.dtype):
                raise BadArgumentError(
                    f"A value does not fit variable {shown(name)}. Expected: shape={have.shape}, "
                    f"dtype={have.dtype}. Received: shape={array.shape}, dtype={array.dtype}."
                )

    def _replace(
        self, names: Sequence[str], shards: Sequence[_Shard], values: Sequence[jax.Array]
    ) -> dict[str, int]:
        versions = {}
        for name, old, value in zip(names, shards, values, strict=True):
            # A new object: who reads the old one counts there.
            self._shards[name] = _Shard(value, old.version + 1)
            versions[name] = old.version + 1
        return versions


@jax.jit
def _take(value: Any, rows: Any) -> Any:
    return value.at[rows].get(mode="clip")


def _take_arrays(sent: list[np.ndarray], fills: Sequence[int | None]) -> list[jax.Array]:
    """Return copies of arrays, which are taken out of a list: gradients are as large as the variables."""
    # By position from the end, where taking one costs nothing.
    fills = list(fills)
    if len(fills) != len(sent):
        raise BadArgumentError(
            f"An update is sent another number of arrays. Expected: {len(fills)}. Received: {len(sent)}."
        )
    found = []
    while sent:
        array, fill = sent.pop(), fills.pop()
        found.append(jax.numpy.asarray(array if fill is None else _fill(array, fill)))
    return found[::-1]


def _fill(array: np.ndarray, fill: int) -> np.ndarray:
    """Return an array with more rows: programs are compiled for few sizes, at most half as large again."""
    count = max(_LEAST_ROWS, len(array))
    power = 1 << (count - 1).bit_length()
    size = power * 3 // 4 if count <= power * 3 // 4 else power
    if size == len(array):
        return array
    filled = np.full((size, *array.shape[1:]), fill, array.dtype)
    filled[: len(array)] = array
    return filled


def _check_rows(name: str, value: jax.Array, rows: np.ndarray) -> None:
    is_number = rows.ndim == 1 and rows.dtype == np.int32 and value.ndim
    if not is_number or (rows.size and not (rows.min() >= 0 and rows.max() < value.shape[0])):
        raise BadArgumentError(
            f"Variable {shown(name)} has no such rows. Expected: a vector of int32 below the number of its rows, "
            f"shape={value.shape}. Received: {shown(rows)}."
        )


def _load_program(program: bytes, name: str) -> Any:
    try:
        return export.deserialize(bytearray(program))
    except Exception as error:  # JAX says with various errors that bytes are no function.
        raise BadArgumentError(
            f"The program of {shown(name)} is no function that JAX of this version exported "
            f"({type(error).__name__}). Run the same version of JAX in all tasks."
        ) from error
