"""In-memory pipelines cost about a microsecond an element.

The time is what this thread spends, and the limit leaves room for a busy machine's cold caches.
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
    best = min(microseconds_an_element(dataset) for _ in range(5))
    assert best < 2


def microseconds_an_element(dataset):
    start = time.thread_time()
    for _ in dataset:
        pass
    return (time.thread_time() - start) / COUNT * 1e6
