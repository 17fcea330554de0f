"""The making of one file of records, in whatever process it is (convert layer).

Worker processes import this module, so it imports nothing that is slow to import.
"""

import dataclasses
import json
import os
import pathlib
import struct

from stratax import errors
from stratax.base.shown import shown
from stratax.command.convert._example import image_example
from stratax.command.convert._listing import Picture, location
from stratax.data import TFRecordWriter
from stratax.io import read_file, write_file

_METER = struct.Struct("<qqq")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ShardTask:
    """All that is needed to make one file, as it is sent to a worker.

    Attributes:
        index: The number of the file, from 0.
        path: Where it is to appear.
        parts: The folder of what is not finished.
        root: The folder that the names of the images are relative to.
        pictures: The images, in order.
        classes: The name of each class.
        label_offset: The number of the first class.
        resize: As in `ConversionSettings`.
        quality: As in `ConversionSettings`.
        skip_broken: Whether a broken image is left out instead of ending the conversion.
    """

    index: int
    path: str
    parts: str
    root: str
    pictures: tuple[Picture, ...]
    classes: tuple[str, ...]
    label_offset: int
    resize: int | tuple[int, int] | None
    quality: int
    skip_broken: bool


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ShardResult:
    """What became of one file.

    Attributes:
        index: The number of the file, from 0.
        images: Records in it.
        size: Its bytes.
        skipped: The name of each image that was left out, and why.
    """

    index: int
    images: int
    size: int
    skipped: tuple[tuple[str, str], ...]


def make_shard(task: ShardTask) -> ShardResult:
    """Make one file of records. It appears under its name when it is whole, with its result beside the parts.

    Args:
        task: What to make.

    Returns:
        What became of it.

    Raises:
        DataLossError: If an image is broken and that is not to be skipped.
        OSError: If the file can't be written.
    """
    # With the process in the name: a worker that hangs cannot write into the file of its successor.
    partial = pathlib.Path(task.parts, f"{task.index:05}.{os.getpid()}.tfrecord")
    images = 0
    skipped: list[tuple[str, str]] = []
    with Meter(task.parts) as meter, TFRecordWriter(partial) as writer:
        meter.write(task.index, images, len(skipped))
        for picture in task.pictures:
            try:
                record = _record(task, picture)
            except errors.DataLossError as error:
                if not task.skip_broken:
                    raise
                # The cause alone: the name of the image is listed beside it.
                skipped.append((picture.name, str(error.__cause__ or error)))
            else:
                writer.write(record)
                images += 1
            meter.write(task.index, images, len(skipped))
    result = ShardResult(index=task.index, images=images, size=partial.stat().st_size, skipped=tuple(skipped))
    # The result first: a file under its own name always has one.
    write_text(result_path(task.parts, task.index), json.dumps(dataclasses.asdict(result)))
    os.replace(partial, task.path)
    return result


def result_path(parts: str | os.PathLike[str], index: int) -> pathlib.Path:
    """Return where the result of a file is noted."""
    return pathlib.Path(parts, f"{index:05}.json")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, here or at a URL, that appears whole or not at all; in UTF-8, as names of files are."""
    write_file(os.fspath(path), text.encode("utf-8", "surrogateescape"))


class Meter:
    """How far each file is: a small file that every worker writes its own place of, and that needs no lock."""

    def __init__(self, parts: str | os.PathLike[str]) -> None:
        self._descriptor = os.open(pathlib.Path(parts, "progress"), os.O_RDWR | os.O_CREAT, 0o666)

    def __enter__(self) -> "Meter":
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self._descriptor)

    def write(self, index: int, images: int, skipped: int) -> None:
        """Note how many images of a file are done, and who works on it."""
        # One write at an offset of its own: workers neither need a lock nor move a common position.
        os.pwrite(self._descriptor, _METER.pack(os.getpid(), images, skipped), index * _METER.size)

    def read(self, index: int) -> tuple[int, int, int]:
        """Return the process that works on a file (0: none has begun), and how many images it has done and left out."""
        noted = os.pread(self._descriptor, _METER.size, index * _METER.size)
        # The file grows with the first write at the highest number.
        return _METER.unpack(noted) if len(noted) == _METER.size else (0, 0, 0)


def _record(task: ShardTask, picture: Picture) -> bytes:
    return image_example(
        read_image(location(task.root, picture.name)),
        filename=picture.name,
        label=picture.class_index + task.label_offset,
        text=task.classes[picture.class_index],
        resize=task.resize,
        quality=task.quality,
    )


def read_image(path: str) -> bytes:
    """Return the content of an image file, local or behind any URL that fsspec opens.

    Raises:
        DataLossError: If there is no such file or it can't be read.
        BadArgumentError: If fsspec knows no such kind of URL.
        MissingPackageError: If it needs a package for that kind.
    """
    try:
        return read_file(path)
    except (errors.FileMissingError, errors.FileAccessError, errors.DataLossError) as error:
        cause = error.__cause__ or error
        raise errors.DataLossError(
            f"This image can't be read ({cause}). Expected: a readable file. Received: {shown(path)}. Mend the list or "
            "the file, or have broken images skipped.",
            filename=path,
        ) from cause
