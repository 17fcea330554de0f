"""Datasets of parsed `tf.train.Example`s, and TFRecord files of datasets, as in `tf.data.experimental` (data layer)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.dataset import Dataset
from stratax.data.elements import AUTOTUNE, TensorSpec
from stratax.data.examples import parse_example
from stratax.data.readers._tfrecord import TFRecordDataset
from stratax.data.records import TFRecordWriter as RecordWriter
from stratax.errors import BadArgumentError, BadTypeError

_TEXTS = TensorSpec((None,), "string")
_TEXT = TensorSpec((), "string")


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: int | None = 1, deterministic: bool | None = None
) -> Callable[[Dataset], Dataset]:
    """Parse batches of serialized examples, as `tf.data.experimental.parse_example_dataset`.

    Args:
        features: As of `tf.io.parse_example`.
        num_parallel_calls: Threads.
        deterministic: Accepted; the order is always deterministic.

    Returns:
        What `Dataset.apply` takes: from a Dataset of vectors of strings to one of dicts.

    Raises:
        BadArgumentError: There are no features.
        BadTypeError: When it is applied: the elements are something else.
    """
    if features is None:
        raise BadArgumentError(
            "Argument `features` is required. Received: features=None. Pass a dict of features."
        )

    def parse(dataset: Dataset) -> Dataset:
        _check_texts(dataset, _TEXTS, "parse_example_dataset takes batches of serialized examples")
        return dataset.map(lambda serialized: parse_example(serialized, features), num_parallel_calls)

    return parse


def _check_texts(dataset: Dataset, expected: TensorSpec, what: str) -> None:
    spec = dataset.element_spec
    is_text = isinstance(spec, TensorSpec) and spec.dtype.hasobject
    if not is_text or spec.shape is None or len(spec.shape) != len(expected.shape or ()):
        raise BadTypeError(
            f"{what}. Expected: element_spec={shown(expected)}. Received: element_spec={shown(spec)}."
        )


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[..., Dataset] | None = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Make batches of parsed examples of files, as `tf.data.experimental.make_batched_features_dataset`.

    Args:
        file_pattern: Names of files or patterns of names: one or a sequence.
        batch_size: Examples of a batch.
        features: As of `tf.io.parse_example`.
        reader: Makes a Dataset of serialized examples, or of pairs of a key and one, of a file's name; TFRecordDataset
            if None.
        label_key: A feature that is given beside the others: elements are then `(features, label)`.
        reader_args: What `reader` gets behind the name.
        num_epochs: How often the examples are repeated; without an end if None, and then all batches are full.
        shuffle: Whether files and examples are shuffled.
        shuffle_buffer_size: From how many examples the next one is drawn.
        shuffle_seed: Fixes the order.
        prefetch_buffer_size: How many batches are made ahead; a good number if None.
        reader_num_threads: How many files take turns; one if None.
        parser_num_threads: Threads that parse; two if None.
        sloppy_ordering: Accepted; the order is always deterministic.
        drop_final_batch: Whether a short last batch is left out.

    Raises:
        BadArgumentError: `label_key` is none of the features.

    Example:
        >>> import pathlib, tempfile
        >>> import stratax.tf as tf
        >>> name = str(pathlib.Path(tempfile.mkdtemp()) / "ages.tfrecord")
        >>> with tf.io.TFRecordWriter(name) as writer:
        ...     for age in (3, 5):
        ...         value = tf.train.Feature(int64_list=tf.train.Int64List(value=[age]))
        ...         features = tf.train.Features(feature={"age": value})
        ...         writer.write(tf.train.Example(features=features).SerializeToString())
        >>> batches = tf.data.experimental.make_batched_features_dataset(
        ...     name, 2, {"age": tf.io.FixedLenFeature([], tf.int64)}, num_epochs=1, shuffle=False)
        >>> [batch["age"].tolist() for batch in batches]
        [[3, 5]]
    """
    if label_key is not None and label_key not in features:
        raise BadArgumentError(
            f"label_key has to be one of the features. Expected: one of {shown(list(features))}. Received: "
            f"label_key={shown(label_key)}."
        )
    read = TFRecordDataset if reader is None else reader
    threads = 1 if reader_num_threads is None else reader_num_threads
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    dataset = files.interleave(
        lambda name: read(name, *(reader_args or ())),
        cycle_length=AUTOTUNE if threads == AUTOTUNE else threads,
        num_parallel_calls=None if threads == 1 else threads,
    )
    if isinstance(dataset.element_spec, tuple):
        dataset = dataset.map(lambda key, serialized: serialized)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_final_batch or num_epochs is None)
    dataset = dataset.apply(
        parse_example_dataset(features, 2 if parser_num_threads is None else parser_num_threads)
    )
    if label_key is not None:
        dataset = dataset.map(lambda parsed: (parsed, parsed.pop(label_key)))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


class TFRecordWriter:
    """Writes a Dataset of strings to a TFRecord file, as `tf.data.experimental.TFRecordWriter`.

    Args:
        filename: A path or URL.
        compression_type: None, "", "GZIP" or "ZLIB".
    """

    def __init__(self, filename: Any, compression_type: str | None = None) -> None:
        # In a function of a dataset the name is an element.
        name = np.asarray(filename).item() if hasattr(filename, "dtype") else filename
        self._filename = name.decode() if isinstance(name, bytes) else name
        self._compression_type = compression_type

    def write(self, dataset: Dataset) -> None:
        """Write all elements; the file has its name when all are there.

        Args:
            dataset: A Dataset of strings.

        Raises:
            BadTypeError: Its elements are something else.
        """
        if not isinstance(dataset, Dataset):
            raise BadTypeError(
                f"write takes a Dataset. Received: dataset={shown(dataset)} of type {type(dataset).__name__}."
            )
        _check_texts(dataset, _TEXT, "A TFRecord file is of strings; tf.io.serialize_tensor makes some")
        with RecordWriter(self._filename, self._compression_type) as writer:
            for record in dataset.as_numpy_iterator():
                writer.write(record)
