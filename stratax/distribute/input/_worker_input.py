"""Input of several workers that each have data of their own (distribute layer).

Workers agree on each stretch of steps before they take it: as many as all of them have ready. Where one has fewer
examples for a step than the others, or none left, the step's examples are exchanged and divided anew, so that
nobody waits for data that does not come and no example is dropped.
"""

import collections
import dataclasses
import itertools
import json
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax.data.elements import decode_records, encode_columns
from stratax.distribute.input._readers import (
    Block,
    GlobalBatches,
    Kind,
    Place,
    Reader,
    ReplicaBatches,
    Share,
    Source,
    batch_size,
    known_place,
    noted_place,
    parts_of,
)

Exchange = Callable[[str, bytes, threading.Event], list[bytes]]
"""Gives every worker all workers' values under one name: `exchange(name, value, stop)`."""

_MOST_STEPS = 64
_numbers = itertools.count()


class OwnBatches(Source):
    """A worker's own part of the data: its share of each step's examples comes from a dataset of its own.

    Args:
        local: The worker's dataset as the steps of its own replicas.
        num_replicas: How many replicas all workers have.
        share: Which of them are this worker's.
        exchange: What the workers agree through.
    """

    def __init__(self, local: Source, num_replicas: int, share: Share, exchange: Exchange) -> None:
        super().__init__(local.dataset, num_replicas)
        self.num_readers = share.processes
        self._local = local
        self._share = share
        self._exchange = exchange
        self._name = f"input/{next(_numbers)}"
        self._passes = itertools.count()
        # At once, in all workers: later, one of them alone may ask.
        own = str(local.cardinality()).encode()
        counts = [int(count) for count in exchange(f"{self._name}/steps", own, threading.Event())]
        self._cardinality = max(counts) if min(counts) >= 0 else min(counts)

    def cardinality(self) -> int:
        """As many steps as the worker with the most data has."""
        return self._cardinality

    def open(self, place: Place | None = None) -> Reader:
        """Begins a pass, in all workers together."""
        name = f"{self._name}/{next(self._passes)}"
        inner, used = (None, 0) if place is None else parts_of(place, "inner")
        return _AgreedReader(self._local.open(inner), self, name, used)

    @property
    def elements_in_step(self) -> int:
        """Of the worker's own elements."""
        return self._local.elements_in_step

    def behind(self, place: Place, steps: int, elements_in_step: int) -> tuple[Place, int]:
        """The place behind steps of all workers, which each of them reaches by passing over data of its own.

        A step of all workers uses one step of each worker's own data, as long as there is one. So nobody has to agree
        on the steps again: the workers may have noted their places before different ones.
        """
        inner, used = parts_of(place, "inner")
        inner, left = self._local.behind(inner, used + steps, elements_in_step)
        return {"inner": inner, "used": left}, 0

    def exchange(self, name: str, value: bytes, stop: threading.Event) -> list[bytes]:
        """All workers' values."""
        return self._exchange(name, value, stop)

    @property
    def share(self) -> Share:
        """Which replicas are this worker's."""
        return self._share

    def treedef(self) -> Any:
        """The structure of a step, for a worker that has no examples; None if nobody can know it here."""
        return None if self.element_spec is None else jax.tree.structure(self.element_spec)


