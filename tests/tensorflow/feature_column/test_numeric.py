"""Columns of numbers: NaN, comparison and how they print."""

import numpy as np

import stratax.tensorflow.feature_column as fc

NUMBER = fc.numeric_column("n")
WORD = fc.categorical_column_with_hash_bucket("w", 10)


def _ids(column, **features):
    return fc.Transformation([column]).host_features(features)[f"{column.name}/ids"].tolist()


def test_nan_falls_into_the_last_bucket_on_the_host_and_in_the_step():
    buckets = fc.bucketized_column(NUMBER, [0.0, 1.0])
    features = {"n": np.array([np.nan, -np.inf, np.inf], np.float32)}
    assert fc.input_layer(features, [buckets]).argmax(1).tolist() == [2, 0, 2]
    crossed = fc.crossed_column([buckets, "k"], 10**6)
    ids = _ids(crossed, **features, k=np.array([1, 1, 1]))
    assert ids[0] == ids[2] != ids[1]


def test_columns_are_values_that_can_be_compared_and_shown():
    assert fc.numeric_column("n") == NUMBER
    assert len({NUMBER, fc.numeric_column("n"), WORD}) == 2
    assert "hash_bucket_size=10" in repr(WORD)
