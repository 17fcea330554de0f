"""`tf.contrib.learn.datasets.base`: arrays with labels, of CSV files, and files from the net."""

import csv
import os
import urllib.request
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from stratax.base.typing import DTypeLike
from stratax.data.elements import as_dtype
from stratax.io import gfile

# For how long a server that says nothing is waited for.
_SECONDS = 60.0


class LabeledArrays(NamedTuple):
    """Examples, as `tf.contrib.learn.datasets.base.Dataset`.

    Attributes:
        data: The features.
        target: The labels.
    """

    data: Any
    target: Any


class Datasets(NamedTuple):
    """What a model is trained on, chosen by and tested on, as `tf.contrib.learn.datasets.base.Datasets`.

    Attributes:
        train: For training.
        validation: For choosing.
        test: For testing.
    """

    train: Any
    validation: Any
    test: Any


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """Return a file's path; it is downloaded if it is not there.

    Args:
        filename: The file's name.
        work_directory: The folder.
        source_url: From where it is downloaded.

    Raises:
        OSError: If it can't be downloaded, or the server says nothing for a minute.
    """
    path = os.path.join(work_directory, filename)
    if not gfile.exists(path):
        with urllib.request.urlopen(source_url, timeout=_SECONDS) as answer:
            gfile.write_file(path, answer.read())
    return path


def _rows_of(filename: str) -> Iterator[list[str]]:
    with gfile.GFile(filename) as file:
        yield from csv.reader(file)


def load_csv_with_header(
    filename: str, target_dtype: DTypeLike, features_dtype: DTypeLike, target_column: int = -1
) -> LabeledArrays:
    """Return the examples of a CSV file whose first line says how many there are, and how many features.

    Args:
        filename: The file.
        target_dtype: The labels' dtype.
        features_dtype: The features' dtype.
        target_column: Where the label stands.
    """
    (num_examples, num_features, *_), *rows = _rows_of(filename)
    found = _examples(rows, target_dtype, features_dtype, target_column)
    return LabeledArrays(
        found.data.reshape(int(num_examples), int(num_features)), found.target[: int(num_examples)]
    )


def load_csv_without_header(
    filename: str, target_dtype: DTypeLike, features_dtype: DTypeLike, target_column: int = -1
) -> LabeledArrays:
    """Return the examples of a CSV file.

    Args:
        filename: The file.
        target_dtype: The labels' dtype.
        features_dtype: The features' dtype.
        target_column: Where the label stands.
    """
    return _examples(list(_rows_of(filename)), target_dtype, features_dtype, target_column)


def _examples(
    rows: list[list[str]], target_dtype: DTypeLike, features_dtype: DTypeLike, target_column: int
) -> LabeledArrays:
    target = np.array([row.pop(target_column) for row in rows]).astype(as_dtype(target_dtype))
    return LabeledArrays(np.array(rows).astype(as_dtype(features_dtype)), target)
