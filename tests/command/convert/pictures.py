"""Small trees of images for the tests of conversions, and the records of what came of them."""

import contextlib
import functools
import io
import os
import pathlib
import struct
import threading

import numpy as np
from PIL import Image

from stratax.data import Example


@functools.cache
def image_file(kind="JPEG", mode="RGB", size=(20, 30), seed=0):
    """The bytes of an image file of `size` (height, width)."""
    pixels = np.random.default_rng(seed).integers(0, 255, (*size, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(file, kind)
    return file.getvalue()


def write_tree(folder: pathlib.Path, classes=("cat", "dog"), count=4, **image):
    """A tree of class folders with so many JPEG files each, all of them different."""
    for index, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for number in range(count):
            content = image_file(seed=index * count + number, **image)
            (folder / name / f"{number:03}.jpg").write_bytes(content)
    return folder


def make_endless(path: pathlib.Path):
    """An image whose reading does not end, so that a conversion can't end before a test has looked at it.

    Returns:
        What ends it: within that block, it is the image that it was before.
    """
    content = path.read_bytes()
    path.unlink()
    os.mkfifo(path)

    @contextlib.contextmanager
    def ending():
        writer = threading.Thread(target=path.write_bytes, args=(content,), daemon=True)
        writer.start()
        yield
        writer.join(60)
        assert not writer.is_alive(), "nobody has read the image"

    return ending


def serialized_in(file):
    """The records of a TFRecord file, by the format alone."""
    content, start = pathlib.Path(file).read_bytes(), 0
    while start < len(content):
        (length,) = struct.unpack_from("<Q", content, start)
        yield content[start + 12 : start + 12 + length]
        start += 16 + length


def records_of(files):
    """The features of every record of some files, by name, as lists of values."""
    found = []
    for file in files:
        for record in serialized_in(file):
            features = Example.FromString(record).features.feature
            found.append(
                {
                    name: list(getattr(value, value.WhichOneof("kind")).value)
                    for name, value in features.items()
                }
            )
    return found


def names_in(files):
    """The file name of every record."""
    return [record["image/filename"][0].decode() for record in records_of(files)]
