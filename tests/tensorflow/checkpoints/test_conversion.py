"""Values of TensorFlow's checkpoints become those of variables, or are refused with a reason."""

import pathlib
import re

import ml_dtypes
import numpy as np
import pytest

from stratax.checkpoint import saving
from stratax.tensorflow.checkpoints import _conversion
from tests.golden import checkpoint_cases

SAVED = pathlib.Path(__file__).parents[2] / "golden" / "checkpoints"


def convert(**arrays):
    """Convert for variables of these names and values."""
    target = saving.Contents(arrays=arrays, names={}, aliases={}, inputs={}, random=None)
    report = _conversion.convert(_conversion.source_of(SAVED / "version_2"), target)
    return report, {row.here: row for row in report.rows if row.here is not None}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("int16", "int32"),
        ("uint8", "int32"),
        ("bool", "uint8"),
        ("float32", "float64"),
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("float32", "bfloat16"),
        ("float64", "float32"),
        ("complex64", "complex64"),
    ],
)
def test_a_value_takes_the_dtype_of_its_variable(name, dtype):
    value = checkpoint_cases.many(is_version_2=True)[name]
    wanted = value.astype(np.dtype("float32") if dtype == "bfloat16" else dtype)
    own = np.zeros(value.shape, getattr(ml_dtypes, dtype, dtype))
    report, rows = convert(**{name: own})
    assert report.is_complete
    assert rows[name].here_dtype == dtype
    found = report.contents.arrays[name]
    np.testing.assert_allclose(found.astype(wanted.dtype), wanted, rtol=0.01)


@pytest.mark.parametrize(
    ("name", "own", "why"),
    [
        ("int64", np.zeros(6, "int32"), "its dtype is int64, the variable's int32, which can't hold it"),
        ("int8", np.zeros(2, "uint8"), "can't hold it"),
        ("int32", np.zeros(2, "float32"), "can't hold it"),
        ("float32", np.zeros((2, 2), "float16"), "can't hold it"),
        ("text", np.zeros(3, "float32"), "its dtype is string"),
        ("empty", np.zeros((3, 0), "float32"), r"its shape is \[0, 3\], the variable's \[3, 0\]"),
    ],
)
def test_what_a_variable_can_not_hold_is_refused(name, own, why):
    report, rows = convert(**{name: own})
    assert not report.is_complete
    assert rows[name].status == "different"
    assert re.search(why, rows[name].why)
    assert report.contents.arrays == {}


def test_what_is_not_there_is_missing_and_the_rest_unexpected():
    report, rows = convert(nowhere=np.zeros(3, "float32"))
    assert rows["nowhere"].status == "missing"
    assert report.totals["unexpected"] == len(checkpoint_cases.many(is_version_2=True))
