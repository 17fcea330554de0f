"""Parts of strings in a pipeline keep their bits and lengths."""

import numpy as np

import stratax.tf as tf
from stratax.data import Dataset


def test_in_a_pipeline_numbers_keep_their_bits_and_rows_their_lengths():
    ds = Dataset.from_tensor_slices(["1 2", "3"]).map(
        lambda text: tf.strings.to_number(tf.strings.split(text), tf.int64)
    )
    assert [x.tolist() for x in ds] == [[1, 2], [3]]
    assert ds.element_spec.dtype == np.int64
    rows = Dataset.from_tensor_slices(["a b", "c"]).batch(2).map(tf.strings.split)
    assert next(iter(rows)).to_list() == [[b"a", b"b"], [b"c"]]
