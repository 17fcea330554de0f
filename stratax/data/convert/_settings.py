"""What is decided about the files of a conversion: everything that their content depends on (data layer)."""

import dataclasses
import os
import re
from collections.abc import Sequence

from stratax import errors

_NAME = re.compile(r"[\w][\w.-]*")
_MOST_SHARDS = 99_999
_MOST_PIXELS_A_SIDE = 16_384


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
        for side in self.resize if isinstance(self.resize, tuple) else (self.resize,):
            if side is not None:
                _check_range("resize", side, 1, _MOST_PIXELS_A_SIDE)
        if not _NAME.fullmatch(self.name):
            raise errors.BadArgumentError(
                "The name of the files can't be used. Expected: letters, digits, `_`, `.` and `-`, beginning with a "
                f"letter, digit or `_`. Received: name={self.name!r}. Choose a name such as 'train'."
            )


def shard_name(name: str, index: int, shards: int) -> str:
    """The name of one of `shards` files, as TensorFlow's tools name them.

    Example:
        >>> shard_name("train", 3, 16)
        'train-00003-of-00016.tfrecord'
    """
    return f"{name}-{index:05}-of-{shards:05}.tfrecord"


def read_classes(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Reads the names of the classes from a text file with one on each line.

    Args:
        path: The file, in UTF-8; empty lines are left out.

    Returns:
        The names in the file's order.

    Raises:
        FileMissingError: If there is no such file.
        DataError: If it names none, or one twice.
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            names = tuple(line.strip() for line in file if line.strip())
    except FileNotFoundError as error:
        raise errors.FileMissingError(
            "There is no file of labels there. Expected: a text file with the name of one class on each line. "
            f"Received: labels={str(path)!r}. Check the path."
        ) from error
    except UnicodeDecodeError as error:
        raise errors.DataError(
            f"The file of labels is not text in UTF-8 ({error}). Expected: the name of one class on each line. "
            f"Received: labels={str(path)!r}."
        ) from error
    return check_classes(names, received=f"labels={str(path)!r}")


def check_classes(names: Sequence[str], *, received: str) -> tuple[str, ...]:
    """The names as they are, if there is at least one and none twice."""
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice or not names:
        problem = f"names {twice[0]!r} twice" if twice else "names no class"
        raise errors.DataError(
            f"The list of labels {problem}. Expected: the name of every class once. Received: {received}."
        )
    return tuple(names)


def _check_range(name: str, value: int, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise errors.BadArgumentError(
            f"{name} is out of range. Expected: a whole number from {least} to {most}. Received: {name}={value!r}."
        )
