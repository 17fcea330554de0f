"""Datasets of sparse and ragged elements, for TensorFlow's tf.data and for Stratax': the same lines.

`sources(tf)` and `operations(tf)` make them of a library's names; `found(make)` describes what comes out.
"""

import itertools
import tempfile

import numpy as np


def sources(tf):
    """Return functions that make a Dataset of four elements each, by name."""
    D = tf.data.Dataset
    slices = D.from_tensor_slices

    def sparse():
        return D.range(4).map(
            lambda x: tf.sparse.SparseTensor(tf.reshape(x, [1, 1]), tf.reshape(x + 1, [1]), [4])
        )

    def ragged(**kwargs):
        return tf.ragged.constant([[1, 2], [], [3], [4, 5, 6]], dtype=tf.int32, **kwargs)

    def two_levels():
        return tf.ragged.constant([[[1], [2, 3]], [], [[4]], [[], [5]]], dtype=tf.int64)

    def generated(values, spec):
        return D.from_generator(lambda: iter(values), output_signature=spec)

    def table(values, shape=(4, 3)):
        return tf.sparse.SparseTensor([[0, 1], [1, 0], [1, 2], [3, 2]], values, shape)

    return {
        "sparse": sparse,
        "sparse of sizes": lambda: D.range(4).map(
            lambda x: tf.sparse.SparseTensor(
                tf.reshape(x, [1, 1]), tf.reshape(tf.cast(x, tf.float32), [1]), tf.reshape(x + 1, [1])
            )
        ),
        "sparse slices": lambda: slices(table([5, 6, 7, 8])),
        "sparse text": lambda: slices(table(["a", "b", "c", ""])),
        "sparse generated": lambda: generated(
            [tf.sparse.SparseTensor([[0, n]], [n], [1, 3]) for n in (0, 2, 1, 2)],
            tf.SparseTensorSpec([None, 3], tf.int32),
        ),
        "ragged": lambda: slices(ragged()),
        "ragged of int32 splits": lambda: slices(ragged(row_splits_dtype=tf.int32)),
        "ragged of one length": lambda: slices(
            tf.ragged.constant([[1, 2], [3, 4], [5, 6], [7, 8]], dtype=tf.float32)
        ),
        "ragged text": lambda: slices(tf.ragged.constant([["a", "bc"], [], ["", "d"], ["e"]])),
        "ragged of pairs": lambda: slices(
            tf.ragged.constant([[[1, 1], [2, 2]], [], [[3, 3]], [[4, 4]]], ragged_rank=1, dtype=tf.int32)
        ),
        "ragged of two levels": lambda: slices(two_levels()),
        "ragged made": lambda: D.range(4).map(
            lambda x: tf.RaggedTensor.from_row_splits(tf.range(x + 2), tf.stack([0, x, x + 2]))
        ),
        "ragged generated": lambda: generated(
            [tf.ragged.constant([[n], [n, n]], dtype=tf.int32) for n in range(4)],
            tf.RaggedTensorSpec([None, None], tf.int32),
        ),
        "dict": lambda: D.zip({"s": sparse(), "r": slices(ragged()), "d": D.range(4)}),
        "pair": lambda: slices((two_levels(), np.arange(8, dtype=np.float32).reshape(4, 2))),
    }


