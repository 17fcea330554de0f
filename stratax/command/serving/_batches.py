"""Requests that come at the same time are computed together (serving layer).

They are joined along the first dimension and filled up to one of a few sizes, so that few programs are compiled; what
was filled up is dropped again. Only requests whose other dimensions are alike are joined, and only for signatures that
are seen to compute each row by itself.
"""

import asyncio
import collections
import concurrent.futures
import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from stratax.errors import StrataxError
from stratax.export import LoadedProgram, TensorInfo
from stratax.export.parts import STRING

# In a trial: of the dimensions that may be any.
_TRIAL_SIZE = 8
_TRIAL_ORDER = [2, 0, 1]


def sizes_up_to(most: int) -> list[int]:
    """Return the numbers of rows that are computed: the powers of two below `most`, and `most`."""
    return [*(1 << power for power in range((most - 1).bit_length())), most]


def is_row_by_row(program: LoadedProgram) -> bool:
    """Whether a program is seen to compute each row by itself, on random numbers.

    What normalizes over a batch, or sums up along it, must neither be joined nor filled up.
    """
    infos = program.arguments.values()
    if not infos or not all(info.shape and info.shape[0] is None for info in infos):
        return False
    if takes_text(program):
        # Texts of a trial are all alike, and would show nothing.
        return False
    inputs = example_of(program, len(_TRIAL_ORDER))
    # Where a logarithm or a root makes NaN of them, positive numbers tell.
    return _is_row_by_row(program, inputs) and _is_row_by_row(
        program, {name: abs(array) if array.dtype.kind != "b" else array for name, array in inputs.items()}
    )


def takes_text(program: LoadedProgram) -> bool:
    """Whether a program, of a SavedModel that TensorFlow wrote, takes text."""
    return any(info.dtype == STRING for info in program.arguments.values())


def _is_row_by_row(program: LoadedProgram, inputs: Mapping[str, np.ndarray]) -> bool:
    together = program(inputs)
    others = program({name: array[_TRIAL_ORDER] for name, array in inputs.items()})
    alone = program({name: array[:1] for name, array in inputs.items()})
    return all(
        array.shape[:1] == (len(_TRIAL_ORDER),)
        and _are_close(array[_TRIAL_ORDER], others[name])
        and _are_close(array[:1], alone[name])
        for name, array in together.items()
    )


def example_of(program: LoadedProgram, rows: int) -> dict[str, np.ndarray]:
    """Return arrays that a program takes, with a number of rows where that may be any."""
    generator = np.random.default_rng(0)
    return {name: _random(info, generator, rows) for name, info in program.arguments.items()}


def _random(info: TensorInfo, generator: np.random.Generator, rows: int) -> np.ndarray:
    shape = [_TRIAL_SIZE if size is None else size for size in info.shape]
    if info.shape and info.shape[0] is None:
        shape[0] = rows
    dtype = info.numpy_dtype
    if info.dtype == STRING:
        return np.full(shape, b"", dtype)
    # Whole numbers are often indices.
    numbers = generator.integers(0, 2, shape) if dtype.kind in "biu" else generator.standard_normal(shape)
    return np.asarray(numbers).astype(dtype)


def _are_close(one: np.ndarray, other: np.ndarray) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind in "biuOSU":
        return bool(np.array_equal(one, other))
    one, other = one.astype(np.complex128), other.astype(np.complex128)
    scale = max(float(np.max(np.abs(one[np.isfinite(one)]), initial=0.0)), 1e-6)
    return bool(np.allclose(one, other, rtol=1e-2, atol=1e-2 * scale, equal_nan=True))


@dataclasses.dataclass(eq=False, slots=True)
class _Waiting:
    """A request that waits for others."""

    arrays: Mapping[str, np.ndarray]
    rows: int
    since: float
    answer: "asyncio.Future[dict[str, np.ndarray]]"


