"""`tf.sparse.to_dense` of values, and of sparse features in a `model_fn`."""

import numpy as np
import pytest

import stratax as sx
import stratax.tf.compat.v1 as tf
from stratax import errors
from stratax.tensorflow.estimator import Estimator, EstimatorSpec, RunConfig

# The second batch has wider rows than the first, the last has none.
ROWS = [[1], [], [2, 3, 4], [5], [], []]


def _records():
    def example(row):
        whole = tf.train.Feature(int64_list=tf.train.Int64List(value=row))
        texts = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a"] * len(row)))
        features = tf.train.Features(feature={"x": whole, "s": texts})
        return tf.train.Example(features=features).SerializeToString()

    spec = {"x": tf.io.VarLenFeature(tf.int64), "s": tf.io.VarLenFeature(tf.string)}
    records = np.array([example(row) for row in ROWS], object)
    return sx.Dataset.from_tensor_slices(records).batch(2).map(lambda each: tf.io.parse_example(each, spec))


def _model(features, labels, mode, params):
    dense = tf.sparse.to_dense(features[params.get("feature", "x")], default_value=params.get("default", -1))
    if mode == "infer":
        return EstimatorSpec(mode, predictions=dense)
    step = tf.assign_add(tf.train.get_global_step(), 1)
    return EstimatorSpec(mode, loss=tf.reduce_sum(tf.cast(dense, tf.float32)), train_op=step)


@pytest.mark.parametrize("replicas", [1, 2])
def test_sparse_features_are_dense_in_a_model(tmp_path, replicas):
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(replicas)])
    config = RunConfig(train_distribute=strategy, eval_distribute=strategy)
    made = Estimator(_model, str(tmp_path), config, params={})
    made.train(_records)
    found = list(made.predict(_records))
    for row, wanted in zip(found, ROWS, strict=True):
        # Filled up with the default to the widest so far.
        assert row.tolist() == wanted + [-1] * (len(row) - len(wanted))
    assert [len(row) for row in found[2:]] == [3, 3, 3, 3]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"feature": "s", "default": b""}, "strings stay on the host"),
        ({"default": 0.5}, "one value of the dtype"),
    ],
)
def test_what_can_not_be_dense_is_refused(tmp_path, params, message):
    with pytest.raises(errors.BadTypeError, match=message):
        Estimator(_model, str(tmp_path), params=params).train(_records)


def test_values_are_made_dense_at_once():
    assert tf.sparse_tensor_to_dense is tf.sparse.to_dense
    sparse = tf.SparseTensor([[0, 1]], np.array([b"a"], object), [1, 2])
    assert tf.sparse.to_dense(sparse, b"-").tolist() == [[b"-", b"a"]]