def operations(tf):
    """Return functions of a Dataset, by name."""
    D = tf.data.Dataset

    def same(*element):
        return element if len(element) > 1 else element[0]

    def whole(dataset, size):
        # Windows of structures are structures of Datasets.
        return dataset.flat_map(
            lambda *parts: D.zip(tf.nest.map_structure(lambda part: part, same(*parts))).batch(size)
        )

    def saved(dataset):
        path = tempfile.mkdtemp()
        dataset.save(path)
        return D.load(path)

    def of_file(dataset):
        cached = dataset.cache(tempfile.mkdtemp() + "/cache")
        list(cached)
        return cached

    def of_memory(dataset):
        cached = dataset.cache()
        list(cached)
        return cached

    def chosen(dataset):
        return D.choose_from_datasets([dataset, dataset.skip(1)], slices([0, 1, 1, 0]))

    def slices(values):
        return D.from_tensor_slices(np.array(values, np.int64))

    return {
        "as it is": lambda ds: ds,
        "batch": lambda ds: ds.batch(3),
        "batch without remainder": lambda ds: ds.batch(3, drop_remainder=True),
        "batch of batches": lambda ds: ds.batch(2).batch(2),
        "batch of mapped batches": lambda ds: ds.batch(3).map(same).batch(2),
        "batch of all": lambda ds: ds.batch(10),
        "unbatch": lambda ds: ds.batch(3).unbatch(),
        "unbatch of mapped": lambda ds: ds.batch(3).map(same).unbatch(),
        "unbatch and batch": lambda ds: ds.batch(4).map(same).unbatch().batch(3),
        "rebatch": lambda ds: ds.batch(3).rebatch(2),
        "rebatch without remainder": lambda ds: ds.batch(2).map(same).rebatch(3, drop_remainder=True),
        "window": lambda ds: ds.window(3),
        "batch of windows": lambda ds: whole(ds.window(3, shift=1, drop_remainder=True), 3),
        "padded_batch": lambda ds: ds.padded_batch(2),
        "ragged_batch": lambda ds: ds.ragged_batch(3),
        "dense_to_ragged_batch": lambda ds: ds.apply(
            tf.data.experimental.dense_to_ragged_batch(2, row_splits_dtype=tf.int32)
        ),
        "map": lambda ds: ds.map(same).batch(2),
        "map of batches": lambda ds: ds.batch(3).map(same),
        "map in threads": lambda ds: ds.batch(2).map(same, num_parallel_calls=2).prefetch(2),
        "filter": lambda ds: ds.filter(lambda *element: True).batch(3),
        "take and skip": lambda ds: ds.skip(1).take(2).batch(2),
        "repeat": lambda ds: ds.repeat(2).batch(3),
        "shard": lambda ds: ds.shard(2, 1).batch(2),
        "prefetch": lambda ds: ds.prefetch(2).batch(3),
        "shuffle of one": lambda ds: ds.shuffle(1).batch(3),
        "cache": lambda ds: of_memory(ds).batch(3),
        "cache of batches": lambda ds: of_memory(ds.batch(3)),
        "cache of mapped batches": lambda ds: of_memory(ds.batch(3).map(same)).unbatch().batch(2),
        "cache in files": lambda ds: of_file(ds).batch(3),
        "cache of batches in files": lambda ds: of_file(ds.batch(3)),
        "save and load": lambda ds: saved(ds),
        "save and load, batched": lambda ds: saved(ds).batch(3),
        "save and load of batches": lambda ds: saved(ds.batch(3)),
        "concatenate": lambda ds: ds.concatenate(ds.skip(3)).batch(3),
        "concatenate batches": lambda ds: ds.batch(3).concatenate(ds.batch(2, drop_remainder=True)),
        "zip": lambda ds: D.zip((ds, slices([1, 2, 3]))).batch(2),
        "enumerate": lambda ds: ds.enumerate().batch(3),
        "interleave": lambda ds: ds.interleave(lambda *x: D.from_tensors(same(*x)).repeat(2), 2, 1).batch(3),
        "flat_map": lambda ds: ds.batch(3).flat_map(lambda *x: D.from_tensors(same(*x)).repeat(2)),
        "flat_map to slices": lambda ds: (
            ds.batch(3).flat_map(lambda *x: D.from_tensor_slices(same(*x))).batch(2)
        ),
        "choose": lambda ds: chosen(ds).batch(3),
        "scan": lambda ds: ds.scan(np.int64(0), lambda state, x: (state + 1, x)).batch(3),
        "take_while": lambda ds: ds.take_while(lambda *element: True).batch(3),
        "group_by_window": lambda ds: ds.enumerate().group_by_window(
            lambda i, x: i % 2, lambda key, group: group.batch(2), 2
        ),
        "bucket_by_sequence_length": lambda ds: ds.enumerate().bucket_by_sequence_length(
            lambda i, x: tf.cast(i % 2, tf.int32), [1], [2, 2], no_padding=True
        ),
        "bucket_by_sequence_length, padded": lambda ds: ds.enumerate().bucket_by_sequence_length(
            lambda i, x: tf.cast(i % 2, tf.int32), [1], [2, 2]
        ),
        "single element": lambda ds: D.from_tensors(ds.batch(4).get_single_element()).map(same),
        "from_tensors": lambda ds: D.from_tensors(next(iter(ds))).repeat(3).batch(2),
        "from_tensor_slices": lambda ds: D.from_tensor_slices(next(iter(ds.batch(4)))).batch(3),
        "assert_cardinality": lambda ds: ds.apply(tf.data.experimental.assert_cardinality(4)).batch(3),
        "many": lambda ds: whole(
            of_memory(ds.batch(2).map(same).unbatch().shuffle(1)).repeat(2).skip(1).window(3, shift=2), 3
        ).prefetch(1),
    }