class Batcher:
    """Computes the requests of one signature's program, joined where that may be; used on one event loop.

    Args:
        program: What is called.
        is_joined: Whether requests may be joined and filled up.
        max_batch: The most rows that are computed at a time.
        wait_seconds: How long the first request waits for others.
        executor: Where it is computed.
        computed: Called with the number of rows of each call, without those that it was filled up with.
    """

    def __init__(
        self,
        program: LoadedProgram,
        *,
        is_joined: bool,
        max_batch: int,
        wait_seconds: float,
        executor: concurrent.futures.Executor,
        computed: Callable[[int], None],
    ) -> None:
        self._program = program
        self.is_joined = is_joined
        self._sizes = sizes_up_to(max_batch)
        self._wait_seconds = wait_seconds
        self._executor = executor
        self._computed = computed
        self._waiting: dict[tuple[tuple[int, ...], ...], collections.deque[_Waiting]] = {}
        self._has_come = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def warm_up(self) -> None:
        """Compile what it will compute, in the thread of the caller."""
        for size in self._sizes if self.is_joined else [1]:
            self._program(example_of(self._program, size))

    async def answer(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return what the program gives.

        Args:
            arrays: What it takes, by name.
        """
        loop = asyncio.get_running_loop()
        rows = {array.shape[0] for array in arrays.values()} if self.is_joined else set()
        if len(rows) != 1 or rows == {0}:
            # Of different sizes, or none: the program says whether it takes them.
            results = await loop.run_in_executor(self._executor, self._program, arrays)
            self._computed(1)
            return results
        one = _Waiting(arrays, rows.pop(), loop.time(), loop.create_future())
        key = tuple(arrays[name].shape[1:] for name in self._program.arguments)
        self._waiting.setdefault(key, collections.deque()).append(one)
        self._has_come.set()
        if self._task is None:
            self._task = loop.create_task(self._work())
        return await one.answer

    async def _work(self) -> None:
        try:
            while self._waiting:
                key = min(self._waiting, key=lambda each: self._waiting[each][0].since)
                await self._let_others_come(key)
                if batch := self._take_batch(key):
                    await self._compute(batch)
        finally:
            self._task = None

    async def _let_others_come(self, key: tuple[tuple[int, ...], ...]) -> None:
        loop = asyncio.get_running_loop()
        line = self._waiting[key]
        until = line[0].since + self._wait_seconds
        while (left := until - loop.time()) > 0 and sum(each.rows for each in line) < self._sizes[-1]:
            self._has_come.clear()
            try:
                async with asyncio.timeout(left):
                    await self._has_come.wait()
            except TimeoutError:
                return

    def _take_batch(self, key: tuple[tuple[int, ...], ...]) -> list[_Waiting]:
        line = self._waiting[key]
        taken: list[_Waiting] = []
        rows = 0
        while line and (line[0].answer.done() or not taken or rows + line[0].rows <= self._sizes[-1]):
            one = line.popleft()
            # Done: given up by who asked.
            if not one.answer.done():
                taken.append(one)
                rows += one.rows
        if not line:
            del self._waiting[key]
        return taken

    async def _compute(self, batch: Sequence[_Waiting]) -> None:
        loop = asyncio.get_running_loop()
        try:
            results = await loop.run_in_executor(
                self._executor, self._results, [each.arrays for each in batch]
            )
        except Exception as error:
            if len(batch) > 1 and isinstance(error, StrataxError):
                # One of them is to blame, and the others are not.
                for each in batch:
                    await self._compute([each])
                return
            for each in batch:
                if not each.answer.done():
                    each.answer.set_exception(error)
            return
        self._computed(sum(each.rows for each in batch))
        for each, result in zip(batch, results, strict=True):
            if not each.answer.done():
                each.answer.set_result(result)

    def _results(self, requests: Sequence[Mapping[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
        """Return each request's results, computed together."""
        joined = {name: np.concatenate([each[name] for each in requests]) for name in self._program.arguments}
        rows = len(next(iter(joined.values())))
        pieces = [self._piece(joined, start, rows) for start in range(0, rows, self._sizes[-1])]
        whole = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
        results, start = [], 0
        for each in requests:
            end = start + len(next(iter(each.values())))
            results.append({name: array[start:end] for name, array in whole.items()})
            start = end
        return results

    def _piece(self, joined: Mapping[str, np.ndarray], start: int, rows: int) -> dict[str, np.ndarray]:
        end = min(start + self._sizes[-1], rows)
        size = next(size for size in self._sizes if size >= end - start)
        # The last row again, which is one that the signature takes, as zeros may not be.
        positions = np.minimum(np.arange(start, start + size), end - 1)
        results = self._program({name: array[positions] for name, array in joined.items()})
        return {name: array[: end - start] for name, array in results.items()}
