"""Functions of `tf.strings` that take strings apart and put them together (ops layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.summarized import summarize_array
from stratax.base.typing import DTypeLike, TensorLike
from stratax.data import RaggedTensor, SparseTensor
from stratax.data.elements import splits_of_lengths
from stratax.tensorflow.ops.calls.on_host import array_of, as_result, is_symbol, not_known, on_host
from stratax.tensorflow.ops.calls.op import op


def each_apart(
    function: Callable[[Any], Sequence[Any]], input: TensorLike, name: str, dtype: DTypeLike = object
) -> Any:
    """Return the parts that a function makes of each string: an array of those of one, else a RaggedTensor.

    Args:
        function: From a string to its parts.
        input: Strings.
        name: What the function is called.
        dtype: The parts' dtype.

    Raises:
        BadTypeError: The strings are known after, or before, a compiled function only.
    """
    if is_symbol(input):
        raise not_known(name, input)
    if isinstance(input, RaggedTensor):
        return input.with_values(each_apart(function, input.values, name, dtype))
    if isinstance(input, SparseTensor):
        raise errors.BadTypeError(
            f"{name} takes dense or ragged strings. Received: {shown(input)}. Use RaggedTensor.from_sparse first."
        )
    array = array_of(input)
    texts = array.reshape(-1).tolist()
    parts = [function(text) for text in texts]
    # Element by element: of a list of `bytes` NumPy would make an array of fixed length.
    flat = np.empty(sum(map(len, parts)), dtype)
    flat[:] = [part for found in parts for part in found]
    if not array.ndim:
        return as_result(flat)
    made: Any = RaggedTensor(flat, splits_of_lengths(np.array([len(found) for found in parts], np.int64)))
    # The strings' own dimensions, around the rows of parts.
    for size in reversed(array.shape[1:]):
        # Of rows of size 0 their number can't be found from the values.
        made = RaggedTensor.from_uniform_row_length(made, size, None if size else 0)
    return made


@op(is_told=False, is_raw=True)
def split(input: TensorLike, sep: Any = None, maxsplit: int = -1) -> Any:
    """Return the parts of strings between separators, as `tf.strings.split`.

    Args:
        input: Strings.
        sep: What stands between parts; white space of any length if None or empty.
        maxsplit: How often a string is split at most; -1 for everywhere.

    Returns:
        A RaggedTensor; of a single string an array.

    Example:
        >>> import stratax.tf as tf
        >>> tf.strings.split(["hello world", "a b c"])
        <tf.RaggedTensor [[b'hello', b'world'], [b'a', b'b', b'c']]>
    """
    # An empty separator means white space, as in TensorFlow.
    between = array_of("" if sep is None else sep).item() or None
    return each_apart(lambda text: _split(text, between, int(maxsplit)), input, "split")


def _split(text: bytes, between: bytes | None, most: int) -> list[bytes]:
    if between is None:
        found = text.split(None, most)
        # White space behind the last split leaves an empty rest, which Python leaves out.
        return [*found, b""] if len(found) == most > 0 and text[-1:].isspace() else found
    return text.split(between, most)


def split_to_sparse(
    input: TensorLike | None = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Return the parts of strings between separators, as `tf.compat.v1.strings.split`: a SparseTensor by default.

    Args:
        input: Strings of one dimension.
        sep: As of :func:`split`.
        maxsplit: As of :func:`split`.
        result_type: ``"SparseTensor"`` or ``"RaggedTensor"``.
        source: The older name of `input`.
        name: Ignored.
    """
    made = split(np.atleast_1d(array_of(source if input is None else input)), sep, maxsplit)
    return made if result_type == "RaggedTensor" else made.to_sparse()


