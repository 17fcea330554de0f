"""`tf.train.batch`, `tf.train.string_input_producer` and their like: queues with what fills them (graph layer)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree, TensorLike
from stratax.data.elements import DType, TensorShape
from stratax.errors import BadArgumentError, OutOfRangeError
from stratax.io import glob
from stratax.tensorflow.graph._graph import enter_program_graph
from stratax.tensorflow.graph._nodes import GraphTensor
from stratax.tensorflow.graph._queues import (
    FIFOQueue,
    Filler,
    PaddingFIFOQueue,
    QueueBase,
    QueueRunner,
    RandomShuffleQueue,
    add_queue_runner,
)
from stratax.tensorflow.ops.arrays.arrays import gather
from stratax.tensorflow.ops.calls.creation import convert_to_tensor


class _Epochs(Filler):
    """Fills a queue with the rows of a tensor, epoch after epoch.

    Args:
        queue: The queue.
        rows: The tensor, or an array.
        epochs: How often each row comes; None for ever.
        shuffles: Whether rows of an epoch come in an order of chance.
        seed: Of that.
    """

    def __init__(
        self, queue: QueueBase, rows: PyTree, epochs: int | None, shuffles: bool, seed: int | None
    ) -> None:
        self._queue = queue
        self._given = rows, epochs, shuffles, seed

    def fill(self, session: Any) -> None:
        if self not in session.resources:
            session.resources[self] = self._rows(session)
        row = next(session.resources[self], None)
        if row is None:
            raise OutOfRangeError("End of sequence")
        self._queue.put(session, [[row]])

    def _rows(self, session: Any) -> Iterator[np.ndarray]:
        rows, epochs, shuffles, seed = self._given
        generator = np.random.RandomState(seed)
        values = np.asarray(session.run(rows) if isinstance(rows, GraphTensor) else rows)
        if not len(values):
            raise BadArgumentError(
                f"string_input_producer requires a non-null input tensor. Received: {shown(rows)}."
            )
        done = 0
        while epochs is None or done < epochs:
            order = generator.permutation(len(values)) if shuffles else range(len(values))
            for index in order:
                yield np.asarray(values[index], values.dtype)
            done += 1


def input_producer(
    input_tensor: PyTree,
    element_shape: object = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: object = None,
) -> QueueBase:
    """Return a queue of the rows of a tensor, as `tf.train.input_producer`.

    Args:
        input_tensor: The rows: a tensor, an array or a list.
        element_shape: The shape of a row, if it is not known.
        num_epochs: How often each row comes; None for ever.
        shuffle: Whether they come in an order of chance, another one in each epoch.
        seed: Of that: another order than TensorFlow's.
        capacity: How many rows the queue has at most.
        shared_name: Ignored.
        summary_name: Ignored.
        name: The queue's name.
        cancel_op: Ignored.

    Example:
        >>> import stratax.tf.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     queue = tf.train.input_producer([1, 2], num_epochs=1, shuffle=False)
        ...     row = queue.dequeue()
        ...     threads = tf.train.start_queue_runners(session)
        ...     print(session.run(row), session.run(row))
        1 2
    """
    rows = input_tensor if isinstance(input_tensor, GraphTensor) else np.asarray(input_tensor)
    if rows.dtype in (np.dtype("float64"), np.dtype("int64")) and not isinstance(rows, GraphTensor):
        # Python's numbers have 32 bits in TensorFlow.
        rows = rows.astype("float32" if rows.dtype == np.dtype("float64") else "int32")
    kind = "string" if getattr(rows.dtype, "kind", "") in "US" else rows.dtype
    known = TensorShape(tuple(rows.shape)) if isinstance(rows, np.ndarray) else rows.shape
    shape = known[1:] if element_shape is None else TensorShape(element_shape)  # type: ignore[arg-type]
    queue = FIFOQueue(capacity, [kind], [shape], name=name or "input_producer")
    _run(queue, [_Epochs(queue, rows, num_epochs, shuffle, seed)])
    return queue


def string_input_producer(
    string_tensor: PyTree,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: object = None,
) -> QueueBase:
    """Return a queue of texts, such as the names of files, as `tf.train.string_input_producer`.

    Args:
        string_tensor: The texts.
        num_epochs: As for `input_producer`.
        shuffle: Likewise.
        seed: Likewise.
        capacity: Likewise.
        shared_name: Ignored.
        name: The queue's name.
        cancel_op: Ignored.

    Raises:
        BadArgumentError: If there are no texts.
    """
    texts = string_tensor
    if not isinstance(texts, GraphTensor):
        texts = np.array([each.encode() if isinstance(each, str) else each for each in string_tensor], object)
        if not len(texts):
            raise BadArgumentError(
                "string_input_producer requires a non-null input tensor. Received: string_tensor="
                f"{shown(string_tensor)}. Look for the files that were meant."
            )
    return input_producer(texts, [], num_epochs, shuffle, seed, capacity, name=name or "input_producer")


def range_input_producer(
    limit: TensorLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Return a queue of the numbers from 0 to a limit, as `tf.train.range_input_producer`.

    Args:
        limit: How many numbers.
        num_epochs: As for `input_producer`.
        shuffle: Likewise.
        seed: Likewise.
        capacity: Likewise.
        shared_name: Ignored.
        name: The queue's name.
    """
    if isinstance(limit, GraphTensor):
        numbers: Any = enter_program_graph().scope.call(_count_up, limit)
    else:
        numbers = np.arange(int(limit), dtype=np.int32)  # type: ignore[arg-type]
    return input_producer(numbers, [], num_epochs, shuffle, seed, capacity, name=name or "input_producer")


