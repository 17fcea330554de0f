"""TFRecordDataset: the records of TFRecord files (data layer)."""

from collections.abc import Iterator

from stratax.base.shown import shown
from stratax.data.dataset import Dataset
from stratax.data.plan import as_count
from stratax.data.readers._arguments import as_buffer_size, as_parallel_reads, names_node
from stratax.data.readers._tfrecord_index import IndexedRecords
from stratax.data.records import DEFAULT_BUFFER, MAX_RECORD_BYTES, TFRecordFormat, TFRecordOptions, as_options
from stratax.data.sources import FileSource
from stratax.errors import BadArgumentError
from stratax.io import FileName, as_compression


class TFRecordDataset(Dataset):
    """The records of TFRecord files, as `tf.data.TFRecordDataset`; an element is a `bytes`.

    A record that can't be read raises a :class:`~stratax.errors.DataLossError` that names file, record and offset when
    it is its turn. The next reading goes on with the next record where the data was damaged, and with the next file
    where the length was or the file is cut off.

    Args:
        filenames: A path or URL (of whatever fsspec opens), a list of them, or a Dataset of them.
        compression_type: "GZIP", "ZLIB", or "" or None for none.
        buffer_size: How many bytes to read at once; default 1 MB.
        num_parallel_reads: How many files are read at a time, their records taken in turn; AUTOTUNE for a good number,
            None or 1 for one file after another.
        name: Ignored.
        check_crc: Whether the checksums of the data are compared; those of the lengths always are.
        index: Whether any record can be read at any time, so that `shuffle` permutes all of them, `len` is known and
            a position is restored at once. For files of this machine without compression, which are read one after
            another. Where the records begin is found out at the first use and kept in a hidden file beside each.
        max_record_bytes: How long a record may be, 1 GiB if nothing else is asked for. One that claims more is an error
            before memory is taken for it, and the rest of its file is passed over.

    Raises:
        BadArgumentError: `compression_type` or a number is none that is allowed, or does not go with `index`.
        BadTypeError: A name is not a string or a path.

    Example:
        >>> import os, tempfile
        >>> from stratax.data import TFRecordDataset, TFRecordWriter
        >>> path = os.path.join(tempfile.mkdtemp(), "words.tfrecord")
        >>> with TFRecordWriter(path) as writer:
        ...     writer.write(b"first")
        ...     writer.write(b"second")
        >>> list(TFRecordDataset(path).as_numpy_iterator())
        [b'first', b'second']
    """

    def __init__(
        self,
        filenames: object,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        *,
        check_crc: bool = True,
        index: bool = False,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        size = as_buffer_size(buffer_size, DEFAULT_BUFFER)
        most = as_count("max_record_bytes", max_record_bytes, 1)
        form = TFRecordFormat(as_compression(compression_type), size, check_crc, most)
        num_parallel = as_parallel_reads(num_parallel_reads)
        names = names_node(filenames)
        if not index:
            super().__init__(FileSource(names, form, num_parallel))
            return
        if form.compression or num_parallel > 1:
            raise BadArgumentError(
                "index=True reads files without compression one after another. "
                f"Received: compression_type={shown(compression_type)}, "
                f"num_parallel_reads={shown(num_parallel_reads)}. Leave "
                "them out, or index."
            )
        super().__init__(IndexedRecords(names, form))


def tf_record_iterator(path: FileName, options: TFRecordOptions | str | None = None) -> Iterator[bytes]:
    """Iterate over the records of one TFRecord file, as the old `tf.python_io.tf_record_iterator`.

    Args:
        path: A path or URL.
        options: A :class:`TFRecordOptions`, or just a compression type; default none.

    Returns:
        An iterator over the records.

    Raises:
        DataLossError: While iterating, at a record that can't be read.
    """
    return iter(TFRecordDataset(path, as_options(options).compression_type))