def own_global_batches(dataset: Any, num_replicas: int, share: Share, exchange: Exchange) -> OwnBatches:
    """A source of a worker's own batches, each its part of a global one."""
    return OwnBatches(GlobalBatches(dataset, num_replicas // share.processes), num_replicas, share, exchange)


def own_replica_batches(dataset: Any, num_replicas: int, share: Share, exchange: Exchange) -> OwnBatches:
    """A source of a worker's own batches, each for one of its replicas."""
    return OwnBatches(ReplicaBatches(dataset, num_replicas // share.processes), num_replicas, share, exchange)


@dataclasses.dataclass(frozen=True, slots=True)
class _Offer:
    """What a worker has ready.

    Attributes:
        steps: How many whole steps of one structure.
        key: Their structure.
        rows: How many examples its next step has; 0 at the end.
        failure: What went wrong in reading, or an empty text.
        arrays: Of how many arrays an example consists; -1 if the worker has none, and its dataset does not say.
    """

    steps: int
    key: str
    rows: int
    failure: str = ""
    arrays: int = -1

    def to_bytes(self) -> bytes:
        return json.dumps(dataclasses.astuple(self)).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> "_Offer":
        return cls(*json.loads(text))


class _AgreedReader(Reader):
    """One pass, in step with the other workers'.

    Every block that is given says where the pass was before it. Blocks are agreed on, so all workers note their
    places before the same step.
    """

    notes_places = True

    def __init__(self, inner: Reader, source: OwnBatches, name: str, used: int) -> None:
        self._inner = inner
        self._source = source
        self._name = name
        self._rounds = itertools.count()
        self._held: collections.deque[Block] = collections.deque()
        self._before: Place | errors.DataError | None = None
        self._used = 0
        self._ended = False
        self._failure: Exception | None = None
        self._error: Exception | None = None
        self._is_over = False
        self._treedef: Any = None
        self._ahead = 1
        self._stop = threading.Event()
        self._pass_over(used)

    def place(self) -> Place:
        if self._before is None or (self._used and not self._held):
            self._before, self._used = noted_place(self._inner), 0
        return {"inner": known_place(self._before), "used": self._used}

    def next_block(self, count: int) -> Block:
        # A pass ends for good: whether another worker would come to a further round depends on whether it reads ahead.
        if self._error is not None:
            raise self._error
        if self._is_over:
            raise StopIteration
        try:
            block = self._agreed_block(count)
        except BaseException as error:
            self._error = error if isinstance(error, Exception) else _interrupted(error)
            raise
        if block is None:
            self._is_over = True
            raise StopIteration
        return block

    def _agreed_block(self, count: int) -> Block | None:
        """The next block; None at the end of all workers' data."""
        self._fill(min(max(count, self._ahead), _MOST_STEPS))
        before = noted_place(self)
        offers = [_Offer.from_bytes(text) for text in self._agree(self._offer().to_bytes())]
        self._check(offers)
        if all(offer.rows == 0 for offer in offers):
            return None
        _check_structures(offers)
        return dataclasses.replace(self._next_of(offers), before=before)

    def _next_of(self, offers: list[_Offer]) -> Block:
        steps = min(offer.steps for offer in offers)
        if steps and len({offer.key for offer in offers}) == 1:
            self._ahead = min(2 * self._ahead, _MOST_STEPS)
            return self._taken(min(steps, _MOST_STEPS))
        return self._exchanged()

    def close(self) -> None:
        self._stop.set()
        self._inner.close()

    def interrupt(self) -> None:
        self._stop.set()

    def _agree(self, value: bytes) -> list[bytes]:
        self.waits_for_others = True
        try:
            return self._source.exchange(f"{self._name}/{next(self._rounds)}", value, self._stop)
        finally:
            self.waits_for_others = False

    def _fill(self, count: int) -> None:
        """Reads until the first block is there, and what comes with it."""
        if self._held or self._ended or self._failure is not None:
            return
        self._before, self._used = noted_place(self._inner), 0
        try:
            block = self._inner.next_block(count)
        except StopIteration:
            self._ended, self._before = True, None
        except Exception as error:  # The others are told before it is raised.
            self._failure, self._before = error, None
        else:
            self._treedef = block.treedef
            self._held.append(_with_replicas(block))

    def _pass_over(self, steps: int) -> None:
        """Passes over own steps, without the other workers, as far as there are any."""
        while steps and not self._ended and self._failure is None:
            self._fill(min(steps, _MOST_STEPS))
            if self._held:
                taken = min(steps, self._held[0].count)
                self._use(taken)
                steps -= taken

    def _offer(self) -> _Offer:
        if self._failure is not None:
            return _Offer(0, "", 0, f"{type(self._failure).__name__}: {self._failure}")
        treedef = self._structure()
        arrays = -1 if treedef is None else treedef.num_leaves
        if not self._held:
            return _Offer(0, "", 0, arrays=arrays)
        block = self._held[0]
        steps = block.count if block.kind is Kind.SPREAD else 0
        return _Offer(steps, str((treedef, *block.key()[2:])), _rows_of_step(block), arrays=arrays)

    def _check(self, offers: list[_Offer]) -> None:
        if self._failure is not None:
            raise self._failure
        for index, offer in enumerate(offers):
            if offer.failure:
                raise errors.DataError(
                    f"The input of worker {index} failed, so no worker can go on. Received from it: {offer.failure}. "
                    "Its own log has the traceback."
                )

    def _taken(self, steps: int) -> Block:
        return dataclasses.replace(self._use(steps), processes=self._source.share.processes)

    def _use(self, steps: int) -> Block:
        block = self._held.popleft()
        self._used += steps
        if steps < block.count:
            self._held.appendleft(block.part(steps, block.count))
            return block.part(0, steps)
        return block

    def _exchanged(self) -> Block:
        """One step of all the examples that the workers have for it, divided anew."""
        leaves: list[np.ndarray] = []
        if self._held:
            leaves = _rows(self._use(1))
        parts = [_unpacked(text) for text in self._agree(_packed(leaves))]
        _check_alike(parts)
        columns = [np.concatenate(column) for column in zip(*filter(None, parts), strict=True)]
        return self._divided([column[None] for column in columns])

    def _structure(self) -> Any:
        """The structure of a step; None where the worker has no data and its dataset does not say."""
        return self._source.treedef() if self._treedef is None else self._treedef

    def _divided(self, leaves: list[np.ndarray]) -> Block:
        treedef = self._structure()
        size, num_replicas = batch_size(leaves, 1), self._source.num_replicas
        if size % num_replicas:
            return Block(leaves, treedef, 1, Kind.SOLO)
        share = self._source.share
        spread = [leaf.reshape(1, num_replicas, size // num_replicas, *leaf.shape[2:]) for leaf in leaves]
        mine = share.of(num_replicas)
        return Block([leaf[:, mine] for leaf in spread], treedef, 1, Kind.SPREAD, share.processes)


def _interrupted(error: BaseException) -> errors.DataError:
    return errors.DataError(
        f"The input of this worker was interrupted ({type(error).__name__}) while the workers agreed on their next "
        "steps, so it does not know what the others took. Make a new iterator in every worker, with `iter(dataset)`."
    )


def _with_replicas(block: Block) -> Block:
    """A block of a worker with one replica, as one of replicas."""
    if block.kind is not Kind.PLAIN:
        return block
    return dataclasses.replace(block, leaves=[leaf[:, None] for leaf in block.leaves], kind=Kind.SPREAD)


def _rows_of_step(block: Block) -> int:
    shape = block.leaves[0].shape
    return int(shape[1] * shape[2] if block.kind is Kind.SPREAD else shape[1])


def _rows(block: Block) -> list[np.ndarray]:
    """The examples of a block of one step."""
    if block.kind is Kind.SPREAD:
        return [leaf.reshape(-1, *leaf.shape[3:]) for leaf in block.leaves]
    return [leaf[0] for leaf in block.leaves]


def _packed(leaves: list[np.ndarray]) -> bytes:
    """A step's examples: the names of their dtypes in a line, then shapes and values."""
    names = " ".join(leaf.dtype.name for leaf in leaves).encode()
    return names + b"\n" + encode_columns([leaf[None] for leaf in leaves], 1)[1][0] if leaves else b""


def _unpacked(text: bytes) -> list[np.ndarray]:
    names, _, record = text.partition(b"\n")
    if not record:
        return []
    block = decode_records([record], [np.dtype(name) for name in names.decode().split()])
    return [column[0] for column in block.columns()]


def _check_structures(offers: list[_Offer]) -> None:
    """Refuses a step of which a worker can't take its part, in all workers: else the others would wait for it."""
    expected = max(offer.arrays for offer in offers if offer.rows)
    for index, offer in enumerate(offers):
        if not offer.rows and offer.arrays != expected:
            raise errors.DataError(
                f"The dataset of worker {index} has no elements (left) and does not say what they would look like, so "
                f"it can't take its part of the others' examples. Expected: an element_spec of {expected} arrays. "
                f"Received: {'none' if offer.arrays < 0 else f'one of {offer.arrays}'}. Give every worker data, or a "
                "stratax.data.Dataset."
            )


def _check_alike(parts: list[list[np.ndarray]]) -> None:
    """Refuses examples of several workers that can't be rows of one batch."""
    kinds = {
        index: ", ".join(f"{leaf.dtype}{list(leaf.shape[1:])}" for leaf in part)
        for index, part in enumerate(parts)
        if part
    }
    if len(set(kinds.values())) > 1:
        listing = "; ".join(f"worker {index}: {kind}" for index, kind in kinds.items())
        raise errors.DataError(
            "The workers' examples for one step differ, so they can't be divided anew. Expected: one shape and dtype "
            f"of examples in all workers. Received: {listing}. Pad the examples to one shape, or give every worker "
            "as many."
        )
