"""In-memory pipelines cost about a microsecond an element: not much more than NumPy by hand on the same machine.

The time is what this thread spends. `python -m benchmarks` has the figures themselves.
"""

import time

import keras
import numpy as np
import pytest

from stratax.data import Dataset

COUNT = 10_000
IMAGES = np.random.default_rng(0).integers(0, 256, (COUNT, 28, 28), dtype=np.uint8)
LABELS = np.arange(COUNT)


def with_keras(image, label):
    return keras.ops.cast(image, "float32") / 255.0, label


CASES = {
    "float images": (IMAGES.astype(np.float32), lambda x: x / 255.0),
    "float images with labels": ((IMAGES.astype(np.float32), LABELS), lambda x, y: (x / 255.0, y)),
    "uint8 images, NumPy": ((IMAGES, LABELS), lambda x, y: (x.astype(np.float32) / np.float32(255), y)),
    "uint8 images, Keras": ((IMAGES, LABELS), with_keras),
}


@pytest.mark.parametrize("name", CASES)
def test_shuffling_scaling_and_batching_images_is_quick(name):
    data, scale = CASES[name]
    dataset = Dataset.from_tensor_slices(data).shuffle(COUNT).map(scale).batch(200)
    columns = data if isinstance(data, tuple) else (data,)
    by_numpy = CASES["uint8 images, NumPy"][1] if scale is with_keras else scale
    ours, by_hand = zip(
        *((seconds(dataset), seconds(batches_by_hand(columns, by_numpy))) for _ in range(7)), strict=True
    )
    assert min(ours) < 6 * min(by_hand)


def batches_by_hand(columns, scale):
    order = np.random.default_rng(0).permutation(COUNT)
    for start in range(0, COUNT, 200):
        yield scale(*(column[order[start : start + 200]] for column in columns))


def seconds(batches):
    start = time.thread_time()
    for _ in batches:
        pass
    return time.thread_time() - start
