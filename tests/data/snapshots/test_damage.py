"""Damaged files of caches and of saved datasets give errors of ours or the elements that were written, nothing else."""

import collections
import random
import shutil

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.damage import damaged

ROWS = np.arange(200, dtype=np.float32).reshape(50, 4)
TEXT = np.array([b"text %d" % number for number in range(50)], object)
TIMES = 100


def dataset():
    return tf.data.Dataset.from_tensor_slices({"x": ROWS, "t": TEXT})


def elements(rows):
    return [(np.asarray(each["x"]).tolist(), each["t"]) for each in rows]


KINDS = {
    "cache": (lambda path: list(dataset().cache(path)), lambda path: dataset().cache(path)),
    "saved": (lambda path: dataset().save(path), tf.data.Dataset.load),
    "compressed": (lambda path: dataset().save(path, compression="GZIP"), tf.data.Dataset.load),
}


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
        except (errors.DataLossError, errors.FileMissingError, errors.FileAccessError):
            found["told"] += 1
        shutil.rmtree(folder)
    assert found["told"] > TIMES / 2
