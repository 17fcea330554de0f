"""Queues of a graph, and what fills them: `tf.FIFOQueue`, `tf.train.QueueRunner` (graph layer).

Each session has the elements of its own. A queue with a runner is filled by whoever takes from it, element by element,
so there are no threads that could be left behind; threads of the program may fill and empty queues as well, and wait
for one another, for a limited time.
"""

import abc
import collections
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, PyTree, TensorLike
from stratax.data.elements import DType, TensorShape
from stratax.tensorflow.graph._building import Building
from stratax.tensorflow.graph._graph import SESSION, enter_program_graph
from stratax.tensorflow.graph._nodes import GraphOperation, GraphTensor

QUEUE_RUNNERS = "queue_runners"
# For how long one thread waits for others that fill or empty a queue.
_MOST_SECONDS = 600.0
_SLICE_SECONDS = 0.2

Row = list[np.ndarray]


class Filler(abc.ABC):
    """Fills a queue when somebody takes from it."""

    @abc.abstractmethod
    def fill(self, session: Any) -> None:
        """Add at least one element.

        Raises:
            OutOfRangeError: If there are no more.
        """


class _State:
    """What a queue has in a session.

    Args:
        session: The session.
        seed: Of what elements are drawn with.
    """

    def __init__(self, session: Any, seed: int | None) -> None:
        self.rows: collections.deque[Row] = collections.deque()
        self.is_closed = False
        self.is_filled = False
        self.fillers: list[Filler] = []
        # Waiting lets go of the graph, which other threads run meanwhile.
        self.changed = threading.Condition(session.graph.lock)
        self.generator = np.random.RandomState(seed)


