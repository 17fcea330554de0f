"""Labels of sequences that are not aligned: connectionist temporal classification of `tf.nn` (ops layer).

The loss computes on a device. Decoders give as many labels as they find, so they compute on the host.
"""

from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.indices import dim_of
from stratax.base.refusals import raises_named
from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import Array, TensorLike
from stratax.data.elements import SparseTensor
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls._computed import call_with_library
from stratax.tensorflow.ops.calls._keras_ops import ops
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.op import op


@op
def ctc_loss(
    labels: TensorLike,
    logits: TensorLike,
    label_length: TensorLike | None,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: object = None,
    blank_index: int | None = None,
) -> Any:
    """Return the loss of labels whose places in a sequence are not known, as `tf.nn.ctc_loss`.

    Args:
        labels: Classes, shape `(batch, labels at most)`, or a SparseTensor of them.
        logits: Unscaled, shape `(steps, batch, classes)`.
        label_length: How many labels count, shape `(batch,)`; None with a SparseTensor.
        logit_length: How many steps count, shape `(batch,)`.
        logits_time_major: Whether steps come before the batch.
        unique: Ignored.
        blank_index: The class for "no label"; by default 0. With a SparseTensor it has to be given. Negative numbers
            count from the last.

    Returns:
        The losses, shape `(batch,)`. Labels that don't fit into the steps have one of about 1e5; TensorFlow's is
        infinite.

    Raises:
        BadArgumentError: If `blank_index` or `label_length` is missing.
    """
    if hasattr(labels, "dense_shape"):
        if blank_index is None:
            raise BadArgumentError(
                "With a SparseTensor of labels, blank_index has to be given. Received: blank_index=None. Pass -1 for "
                "the last class."
            )
        labels, label_length = _dense(labels)
    if label_length is None:
        raise BadArgumentError(
            "ctc_loss needs label_length, unless labels is a SparseTensor. Received: None."
        )
    scores = on_device(logits)
    # Keras' loss has the batch first.
    scores = ops.swapaxes(scores, 0, 1) if logits_time_major else scores
    # TensorFlow's default here is the first class, in `tf.compat.v1.nn.ctc_loss` the last.
    blank = dim_of(0 if blank_index is None else blank_index, scores.shape[-1], "blank_index")
    return ops.ctc_loss(
        on_device(labels), scores, on_device(label_length), on_device(logit_length), mask_index=blank
    )


def _dense(labels: Any) -> tuple[Any, Any]:
    """Return labels of a SparseTensor side by side, and how many each row has."""
    import jax.numpy as jnp

    rows, columns = (int(size) for size in np.asarray(labels.dense_shape))
    places, values = on_device(labels.indices), on_device(labels.values)
    dense = (
        jnp.zeros((rows, max(columns, 1)), "int32").at[places[:, 0], places[:, 1]].set(values.astype("int32"))
    )
    return dense, jnp.zeros(rows, "int32").at[places[:, 0]].add(1)


def _require_known(name: str, *arrays: object) -> list[np.ndarray]:
    if any(map(is_traced, arrays)):
        raise BadTypeError(
            f"tf.nn.{name} finds as many labels as there are, which no compiled program can return. Received: traced "
            "arrays. Call it outside of tf.function, or use keras.ops.ctc_decode, which fills up with -1."
        )
    return [np.asarray(array) for array in arrays]


def _sparse(rows: list[list[int]]) -> SparseTensor:
    places = [(row, column) for row, labels in enumerate(rows) for column in range(len(labels))]
    return SparseTensor(
        np.array(places, np.int64).reshape(-1, 2),
        np.array([label for labels in rows for label in labels], np.int64),
        np.array([len(rows), max(map(len, rows), default=0)], np.int64),
    )


@raises_named
def ctc_greedy_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> tuple[list[SparseTensor], Any]:
    """Return the likeliest class of each step, without blanks, as `tf.nn.ctc_greedy_decoder`; on the host.

    Args:
        inputs: Logits, shape `(steps, batch, classes)`.
        sequence_length: How many steps count, shape `(batch,)`.
        merge_repeated: Whether a class that goes on for several steps is one label.
        blank_index: The class for "no label"; by default the last.

    Returns:
        A list of one SparseTensor of labels, and the negative sums of the largest logits, shape `(batch, 1)`.

    Raises:
        BadTypeError: If the logits are traced.
    """
    logits, lengths = _require_known("ctc_greedy_decoder", inputs, sequence_length)
    _check_lengths(logits, lengths)
    blank = dim_of(-1 if blank_index is None else blank_index, logits.shape[2], "blank_index")
    # Shape (steps, batch): the best class, and whether the step counts.
    best, counts = logits.argmax(2), np.arange(len(logits))[:, None] < lengths
    rows = []
    for number, length in enumerate(lengths):
        classes = best[:length, number].tolist()
        # A blank between two equal classes makes them two labels, so that each is compared with its neighbour of
        # before.
        before = [None, *classes[:-1]]
        rows.append(
            [
                label
                for label, last in zip(classes, before, strict=True)
                if label != blank and not (merge_repeated and label == last)
            ]
        )
    # The second is TensorFlow's `neg_sum_logits`: the best logits of all steps, added up and negated.
    return [_sparse(rows)], -np.where(counts, logits.max(2), 0).sum(0)[:, None].astype(logits.dtype)


