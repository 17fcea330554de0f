"""Operators of text, and what the functions of `tf` give of it: at once, and in a pipeline's function."""

from tests.golden.surface import Case

_GIVEN = "u = np.array(['a', 'c']); x, y = tf.constant('a'), tf.constant(['a', 'b']); "
_MAPPED = (
    "u = np.array(['a', 'c']); list(tf.data.Dataset.from_tensors(('a', ['a', 'b'])).map(lambda x, y: {}))"
)

_OTHERS = [
    "'a'",
    "b'a'",
    "'ä'",
    "u",
    "u.astype('S')",
    "u.astype(object)",
    "['a', 'c']",
    "('a', 'c')",
    "['a', 'b', 'c']",
    "[['a'], ['c']]",
    "np.str_('a')",
    "x",
    "y",
    "3",
    "np.array([1, 2])",
    "tf.constant([1, 2])",
]
_OF_BOTH = [
    expression.format(text=text, other=other)
    for other in _OTHERS
    for text in "xy"
    for expression in ("{text} == {other}", "{text} != {other}", "{text} + {other}", "{other} + {text}")
] + [f"{other} == {text}" for other in _OTHERS for text in "xy"]
_OF_ONE = [
    "x == 'ä'",
    "tf.constant('ä') == 'ä'",
    "tf.constant(['ä', 'b']) == np.array(['ä', 'ö'])",
    "y[0] == 'a'",
    "y[:1] + 'q'",
    "y[:0] == 'a'",
    "y[:0] + 'a'",
    "y - 'a'",
    "y * 2",
    "(x == 'a') & (y == 'a')",
    "~(y == 'a')",
    "tf.shape(x)",
    "tf.shape(y)",
    "tf.size(x)",
    "tf.size(y[:0])",
    "tf.rank(x)",
    "tf.argmax(x == u)",
    "tf.argmax(u == x)",
    "tf.cast(x == 'a', tf.float32)",
    "tf.reduce_any(x == u)",
    "tf.one_hot(tf.argmax(x == u), 2)",
    "tf.where(x == 'a', 1, 0)",
    "tf.where(y == 'a', 'yes', 'no')",
    "tf.where(y == 'a', y, 'no')",
    "tf.cond(x == 'a', lambda: 1, lambda: 2)",
    "tf.equal(y, u)",
    "tf.not_equal(y, 'a')",
    "tf.add(x, 'a') + 'b'",
    "tf.boolean_mask(y, y == 'b') + '!'",
    "tf.boolean_mask(y, y == 'q')",
    "tf.pad(y, [[0, 1]]) + '!'",
    "tf.stack([x, x]) == 'a'",
    "tf.concat([y, [x]], 0) == 'a'",
    "tf.reshape(x, [1]) == 'a'",
    "tf.gather(u, [1, 0]) + '!'",
    "tf.gather(u, 0) + '!'",
    "tf.expand_dims(x, 0) + 'a'",
    "tf.unique(y).y + 'q'",
    "tf.unstack(y)[1] + 'q'",
    "tf.tile(y, [2]) + 'q'",
    "tf.fill([2], x) + 'q'",
    "tf.zeros_like(y) == ''",
    "tf.identity(x) == 'a'",
    "tf.ensure_shape(y, [2]) == 'a'",
    "tf.strings.split(x + '/q', '/')[-2] == u",
    "tf.strings.split([x, 'b c']).to_tensor('-') == 'b'",
    "tf.strings.split([x, 'b c']).flat_values + '!'",
    "tf.strings.split([x, 'b c']) + '!'",
    "tf.strings.lower(x) == 'a'",
    "tf.strings.join([x, 'b']) + 'c'",
    "tf.strings.substr(x, 0, 1) == 'a'",
    "tf.strings.regex_replace(x, 'a', 'b') + 'c'",
    "tf.strings.regex_full_match(x, 'a') & True",
    "tf.strings.to_number('3') / 2",
    "tf.strings.to_number('3', tf.int32) / 2",
    "tf.strings.to_hash_bucket_fast(x, 10) / 4",
    "tf.strings.reduce_join(y) + 'q'",
    "tf.strings.format('{}', x) + 'q'",
    "tf.strings.as_string(3) + x",
    "tf.strings.ngrams(y, 2) + 'q'",
    "tf.strings.bytes_split('abc') == 'a'",
    "tf.strings.unicode_decode(x, 'UTF-8') / 2",
    "tf.io.decode_raw(x, tf.uint8) / 2",
    "tf.io.decode_csv('1,b', [[0], ['']])[1] + 'q'",
    "tf.io.decode_csv('1,b', [[0], ['']])[0] / 2",
    "tf.io.encode_base64(x) + 'q'",
    "tf.py_function(lambda v: v + '!', [x], tf.string) + '?'",
    "tf.numpy_function(lambda v: v + b'!', [x], tf.string) + '?'",
]
_ALONE = [
    "x.get_shape().rank",
    "[x.numpy(), y.numpy(), y[1].numpy(), (y == u).numpy(), (x == 'a').numpy(), (x + '!').numpy()]",
    "[x == None, x != None, y == None]",
    "['a' in y, b'b' in y, 'q' in y, x in ['b', 'a'], x in ['q']]",
    "[bool(x == 'a'), bool(x == 'b')]",
    "hash(y)",
    "tf.get_static_value(x).decode()",
    "[each.numpy().decode() for each in tf.strings.split('a b')]",
    "r = tf.ragged.constant([['a', 'b'], ['c']]); [r.values.numpy(), r.row_splits.numpy(), r[0].numpy()]",
    "r = tf.ragged.constant([['a', 'b'], ['c']]); [r.to_tensor().numpy(), r.to_sparse().values.numpy()]",
    "r = tf.ragged.constant([['a', 'b'], ['c']]); [r == 'a', 'x' + r, r.row_lengths().numpy()]",
    "t = tf.SparseTensor([[0, 1]], ['q'], [2, 2]); [t.indices.numpy(), t.values.numpy(), t.dense_shape.numpy()]",
    "t = tf.sparse.from_dense([['', 'q']]); [t.indices.numpy(), t.values.numpy(), t.shape.as_list()]",
    "t = tf.TensorArray(tf.string, 2).unstack(['a', 'b']); [t.size().numpy(), t.stack().numpy(), t.read(1).numpy()]",
    "tf.data.Dataset.from_tensor_slices(['a', 'b']).reduce('', lambda s, x: s + x).numpy()",
    "list(tf.data.Dataset.from_tensor_slices(['a', 'b']).filter(lambda x: x != 'a'))",
    "list(tf.data.Dataset.from_tensor_slices(['a', 'b']).scan('', lambda s, x: (s + x, s + x)))",
    "list(tf.data.Dataset.from_tensor_slices(['a', 'b']).interleave(lambda x: tf.data.Dataset.from_tensors(x + '!')))",
    "list(tf.data.Dataset.range(40).map(lambda i: tf.gather(['a', 'b'], i % 2) == 'a').batch(40))",
    "list(tf.data.Dataset.range(3).map(lambda i: tf.strings.as_string(i) + '!').batch(3))",
    "list(tf.data.Dataset.from_tensor_slices(tf.ragged.constant([['a', 'b'], ['c']])))",
    "list(tf.data.Dataset.from_tensor_slices({'r': tf.ragged.constant([['a', 'b'], []]), 'y': [1, 2]}))",
    "list(tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[[1], [2, 3]], [[4]]])))",
    "list(tf.data.Dataset.from_tensor_slices(tf.SparseTensor([[0, 1], [1, 0]], ['q', 'r'], [2, 2])))",
    "[repr(tf.TensorSpec([None], tf.string)), repr(tf.data.Dataset.from_tensors({'a': 'x', 'b': 1.5}).element_spec)]",
    "str(tf.data.Dataset.from_tensors(1).batch(2, drop_remainder=True).element_spec)",
]
_FUNCTIONS = [
    "f = tf.function(lambda x: x == 'a'); [f(tf.constant('a')), f(tf.constant('b')), f(tf.constant('a'))]",
    "f = tf.function(lambda x: x + '!'); [f(tf.constant(['a', 'b'])), f(tf.constant(['b']))]",
    "f = tf.function(lambda x: tf.strings.length(x) * 2, input_signature=[tf.TensorSpec([], tf.string)]); "
    "[f(tf.constant('a')), f('bcd')]",
    "f = tf.function(lambda x: x == 'a', input_signature=[tf.TensorSpec([None], tf.string)]); "
    "[f(['a', 'b']), f(['a'])]",
    "f = tf.function(lambda x: x, input_signature=[tf.TensorSpec([None], tf.string)]); f('a')",
    "f = tf.function(lambda x: x, input_signature=[tf.TensorSpec([], tf.string)]); f(tf.constant(1))",
    "f = tf.function(lambda x, y: (tf.cast(x == 'a', tf.float32) * y, x)); "
    "[f(tf.constant('a'), tf.constant(2.0)), f(tf.constant('b'), tf.constant(3.0))]",
    "f = tf.function(lambda x: x + '!').get_concrete_function(tf.TensorSpec([], tf.string)); f(tf.constant('q'))",
    "t = tf.constant('a'); tf.function(lambda: t + '!')()",
    "tf.function(lambda n: (tf.constant(['a', 'b']) + 'c', n + 1))(tf.constant(1))",
    "f = tf.function(lambda x: x + '!'); list(tf.data.Dataset.from_tensor_slices(['a', 'b']).map(f))",
]

CASES = [
    Case(code, modes=("host",))
    for code in [
        *(_GIVEN + expression for expression in [*_OF_BOTH, *_OF_ONE, *_ALONE]),
        *map(_MAPPED.format, [*_OF_BOTH, *_OF_ONE]),
        *_FUNCTIONS,
    ]
]
