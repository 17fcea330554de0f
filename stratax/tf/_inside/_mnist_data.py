"""MNIST as `tensorflow.examples.tutorials.mnist.input_data` gives it: arrays, and batches of them (tf layer).

The files are those of Yann LeCun's page, which lie in the program's folder or are fetched into it.
"""

import gzip
import pathlib
import struct
import urllib.request
from typing import Any, NamedTuple

import numpy as np

from stratax import errors
from stratax.base.shown import shown

_SOURCE = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_IMAGES, _LABELS = 2051, 2049
_CLASSES = 10
_SECONDS = 60.0


class DataSet:
    """Images and their labels, and batches of them in an order that is drawn for each pass.

    Args:
        images: Shape ``(count, rows, columns, 1)``, bytes.
        labels: Shape ``(count,)`` or ``(count, classes)``.
        dtype: "float32" for intensities from 0 to 1, "uint8" for bytes.
        reshape: Whether an image is a vector.
        seed: Of the order.
    """

    def __init__(
        self,
        images: np.ndarray,
        labels: np.ndarray,
        *,
        dtype: Any = "float32",
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        if reshape:
            images = images.reshape(len(images), -1)
        if np.dtype(dtype) == np.float32:
            images = images.astype(np.float32) * np.float32(1 / 255)
        self.images, self.labels = images, labels
        self.num_examples = len(images)
        self.epochs_completed = 0
        self._generator = np.random.default_rng(seed)
        self._order = np.arange(self.num_examples)
        self._at = 0

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the next images and labels; one pass follows on another, also within a batch.

        Args:
            batch_size: How many.
            fake_data: No effect.
            shuffle: Whether each pass has an order of its own.
        """
        if shuffle and self._at == self.epochs_completed == 0:
            self._generator.shuffle(self._order)
        chosen: list[np.ndarray] = []
        missing = batch_size
        while True:
            part = self._order[self._at : self._at + missing]
            chosen.append(part.copy())
            self._at += len(part)
            missing -= len(part)
            if not missing:
                break
            self.epochs_completed += 1
            self._at = 0
            if shuffle:
                self._generator.shuffle(self._order)
        rows = np.concatenate(chosen)
        return self.images[rows], self.labels[rows]


class Datasets(NamedTuple):
    """What is trained with, what is held back of it, and what is tested with."""

    train: DataSet
    validation: DataSet
    test: DataSet


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = "float32",
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = _SOURCE,
) -> Datasets:
    """Read MNIST, as `input_data.read_data_sets`.

    Args:
        train_dir: The folder of the four `.gz` files; those that it lacks are fetched into it.
        fake_data: No effect: there is nothing but the data.
        one_hot: Whether a label is a vector of ten numbers.
        dtype: "float32" for intensities from 0 to 1, "uint8" for bytes.
        reshape: Whether an image is a vector of 784 numbers; else its shape is ``(28, 28, 1)``.
        validation_size: How many of the images to train with are held back.
        seed: Of the order of batches.
        source_url: Where the files are.

    Raises:
        BadArgumentError: If more images are to be held back than there are.
    """
    found = []
    for part in ("train", "t10k"):
        images = extract_images(_file(train_dir, f"{part}-images-idx3-ubyte.gz", source_url))
        found.append(
            (images, extract_labels(_file(train_dir, f"{part}-labels-idx1-ubyte.gz", source_url), one_hot))
        )
    (images, labels), test = found
    if not 0 <= validation_size <= len(images):
        raise errors.BadArgumentError(
            f"validation_size must be between 0 and {len(images)}. Received: {shown(validation_size)}."
        )
    options = {"dtype": dtype, "reshape": reshape, "seed": seed}
    return Datasets(
        DataSet(images[validation_size:], labels[validation_size:], **options),
        DataSet(images[:validation_size], labels[:validation_size], **options),
        DataSet(*test, **options),
    )


def extract_images(f: Any) -> np.ndarray:
    """Return the images of a compressed file, shape ``(count, rows, columns, 1)``.

    Args:
        f: The path, or an open file.
    """
    content = _read(f, _IMAGES)
    return np.frombuffer(content, np.uint8, offset=16).reshape(*struct.unpack(">3I", content[4:16]), 1)


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = _CLASSES) -> np.ndarray:
    """Return the labels of a compressed file, shape ``(count,)``, or ``(count, num_classes)`` if `one_hot`.

    Args:
        f: The path, or an open file.
        one_hot: Whether a label is a vector.
        num_classes: How long that is.
    """
    labels = np.frombuffer(_read(f, _LABELS), np.uint8, offset=8)
    return np.eye(num_classes)[labels] if one_hot else labels


def _read(f: Any, magic: int) -> bytes:
    with gzip.open(f, "rb") as file:
        content: bytes = file.read()
    (found,) = struct.unpack(">I", content[:4])
    if found != magic:
        raise errors.DataLossError(
            f"{shown(f)} is no file of MNIST. Expected: the number {magic} first. Received: {found}."
        )
    return content


def _file(folder: str, name: str, source: str) -> pathlib.Path:
    path = pathlib.Path(folder) / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{name}.part")
        with urllib.request.urlopen(source + name, timeout=_SECONDS) as answer:
            part.write_bytes(answer.read())
        # Another process that reads sees the whole file or none.
        part.replace(path)
    return path
