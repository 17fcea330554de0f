"""Specs of elements, and whether elements are alike."""

import numpy as np
import pytest

from stratax.data import Dataset, DatasetSpec, TensorSpec
from stratax.data.elements import check_same, flatten, spec_of_row
from stratax.errors import DataError


def test_each_component_has_its_spec():
    row, structure = flatten({"x": np.zeros((2, 3), np.float32), "inner": Dataset.range(2)})
    found = spec_of_row(row, structure)
    assert found == {"x": TensorSpec((2, 3), "float32"), "inner": DatasetSpec(TensorSpec((), "int64"))}


def test_elements_that_are_not_alike_are_refused_by_name():
    spec = {"x": TensorSpec((None,), "int64")}
    check_same(*flatten({"x": np.zeros(3, np.int64)}), spec, "map")
    with pytest.raises(DataError, match=r"map gave elements of different dtype.*\['x'\]="):
        check_same(*flatten({"x": np.zeros(3, np.float32)}), spec, "map")
    with pytest.raises(DataError, match="different shape rank"):
        check_same(*flatten({"x": np.zeros((3, 1), np.int64)}), spec, "map")
    with pytest.raises(DataError, match="different structure"):
        check_same(*flatten({"y": np.zeros(3, np.int64)}), spec, "map")
