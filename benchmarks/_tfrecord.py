"""Reading TFRecord files, and the memory that it takes."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from benchmarks import _measure, _peer
from stratax import data

_MEGABYTE = 1_000_000
_FILE_BYTES = 200 * _MEGABYTE
_STREAMED_BYTES = 5_000 * _MEGABYTE
_QUICK_BYTES = 500 * _MEGABYTE
_RECORD_BYTES = 1024
_SHUFFLE = 10_000
_BATCH = 256

_TENSORFLOW = """
import tensorflow as tf
dataset = tf.data.TFRecordDataset(sys.argv[1])
if int(sys.argv[2]):
    dataset = dataset.batch(int(sys.argv[2]))

def run():
    for element in dataset:
        pass
"""

_STREAM = """
import json, os, sys
def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
if sys.argv[1] == "training":
    os.environ["KERAS_BACKEND"] = "jax"
    import jax, keras
from stratax.data import TFRecordDataset
path, shuffle, batch = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
imported, records = peak(), 0
for block in TFRecordDataset(path).shuffle(shuffle).batch(batch):
    records += len(block)
print(json.dumps({"imported": imported, "streamed": peak(), "records": records}))
"""


def reading(record_bytes: int, batch_size: int, plan: _measure.Plan) -> _measure.Figure:
    """How many times as many megabytes a second as tf.data, checksums compared, from a file in the system's memory.

    Args:
        record_bytes: Length of a record.
        batch_size: Records of a batch; 0 for one record at a time.
        plan: How long to measure.

    Returns:
        The figure.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "records.tfrecord")
        _write(path, record_bytes, _FILE_BYTES)
        dataset = data.TFRecordDataset(path)
        dataset = dataset.batch(batch_size) if batch_size else dataset
        with _peer.tensorflow(_TENSORFLOW, path, str(batch_size)) as theirs:
            mine, other = _measure.in_turns(_measure.passes(dataset), theirs, plan=plan)
    figure = _measure.ratio(other, mine, unit="s")
    rates = {
        "stratax_MB_per_s": _FILE_BYTES / _MEGABYTE / figure.details["theirs_s"],
        "tf.data_MB_per_s": _FILE_BYTES / _MEGABYTE / figure.details["ours_s"],
    }
    return dataclasses.replace(figure, details=rates)


def _write(path: str, record_bytes: int, size: int) -> None:
    content = np.random.default_rng(0).bytes(record_bytes + 256)
    with data.TFRecordWriter(path) as writer:
        for i in range(size // record_bytes):
            writer.write(content[i % 256 : i % 256 + record_bytes])


def memory(plan: _measure.Plan) -> _measure.Figure:
    """The most megabytes that a process holds that streams a large file through a shuffle, Python and imports included.

    Args:
        plan: One pass over 5 GB, or over 0.5 GB if it is a quick one.

    Returns:
        The figure; beside it what importing the package takes, and the same in a process that imported JAX and Keras.
    """
    size = _QUICK_BYTES if plan.processes == 1 else _STREAMED_BYTES
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "records.tfrecord")
        _write(path, _RECORD_BYTES, size)
        plain, training = (_streamed(kind, path) for kind in ("plain", "training"))
    details = {
        "import_MB": plain["imported"] / _MEGABYTE,
        "import_with_jax_and_keras_MB": training["imported"] / _MEGABYTE,
        "with_jax_and_keras_MB": training["streamed"] / _MEGABYTE,
        "records": float(plain["records"]),
    }
    return _measure.spread([plain["streamed"] / _MEGABYTE], details)


def _streamed(kind: str, path: str) -> dict[str, int]:
    # Simulated devices would have JAX imported at once.
    environment = {name: value for name, value in os.environ.items() if name != "STRATAX_SIMULATE"}
    done = subprocess.run(
        [sys.executable, "-c", _STREAM, kind, path, str(_SHUFFLE), str(_BATCH)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode:
        raise RuntimeError(f"A process that measures failed.\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])
