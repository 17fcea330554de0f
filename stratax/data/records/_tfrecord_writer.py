"""Writes TFRecord files, whole or not at all (data layer)."""

import os
import tempfile
import warnings
import weakref
import zlib
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.data.records._tfrecord_reader import FOOTER_BYTES, compute_masked_crc, header_of
from stratax.errors import BadArgumentError, BadTypeError
from stratax.io import (
    FileName,
    as_compression,
    as_file_name,
    discard,
    is_directory,
    local_path,
    open_beside,
    publish,
    remote_path,
    writing,
)

# Added to the window's bits, for zlib to write gzip's header and checksum.
_GZIP_BITS = 16
# TensorFlow's default; zlib's own is 8.
_MAX_MEMORY_LEVEL = 9
_BUFFER = 1 << 18


class TFRecordCompressionType:
    """The old names of the compressions, as `tf.python_io.TFRecordCompressionType`.

    Attributes:
        NONE: No compression.
        ZLIB: zlib's format.
        GZIP: gzip's format.
    """

    NONE = ""
    ZLIB = "ZLIB"
    GZIP = "GZIP"


class TFRecordOptions:
    """How a TFRecord file is compressed, as `tf.io.TFRecordOptions`; the numbers are zlib's.

    Args:
        compression_type: "GZIP", "ZLIB", "" or None for none; or another TFRecordOptions.
        flush_mode: How `flush` flushes the compressor; `zlib.Z_NO_FLUSH`, the default, leaves it alone.
        input_buffer_size: Ignored.
        output_buffer_size: Ignored.
        window_bits: Size of zlib's window, 8 to 15 (in bits); default 15.
        compression_level: 0 to 9, default zlib's own (-1).
        compression_method: 8 (deflate), the only one there is.
        mem_level: 1 to 9, default 9.
        compression_strategy: Default `zlib.Z_DEFAULT_STRATEGY`.

    Raises:
        BadArgumentError: `compression_type` is none of these.

    Example:
        >>> from stratax.data import TFRecordOptions
        >>> TFRecordOptions("GZIP", compression_level=9).compression_type
        'GZIP'
    """

    def __init__(
        self,
        compression_type: "str | TFRecordOptions | None" = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        if isinstance(compression_type, TFRecordOptions):
            compression_type = compression_type.compression_type
        self.compression_type: str = as_compression(compression_type)
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    def compressor(self) -> Any:
        """Return a `zlib.compressobj` with these settings; None if nothing is to be compressed.

        Raises:
            BadArgumentError: zlib takes none of these numbers.
        """
        if not self.compression_type:
            return None
        bits = _use_default(self.window_bits, zlib.MAX_WBITS)
        try:
            machine = zlib.compressobj(
                _use_default(self.compression_level, zlib.Z_DEFAULT_COMPRESSION),
                _use_default(self.compression_method, zlib.DEFLATED),
                bits + _GZIP_BITS if self.compression_type == "GZIP" else bits,
                _use_default(self.mem_level, _MAX_MEMORY_LEVEL),
                _use_default(self.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
            )
            if self.flush_mode:
                # On a copy: a wrong mode is found now and not at the first flush.
                machine.copy().flush(self.flush_mode)
        except (ValueError, TypeError, zlib.error) as e:
            raise BadArgumentError(
                f"zlib does not take these TFRecordOptions ({e}). Received: {vars(self)}. Leave out the numbers that "
                "you need not choose."
            ) from e
        return machine


def _use_default(value: int | None, default: int) -> int:
    return default if value is None else value


def as_options(options: TFRecordOptions | str | None) -> TFRecordOptions:
    """Return the options that are meant: themselves, a compression type, or none.

    Raises:
        BadTypeError: It is something else.
    """
    if isinstance(options, TFRecordOptions):
        return options
    if options is None or isinstance(options, str):
        return TFRecordOptions(options)
    raise BadTypeError(
        "options is a TFRecordOptions, the name of a compression, or None. "
        f"Received: options={shown(options)} of type {type(options).__name__}. Pass TFRecordOptions('GZIP')."
    )


class TFRecordWriter:
    """Writes a TFRecord file, as `tf.io.TFRecordWriter`; without compression byte for byte what TensorFlow writes.

    The file stands under its name only when the writer was closed: until then it is a temporary file beside it (for
    a URL, one of this machine, which is uploaded). A writer whose `with` block ends by an exception, that is
    garbage collected unclosed, or whose process dies leaves nothing under the name, and an older file as it was.

    Args:
        path: A path, or a URL that fsspec opens.
        options: A :class:`TFRecordOptions`, or just a compression type; default none.

    Raises:
        BadArgumentError: The options have a number that zlib does not take.
        FileMissingError: The folder does not exist.
        FileAccessError: The folder can't be written to.
        DataLossError: The path is a directory.

    Example:
        >>> import os, tempfile
        >>> from stratax.data import TFRecordDataset, TFRecordWriter
        >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
        >>> with TFRecordWriter(path) as writer:
        ...     for i in range(3):
        ...         writer.write(str(i).encode())
        >>> list(TFRecordDataset(path).as_numpy_iterator())
        [b'0', b'1', b'2']
    """

    # Whether one that nobody closed makes its file when it is collected, as TensorFlow's.
    _closes_when_collected = False

    def __init__(self, path: FileName, options: TFRecordOptions | str | None = None) -> None:
        self._name = as_file_name(path)
        self._options = as_options(options)
        self._compressor = self._options.compressor()
        self._local = local_path(self._name)
        self._file: BinaryIO | None
        self._file = _temporary_file(self._name, self._local)
        # With the file and not the writer, which it would keep alive.
        self._finalizer = weakref.finalize(self, _abandon, self._file, self._name)

    def write(self, record: bytes) -> None:
        """Append a record.

        Args:
            record: Its bytes: `bytes`, `bytearray`, `memoryview` or a NumPy bytes scalar.

        Raises:
            BadTypeError: It is something else, for instance a `str`.
            BadArgumentError: The writer is closed.
        """
        if not isinstance(record, bytes):
            record = _as_bytes(record)
        self._write(
            header_of(len(record)) + record + compute_masked_crc(record).to_bytes(FOOTER_BYTES, "little")
        )

    def _write(self, content: bytes) -> None:
        file = self._open_file()
        file.write(content if self._compressor is None else self._compressor.compress(content))

    def _open_file(self) -> BinaryIO:
        if self._file is None:
            raise BadArgumentError(
                f"The writer is closed. Received: filename={shown(self._name)}. Open a new TFRecordWriter, "
                "which replaces "
                "the file."
            )
        return self._file

    def flush(self) -> None:
        """Hand what was written to the system (still under the temporary name)."""
        file = self._open_file()
        if self._compressor is not None and self._options.flush_mode:
            file.write(self._compressor.flush(self._options.flush_mode))
        file.flush()

    def close(self) -> None:
        """Finish the file and put it under its name; nothing if that was done.

        Raises:
            FileAccessError: It can't be written; nothing is left of it.
        """
        file = self._release()
        if file is None:
            return
        try:
            with writing(self._name):
                if self._compressor is not None:
                    file.write(self._compressor.flush())
                _publish(file, self._name, self._local)
        finally:
            discard(file)

    def _discard(self) -> None:
        file = self._release()
        if file is not None:
            discard(file)

    def _release(self) -> BinaryIO | None:
        """Return the temporary file, which is the caller's from now on; None if it was released."""
        file, self._file = self._file, None
        # Closed by hand: there is nothing to warn of.
        self._finalizer.detach()
        return file

    def __del__(self) -> None:
        # Not at the end of the process, where the file was abandoned before.
        if self._closes_when_collected and "_finalizer" in vars(self) and self._finalizer.alive:
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._discard()


def _as_bytes(record: object) -> bytes:
    if isinstance(record, bytearray | memoryview):
        return bytes(record)
    value = record.item() if hasattr(record, "item") and getattr(record, "ndim", 1) == 0 else record
    if isinstance(value, bytes):
        return value
    raise BadTypeError(
        f"A record is bytes. Received: record={shown(record)} of type {type(record).__name__}. "
        "Serialize it first: text.encode(), example.SerializeToString(), array.tobytes()."
    )


def _temporary_file(name: str, local: str | None) -> BinaryIO:
    if local is None:
        # Checks the URL before anything is written.
        remote_path(name)
        # Stores take whole files; this one is uploaded at the end.
        return cast(BinaryIO, tempfile.NamedTemporaryFile(prefix="stratax-", buffering=_BUFFER, delete=False))
    if os.path.isdir(local):
        raise is_directory(name)
    with writing(name):
        return open_beside(local, _BUFFER)


def _publish(file: BinaryIO, name: str, local: str | None) -> None:
    if local is not None:
        publish(file, local)
        return
    file.close()
    filesystem, path = remote_path(name)
    filesystem.put_file(file.name, path)


def _abandon(file: BinaryIO, name: str) -> None:
    """Abandon the file of a writer that was not closed."""
    discard(file)
    warnings.warn(
        f"A TFRecordWriter was not closed, so its file was not made. Received: path={shown(name)}. Use it in a `with` "
        "block, or call close().",
        RuntimeWarning,
        stacklevel=stack_level(),
    )
