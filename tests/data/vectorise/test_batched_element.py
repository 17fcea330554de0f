"""The stand-in for one element refuses whatever has no batched form."""

import math

import numpy as np
import pytest

from stratax.data.vectorise import CannotVectorise
from stratax.data.vectorise._batched_element import BatchedElement

COLUMN = np.arange(24.0).reshape(2, 3, 4)


def element():
    return BatchedElement(COLUMN.copy())


def test_it_looks_like_one_element():
    assert (element().shape, element().ndim, element().size, element().dtype) == ((3, 4), 2, 12, np.float64)
    assert len(element()) == 3


@pytest.mark.parametrize(
    "function",
    [
        bool,
        lambda x: 1 if x[0, 0] > 3 else 0,
        lambda x: float(x[0, 0]),
        lambda x: int(x[0, 0]),
        lambda x: math.sqrt(x[0, 0]),
        lambda x: [1, 2, 3, 4][x[0, 0]],
        list,
        np.asarray,
        lambda x: x[[0, 1]],
        lambda x: x[x > 3],
        lambda x: x[0, 0][0],
        lambda x: len(x[0, 0]),
        lambda x: x @ x.T,
        lambda x: np.add.reduce(x),
        lambda x: np.mean(x),
        lambda x: x.sum(),
        lambda x: x.flags,
        lambda x: 3 in x,
        lambda x: x.__setitem__(0, 1),
        lambda x: np.add(x, 1, out=np.zeros((3, 4))),
        lambda x: np.add(x, 1, where=False),
        lambda x: np.add(x[0], np.ones((5, 3, 4)), out=x[0]),
    ],
)
def test_what_has_no_batched_form_is_refused(function):
    with pytest.raises((CannotVectorise, TypeError)):
        function(element())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + np.ones((2, 3, 4)),
        lambda x: np.ones((1, 1, 4)) - x[0],
        lambda x: x[0] * x[:, :1],
        lambda x: x.reshape((4, -1)),
        lambda x: x.flatten(),
        lambda x: x.copy()[None, ..., 1:],
        lambda x: np.float32(2) * x.astype(np.float32),
        lambda x: np.where(x > 3, np.ones((3, 4)), x[0]),
    ],
)
def test_shapes_broadcast_as_those_of_one_element(function):
    expected = np.stack([function(one.copy()) for one in COLUMN])
    found = function(element()).column
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