def of_dense(tf):
    """Return functions that make a Dataset of sparse or ragged batches of arrays, by name."""
    D = tf.data.Dataset
    experimental = tf.data.experimental

    def rows():
        return D.range(1, 5).map(lambda x: tf.fill([x], x))

    def squares():
        return D.range(1, 4).map(lambda x: tf.fill([x, x], x))

    def columns():
        return D.range(1, 4).map(lambda x: tf.fill([x, 2], tf.cast(x, tf.float32)))

    return {
        "ragged_batch": lambda: rows().ragged_batch(3),
        "ragged_batch without remainder": lambda: rows().ragged_batch(3, drop_remainder=True),
        "ragged_batch with int32": lambda: rows().ragged_batch(2, row_splits_dtype=tf.int32),
        "ragged_batch of squares": lambda: squares().ragged_batch(2),
        "ragged_batch of columns": lambda: columns().ragged_batch(2),
        "ragged_batch of numbers": lambda: D.range(3).ragged_batch(2),
        "ragged_batch of a dict": lambda: D.zip({"rows": rows(), "number": D.range(9)}).ragged_batch(3),
        "ragged_batch, unbatched": lambda: rows().ragged_batch(3).unbatch(),
        "ragged_batch, rebatched": lambda: rows().ragged_batch(3).map(lambda x: x).rebatch(2),
        "dense_to_ragged_batch": lambda: rows().apply(experimental.dense_to_ragged_batch(3)),
        "dense_to_sparse_batch": lambda: rows().apply(experimental.dense_to_sparse_batch(3, [5])),
        "dense_to_sparse_batch of any size": lambda: rows().apply(
            experimental.dense_to_sparse_batch(3, [None])
        ),
        "dense_to_sparse_batch of squares": lambda: squares().apply(
            experimental.dense_to_sparse_batch(2, [3, None])
        ),
        "sparse made in map": lambda: rows().ragged_batch(2).map(lambda x: x.to_sparse()),
        "ragged made in map": lambda: (
            D.range(6).batch(4).map(lambda x: tf.RaggedTensor.from_value_rowids(x, x // 2, 3))
        ),
        "dense made in map": lambda: rows().ragged_batch(3).map(lambda x: x.to_tensor(-1)).unbatch(),
        "rows of a map": lambda: rows().ragged_batch(2).map(lambda x: tf.reduce_sum(x, axis=1)),
    }


def described(value):
    """Return a value, or a structure, as JSON can hold it."""
    if isinstance(value, dict):
        return {key: described(part) for key, part in value.items()}
    if hasattr(value, "to_list"):
        return ["ragged", value.ragged_rank, _dtype(value.row_splits.dtype), _text(value.to_list())]
    if hasattr(value, "dense_shape"):
        parts = (value.indices, value.values, value.dense_shape)
        return ["sparse", *(_text(np.asarray(part).tolist()) for part in parts)]
    if isinstance(value, tuple):
        return [described(part) for part in value]
    if hasattr(value, "element_spec"):
        return ["dataset", *map(described, value)]
    return ["dense", _text(np.asarray(value).tolist())]


def _text(value):
    if isinstance(value, list):
        return [_text(part) for part in value]
    return value.decode() if isinstance(value, bytes) else value


def described_spec(spec):
    """Return a spec, or a structure of specs, as JSON can hold it."""
    if isinstance(spec, dict):
        return {key: described_spec(part) for key, part in spec.items()}
    if isinstance(spec, tuple):
        return [described_spec(part) for part in spec]
    kind = type(spec).__name__
    if kind == "DatasetSpec":
        return [kind, described_spec(getattr(spec, "_element_spec", None) or spec.element_spec)]
    shape = None if spec.shape is None or getattr(spec.shape, "rank", 0) is None else list(spec.shape)
    more = [spec.ragged_rank, _dtype(spec.row_splits_dtype)] if kind == "RaggedTensorSpec" else []
    return [kind, shape, _dtype(spec.dtype), *more]


def _dtype(dtype):
    name = getattr(dtype, "name", str(dtype))
    return "string" if name == "object" else name


def found(make):
    """Return what is found of the Dataset that a function makes: its spec and its elements, or its error."""
    try:
        dataset = make()
        return {
            "spec": described_spec(dataset.element_spec),
            "elements": [described(element) for element in itertools.islice(dataset, 20)],
        }
    except Exception as error:
        return {"error": [kind.__name__ for kind in type(error).__mro__], "said": str(error)[:200]}


def cases(tf):
    """Return functions that make a Dataset, by name."""
    made = {
        f"{source}: {operation}": lambda make=make, change=change: change(make())
        for source, make in sources(tf).items()
        for operation, change in operations(tf).items()
    }
    return made | {f"arrays: {name}": make for name, make in of_dense(tf).items()}
