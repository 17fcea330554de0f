"""Specs as JSON."""

import collections
import json

import ml_dtypes
import numpy as np
import pytest

from stratax.data import DatasetSpec, TensorSpec
from stratax.data.elements import spec_from_json, spec_to_json
from stratax.errors import DataError

Point = collections.namedtuple("Point", "x y")


def test_specs_come_back():
    spec = (
        {"b": TensorSpec((None, 2), "int64"), "a": (TensorSpec((), object),)},
        None,
        Point(TensorSpec(None, "bool"), TensorSpec((3,), ml_dtypes.bfloat16)),
    )
    again = spec_from_json(json.loads(json.dumps(spec_to_json(spec))))
    assert again == spec
    assert again[2].y == spec[2].y
    assert type(again[2]).__name__ == "Point"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (DatasetSpec(TensorSpec(())), "Datasets that are components"),
        ({1: TensorSpec(())}, "strings as keys"),
        (TensorSpec((), "S3"), r"dtype=\|S3"),
        (TensorSpec((), np.dtype([("a", "i4")])), "of this dtype"),
    ],
)
def test_what_files_cannot_hold_is_refused(spec, message):
    with pytest.raises(DataError, match=message):
        spec_to_json(spec)


@pytest.mark.parametrize(
    "value", [{}, [], {"kind": "list", "parts": []}, {"kind": "tensor", "shape": 3, "dtype": "x"}]
)
def test_damage_raises(value):
    with pytest.raises(DataError, match="spec in a file is damaged"):
        spec_from_json(value)