def _check_lengths(logits: np.ndarray, lengths: np.ndarray) -> None:
    if logits.ndim != 3 or lengths.shape != logits.shape[1:2] or (lengths > len(logits)).any():
        raise BadArgumentError(
            "Expected: logits of shape (steps, batch, classes), and a length for each sequence, at most as many steps. "
            f"Received: inputs of shape {logits.shape}, sequence_length={shown(lengths)}."
        )


@raises_named
def ctc_beam_search_decoder(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Any]:
    """Return the likeliest sequences of labels, as `tf.nn.ctc_beam_search_decoder`; on the host.

    Args:
        inputs: Logits, shape `(steps, batch, classes)`; the last class is the one for "no label".
        sequence_length: How many steps count, shape `(batch,)`.
        beam_width: How many beginnings are followed.
        top_paths: How many sequences are returned.

    Returns:
        A list of SparseTensors of labels, the likeliest first, and the logarithms of their probabilities, shape
        `(batch, top_paths)`.

    Raises:
        BadTypeError: If the logits are traced.
        BadArgumentError: If there are more paths than beginnings.
    """
    logits, lengths = _require_known("ctc_beam_search_decoder", inputs, sequence_length)
    _check_lengths(logits, lengths)
    if not 0 < top_paths <= beam_width:
        raise BadArgumentError(
            f"top_paths is from 1 to beam_width. Received: top_paths={shown(top_paths)}, "
            f"beam_width={shown(beam_width)}."
        )
    # Logarithms of probabilities are added up over all steps.
    wide = logits.astype(np.float64)
    scores = wide - np.logaddexp.reduce(wide, axis=2, keepdims=True)
    found = [_paths(scores[:length, number], beam_width, top_paths) for number, length in enumerate(lengths)]
    paths = [_sparse([list(each[rank][0]) for each in found]) for rank in range(top_paths)]
    return paths, np.array([[score for _, score in each] for each in found], logits.dtype)


def _paths(scores: np.ndarray, beam_width: int, top_paths: int) -> list[tuple[tuple[int, ...], float]]:
    """Return beginnings with their scores after all steps: of each the sums of those that end with a blank or not."""
    # By beginning: the logarithms of its probability with a blank at the end, and without.
    # TensorFlow's decoder has no blank_index: it takes the last class.
    blank, never = scores.shape[1] - 1, -np.inf
    beams: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, never)}
    for step in scores:
        after: dict[tuple[int, ...], tuple[float, float]] = {}
        for labels, (with_blank, without) in beams.items():
            # A blank leaves the labels as they are, whatever stood at the end.
            total = np.logaddexp(with_blank, without)
            _add(after, labels, total + step[blank], never)
            if labels:
                # The last label goes on.
                _add(after, labels, never, without + step[labels[-1]])
            for label in range(blank):
                # The same label again is a new one only behind a blank: without, it is the last one that goes on.
                is_repeated = bool(labels) and labels[-1] == label
                _add(after, (*labels, label), never, (with_blank if is_repeated else total) + step[label])
        # Not before: a beginning may get its probability in several ways.
        beams = dict(sorted(after.items(), key=lambda item: -np.logaddexp(*item[1]))[:beam_width])
    ranked = [(labels, float(np.logaddexp(*sums))) for labels, sums in beams.items()][:top_paths]
    # There may be fewer beginnings than paths were asked for.
    return ranked + [((), never)] * (top_paths - len(ranked))


def _add(
    beams: dict[tuple[int, ...], tuple[float, float]],
    labels: tuple[int, ...],
    with_blank: float,
    without: float,
) -> None:
    before = beams.get(labels, (-np.inf, -np.inf))
    beams[labels] = float(np.logaddexp(before[0], with_blank)), float(np.logaddexp(before[1], without))


@op
def collapse_repeated(labels: TensorLike, seq_length: TensorLike) -> tuple[Any, Any]:
    """Return rows in which labels that follow themselves are one, as `tf.nn.collapse_repeated`.

    Args:
        labels: Shape `(batch, labels at most)`.
        seq_length: How many labels count, shape `(batch,)`.

    Returns:
        The rows, filled up with 0; and how many labels they have. On the host rows are as long as the longest, in a
        compiled function as they were.
    """

    def compute(library: ModuleType, rows: Array, lengths: Array) -> tuple[Any, Any]:
        if rows.ndim != 2:
            raise BadArgumentError(
                f"Labels have the shape (batch, labels). Received: shape {tuple(rows.shape)}."
            )
        if tuple(lengths.shape) != (rows.shape[0],):
            raise BadArgumentError(
                f"Each row has a length. Received: labels of shape {tuple(rows.shape)}, seq_length of shape "
                f"{tuple(lengths.shape)}."
            )
        size = rows.shape[1]
        # Whether a label differs from the one before it; the first one does.
        is_new = library.concatenate(
            [library.ones((len(rows), min(size, 1)), bool), rows[:, 1:] != rows[:, :-1]], axis=1
        )
        is_kept = is_new & (library.arange(size) < lengths[:, None])
        # Kept labels first, each in its order.
        order = library.argsort(~is_kept, axis=1, stable=True)
        counts = library.sum(is_kept, axis=1).astype(lengths.dtype)
        kept = library.take_along_axis(rows, order, axis=1)
        kept = library.where(library.arange(size) < counts[:, None], kept, 0).astype(rows.dtype)
        # The width depends on values, which a compiled function does not know.
        return (kept if is_traced(counts) else kept[:, : int(counts.max(initial=0))]), counts

    return call_with_library(compute, labels, seq_length)
