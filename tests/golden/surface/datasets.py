"""Pipelines of `tf.data`, whose elements TensorFlow gives in the same order."""

from tests.golden.surface import Case

_BUCKETS = """
words = [[0], [1, 2, 3, 4], [5, 6, 7], [7, 8, 9, 10, 11], [13, 14, 15, 16], [19, 20]]
ds = tf.data.Dataset.from_generator(lambda: words, tf.int64, output_shapes=[None])
"""


def _listed(code: str) -> Case:
    """A pipeline has no arguments: it is built and read on the host."""
    *before, last = code.strip().splitlines()
    return Case("\n".join([*before, f"list(({last}).as_numpy_iterator())"]), modes=("host",))


CASES = [
    _listed("tf.data.Dataset.range(10).take_while(lambda x: x < 5)"),
    _listed("tf.data.Dataset.range(10).apply(tf.data.experimental.take_while(lambda x: x < 0))"),
    _listed("tf.data.Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()"),
    _listed("tf.data.Dataset.from_tensor_slices(['a', 'b', 'a']).apply(tf.data.experimental.unique())"),
    _listed("tf.data.Dataset.from_tensor_slices([1.0, 1.0]).unique()"),
    _listed("tf.data.Dataset.range(6).scan(np.int64(2), lambda s, x: (s + x, (s * x, x)))"),
    _listed(
        "tf.data.Dataset.range(6).scan({'a': np.int64(2)}, lambda s, x: ({'a': s['a'] * 2}, s['a'] - x))"
    ),
    _listed("tf.data.Dataset.range(3).scan(np.int64(2), lambda s, x: (tf.cast(s, tf.float32), x))"),
    _listed(
        "words = [tf.data.Dataset.from_tensors(w).repeat() for w in ('a', 'b', 'c')]\n"
        "choice = tf.data.Dataset.range(3).repeat(3)\n"
        "tf.data.Dataset.choose_from_datasets(words, choice)"
    ),
    _listed(
        "parts = [tf.data.Dataset.range(n) for n in (1, 4, 2)]\n"
        "tf.data.Dataset.choose_from_datasets(parts, tf.data.Dataset.range(3).repeat(9), False)"
    ),
    _listed(
        "parts = [tf.data.Dataset.range(n) for n in (1, 4, 2)]\n"
        "tf.data.Dataset.choose_from_datasets(parts, tf.data.Dataset.range(3).repeat(9), True)"
    ),
    _listed(
        "parts = [tf.data.Dataset.range(n) for n in (1, 4, 2)]\n"
        "tf.data.experimental.choose_from_datasets(parts, tf.data.Dataset.range(3).repeat(9))"
    ),
    _listed(
        "parts = [tf.data.Dataset.range(n) for n in (1, 4)]\n"
        "tf.data.Dataset.choose_from_datasets(parts, tf.data.Dataset.range(3))"
    ),
    _listed("tf.data.Dataset.choose_from_datasets([], tf.data.Dataset.range(3))"),
    _listed(
        "tf.data.Dataset.sample_from_datasets([tf.data.Dataset.range(3), tf.data.Dataset.range(9)], [1.0, 0.0])"
    ),
    _listed("tf.data.Dataset.sample_from_datasets([tf.data.Dataset.range(3)])"),
    _listed("tf.data.Dataset.sample_from_datasets([tf.data.Dataset.range(3)] * 2, [1.0])"),
    _listed(
        "tf.data.Dataset.range(10).group_by_window(lambda x: x % 2, lambda k, w: w.batch(5), window_size=3)"
    ),
    _listed(
        "tf.data.Dataset.range(11).group_by_window(lambda x: x % 3, lambda k, w: w.batch(2).map(lambda b: b + k),"
        " window_size_func=lambda k: k + 1)"
    ),
    _listed(
        "tf.data.Dataset.range(10).apply("
        "tf.data.experimental.group_by_window(lambda x: -(x % 2), lambda k, w: w.batch(9), 9))"
    ),
    _listed("tf.data.Dataset.range(4).group_by_window(lambda x: x % 2, lambda k, w: w.batch(2))"),
    _listed(
        "r = tf.data.experimental.Reducer(lambda k: (k, np.int64(0)), lambda s, x: (s[0] + x, s[1] + 1),"
        " lambda s, n: s * 100 + n)\n"
        "tf.data.Dataset.range(10).apply(tf.data.experimental.group_by_reducer(lambda x: -(x % 3), r))"
    ),
    _listed(_BUCKETS + "ds.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 5], [2, 2, 2])"),
    _listed(
        _BUCKETS
        + "ds.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 5], [2, 2, 2], drop_remainder=True)"
    ),
    _listed(
        _BUCKETS + "ds.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [4, 6], [2, 2, 2],"
        " pad_to_bucket_boundary=True, padding_values=np.int64(-1))"
    ),
    _listed(
        _BUCKETS + "ds.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [4, 5], [2, 2, 2],"
        " pad_to_bucket_boundary=True)"
    ),
    _listed(
        _BUCKETS
        + "ds.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 4], [1, 1, 1], no_padding=True)"
    ),
    _listed(_BUCKETS + "ds.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 4], [1, 1])"),
    Case("list(tf.data.Dataset.range(5).map(lambda x: tf.range(x)).ragged_batch(2))", modes=("host",)),
    Case(
        "list(tf.data.Dataset.range(5).map(lambda x: (tf.range(x), x)).apply("
        "tf.data.experimental.dense_to_ragged_batch(2, drop_remainder=True)))",
        modes=("host",),
    ),
    Case("list(tf.data.Dataset.range(4).map(lambda x: tf.range(x)).sparse_batch(3, [4]))", modes=("host",)),
    Case("list(tf.data.Dataset.range(4).map(lambda x: tf.range(x)).sparse_batch(3, [2]))", modes=("host",)),
    _listed("tf.data.Dataset.counter(5, 2).take(3)"),
    _listed("tf.data.experimental.Counter(1, -1, tf.int32).take(3)"),
    _listed("tf.data.experimental.from_list([(1, 'a'), (2, 'b')])"),
    _listed("tf.data.experimental.from_list([])"),
    _listed(
        "tf.data.Dataset.range(9).filter(lambda x: x > 3).apply(tf.data.experimental.assert_cardinality(5))"
    ),
    _listed(
        "tf.data.Dataset.range(9).filter(lambda x: x > 3).apply(tf.data.experimental.assert_cardinality(4))"
    ),
    _listed(
        "tf.data.Dataset.range(9).filter(lambda x: x > 3).apply(tf.data.experimental.assert_cardinality(6))"
    ),
    Case("tf.data.Dataset.range(3).batch(3).get_single_element()", modes=("host",)),
    Case("tf.data.experimental.get_single_element(tf.data.Dataset.range(3))", modes=("host",)),
    Case("tf.data.experimental.at(tf.data.Dataset.range(3, 9), 3)", modes=("host",)),
    Case(
        "tf.data.experimental.get_next_as_optional(iter(tf.data.Dataset.range(2))).get_value()",
        modes=("host",),
    ),
    _listed("tf.data.Dataset.range(4).group_by_window(lambda x: 0, lambda k, w: w.batch(4), window_size=2)"),
    _listed(
        "tf.data.Dataset.range(4).group_by_window(lambda x: True, lambda k, w: w.batch(4), window_size=2)"
    ),
    _listed(
        "tf.data.Dataset.range(4).group_by_window(lambda x: tf.cast(x, tf.int32), lambda k, w: w, window_size=2)"
    ),
    _listed("tf.data.Dataset.range(4).group_by_window(lambda x: [0], lambda k, w: w, window_size=2)"),
    _listed(
        "tf.data.Dataset.range(5).group_by_window(lambda x: x % 2, lambda k, w: w.batch(4), "
        "window_size_func=lambda k: k + 1)"
    ),
    _listed("tf.data.Dataset.range(6).scan([0, 1], lambda s, _: ([s[1], s[0] + s[1]], s[1]))"),
    _listed("tf.data.Dataset.range(6).scan((0, 1), lambda s, _: ((s[1], s[0] + s[1]), s[1]))"),
    _listed("tf.data.Dataset.range(2).scan(0, lambda s, x: (s, [x, x]))"),
    _listed("tf.data.Dataset.range(2).scan(0, lambda s, x: (1.0, x))"),
    _listed("tf.data.Dataset.range(8).batch(4).rebatch([1, 3])"),
    _listed("tf.data.Dataset.range(7).batch(4).rebatch([2, 3], drop_remainder=True)"),
    _listed("tf.data.Dataset.range(2).repeat(tf.Variable(2, dtype=tf.int64))"),
    _listed(
        "tf.data.Dataset.range(9).skip(tf.constant(1, tf.int64)).take(tf.Variable(4, dtype=tf.int64)).batch(3)"
    ),
    _listed("tf.data.experimental.from_list([[[1]], [2, 3]])"),
    _listed(
        "tf.data.Dataset.from_tensor_slices([tf.data.Dataset.range(2), tf.data.Dataset.range(3)]).flat_map(lambda x: x)"
    ),
    _listed("tf.data.Dataset.range(2).concatenate(tf.data.Dataset.from_tensors(1.0))"),
    _listed(
        "tf.data.Dataset.sample_from_datasets([tf.data.Dataset.range(2), tf.data.Dataset.range(2)], weights=[1, 1])"
    ),
    _listed("tf.data.Dataset.range(3, output_type=tf.string)"),
    _listed("tf.data.Dataset.counter(dtype=tf.string).take(2)"),
    _listed("tf.data.Dataset.counter(0.5, 0.5, dtype=tf.float32).take(2)"),
    Case("tf.random.set_seed(None)", modes=("host",)),
    _listed(
        "tf.data.Dataset.from_tensor_slices([[0, 2, 3], [5, 0, 0]]).map(tf.function(lambda x: tf.where(x > 1)))"
    ),
    _listed(
        "tf.data.Dataset.from_tensor_slices([[0, 2, 3], [5, 0, 0]])"
        ".map(tf.function(lambda x: (tf.boolean_mask(x, x > 1), tf.unique(x).y)))"
    ),
    _listed(
        "tf.data.Dataset.from_tensor_slices(([[0, 2, 3], [5, 0, 0]], [2, 1]))"
        ".map(tf.function(lambda x, n: x[:n] + tf.ones([n], tf.int32)))"
    ),
    Case(
        "[d.group_by_window(lambda x: x, lambda k, w: w, window_size=2).cardinality() for d in ("
        "tf.data.Dataset.range(4), tf.data.Dataset.range(4).repeat())]",
        modes=("host",),
    ),
]
