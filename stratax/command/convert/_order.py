"""In which order, and into which file, the images of a conversion go (convert layer)."""

import hashlib
import itertools
from collections.abc import Sequence

from stratax.command.convert._listing import Picture

_DIGEST_BYTES = 8


def order_key(name: str, seed: int) -> int:
    """Return a number that decides an image's place: a function of its name and the seed alone, on every machine.

    Args:
        name: The image's name.
        seed: Any whole number.

    Returns:
        A number from 0 to 2**64 - 1, spread evenly.
    """
    # `surrogatepass`, since names of files need not be UTF-8.
    text = f"{seed}\0{name}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest(), "big")


def divide(pictures: Sequence[Picture], shards: int, seed: int) -> list[tuple[Picture, ...]]:
    """Shuffle images and divide them into files of equal numbers, give or take one.

    Args:
        pictures: All images.
        shards: How many files, at most as many as there are images.
        seed: Decides the order.

    Returns:
        The images of each file, in order.
    """
    ordered = sorted(pictures, key=lambda picture: order_key(picture.name, seed))
    # In integers: the sizes differ by one at most, and no rounding depends on the machine.
    bounds = [len(ordered) * index // shards for index in range(shards + 1)]
    return [tuple(ordered[begin:end]) for begin, end in itertools.pairwise(bounds)]