def string_split(
    source: TensorLike,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = " ",
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Return the parts of strings between single characters, as TensorFlow 1's `tf.string_split`.

    Args:
        source: Strings of one dimension.
        sep: Characters of which each is a separator; the whole string character by character if empty.
        skip_empty: Whether empty parts are left out.
        delimiter: The older name of `sep`.
        result_type: ``"SparseTensor"`` or ``"RaggedTensor"``.
        name: Ignored.
    """
    separators = array_of(delimiter if sep is None else sep).item()

    def parts(text: bytes) -> list[bytes]:
        if not separators:
            return [text[i : i + 1] for i in range(len(text))]
        # All separators become the first one, so that one pass splits.
        first = separators[:1]
        found = text.translate(bytes.maketrans(separators, first * len(separators))).split(first)
        return [part for part in found if part] if skip_empty else found

    made = each_apart(parts, np.atleast_1d(array_of(source)), "string_split")
    return made if result_type == "RaggedTensor" else made.to_sparse()


@op(is_told=False, is_raw=True)
def bytes_split(input: TensorLike) -> Any:
    """Return the bytes of strings, as `tf.strings.bytes_split`.

    Args:
        input: Strings.
    """
    return each_apart(lambda text: [text[i : i + 1] for i in range(len(text))], input, "bytes_split")


@op(name_after="separator", is_told=False, is_raw=True)
def reduce_join(
    inputs: TensorLike,
    axis: TensorLike = None,
    keepdims: bool | None = False,
    separator: str = "",
    keep_dims: bool | None = None,
    reduction_indices: Any = None,
) -> Any:
    """Return strings of a dimension put together, as `tf.strings.reduce_join`.

    Args:
        inputs: Strings.
        axis: The dimension, or several, of which the first is put together first; all if None.
        keepdims: Whether dimensions stay, with size 1.
        separator: What stands between them.
        keep_dims: The older name of `keepdims`.
        reduction_indices: The older name of `axis`.

    Example:
        >>> import stratax.tf as tf
        >>> tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=1, separator="-").tolist()
        [b'a-b', b'c-d']
    """
    # TensorFlow 1's names of these arguments.
    axis = reduction_indices if axis is None else axis
    keeps = bool(keepdims or keep_dims)
    between = array_of(separator).item()
    if is_symbol(inputs):
        return on_host(
            lambda texts: _join(texts, axis, keeps, between), inputs, name="reduce_join", gives=None
        )
    if isinstance(inputs, RaggedTensor):
        return _join_rows(inputs, axis, keeps, between)
    return as_result(_join(array_of(inputs), axis, keeps, between))


def _join(texts: np.ndarray, axis: object, keeps: bool, between: bytes) -> np.ndarray:
    # TensorFlow puts the first of several dimensions together first, which is the innermost here.
    axes = range(texts.ndim) if axis is None else np.atleast_1d(np.asarray(axis, int)).tolist()[::-1]
    order = [each + texts.ndim if each < 0 else each for each in axes]
    if any(not 0 <= each < texts.ndim for each in order):
        raise errors.BadArgumentError(
            f"axis is out of range. Expected: from {-texts.ndim} to {texts.ndim - 1}. Received: axis={shown(axis)}."
        )
    if not order:
        return texts
    kept = [each for each in range(texts.ndim) if each not in order]
    # What is put together lies in the last dimension.
    columns = texts.transpose([*kept, *order]).reshape((*[texts.shape[each] for each in kept], -1))
    made = np.empty(columns.shape[:-1], object)
    # Of no elements the number of rows has to be said.
    flat = (
        columns.reshape(-1, columns.shape[-1])
        if columns.size
        else columns.reshape(made.size, columns.shape[-1])
    )
    made.reshape(-1)[:] = [between.join(row) for row in flat.tolist()]
    return (
        made.reshape([1 if each in order else size for each, size in enumerate(texts.shape)])
        if keeps
        else made
    )


def _join_rows(rows: RaggedTensor, axis: object, keeps: bool, between: bytes) -> Any:
    axes = list(range(rows.ndim)) if axis is None else np.atleast_1d(np.asarray(axis)).tolist()
    made: Any = rows
    # From the inside, so that dimensions further out keep their numbers.
    for each_axis in sorted((a + rows.ndim if a < 0 else a for a in axes), reverse=True):
        if not isinstance(made, RaggedTensor):
            made = _join(array_of(made), each_axis, keeps, between)
        elif each_axis == 0:
            raise errors.BadArgumentError(
                f"Rows can't be put together across. Received: axis={shown(axis)} of {shown(rows)}."
            )
        else:
            made = _inner_joined(made, each_axis, between)
    return as_result(made) if not isinstance(made, RaggedTensor) else made


def _inner_joined(rows: RaggedTensor, axis: int, between: bytes) -> Any:
    if axis > 1:
        values = rows.values
        inner = _inner_joined(values, axis - 1, between) if isinstance(values, RaggedTensor) else None
        return rows.with_values(_join(array_of(values), axis - 1, False, between) if inner is None else inner)
    made = np.empty(len(rows), object)
    made[:] = [between.join(row) for row in rows.to_list()]
    return made


@op(is_told=False, is_raw=True)
def unsorted_segment_join(
    inputs: TensorLike, segment_ids: TensorLike, num_segments: int, separator: str = ""
) -> Any:
    """Return strings of each number put together, as `tf.strings.unsorted_segment_join`.

    Args:
        inputs: Strings.
        segment_ids: The number of each.
        num_segments: How many numbers there are.
        separator: What stands between strings.

    Raises:
        BadArgumentError: A number is out of range.
    """
    texts, numbers = array_of(inputs), np.asarray(segment_ids)
    rest = texts.shape[numbers.ndim :]
    rows = texts.reshape(numbers.size, -1)
    count = int(num_segments)
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < count):
        raise errors.BadArgumentError(
            f"segment_ids are from 0 to below num_segments={count}. Received: segment_ids={shown(numbers)}."
        )
    # By segment, and by place in what segment_ids does not count.
    found: list[list[list[bytes]]] = [[[] for _ in range(rows.shape[1])] for _ in range(count)]
    for number, row in zip(numbers.reshape(-1).tolist(), rows.tolist(), strict=True):
        for place, text in enumerate(row):
            found[number][place].append(text)
    between = array_of(separator).item()
    made = np.empty(count * rows.shape[1], object)
    made[:] = [between.join(cell) for row in found for cell in row]
    return as_result(made.reshape((count, *rest)))


@op(is_told=False, is_raw=True)
def ngrams(
    data: TensorLike,
    ngram_width: TensorLike,
    separator: str = " ",
    pad_values: TensorLike | None = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
) -> Any:
    """Return neighbouring strings of rows put together, as `tf.strings.ngrams`.

    Args:
        data: Rows of strings: an array or a RaggedTensor.
        ngram_width: How many are put together, or several such numbers.
        separator: What stands between them.
        pad_values: A string at both ends of rows, or a pair of those at the left and at the right; none if None.
        padding_width: How often it is there at most; one less than the width if None.
        preserve_short_sequences: Whether a row that is too short is put together whole.

    Returns:
        A RaggedTensor; an array if `data` is one.
    """
    widths = [int(width) for width in np.atleast_1d(np.asarray(ngram_width))]
    if not widths or min(widths) < 1:
        raise errors.BadArgumentError(
            f"All ngram_widths must be greater than 0. Received: ngram_width={shown(ngram_width)}."
        )
    if is_symbol(data):
        raise not_known("ngrams", data)
    between = array_of(separator).item()
    pads = None if pad_values is None else [array_of(each).item() for each in _pair(pad_values)]

    def make_grams(row: list[bytes]) -> list[bytes]:
        found = [gram for width in widths for gram in _grams(row, width, between, pads, padding_width)]
        # A row that is shorter than all widths becomes one gram.
        if not found and row and preserve_short_sequences:
            return [between.join(row)]
        return found

    if isinstance(data, RaggedTensor) and isinstance(data.values, RaggedTensor):
        return data.with_values(
            ngrams(data.values, widths, separator, pad_values, padding_width, preserve_short_sequences)
        )
    array = data if isinstance(data, RaggedTensor) else array_of(data)
    listed = (
        array.to_list() if isinstance(array, RaggedTensor) else array.reshape(-1, array.shape[-1]).tolist()
    )
    grams = [make_grams(row) for row in listed]
    flat = np.empty(sum(map(len, grams)), object)
    flat[:] = [gram for row in grams for gram in row]
    if isinstance(array, RaggedTensor):
        return RaggedTensor(flat, splits_of_lengths(np.array([len(row) for row in grams], np.int64)))
    return as_result(flat.reshape((*array.shape[:-1], -1 if not grams else len(grams[0]))))


def _pair(pad_values: object) -> Sequence[Any]:
    return pad_values if isinstance(pad_values, tuple | list) else (pad_values, pad_values)


def _grams(
    row: list[bytes], width: int, between: bytes, pads: list[bytes] | None, padding_width: int | None
) -> list[bytes]:
    if pads is not None:
        # More padding would make grams of padding alone.
        count = width - 1 if padding_width is None else min(padding_width, width - 1)
        row = [pads[0]] * count + row + [pads[1]] * count
    return [between.join(row[i : i + width]) for i in range(len(row) - width + 1)]


@op(is_told=False, is_raw=True)
def format(template: str, inputs: TensorLike, placeholder: str = "{}", summarize: int = 3) -> Any:
    """Return a text with arrays in it, as `tf.strings.format`.

    Args:
        template: The text, with a placeholder for each array.
        inputs: Arrays, or one.
        placeholder: What stands for an array.
        summarize: How many elements of each end of a dimension are shown; -1 for all.

    Raises:
        BadArgumentError: There are not as many placeholders as arrays.
    """
    given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    # As many gaps as placeholders, each with the text behind it.
    first, *rest = template.split(placeholder)
    if len(rest) != len(given):
        raise errors.BadArgumentError(
            f"{len(rest)} placeholder(s) in template does not match {len(given)} tensor(s) provided as input. "
            f"Received: template={shown(template)}."
        )
    parts = [summarize_array(array_of(value), int(summarize)) for value in given]
    made = first + "".join(part + text for part, text in zip(parts, rest, strict=True))
    return as_result(np.array(made.encode(errors="surrogateescape"), object))
