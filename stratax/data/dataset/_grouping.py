"""Methods of Dataset that make groups by what elements are (data layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data import ops, vectorise
from stratax.data.dataset._deriving import Deriving, node_of
from stratax.data.elements import DatasetSpec, Nested, as_shape, flatten, shapes_in, unflatten
from stratax.data.plan import Node, as_count, check_callable
from stratax.errors import BadArgumentError, BadTypeError


class Grouping(Deriving):
    """The methods of Dataset that make groups."""

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: int | None = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Any:
        """Gather elements by key, and join the Datasets that a function makes of each group.

        Args:
            key_func: The key of an element (unpacked like in `map`): an int64 scalar.
            reduce_func: From a key and a Dataset of the elements of a group to a Dataset.
            window_size: How many elements a group has. The last ones may have fewer.
            window_size_func: Gives that number for a key, instead.
            name: Ignored.

        Returns:
            A Dataset that can only be iterated. Groups come when they are full, those left at the end by key.

        Raises:
            BadArgumentError: Not exactly one of `window_size` and `window_size_func` is given.

        Example:
            >>> from stratax.data import Dataset
            >>> ds = Dataset.range(10).group_by_window(lambda x: x % 2, lambda key, group: group.batch(5), 5)
            >>> [batch.tolist() for batch in ds]
            [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
        """
        if (window_size is None) == (window_size_func is None):
            raise BadArgumentError(
                "group_by_window takes either window_size or window_size_func. Received: "
                f"window_size={shown(window_size)}, window_size_func={shown(window_size_func)}."
            )
        check_callable("reduce_func", reduce_func)
        if window_size_func is None:
            size = as_count("window_size", window_size, 1)
            return self._group(key_func, lambda key: size, reduce_func)
        check_callable("window_size_func", window_size_func)
        return self._group(key_func, _size_func(window_size_func), reduce_func)

    def _group(
        self, key_func: Callable[..., Any], size_of: Callable[[int], int], reduce_func: Callable[..., Any]
    ) -> Any:
        def wrap(node: Node) -> Nested:
            dataset: Nested = self._derive(node)
            return dataset

        groups = ops.Groups(self._node, key_func, size_of, wrap)
        return self._derive(ops.try_functions(ops.GroupByWindow(groups, reduce_func, node_of)))

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: object = None,
        padding_values: object = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Any:
        """Make batches of elements of about the same length.

        Args:
            element_length_func: The length of an element (unpacked like in `map`).
            bucket_boundaries: From which length on elements are in the next bucket, in ascending order.
            bucket_batch_sizes: How many elements a batch of each bucket has: one more than there are boundaries.
            padded_shapes: As of :meth:`Dataset.padded_batch`.
            padding_values: As of :meth:`Dataset.padded_batch`.
            pad_to_bucket_boundary: Whether sizes that are not known are padded to the bucket's boundary less one, and
                not to the longest element in the batch. Then no element may be in the last bucket.
            no_padding: Whether elements are not padded: those of one batch have the same shapes already.
            drop_remainder: Whether the last batch of each bucket is left out if it is short.
            name: Ignored.

        Raises:
            BadArgumentError: The numbers of boundaries and sizes do not fit, or boundaries are not in order. While
                iterating: an element is too long for `pad_to_bucket_boundary`.

        Example:
            >>> import numpy as np
            >>> from stratax.data import Dataset
            >>> words = [[0], [1, 2, 3, 4], [5, 6, 7], [7, 8, 9, 10, 11], [13, 14], [19, 20]]
            >>> ds = Dataset.from_generator(lambda: words, np.int32, [None])
            >>> ds = ds.bucket_by_sequence_length(len, [3, 5], [2, 2, 2])
            >>> [tuple(batch.shape) for batch in ds]
            [(2, 4), (2, 2), (1, 2), (1, 5)]
        """
        boundaries = np.array([as_count("bucket_boundaries", each, None) for each in bucket_boundaries])
        sizes = [as_count("bucket_batch_sizes", each, 1) for each in bucket_batch_sizes]
        if len(sizes) != len(boundaries) + 1 or (np.diff(boundaries) <= 0).any():
            raise BadArgumentError(
                "bucket_by_sequence_length needs boundaries in ascending order, and one batch size more than there are "
                f"boundaries. Received: bucket_boundaries={shown(list(bucket_boundaries))}, "
                f"bucket_batch_sizes={shown(list(bucket_batch_sizes))}."
            )
        check_callable("element_length_func", element_length_func, self._node)
        ops.try_out(element_length_func, self._node, _check_length)

        def bucket_of(*element: object) -> Any:
            length = np.asarray(element_length_func(*element))
            return np.int64(np.searchsorted(boundaries, length, side="right"))

        def batch_group(key: Any, group: Any) -> Any:
            number = int(key)
            if no_padding:
                return group.batch(sizes[number], drop_remainder)
            shapes = padded_shapes
            if pad_to_bucket_boundary:
                shapes = _to_boundary(group, padded_shapes, number, boundaries)
            return group.padded_batch(sizes[number], shapes, padding_values, drop_remainder)

        return self._group(bucket_of, lambda key: sizes[key], batch_group)

    def ragged_batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        row_splits_dtype: DTypeLike = np.int64,
        name: str | None = None,
    ) -> Any:
        """Make batches of elements of different sizes, which become RaggedTensors.

        Args:
            batch_size: Elements of a batch, at least 1.
            drop_remainder: Whether the last batch is left out if it is short.
            row_splits_dtype: Of where rows begin: int64 or int32.
            name: Ignored.

        Example:
            >>> import numpy as np
            >>> from stratax.data import Dataset
            >>> ds = Dataset.range(4).map(lambda x: np.arange(x)).ragged_batch(2)
            >>> list(ds)
            [<tf.RaggedTensor [[], [0]]>, <tf.RaggedTensor [[0, 1], [0, 1, 2]]>]
        """
        node = ops.make_ragged_batch(self._node, batch_size, row_splits_dtype, drop_remainder=drop_remainder)
        return self._derive(node)

    def sparse_batch(self, batch_size: int, row_shape: object, name: str | None = None) -> Any:
        """Make batches of elements of different sizes, which become SparseTensors.

        Args:
            batch_size: Elements of a batch, at least 1.
            row_shape: The dense shape of an element, which none may exceed; None for sizes that are those of the
                largest in the batch.
            name: Ignored.
        """
        return self._derive(ops.make_sparse_batch(self._node, batch_size, row_shape))

    def group_by_reducer(self, key_func: Callable[..., Any], reducer: Any) -> Any:
        """Reduce the elements that have one key to one: see `tf.data.experimental.group_by_reducer`."""
        functions = (reducer.init_func, reducer.reduce_func, reducer.finalize_func)
        return self._derive(ops.try_functions(ops.GroupByReducer(self._node, key_func, *functions)))


def _check_length(length: object) -> None:
    found = np.asarray(length)
    if found.shape or found.dtype.kind not in "iu":
        raise BadTypeError(
            "element_length_func has to return one whole number. Received: "
            f"dtype={found.dtype}, shape={found.shape}. Return tf.shape(x)[0], or tf.cast(length, tf.int32)."
        )


def _size_func(function: Callable[..., Any]) -> Callable[[int], int]:
    def size_of(key: int) -> int:
        with vectorise.on_host():
            return as_count("window_size", np.asarray(function(np.int64(key))), 1)

    return size_of


def _to_boundary(group: Any, shapes: object, number: int, boundaries: np.ndarray) -> Any:
    """Return shapes to pad to: sizes that are not known are those of the longest element of a bucket."""
    if number == len(boundaries):
        raise BadArgumentError(
            "With pad_to_bucket_boundary no element may be in the last bucket. Expected: lengths below "
            f"{boundaries[-1]}. Received: a longer element. Add a boundary, or filter such elements."
        )
    longest = int(boundaries[number]) - 1
    specs, structure = flatten(group.element_spec)
    if shapes is None:
        wanted = [None if isinstance(spec, DatasetSpec) else spec.shape for spec in specs]
    else:
        found = shapes_in(structure, shapes)
        if found is None:
            # The error is that of the padding.
            return shapes
        wanted = found
    filled = [
        None if shape is None else tuple(longest if size is None else size for size in shape)
        for shape in map(as_shape, wanted)
    ]
    return unflatten(structure, filled)
