"""Damaged files of caches and of saved datasets give errors of ours or the elements that were written, nothing else."""

import collections
import os
import random
import shutil

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

ROWS = np.arange(200, dtype=np.float32).reshape(50, 4)
TEXT = np.array([b"text %d" % number for number in range(50)], object)
TIMES = 40


def dataset():
    return tf.data.Dataset.from_tensor_slices({"x": ROWS, "t": TEXT})


def elements(rows):
    return [(np.asarray(each["x"]).tolist(), each["t"]) for each in rows]


KINDS = {
    "cache": (lambda path: list(dataset().cache(path)), lambda path: dataset().cache(path)),
    "saved": (lambda path: dataset().save(path), tf.data.Dataset.load),
    "compressed": (lambda path: dataset().save(path, compression="GZIP"), tf.data.Dataset.load),
}


def damaged(folder, rng):
    """Damage one file of a folder in one of many ways; return which."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path, other = rng.choice(files), rng.choice(files)
    content, theirs = path.read_bytes(), other.read_bytes()
    place = rng.randrange(len(content) + 1)
    how = rng.choice(["bit", "cut", "longer", "empty", "gone", "swapped", "zeros", "folder", "noise"])
    if how in ("gone", "folder"):
        path.unlink()
        if how == "folder":
            path.mkdir()
    elif how == "swapped":
        path.write_bytes(theirs)
        other.write_bytes(content)
    else:
        bit = bytes([content[place - 1] ^ 1 << rng.randrange(8)]) if content else b""
        path.write_bytes(
            {
                "bit": content[: max(place - 1, 0)] + bit + content[max(place, 1) :],
                "cut": content[:place],
                "longer": content + b"more",
                "empty": b"",
                "zeros": bytes(len(content)),
                "noise": rng.randbytes(len(content)),
            }[how]
        )
    return f"{how} {os.path.relpath(path, folder)}"


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_told_or_does_no_harm(tmp_path, kind):
    write, read = KINDS[kind]
    rng = random.Random(7)
    whole, found = tmp_path / "whole", collections.Counter()
    write(str(whole))
    wanted = elements(dataset())
    assert elements(read(str(whole))) == wanted
    for number in range(TIMES):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        how = damaged(folder, rng)
        try:
            assert elements(read(str(folder))) == wanted, how
            found["right"] += 1
        except (errors.DataLossError, errors.FileMissingError):
            found["told"] += 1
        shutil.rmtree(folder)
    assert found["told"] > TIMES / 2