class QueueBase:
    """A queue of a graph, as `tf.QueueBase`.

    Args:
        capacity: How many elements it has at most.
        dtypes: The dtype of each component, or of the only one.
        shapes: The shape of each, or of the only one; None if they are not known.
        names: The names of components, whose elements are dictionaries then.
        name: Its name.
    """

    # How many elements stay behind when one is drawn; None if they are taken in their order.
    _least: int | None = None
    _pads = False
    _seed: int | None = None

    def __init__(
        self,
        capacity: int,
        dtypes: PyTree,
        shapes: PyTree = None,
        names: Sequence[str] | None = None,
        name: str = "",
    ) -> None:
        self._building: Building = enter_program_graph().scope.building
        self._capacity = int(capacity)
        self._dtypes = [DType(each) for each in (dtypes if isinstance(dtypes, list | tuple) else [dtypes])]
        self._shapes = _as_shapes(shapes, len(self._dtypes))
        self._names = None if names is None else list(names)
        self.name = self._building.unique_name(name)
        self.runners: list[QueueRunner] = []

    @property
    def dtypes(self) -> list[DType]:
        """The dtypes of components."""
        return list(self._dtypes)

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of components."""
        return list(self._shapes)

    @property
    def names(self) -> list[str] | None:
        """The names of components, if they have any."""
        return self._names

    @property
    def queue_ref(self) -> "QueueBase":
        """The queue itself."""
        return self

    # In the graph.

    def enqueue(self, vals: PyTree, name: str | None = None) -> GraphOperation:
        """Return the operation that adds an element.

        Args:
            vals: Its components: a tensor, a list, or a dictionary by their names.
            name: The operation's name.
        """
        return self._add(vals, name or f"{self.name}_enqueue", lambda values: [values])

    def enqueue_many(self, vals: PyTree, name: str | None = None) -> GraphOperation:
        """Return the operation that adds several elements.

        Args:
            vals: Their components, one behind the other along the first dimension.
            name: The operation's name.
        """
        return self._add(
            vals,
            name or f"{self.name}_EnqueueMany",
            lambda values: [list(row) for row in zip(*values, strict=True)],
        )

    def enqueue_if(self, keep: GraphTensor, vals: PyTree, name: str, *, many: bool) -> GraphOperation:
        """Return the operation that adds an element, or several, where a tensor says so."""

        def choose(values: list[np.ndarray]) -> list[Row]:
            *values, kept = values
            if not many:
                return [values] if kept else []
            rows = [list(row) for row in zip(*values, strict=True)]
            return [
                row for row, is_kept in zip(rows, np.broadcast_to(kept, len(rows)), strict=True) if is_kept
            ]

        return self._add(vals, name, choose, keep)

    def _add(
        self, vals: PyTree, name: str, rows_of: Callable[[list[np.ndarray]], list[Row]], *more: GraphTensor
    ) -> GraphOperation:
        components = self._components(vals)

        def begin(session: Any, feed: Mapping[Any, Any]) -> None:
            tensors = [each for each in (*components, *more) if isinstance(each, GraphTensor)]
            found = iter(session.run(tensors, feed))
            given = [next(found) if isinstance(each, GraphTensor) else each for each in components]
            values = [np.asarray(each, kind.dtype) for each, kind in zip(given, self._dtypes, strict=True)]
            self.put(session, rows_of([*values, *found]))

        made = self._building.add_group(name, [])
        made.begins = begin
        return made

    def _components(self, vals: PyTree) -> list[Any]:
        if isinstance(vals, Mapping):
            if self._names is None or sorted(self._names) != sorted(vals):
                raise errors.BadArgumentError(
                    f"Queue names and components must agree. Received: names={self._names}, components "
                    f"{sorted(vals)}. Give the queue names."
                )
            return [vals[each] for each in self._names]
        given = list(vals) if isinstance(vals, list | tuple) else [vals]
        if len(given) != len(self._dtypes):
            if len(self._dtypes) == 1:
                return [vals]
            raise errors.BadArgumentError(
                f"Expected: {len(self._dtypes)} components, of dtypes {shown([each.name for each in self._dtypes])}. "
                f"Received: {shown(vals)}."
            )
        return given

    def dequeue(self, name: str | None = None) -> Any:
        """Return the next element, which a session takes in each run that needs it."""
        return self._give(
            name or f"{self.name}_Dequeue", self._shapes, lambda session: self.take(session, 1)[0]
        )

    def dequeue_many(self, n: int, name: str | None = None) -> Any:
        """Return the next elements, one behind the other along a new first dimension.

        Args:
            n: How many.
            name: The operation's name.
        """
        shapes = [_add_size(n, each) for each in self._shapes]
        return self._give(
            name or f"{self.name}_DequeueMany", shapes, lambda session: self._join(self.take(session, n))
        )

    def dequeue_up_to(self, n: int, name: str | None = None) -> Any:
        """Return the next elements, fewer where it has been closed.

        Args:
            n: How many at most.
            name: The operation's name.
        """
        shapes = [_add_size(None, each) for each in self._shapes]
        return self._give(
            name or f"{self.name}_DequeueUpTo",
            shapes,
            lambda session: self._join(self.take(session, n, may_be_fewer=True)),
        )

    def _give(self, name: str, shapes: Sequence[TensorShape], take: Callable[[Any], Row]) -> Any:
        specs = [(shape, kind) for shape, kind in zip(shapes, self._dtypes, strict=True)]
        made = self._building.add_source(
            specs, name, "QueueDequeue", source=lambda session, feed: take(session)
        )
        if self._names is not None:
            return dict(zip(self._names, made, strict=True))
        return made[0] if len(made) == 1 else made

    def _join(self, rows: list[Row]) -> Row:
        columns = [list(column) for column in zip(*rows, strict=True)]
        return [np.stack(_fill_up(column) if self._pads else column) for column in columns]

    def size(self, name: str | None = None) -> Any:
        """Return how many elements it has, as a tensor."""
        return self._tell(np.int32, name or f"{self.name}_Size", lambda state: len(state.rows))

    def is_closed(self, name: str | None = None) -> Any:
        """Return whether it is closed, as a tensor."""
        return self._tell(bool, name or f"{self.name}_is_closed", lambda state: state.is_closed)

    def _tell(self, dtype: DTypeLike, name: str, find: Callable[[_State], Any]) -> Any:
        (made,) = self._building.add_source(
            [(TensorShape([]), DType(dtype))],
            name,
            "QueueSize",
            source=lambda session, feed: [np.array(find(self._state(session)), dtype)],
        )
        return made

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> GraphOperation:
        """Return the operation after which nothing is added any more.

        Args:
            cancel_pending_enqueues: Ignored: who waits to add something is told.
            name: The operation's name.
        """
        made = self._building.add_group(name or f"{self.name}_Close", [])
        made.begins = lambda session, feed: self._close(session)
        return made

    # In a session.

    def _state(self, session: Any) -> _State:
        found: _State | None = session.resources.get(self)
        if found is None:
            found = session.resources[self] = _State(session, self._seed)
        return found

    def fill_by(self, session: Any, filler: Filler) -> None:
        """Have a filler be asked for elements in a session."""
        state = self._state(session)
        if filler not in state.fillers:
            state.fillers.append(filler)

    def _close(self, session: Any) -> None:
        with session.graph.lock:
            state = self._state(session)
            state.is_closed = True
            state.changed.notify_all()

    def put(self, session: Any, rows: list[Row]) -> None:
        """Add elements in a session.

        Raises:
            CancelledError: If it is closed.
        """
        with session.graph.lock:
            state = self._state(session)
            # Who takes asks for as many as there is room for.
            if not state.is_filled:
                self._wait(
                    session, state, lambda: state.is_closed or len(state.rows) + len(rows) <= self._capacity
                )
            if state.is_closed:
                raise errors.CancelledError(f"Queue '{self.name}' is closed.")
            state.rows.extend(rows)
            state.changed.notify_all()

    def take(self, session: Any, count: int, *, may_be_fewer: bool = False) -> list[Row]:
        """Take elements in a session.

        Args:
            session: The session.
            count: How many.
            may_be_fewer: Whether there may be fewer at the end.

        Raises:
            OutOfRangeError: If it is closed, and has not as many.
        """
        with session.graph.lock:
            state = self._state(session)
            wanted = count + (self._least or 0)
            self._wait(session, state, lambda: state.is_closed or len(state.rows) >= wanted)
            has = len(state.rows)
            if has < count and not (may_be_fewer and has):
                raise errors.OutOfRangeError(
                    f"{type(self).__name__} '{self.name}' is closed and has insufficient elements (requested {count}, "
                    f"current size {has})"
                )
            rows = [self._pick(state) for _ in range(min(count, has))]
            state.changed.notify_all()
            return rows

    def _pick(self, state: _State) -> Row:
        if self._least is not None:
            state.rows.rotate(-int(state.generator.randint(len(state.rows))))
        return state.rows.popleft()

    def _wait(self, session: Any, state: _State, is_there: Callable[[], bool]) -> None:
        """Wait until something holds, and fill the queue meanwhile."""
        end = time.monotonic() + _MOST_SECONDS
        while not is_there():
            if session.is_closed:
                raise errors.CancelledError(f"The session of queue '{self.name}' was closed.")
            if state.fillers:
                self._fill(session, state)
                continue
            if self.runners and threading.active_count() == 1:
                raise errors.FailedPreconditionError(
                    f"Queue '{self.name}' has no elements, and nothing fills it. Call "
                    "tf.train.start_queue_runners(sess) before it is needed."
                )
            if threading.active_count() == 1 or time.monotonic() > end:
                raise errors.ClusterTimeoutError(
                    f"Queue '{self.name}' has {len(state.rows)} elements of {self._capacity}, and no other thread "
                    "changes that. Add elements before they are taken, and take some before more are added."
                )
            state.changed.wait(_SLICE_SECONDS)

    def _fill(self, session: Any, state: _State) -> None:
        filler = state.fillers.pop(0)
        before, state.is_filled = state.is_filled, True
        try:
            filler.fill(session)
            # In turn, as threads would.
            state.fillers.append(filler)
        except (errors.OutOfRangeError, errors.CancelledError):
            state.is_closed = not state.fillers
        finally:
            state.is_filled = before


class FIFOQueue(QueueBase):
    """A queue whose elements are taken in the order in which they came, as `tf.FIFOQueue`.

    Args:
        capacity: How many elements it has at most.
        dtypes: The dtype of each component, or of the only one.
        shapes: The shape of each, or of the only one; None if they are not known.
        names: The names of components, whose elements are dictionaries then.
        shared_name: Ignored.
        name: Its name.

    Example:
        >>> import stratax.tf.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     queue = tf.FIFOQueue(3, tf.float32, shapes=[])
        ...     session.run(queue.enqueue_many([[1.0, 2.0]]))
        ...     print(session.run(queue.dequeue_many(2)))
        [1. 2.]
    """

    def __init__(
        self,
        capacity: int,
        dtypes: PyTree,
        shapes: PyTree = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        super().__init__(capacity, dtypes, shapes, names, name)


class PaddingFIFOQueue(QueueBase):
    """One whose elements get the largest size among them when several are taken, as `tf.PaddingFIFOQueue`.

    Args:
        capacity: As for `FIFOQueue`.
        dtypes: Likewise.
        shapes: Likewise; sizes that differ are None.
        names: Likewise.
        shared_name: Ignored.
        name: Its name.
    """

    _pads = True

    def __init__(
        self,
        capacity: int,
        dtypes: PyTree,
        shapes: PyTree,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        super().__init__(capacity, dtypes, shapes, names, name)


class RandomShuffleQueue(QueueBase):
    """A queue whose elements are drawn by chance, as `tf.RandomShuffleQueue`.

    Args:
        capacity: As for `FIFOQueue`.
        min_after_dequeue: How many elements stay behind at least, until it is closed.
        dtypes: As for `FIFOQueue`.
        shapes: Likewise.
        names: Likewise.
        seed: Of a generator of its own: other numbers than TensorFlow's.
        shared_name: Ignored.
        name: Its name.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: PyTree,
        shapes: PyTree = None,
        names: Sequence[str] | None = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        super().__init__(capacity, dtypes, shapes, names, name)
        self._least, self._seed = int(min_after_dequeue), seed


