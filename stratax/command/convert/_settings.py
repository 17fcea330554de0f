"""What is decided about the files of a conversion: everything that their content depends on (convert layer)."""

import collections
import dataclasses
import os
import re
from collections.abc import Sequence

from stratax import errors
from stratax.base.shown import shown
from stratax.io import read_file

_NAME = re.compile(r"[\w][\w.-]*")
_LINE_END = re.compile(r"[\r\n]")
_MOST_SHARDS = 99_999
_MOST_PIXELS_A_SIDE = 16_384
_MOST_IN_64_BITS = 2**62
_ON_ERROR = ("fail", "skip")
DEFAULT_SHARDS = 16


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ConversionSettings:
    """What the records are to be like; equal settings over an equal source make equal files.

    Attributes:
        shards: How many files. None: 16, or as many as there are images if those are fewer.
        name: What their names begin with: `train` makes `train-00000-of-00016.tfrecord`.
        resize: None keeps every JPEG file as it is. A number: the shorter side becomes so many pixels, the other in
            proportion; smaller images stay as they are. A pair: height and width, whatever the proportion.
        quality: The JPEG quality of what has to be encoded anew, 1 to 100.
        label_offset: The number of the first class. 1, as TensorFlow's models have it, which keep 0 for the
            background; 0 to count from 0.
        seed: Decides the order of the images, over all files.
    """

    shards: int | None = None
    name: str = "train"
    resize: int | tuple[int, int] | None = None
    quality: int = 95
    label_offset: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.shards is not None:
            _check_range("shards", self.shards, 1, _MOST_SHARDS)
        _check_range("quality", self.quality, 1, 100)
        _check_range("label_offset", self.label_offset, -_MOST_IN_64_BITS, _MOST_IN_64_BITS)
        _check_range("seed", self.seed, -_MOST_IN_64_BITS, _MOST_IN_64_BITS)
        self._check_resize()
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise errors.BadArgumentError(
                "The name of the files can't be used. Expected: letters, digits, `_`, `.` and `-`, beginning with a "
                f"letter, digit or `_`. Received: name={shown(self.name)}. Choose a name such as 'train'."
            )

    def _check_resize(self) -> None:
        if self.resize is None:
            return
        if isinstance(self.resize, tuple) and len(self.resize) != 2:
            raise errors.BadArgumentError(
                "resize is the length of the shorter side, or height and width. Expected: a number, or a pair of "
                f"them. Received: resize={shown(self.resize)}."
            )
        for side in self.resize if isinstance(self.resize, tuple) else (self.resize,):
            _check_range("resize", side, 1, _MOST_PIXELS_A_SIDE)


def shard_name(name: str, index: int, shards: int) -> str:
    """Return the name of one of `shards` files, as TensorFlow's tools name them.

    Example:
        >>> shard_name("train", 3, 16)
        'train-00003-of-00016.tfrecord'
    """
    return f"{name}-{index:05}-of-{shards:05}.tfrecord"


def read_classes(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Read the names of the classes from a text file with one on each line.

    Args:
        path: The file, here or at a URL that fsspec opens; in UTF-8. Empty lines are left out.

    Returns:
        The names in the file's order.

    Raises:
        FileMissingError: If there is no such file.
        FileAccessError: If it can't be read.
        DataError: If it names none, or one twice.
    """
    content = read_file(os.fspath(path))
    try:
        lines = _LINE_END.split(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise errors.DataError(
            f"The file of labels is not text in UTF-8 ({error}). Expected: the name of one class on each line. "
            f"Received: labels={shown(str(path))}."
        ) from error
    names = [line.strip() for line in lines if line.strip()]
    return check_classes(names, received=f"labels={shown(str(path))}")


def labels_text(classes: Sequence[str]) -> str:
    """Return what `labels.txt` holds, which :func:`read_classes` reads: one name on each line."""
    return "".join(f"{name}\n" for name in classes)


def check_classes(names: Sequence[str], *, received: str) -> tuple[str, ...]:
    """Return the names as they are; raise unless there is one, none is twice, and each fits on a line.

    Raises:
        DataError: If that is not so.
    """
    problems = [
        f"names {shown(name)} twice" for name, count in collections.Counter(names).items() if count > 1
    ]
    problems += [f"names {shown(name)}, which has a line break" for name in names if _LINE_END.search(name)]
    if problems or not names:
        raise errors.DataError(
            f"The list of labels {problems[0] if names else 'names no class'}. Expected: the name of every class once, "
            f"each on a line of its own. Received: {received}."
        )
    return tuple(names)


def check_on_error(on_error: str) -> None:
    """Raise unless it is one of the things that a broken image can do.

    Raises:
        BadArgumentError: It is none of them.
    """
    if on_error not in _ON_ERROR:
        raise errors.BadArgumentError(
            f"on_error says what a broken image does. Expected: one of {_ON_ERROR}. Received: "
            f"on_error={shown(on_error)}."
        )


def _check_range(name: str, value: int, least: int, most: int) -> None:
    # `bool` is an `int` for Python.
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise errors.BadArgumentError(
            f"{name} is out of range. Expected: a whole number from {least} to {most}. Received: {name}={shown(value)}."
        )
