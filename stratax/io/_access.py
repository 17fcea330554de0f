"""Where files lie, and what is wrong with them (io layer).

Names are paths, or URLs of whatever fsspec opens (`gs://`, `s3://`, `memory://`).
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import Any

from stratax.base.shown import cut, shown
from stratax.errors import (
    BadArgumentError,
    BadTypeError,
    DataLossError,
    FileAccessError,
    FileMissingError,
    MissingPackageError,
    StrataxError,
)

FileName = str | bytes | os.PathLike[str]


def as_file_name(name: object) -> str:
    """Return a path or URL as text.

    Raises:
        BadTypeError: It is not a string, bytes or a path.
        BadArgumentError: It has a zero byte in it.
    """
    # NumPy's scalars and arrays without dimensions, as datasets of names give them.
    value = name.item() if hasattr(name, "item") and getattr(name, "ndim", 1) == 0 else name
    if not isinstance(value, str | bytes | os.PathLike):
        raise BadTypeError(
            "The name of a file is a string or a path. "
            f"Received: filename={shown(name)} of type {type(name).__name__}. Pass a str, bytes or os.PathLike."
        )
    text = os.fsdecode(value)
    if "\0" in text:
        raise BadArgumentError(
            f"The name of a file has no zero byte in it. Received: filename={shown(text)}. Check where the name "
            "comes from."
        )
    return text


def local_path(name: str) -> str | None:
    """Return the path in this machine's file system, None for a URL of something else."""
    if name.startswith("file://"):
        return name.removeprefix("file://")
    return None if "://" in name else name


def remote_path(name: str) -> tuple[Any, str]:
    """Return the file system of fsspec that a URL is of, and the path in it.

    Raises:
        BadArgumentError: fsspec knows no such kind of URL.
        MissingPackageError: It needs a package for this kind that is not installed.
    """
    # Late, as most programs read local files only.
    import fsspec

    try:
        filesystem, path = fsspec.core.url_to_fs(name)
    except ImportError as e:
        raise MissingPackageError(
            f"Files at such URLs need a package that is not installed. Received: filename={shown(name)} ({e}). "
            "Install it with pip."
        ) from e
    except ValueError as e:
        raise BadArgumentError(
            "The URL is of no kind that fsspec opens. Expected: a path, or a URL such as 'gs://bucket/file'. "
            f"Received: filename={shown(name)} ({e}). Check what stands before '://'."
        ) from e
    return filesystem, path


def file_missing(name: str) -> FileMissingError:
    """Return the error for a file that is not there."""
    return FileMissingError(
        f"There is no such file. Received: filename={shown(name)}. Check the path, or list_files.",
        filename=name,
    )


def is_directory(name: str) -> DataLossError:
    """Return the error for a directory where a file was expected."""
    return DataLossError(
        f"A file was expected and a directory is there. Received: filename={shown(name)}. "
        "Name the files in it, for instance with list_files(name + '/*').",
        filename=name,
    )


@contextlib.contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what the system or the store says against reading a file into an error of the family.

    Raises:
        FileMissingError: There is no such file.
        DataLossError: It is a directory, or too much for the memory.
        FileAccessError: It can't be read.
    """
    try:
        yield
    # What was recognised inside already says more.
    except StrataxError:
        raise
    except MemoryError as e:
        raise DataLossError(
            f"The content does not fit into memory. Received: filename={shown(name)}. Make room, or read it piece by "
            "piece, with a Dataset or GFile.read(n).",
            filename=name,
        ) from e
    except (FileNotFoundError, NotADirectoryError) as e:
        raise file_missing(name) from e
    except IsADirectoryError as e:
        raise is_directory(name) from e
    except PermissionError as e:
        raise FileAccessError(
            f"The file may not be read. Received: filename={shown(name)}. Give this user the right to read it, and to "
            "enter the folders that it is in.",
            filename=name,
        ) from e
    except _errors_of(name) as e:
        # No file can have this name, so there is none.
        if isinstance(e, OSError) and e.errno == errno.ENAMETOOLONG:
            raise file_missing(name) from e
        raise FileAccessError(
            f"The file can't be read: {reason_of(e)}. Received: filename={shown(name)}. See whether its disk or its "
            "store answers.",
            filename=name,
        ) from e


@contextlib.contextmanager
def writing(name: str) -> Iterator[None]:
    """Turn what the system says against making a file or folder into an error of the family.

    Raises:
        FileMissingError: The folder that it is to be in is not there.
        DataLossError: It is a directory.
        FileAccessError: It can't be written.
    """
    try:
        yield
    except (StrataxError, MemoryError):
        raise
    except FileNotFoundError as e:
        folder = os.path.dirname(local_path(name) or name) or "."
        raise FileMissingError(
            f"There is no such folder: {shown(folder)}. Expected: a folder for the file. Received: "
            f"filename={shown(name)}. "
            "Make it first.",
            filename=name,
        ) from e
    except IsADirectoryError as e:
        raise is_directory(name) from e
    except _errors_of(name) as e:
        raise FileAccessError(
            f"The file can't be written: {reason_of(e)}. Received: filename={shown(name)}. Give this user the right to "
            "write there, make room, or name another folder.",
            filename=name,
        ) from e


def _errors_of(name: str) -> type[Exception]:
    """Return what is raised where a file can't be reached: stores have classes of their own."""
    # Of local files other errors are mistakes in the program, and are not caught.
    return OSError if local_path(name) is not None else Exception


def reason_of(error: Exception) -> str:
    """Return what the system says, without the file's name."""
    return (isinstance(error, OSError) and error.strerror) or cut(f"{type(error).__name__}: {error}")