def _count_up(limit: TensorLike) -> np.ndarray:
    return np.arange(int(limit), dtype=np.int32)  # type: ignore[arg-type]


def slice_input_producer(
    tensor_list: Sequence[TensorLike],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Any]:
    """Return a row of each of several tensors, as `tf.train.slice_input_producer`: those of one number.

    Args:
        tensor_list: The tensors, with as many rows each.
        num_epochs: As for `input_producer`.
        shuffle: Likewise.
        seed: Likewise.
        capacity: Likewise.
        shared_name: Ignored.
        name: The queue's name.

    Raises:
        BadArgumentError: If there are no tensors.
    """
    if not tensor_list:
        raise BadArgumentError(
            f"Expected at least one tensor in slice_input_producer(). Received: tensor_list={shown(tensor_list)}."
        )
    tensors = [convert_to_tensor(each) for each in tensor_list]
    queue = range_input_producer(
        tensors[0].shape.as_list()[0], num_epochs, shuffle, seed, capacity, name=name or "input_producer"
    )
    index = queue.dequeue()
    return [gather(each, index) for each in tensors]


def match_filenames_once(pattern: str | Sequence[str], name: str | None = None) -> Any:
    """Return the names of the files of a pattern, as `tf.train.match_filenames_once`, as a tensor.

    Args:
        pattern: One, or several.
        name: The operation's name.
    """
    patterns = [pattern] if isinstance(pattern, str) else list(pattern)

    def find(session: Any, feed: object) -> list[np.ndarray]:
        names = [file.encode() for each in patterns for file in sorted(glob(each))]
        return [np.array(names, object)]

    (made,) = enter_program_graph().scope.building.add_source(
        [(TensorShape([None]), DType("string"))], name or "matching_filenames", "MatchingFiles", source=find
    )
    return made