class QueueRunner:
    """Has a queue be filled by operations, as `tf.train.QueueRunner`: by whoever takes from it, without threads.

    Args:
        queue: The queue.
        enqueue_ops: Operations that add to it, which are run in turn.
        close_op: Ignored: it is closed when none of them has more.
        cancel_op: Ignored.
        queue_closed_exception_types: Ignored.
        fillers: What fills it besides.
    """

    def __init__(
        self,
        queue: QueueBase,
        enqueue_ops: Sequence[GraphOperation],
        close_op: object = None,
        cancel_op: object = None,
        queue_closed_exception_types: object = None,
        *,
        fillers: Sequence[Filler] = (),
    ) -> None:
        self.queue = queue
        self.enqueue_ops = list(enqueue_ops)
        self._fillers = [*map(_Enqueueing, dict.fromkeys(self.enqueue_ops)), *fillers]
        queue.runners.append(self)

    @property
    def name(self) -> str:
        """The queue's name."""
        return self.queue.name

    def start(self, session: Any) -> None:
        """Have the queue be filled in a session."""
        for each in self._fillers:
            self.queue.fill_by(session, each)

    def create_threads(
        self, sess: Any, coord: object = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Have the queue be filled in a session; return no threads, as there are none.

        Args:
            sess: The session.
            coord: Ignored.
            daemon: Ignored.
            start: Ignored.
        """
        self.start(sess)
        return []


class _Enqueueing(Filler):
    """Fills a queue by an operation.

    Args:
        operation: Adds to it.
    """

    def __init__(self, operation: GraphOperation) -> None:
        self._operation = operation

    def fill(self, session: Any) -> None:
        session.run(self._operation)


def add_queue_runner(qr: QueueRunner, collection: str = QUEUE_RUNNERS) -> None:
    """Add a runner to the graph's, which `start_queue_runners` starts, as `tf.train.add_queue_runner`.

    Args:
        qr: The runner.
        collection: The collection.
    """
    enter_program_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: object = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Have the graph's queues be filled in a session, as `tf.train.start_queue_runners`.

    Args:
        sess: The session; by default the one that is entered.
        coord: Ignored.
        daemon: Ignored.
        start: Ignored.
        collection: The collection of runners.

    Returns:
        No threads: whoever takes from a queue fills it.
    """
    session = sess or SESSION.get()
    # Of those that `MonitoredTrainingSession` gives, the one inside.
    session = getattr(session, "raw_session", session)
    if session is not None:
        for each in session.graph.get_collection(collection):
            each.start(session)
    return []


def _as_shapes(shapes: PyTree, count: int) -> list[TensorShape]:
    if shapes is None:
        return [TensorShape(None)] * count
    is_one = isinstance(shapes, TensorShape) or not any(
        isinstance(each, list | tuple | TensorShape) for each in shapes
    )
    given = [shapes] if is_one and count == 1 else list(shapes)
    made = [each if isinstance(each, TensorShape) else TensorShape(each) for each in given]
    if len(made) != count:
        raise errors.BadArgumentError(
            f"Queue shapes must have the same length as dtypes. Expected: {count} shapes. Received: {shown(shapes)}."
        )
    return made


def _add_size(count: TensorLike, shape: TensorShape) -> TensorShape:
    size = count if isinstance(count, int) else None
    return TensorShape(None) if shape.rank is None else TensorShape([size, *shape.as_list()])


def _fill_up(values: list[np.ndarray]) -> list[np.ndarray]:
    """Return arrays with zeros behind them, or empty text, so that all have the largest sizes."""
    sizes = np.max([each.shape for each in values], axis=0)
    made = []
    for each in values:
        whole = np.full(sizes, b"" if each.dtype.hasobject else 0, each.dtype)
        whole[tuple(map(slice, each.shape))] = each
        made.append(whole)
    return made
