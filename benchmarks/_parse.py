"""Reading and parsing small Examples, in batches."""

import pathlib
import tempfile

import numpy as np

from benchmarks import _measure, _peer
from stratax import data

_EXAMPLES = 65_536
_FEATURES = {
    "label": data.FixedLenFeature([], "int64"),
    "weights": data.FixedLenFeature([4], "float32"),
    "payload": data.FixedLenFeature([], "string"),
    "ids": data.FixedLenSequenceFeature([], "int64", allow_missing=True),
    "name": data.FixedLenFeature([], "string"),
}
_TENSORFLOW = """
import tensorflow as tf
features = {
    "label": tf.io.FixedLenFeature([], tf.int64),
    "weights": tf.io.FixedLenFeature([4], tf.float32),
    "payload": tf.io.FixedLenFeature([], tf.string),
    "ids": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    "name": tf.io.FixedLenFeature([], tf.string),
}
dataset = tf.data.TFRecordDataset(sys.argv[1]).batch(int(sys.argv[2]))
dataset = dataset.map(lambda records: tf.io.parse_example(records, features), num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.prefetch(tf.data.AUTOTUNE)

def run():
    for batch in dataset:
        pass
"""


def examples(batch_size: int, plan: _measure.Plan) -> _measure.Figure:
    """How many times as many Examples a second as tf.data, read from a file, in batches, parsed."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "examples.tfrecord")
        _write(path)
        dataset = data.TFRecordDataset(path).batch(batch_size)
        dataset = dataset.map(lambda records: data.parse_example(records, _FEATURES))
        with _peer.tensorflow(_TENSORFLOW, path, str(batch_size)) as theirs:
            mine, other = _measure.in_turns(_measure.passes(dataset), theirs, plan=plan)
    each = [[seconds / _EXAMPLES for seconds in side] for side in (other, mine)]
    return _measure.ratio(*each, numerator="tf.data_an_Example", denominator="stratax_an_Example")


def _write(path: str) -> None:
    rng = np.random.default_rng(0)
    with data.TFRecordWriter(path) as writer:
        for index in range(_EXAMPLES):
            writer.write(_example(index, rng).SerializeToString())


def _example(index: int, rng: np.random.Generator) -> data.Example:
    ids = rng.integers(0, 100_000, rng.integers(1, 9)).tolist()
    features = {
        "label": data.Feature(int64_list=data.Int64List(value=[int(rng.integers(1000))])),
        "weights": data.Feature(float_list=data.FloatList(value=rng.random(4, np.float32))),
        "payload": data.Feature(bytes_list=data.BytesList(value=[rng.bytes(20)])),
        "ids": data.Feature(int64_list=data.Int64List(value=ids)),
        "name": data.Feature(bytes_list=data.BytesList(value=[b"example-%d" % index])),
    }
    return data.Example(features=data.Features(feature=features))