def batch(
    tensors: PyTree,
    batch_size: int,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: PyTree = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return tensors of several examples, as `tf.train.batch`.

    Args:
        tensors: Those of one example: a list, a dictionary, or one alone.
        batch_size: How many examples.
        num_threads: Ignored: whoever takes a batch computes it.
        capacity: How many examples wait at most.
        enqueue_many: Whether `tensors` have several examples each.
        shapes: The shapes of one example's, if they are not known.
        dynamic_pad: Whether sizes may differ: examples get the largest among them.
        allow_smaller_final_batch: Whether the last batch may be smaller; else those left over are dropped.
        shared_name: Ignored.
        name: The operation's name.
    """
    made = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return _batch(
        [tensors],
        batch_size,
        lambda kinds, sizes: made(capacity, kinds, sizes, name=f"{name or 'batch'}/fifo_queue"),
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name or "batch",
    )


def maybe_batch(
    tensors: PyTree,
    keep_input: PyTree,
    batch_size: int,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: PyTree = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return tensors of several examples, as `batch`, of those alone that a tensor says.

    Args:
        tensors: As for `batch`.
        keep_input: Whether an example is taken; of each, with `enqueue_many`.
        batch_size: As for `batch`.
        num_threads: Ignored.
        capacity: As for `batch`.
        enqueue_many: Likewise.
        shapes: Likewise.
        dynamic_pad: Likewise.
        allow_smaller_final_batch: Likewise.
        shared_name: Ignored.
        name: The operation's name.
    """
    made = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return _batch(
        [tensors],
        batch_size,
        lambda kinds, sizes: made(capacity, kinds, sizes, name=f"{name or 'maybe_batch'}/fifo_queue"),
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name or "maybe_batch",
        keep_input,
    )


def batch_join(
    tensors_list: Sequence[PyTree],
    batch_size: int,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: PyTree = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return tensors of several examples, which come from several places in turn, as `tf.train.batch_join`.

    Args:
        tensors_list: The tensors of one example, of each place.
        batch_size: As for `batch`.
        capacity: Likewise.
        enqueue_many: Likewise.
        shapes: Likewise.
        dynamic_pad: Likewise.
        allow_smaller_final_batch: Likewise.
        shared_name: Ignored.
        name: The operation's name.
    """
    made = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return _batch(
        tensors_list,
        batch_size,
        lambda kinds, sizes: made(capacity, kinds, sizes, name=f"{name or 'batch_join'}/fifo_queue"),
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name or "batch_join",
    )


def shuffle_batch(
    tensors: PyTree,
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: PyTree = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return tensors of several examples, drawn by chance, as `tf.train.shuffle_batch`.

    Args:
        tensors: As for `batch`.
        batch_size: Likewise.
        capacity: Likewise.
        min_after_dequeue: How many examples stay behind, from which the next are drawn.
        num_threads: Ignored.
        seed: Of a generator of its own: other numbers than TensorFlow's.
        enqueue_many: As for `batch`.
        shapes: Likewise.
        allow_smaller_final_batch: Likewise.
        shared_name: Ignored.
        name: The operation's name.
    """
    own = name or "shuffle_batch"
    return shuffle_batch_join(
        [tensors],
        batch_size,
        capacity,
        min_after_dequeue,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        None,
        own,
    )


def shuffle_batch_join(
    tensors_list: Sequence[PyTree],
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: PyTree = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return tensors of several examples, drawn by chance from several places, as `tf.train.shuffle_batch_join`.

    Args:
        tensors_list: As for `batch_join`.
        batch_size: As for `shuffle_batch`.
        capacity: Likewise.
        min_after_dequeue: Likewise.
        seed: Likewise.
        enqueue_many: Likewise.
        shapes: Likewise.
        allow_smaller_final_batch: Likewise.
        shared_name: Ignored.
        name: The operation's name.
    """
    own = name or "shuffle_batch_join"
    return _batch(
        tensors_list,
        batch_size,
        lambda kinds, sizes: RandomShuffleQueue(
            capacity, min_after_dequeue, kinds, sizes, seed=seed, name=f"{own}/random_shuffle_queue"
        ),
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        own,
    )


def _batch(
    places: Sequence[PyTree],
    batch_size: int,
    make_queue: Callable[[list[Any], list[TensorShape]], QueueBase],
    has_many: bool,
    shapes: PyTree,
    may_be_smaller: bool,
    name: str,
    keep: Any = None,
) -> Any:
    """Return a batch of examples that a queue of its own has.

    Args:
        places: The tensors of one example, of each place.
        batch_size: How many examples.
        make_queue: Makes the queue, of dtypes and shapes.
        has_many: Whether the tensors have several examples each.
        shapes: Shapes that are given.
        may_be_smaller: Whether the last batch may be.
        name: The result's name.
        keep: Whether an example is taken; None for all.
    """
    rebuild, rows = _flatten(places)
    firsts = [convert_to_tensor(each) for each in rows[0]]
    rows = [firsts, *([convert_to_tensor(each) for each in row] for row in rows[1:])]
    given = [each.shape[1:] if has_many and each.shape.rank else each.shape for each in firsts]
    if shapes is not None:
        given = [TensorShape(each) for each in (shapes if isinstance(shapes, list) else [shapes])]
    queue = make_queue([each.dtype for each in firsts], given)
    operations = []
    for row in rows:
        if keep is not None:
            operations.append(
                queue.enqueue_if(convert_to_tensor(keep), row, f"{name}_enqueue", many=has_many)
            )
        else:
            operations.append(queue.enqueue_many(row) if has_many else queue.enqueue(row))
    add_queue_runner(QueueRunner(queue, operations))
    take = queue.dequeue_up_to if may_be_smaller else queue.dequeue_many
    found = take(batch_size, name=name)
    return rebuild(found if isinstance(found, list) else [found])


def _flatten(places: Sequence[PyTree]) -> tuple[Callable[[list[Any]], Any], list[list[Any]]]:
    """Return what makes the structure of one example of its tensors, and the tensors of each place."""
    first = places[0]
    if isinstance(first, Mapping):
        keys = sorted(first)
        return lambda found: dict(zip(keys, found, strict=True)), [
            [each[key] for key in keys] for each in places
        ]
    if isinstance(first, list | tuple):
        # One tensor alone is no list, as in TensorFlow.
        return lambda found: found if len(found) > 1 else found[0], [list(each) for each in places]
    return lambda found: found[0], [[each] for each in places]


def _run(queue: QueueBase, fillers: list[Filler]) -> None:
    runner = QueueRunner(queue, [], fillers=fillers)
    add_queue_runner(runner)
