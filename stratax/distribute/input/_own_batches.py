"""Input of several workers that each have data of their own (distribute layer).

Workers agree on each stretch of steps before they take it: as many as all of them have ready. Where one has fewer
examples for a step than the others, or none left, the step's examples are exchanged and divided anew, so that
nobody waits for data that does not come and no example is dropped.
"""

import copy
import itertools
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax.data.elements import CompositeSpec
from stratax.data.position import Buffering, Positions, RegularPositions, State
from stratax.distribute.input._agreement import (
    Exchange,
    Offer,
    check_alike,
    check_structures,
    pack_step,
    rows_of,
    rows_of_step,
    unpack_step,
)
from stratax.distribute.input._elements import Convert, StepCursor
from stratax.distribute.input._prepared import Prepare
from stratax.distribute.input._sources import GlobalBatches, ReplicaBatches, Source, at, parts_of
from stratax.distribute.input._steps import (
    AsSteps,
    StepKind,
    Steps,
    common_widths,
    dividing,
    fills_of,
    has_composites,
)
from stratax.distribute.replicas import Share

# At most so many steps are agreed on at once, and so lost if a worker stops.
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
        self._divide = dividing(num_replicas, share)
        self._exchange = exchange
        # Numbered by process: all workers make their distributed datasets in the same order.
        self._name = f"input/{next(_numbers)}"
        self._passes = itertools.count()
        # At once, in all workers: later, one of them alone may ask.
        own = str(local.cardinality()).encode()
        counts = [int(count) for count in exchange(f"{self._name}/steps", own, threading.Event())]
        # One unknown or infinite part makes the whole so.
        self._cardinality = max(counts) if min(counts) >= 0 else min(counts)

    def cardinality(self) -> int:
        """Return as many steps as the worker with the most data has."""
        return self._cardinality

    def open(self, position: State | None = None) -> StepCursor:
        """Begin a pass, in all workers together."""
        rounds = Rounds(self._exchange, f"{self._name}/{next(self._passes)}")
        return at(position, AgreedSteps(self._local.open(), rounds, self._divide, self._treedef))

    def positions(self, cursor: StepCursor) -> Positions:
        # What is read at once was agreed on, so all workers note their positions before the same step.
        return RegularPositions(cursor)

    @property
    def elements_in_step(self) -> int:
        """How many of the worker's own elements a step takes."""
        return self._local.elements_in_step

    def behind(self, position: State, steps: int, elements_in_step: int) -> tuple[State, int]:
        """Return the position behind steps of all workers, which each reaches by passing over data of its own.

        A step of all workers uses one step of each worker's own data, as long as there is one. So nobody has to agree
        on the steps again: the workers may have noted their positions before different ones.
        """
        inner, used = parts_of(position, "inner")
        inner, left = self._local.behind(inner, used + steps, elements_in_step)
        return {"inner": inner, "used": left}, 0

    def convert_composites(self, function: Convert) -> None:
        super().convert_composites(function)
        self._local.convert_composites(function)

    def with_preparation(self, function: Prepare, treedef: Any, at_most: int | None) -> Source:
        made = copy.copy(self)
        made._local = self._local.with_preparation(function, treedef, at_most)
        return made

    def _treedef(self) -> Any:
        """Return the structure of a step, for a worker that has no examples; None if nobody can know it here."""
        preparation = self._local.preparation
        if preparation is not None and preparation.treedef is not None:
            return preparation.treedef
        spec = jax.tree.map(
            lambda each: each.of_parts(each.part_specs) if isinstance(each, CompositeSpec) else each,
            self.element_spec,
        )
        return None if spec is None else jax.tree.structure(spec)


class _LocalBatches(GlobalBatches):
    """A worker's own batches; its dataset continues to read ahead while the workers agree."""

    leaves_prefetch = False


