"""Cases of layers of `tf.keras` for text and categories."""

from tests.golden.surface import Case

L = "L = tf.keras.layers; "
ADAPT = "layer.adapt(np.array(['b a', 'a C!', 'a d', 'd']))"
CODES = [
    "L.StringLookup(vocabulary=['a', 'b'])(s([['a', 'z'], ['b', 'a']]))",
    "L.StringLookup(vocabulary=['a', 'b'], mask_token='')(s(['', 'z', 'b']))",
    "L.StringLookup(vocabulary=['', '[UNK]', 'a', 'b'], mask_token='')(s(['', 'z', 'b']))",
    "L.StringLookup(vocabulary=['a', 'b'], num_oov_indices=3)(s(['x', 'y', 'z', 'w', 'b']))",
    "L.StringLookup(vocabulary=['a', 'b'], num_oov_indices=3, salt=7)(s(['x', 'y', 'z', 'w', 'b']))",
    "L.StringLookup(vocabulary=['a', 'b'], num_oov_indices=0)(s(['a', 'b']))",
    "L.StringLookup(vocabulary=['a', 'b'], num_oov_indices=0)(s(['x']))",
    "L.StringLookup(vocabulary=['a', 'a'])",
    "L.StringLookup(vocabulary=['a', 'b'], invert=True)(i([0, 1, 2]))",
    *(
        f"L.StringLookup(vocabulary=['a', 'b'], output_mode='{mode}')(s([['a', 'z', 'a'], ['b', 'a', 'b']]))"
        for mode in ("multi_hot", "count")
    ),
    "L.StringLookup(vocabulary=['a', 'b'], output_mode='one_hot')(s(['a', 'z']))",
    "L.StringLookup(vocabulary=['a', 'b'], output_mode='multi_hot', max_tokens=5, pad_to_max_tokens=True)(s([['a']]))",
    "L.StringLookup(vocabulary=['a', 'b'], output_mode='tf_idf', idf_weights=[0.5, 2.0])(s([['a', 'z', 'b', 'b']]))",
    "layer = L.StringLookup(); layer.adapt(np.array(['b', 'a', 'c', 'a', 'c', 'd'])); layer.get_vocabulary()",
    "layer = L.StringLookup(max_tokens=3); layer.adapt(np.array(['b', 'a', 'c', 'a'])); layer.get_vocabulary()",
    "L.IntegerLookup(vocabulary=[10, 20])(i([[10, 5], [20, 10]]))",
    "L.IntegerLookup(vocabulary=[10, 20], mask_token=0, num_oov_indices=2)(i([0, 7, 8, 20]))",
    "L.IntegerLookup(vocabulary=[10, 20], invert=True)(i([0, 1, 2]))",
    "layer = L.IntegerLookup(); layer.adapt(np.array([5, 3, 3, 9])); layer.get_vocabulary()",
    "L.Hashing(num_bins=5)(s([['A'], ['B'], ['C'], ['D'], ['E']]))",
    "L.Hashing(num_bins=5)(i([1, 2, 30]))",
    "L.Hashing(num_bins=5, mask_value='')(s(['A', '', 'C']))",
    "L.Hashing(num_bins=5, salt=133)(s(['A', 'B', 'C']))",
    "L.Hashing(num_bins=5, salt=[133, 137])(s(['A', 'B', 'C']))",
    "L.Hashing(num_bins=3, output_mode='one_hot')(s(['A', 'B']))",
    "L.Hashing(num_bins=0)",
    f"layer = L.TextVectorization(); {ADAPT}; layer.get_vocabulary()",
    f"layer = L.TextVectorization(); {ADAPT}; layer(s(['a b, x', 'D']))",
    f"layer = L.TextVectorization(output_sequence_length=2); {ADAPT}; layer(s([['a b, x'], ['D']]))",
    f"layer = L.TextVectorization(max_tokens=4, output_mode='multi_hot'); {ADAPT}; layer(s(['a b, x', 'D']))",
    f"layer = L.TextVectorization(output_mode='count'); {ADAPT}; layer(s(['a b a', 'D']))",
    f"layer = L.TextVectorization(output_mode='tf_idf'); {ADAPT}; layer(s(['a b a', 'D']))",
    f"layer = L.TextVectorization(ngrams=2); {ADAPT}; layer.get_vocabulary()",
    f"layer = L.TextVectorization(standardize=None, split='character'); {ADAPT}; layer(s(['ab', 'C!']))",
    "L.TextVectorization(vocabulary=['one', 'two'])(s(['one three', 'TWO']))",
    "L.TextVectorization(split='nonsense')",
    "L.TextVectorization(split=lambda x: tf.strings.split(x, ','), standardize=None, vocabulary=['a', 'b c'])"
    "(s(['a,b c,d', 'b c']))",
    "L.TextVectorization(vocabulary=['a', 'b'], ragged=True)(s(['a b c', '', 'b']))",
    "L.TextVectorization(vocabulary=['a', 'b'], ragged=True)(tf.constant('b a'))",
    "L.TextVectorization(vocabulary=['a', 'b'], ragged=True, output_sequence_length=2)(s(['a b c', 'b']))",
    "L.TextVectorization(vocabulary=['a', 'b'], ragged=True)(s(['a b c', 'b'])).to_tensor()",
    "v = L.StringLookup(vocabulary=['a', 'b']); v(tf.strings.split(['a z', 'b']))",
    "v = L.StringLookup(vocabulary=['a', 'b'], invert=True); v(tf.ragged.constant([[1, 2], [0]], dtype=tf.int64))",
]
CASES = [Case(L + code, modes=("host",)) for code in CODES]
