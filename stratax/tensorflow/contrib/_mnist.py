"""`tf.contrib.learn.datasets.mnist`, which is `tensorflow.examples.tutorials.mnist.input_data`: digits in batches."""

import gzip
import os
from typing import Any, BinaryIO

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data.elements import as_dtype
from stratax.io import gfile
from stratax.tensorflow.contrib._datasets import Datasets, maybe_download

_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_NUM_CLASSES = 10
_NUM_PIXELS = 784
_NUM_FAKE = 10000
# What the files begin with.
_IMAGES, _LABELS = 2051, 2049


def extract_images(f: BinaryIO) -> np.ndarray:
    """Return the images of a file in MNIST's format, compressed by gzip: shape `(num, height, width, 1)`, uint8.

    Args:
        f: The open file.

    Raises:
        DataError: If it has another format.
    """
    with gzip.GzipFile(fileobj=f) as stream:
        sizes = _sizes(stream, _IMAGES, 3)
        return np.frombuffer(stream.read(int(np.prod(sizes))), np.uint8).reshape(*sizes, 1)


def extract_labels(f: BinaryIO, one_hot: bool = False, num_classes: int = _NUM_CLASSES) -> np.ndarray:
    """Return the labels of a file in MNIST's format, compressed by gzip.

    Args:
        f: The open file.
        one_hot: Whether each label is a row of 0 and one 1.
        num_classes: How long such a row is.

    Raises:
        DataError: If it has another format.
    """
    with gzip.GzipFile(fileobj=f) as stream:
        (size,) = _sizes(stream, _LABELS, 1)
        labels = np.frombuffer(stream.read(size), np.uint8)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def _sizes(stream: Any, kind: int, rank: int) -> list[int]:
    magic = int.from_bytes(stream.read(4), "big")
    if magic != kind:
        raise errors.DataError(
            f"Invalid magic number {magic} in MNIST file. Expected: {kind}. Received: {shown(stream.name)}."
        )
    return [int.from_bytes(stream.read(4), "big") for _ in range(rank)]


def dense_to_one_hot(labels_dense: np.ndarray, num_classes: int) -> np.ndarray:
    """Return labels as rows of 0 and one 1.

    Args:
        labels_dense: Class indices.
        num_classes: How long a row is.
    """
    return np.eye(num_classes)[labels_dense.ravel()]


class MnistDataSet:
    """Examples that are given in batches, pass after pass, as `tf.contrib.learn.datasets.mnist.DataSet`.

    Args:
        images: Shape `(num, height, width, 1)`, uint8.
        labels: As many labels.
        fake_data: Whether there are 10,000 made-up examples instead.
        one_hot: Whether made-up labels are rows.
        dtype: float32 for pixels from 0 to 1, or uint8.
        reshape: Whether an image is one row.
        seed: Seeds NumPy's global generator, by which examples are shuffled.

    Raises:
        BadTypeError: If `dtype` is another one.
        BadArgumentError: If there are not as many labels as images.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: DTypeLike = "float32",
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        np.random.seed(seed)
        kind = np.dtype(as_dtype(dtype))
        if kind not in (np.uint8, np.float32):
            raise errors.BadTypeError(f"Invalid image dtype {kind}, expected uint8 or float32")
        self._is_fake, self._one_hot = fake_data, one_hot
        self._num_examples = _NUM_FAKE
        if not fake_data:
            if len(images) != len(labels):
                raise errors.BadArgumentError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
            self._num_examples = len(images)
            if reshape:
                images = images.reshape(images.shape[0], images.shape[1] * images.shape[2])
            if kind == np.float32:
                images = images.astype(np.float32) * np.float32(1 / 255)
        self._images, self._labels = images, labels
        self._epochs_completed = 0
        self._index_in_epoch = 0

    @property
    def images(self) -> Any:
        """All images, in the order of the current pass."""
        return self._images

    @property
    def labels(self) -> Any:
        """All labels, in the order of the current pass."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """How many there are."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """How many passes are over."""
        return self._epochs_completed

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """Return the next images and labels, from this pass and the next.

        Args:
            batch_size: How many.
            fake_data: Whether they are made up.
            shuffle: Whether each pass has an order of its own.
        """
        if fake_data:
            label: Any = [1] + [0] * (_NUM_CLASSES - 1) if self._one_hot else 0
            return [[1] * _NUM_PIXELS for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._index_in_epoch
        if self._epochs_completed == 0 and start == 0 and shuffle:
            self._shuffle()
        end = start + batch_size
        if end <= self._num_examples:
            self._index_in_epoch = end
            return self._images[start:end], self._labels[start:end]
        self._epochs_completed += 1
        images, labels = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._index_in_epoch = end - self._num_examples
        return (
            np.concatenate([images, self._images[: self._index_in_epoch]]),
            np.concatenate([labels, self._labels[: self._index_in_epoch]]),
        )

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: DTypeLike = "float32",
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = _URL,
) -> Datasets:
    """Return MNIST, or what else is in files of its names and format.

    Args:
        train_dir: The folder; files that are not there are downloaded.
        fake_data: Whether examples are made up.
        one_hot: Whether labels are rows of 0 and one 1.
        dtype: float32 for pixels from 0 to 1, or uint8.
        reshape: Whether an image is one row.
        validation_size: How many examples of training are kept for choosing.
        seed: Seeds NumPy's global generator, by which examples are shuffled.
        source_url: From where files are downloaded.

    Raises:
        BadArgumentError: If there are not so many examples.
    """
    if fake_data:
        return Datasets(*(MnistDataSet([], [], True, one_hot, dtype, seed=seed) for _ in range(3)))

    def read(name: str, extract: Any, **options: Any) -> Any:
        path = maybe_download(name, train_dir, os.path.join(source_url or _URL, name))
        with gfile.GFile(path, "rb") as file:
            return extract(file, **options)

    images = read("train-images-idx3-ubyte.gz", extract_images)
    labels = read("train-labels-idx1-ubyte.gz", extract_labels, one_hot=one_hot)
    test_images = read("t10k-images-idx3-ubyte.gz", extract_images)
    test_labels = read("t10k-labels-idx1-ubyte.gz", extract_labels, one_hot=one_hot)
    if not 0 <= validation_size <= len(images):
        raise errors.BadArgumentError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    parts = [
        (images[validation_size:], labels[validation_size:]),
        (images[:validation_size], labels[:validation_size]),
        (test_images, test_labels),
    ]
    return Datasets(*(MnistDataSet(*part, dtype=dtype, reshape=reshape, seed=seed) for part in parts))


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """Return MNIST with the defaults of `read_data_sets`.

    Args:
        train_dir: The folder; files that are not there are downloaded.
    """
    return read_data_sets(train_dir)


# Those of TensorFlow's own package, which has the files of the others, are not there.
DATASETS = {"mnist": load_mnist}


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Datasets:
    """Return the data of a name, as `tf.contrib.learn.datasets.load_dataset`.

    Args:
        name: A key of `DATASETS`.
        size: Ignored: of text.
        test_with_fake_data: Likewise.

    Raises:
        BadArgumentError: There is none of this name.
    """
    if name not in DATASETS:
        raise errors.BadArgumentError(
            f"There are no data of this name. Expected: one of {sorted(DATASETS)}. Received: name={shown(name)}."
        )
    return DATASETS[name]()