def own_global_batches(dataset: object, num_replicas: int, share: Share, exchange: Exchange) -> OwnBatches:
    """Return a source of a worker's own batches, each its part of a global one."""
    return OwnBatches(_LocalBatches(dataset, num_replicas // share.processes), num_replicas, share, exchange)


def own_replica_batches(dataset: object, num_replicas: int, share: Share, exchange: Exchange) -> OwnBatches:
    """Return a source of a worker's own batches, each for one of its replicas."""
    return OwnBatches(ReplicaBatches(dataset, num_replicas // share.processes), num_replicas, share, exchange)


class Rounds:
    """The rounds of one pass, in which every worker tells all others something.

    Args:
        exchange: What they talk through.
        name: The pass, in all workers.
    """

    def __init__(self, exchange: Exchange, name: str) -> None:
        self._exchange = exchange
        self._name = name
        self._numbers = itertools.count()
        self.stop = threading.Event()
        self.is_waiting = False

    def tell(self, value: bytes) -> list[bytes]:
        """Return what all workers tell in this round."""
        # Read by the program's thread, to say whom it waits for.
        self.is_waiting = True
        try:
            return self._exchange(f"{self._name}/{next(self._numbers)}", value, self.stop)
        finally:
            self.is_waiting = False


class AgreedSteps(Buffering, StepCursor):
    """One pass, in step with the other workers'.

    Args:
        local: The steps of the worker's own data.
        rounds: What the workers agree in.
        divide: Divides the examples of all workers among the replicas.
        treedef: Gives the structure of a step, None if it is not known before there is one.
    """

    def __init__(
        self, local: StepCursor, rounds: Rounds, divide: AsSteps, treedef: Callable[[], Any]
    ) -> None:
        super().__init__(local, local.ahead)
        self._local = local
        self._rounds = rounds
        self._divide = divide
        self._find_treedef = treedef
        self._treedef: Any = None
        self._error: Exception | None = None
        self._is_over = False
        self._most = 1
        self.run = local.run
        self.interrupt = rounds.stop.set

    @property
    def waits_for_others(self) -> bool:  # type: ignore[override]
        """Whether it waits for other workers."""
        return self._rounds.is_waiting

    def read(self, limit: int) -> Steps:
        # A pass ends for good: whether another worker would come to a further round depends on whether it reads ahead.
        if self._error is not None:
            raise self._error
        if self._is_over:
            raise StopIteration
        try:
            steps = self._agree(limit)
        except BaseException as error:
            self._error = error if isinstance(error, Exception) else _make_interrupted_error(error)
            raise
        if steps is None:
            self._is_over = True
            raise StopIteration
        return steps

    def _agree(self, limit: int) -> Steps | None:
        """Return the next steps; None at the end of all workers' data."""
        # More than asked for: rounds are what costs, and double as long as all goes well.
        own = self._own(min(max(limit, self._most), _MOST_STEPS))
        offers = [Offer.from_bytes(text) for text in self._rounds.tell(self._offer(own).to_bytes())]
        # Raised behind the round, in which the others have learnt of it.
        if self._failure is not None:
            raise self._failure
        _check_failures(offers)
        if all(offer.rows == 0 for offer in offers):
            return None
        check_structures(offers)
        # Of the same offers in all workers, so all steps have one shape.
        widths = [offer.widths for offer in offers if offer.rows]
        # Of several structures, nothing is filled up: exchanging them says what is wrong.
        if own is not None and len(set(map(len, widths))) == 1:
            own = own.widen(common_widths(widths))
        # As many as every worker has: no worker takes a step alone.
        count = min(offer.steps for offer in offers)
        # Equal in all workers, as all decide by the same offers: they exchange together or not at all.
        if own is None or not count or len({offer.key for offer in offers}) > 1:
            return self._exchange(own)
        # Doubled only here, where all workers do it in the same round.
        self._most = min(2 * self._most, _MOST_STEPS)
        count = min(count, _MOST_STEPS)
        self._advance(count)
        return own if count == own.count else own.slice(0, count)

    def _own(self, limit: int) -> Steps | None:
        """Return what is ready of the worker's own data; None at its end, or where reading failed."""
        try:
            own: Steps = self._peek(limit)  # type: ignore[assignment]
        except StopIteration:
            return None
        except Exception:  # The others are told before it is raised.
            return None
        self._treedef = own.treedef
        return _with_replicas(own)

    def _offer(self, own: Steps | None) -> Offer:
        if self._failure is not None:
            return Offer(0, "", 0, f"{type(self._failure).__name__}: {self._failure}")
        if self._treedef is None:
            # Only now: what prepares elements may have become known since the pass was opened.
            self._treedef = self._find_treedef()
        arrays = -1 if self._treedef is None else self._treedef.num_leaves
        if own is None:
            return Offer(0, "", 0, arrays=arrays)
        steps = own.count if own.kind is StepKind.SPREAD else 0
        # Part of the key: steps of different shapes are different programs, which can't run together.
        types = tuple(
            # Without the width, up to which narrower ones are filled.
            ((*leaf.shape[1:3], *leaf.shape[4:]) if fill is not None else leaf.shape[1:], leaf.dtype)
            for leaf, fill in zip(own.leaves, fills_of(own.treedef), strict=True)
        )
        key = str((self._treedef, types))
        return Offer(steps, key, rows_of_step(own), arrays=arrays, widths=tuple(own.widths))

    def _exchange(self, own: Steps | None) -> Steps:
        """Return one step of all the examples that the workers have for it, divided anew."""
        leaves: list[np.ndarray] = []
        if self._treedef is not None and has_composites(self._treedef):
            raise errors.DataError(
                "Workers with data of their own can't exchange sparse and ragged components, which they do where their "
                f"examples are not alike. Expected: dense ones. Received: elements of structure {self._treedef}. Make "
                "them dense in a map, with tf.sparse.to_dense or to_tensor(shape=...)."
            )
        if own is not None:
            self._advance(1)
            # One step only: who has fewer examples may have enough for the next.
            leaves = rows_of(own.slice(0, 1))
        parts = [unpack_step(text) for text in self._rounds.tell(pack_step(leaves))]
        check_alike(parts)
        columns = [np.concatenate(column) for column in zip(*filter(None, parts), strict=True)]
        return self._divide([column[None] for column in columns], 1, self._treedef)

    def get_state(self) -> State:
        """Return the position in the worker's own data, and how many of the steps that follow were used."""
        state = super().get_state()
        return {"inner": state["child"], "used": state["skip"]}

    def set_state(self, state: State) -> None:
        """Go to a position, without the other workers; as far as there are steps of the worker's own."""
        inner, used = parts_of(state, "inner")
        self._child.set_state(inner)
        self.run = self._local.run
        self._child.skip(used)

    def close(self) -> None:
        """End a wait for the others, and the pass over the worker's own data."""
        # The thread may be inside of an exchange that nobody else comes to any more.
        self._rounds.stop.set()
        super().close()


def _check_failures(offers: list[Offer]) -> None:
    for index, offer in enumerate(offers):
        if offer.failure:
            raise errors.DataError(
                f"The input of worker {index} failed, so no worker can go on. Received from it: {offer.failure}. "
                "Its own log has the traceback."
            )


def _make_interrupted_error(error: BaseException) -> errors.DataError:
    return errors.DataError(
        f"The input of this worker was interrupted ({type(error).__name__}) while the workers agreed on their next "
        "steps, so it does not know what the others took. Make a new iterator in every worker, with `iter(dataset)`."
    )


def _with_replicas(steps: Steps) -> Steps:
    """Return the steps of a worker with one replica, as those of replicas."""
    if steps.kind is not StepKind.PLAIN:
        return steps
    # With a dimension that counts replicas, as those of workers with several have.
    return Steps([leaf[:, None] for leaf in steps.leaves], steps.count, steps.treedef, StepKind.SPREAD)
