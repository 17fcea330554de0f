"""The input pipeline."""

import json
import pathlib
import tempfile
import time

import numpy as np

import stratax as sx
from benchmarks import _measure

_ELEMENTS = 60_000
_BATCH = 200
_RECORDS = 40_000
_RECORD_BYTES = 1024
_BUFFER = 10_000
_SAVES = 50


def shuffled_batches(plan: _measure.Plan) -> _measure.Figure:
    """Microseconds an element of images that are shuffled, scaled and batched, and of a bare gather beside it."""
    images = np.random.default_rng(0).random((_ELEMENTS, 28, 28), np.float32)
    dataset = sx.Dataset.from_tensor_slices(images).shuffle(_ELEMENTS).map(_scale).batch(_BATCH)

    def run_dataset(passes: int) -> None:
        for _ in range(passes):
            for batch in dataset:
                last = batch
        np.asarray(last)

    def run_gather(passes: int) -> None:
        for _ in range(passes):
            order = np.random.default_rng(0).permutation(_ELEMENTS)
            for start in range(0, _ELEMENTS, _BATCH):
                images[order[start : start + _BATCH]]

    ours, gather = _measure.in_turns(run_dataset, run_gather, plan=plan)
    per_element = [seconds / _ELEMENTS * 1e6 for seconds in ours]
    base = _measure.spread([seconds / _ELEMENTS * 1e6 for seconds in gather]).value
    return _measure.spread(per_element, {"gather_us": base})


def saving_the_position(plan: _measure.Plan) -> _measure.Figure:
    """Milliseconds that it takes to save the position of a stream of records, as text, in the middle of a pass."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder, "records.tfrecord"))
        content = np.random.default_rng(0).bytes(_RECORD_BYTES)
        with sx.data.TFRecordWriter(path) as writer:
            for number in range(_RECORDS):
                writer.write(number.to_bytes(4, "little") + content)
        dataset = sx.data.TFRecordDataset(path).shuffle(_BUFFER, seed=1).batch(64).prefetch(2)
        took, size = [], 0
        with iter(dataset) as iterator:
            for _ in range(_SAVES):
                next(iterator)
                started = time.perf_counter()
                size = len(json.dumps(iterator.get_state()))
                took.append((time.perf_counter() - started) * 1e3)
    return _measure.spread(took, {"state_kb": size / 1e3})


def _scale(image: np.ndarray) -> np.ndarray:
    return image / 255.0
