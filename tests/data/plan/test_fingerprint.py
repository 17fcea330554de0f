"""Tests of the numbers that say which pipeline a Dataset is."""

import numpy as np
import pytest

from stratax.data import Dataset, TFRecordDataset


def _plus(number):
    return Dataset.range(10).map(lambda x: x + number)


PIPELINES = {
    "range": lambda: Dataset.range(10),
    "flat_map": lambda: Dataset.range(10).flat_map(Dataset.range),
    "closure": lambda: _plus(1),
    "records": lambda: TFRecordDataset(["f1.txt", "f2.txt"]).repeat(2),
    "arrays": lambda: Dataset.from_tensor_slices({"a": np.arange(4), "b": ["x", "y", "z", "w"]}).batch(2),
    "shuffle": lambda: Dataset.range(10).shuffle(3, seed=1),
    "filter": lambda: Dataset.range(10).filter(lambda x: x > 3).take(2),
}
OTHERS = [
    ("range", lambda: Dataset.range(11)),
    ("flat_map", lambda: Dataset.range(10).flat_map(lambda x: Dataset.range(x + 1))),
    ("closure", lambda: _plus(2)),
    ("records", lambda: TFRecordDataset(["f1.txt", "f3.txt"]).repeat(2)),
    ("records", lambda: TFRecordDataset(["f1.txt", "f2.txt"]).repeat(3)),
    ("arrays", lambda: Dataset.from_tensor_slices({"a": np.arange(4), "b": ["x", "y", "z", "v"]}).batch(2)),
    ("shuffle", lambda: Dataset.range(10).shuffle(3, seed=2)),
    ("filter", lambda: Dataset.range(10).filter(lambda x: x > 4).take(2)),
]


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_that_are_made_alike_have_one_fingerprint(name):
    first, second = PIPELINES[name](), PIPELINES[name]()
    found = first.fingerprint()
    assert (found.dtype, found.shape) == (np.uint64, ())
    assert int(found) == int(second.fingerprint())


@pytest.mark.parametrize("name", [name for name in PIPELINES if name != "records"])
def test_a_fingerprint_stays_when_elements_are_taken(name):
    dataset = PIPELINES[name]()
    before = int(dataset.fingerprint())
    list(dataset)
    assert dataset.element_spec is not None
    assert int(dataset.fingerprint()) == before


@pytest.mark.parametrize(("name", "other"), OTHERS)
def test_other_pipelines_have_other_fingerprints(name, other):
    assert int(PIPELINES[name]().fingerprint()) != int(other().fingerprint())
