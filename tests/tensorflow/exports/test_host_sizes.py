"""What a call of a plan would make is known before it is made: no less, so that nothing right is refused."""

import math

import numpy as np
import pytest

from stratax.errors import DataLossError
from stratax.tensorflow.exports import _host_sizes
from stratax.tensorflow.exports._host_functions import NAMES, function_named


def of(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


CALLS = [
    ("fill", ([3, 4], 1.0), {}),
    ("broadcast_to", (of(4), [3, 4]), {}),
    ("tile", (of(2, 3), [2, 5]), {}),
    ("one_hot", (of(7, dtype=np.int32), 5), {}),
    ("pad", (of(2, 3), [[1, 2], [0, 4]]), {}),
    ("repeat", (of(2, 3), 4), {}),
    ("repeat", (of(2, 3), [1, 4]), {"axis": 0}),
    ("meshgrid", (of(3), of(4)), {}),
    ("linalg.matmul", (of(1, 50), of(50, 2)), {}),
    ("linalg.matmul", (of(6, 2, 5), of(7, 2)), {"transpose_a": True, "transpose_b": True}),
    ("gather", (of(50, 2), of(4, 3, dtype=np.int32)), {}),
    ("gather", (of(50, 2), of(4, dtype=np.int32)), {"axis": 1}),
    ("gather", (of(3, 5, 2), of(3, 4, dtype=np.int32)), {"batch_dims": 1}),
    ("image.resize", (of(2, 3, 4, 3), [5, 6]), {}),
    ("compat.v1.image.resize_images", (of(3, 4, 3), [5, 6]), {}),
    ("image.resize_with_pad", (of(3, 4, 3), 5, 6), {}),
    ("image.resize_with_crop_or_pad", (of(3, 4, 3), 5, 6), {}),
    ("image.pad_to_bounding_box", (of(3, 4, 3), 1, 1, 5, 6), {}),
    ("image.crop_and_resize", (of(2, 3, 4, 3), [[0.0, 0.0, 1.0, 1.0]], [1], [5, 6]), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_the_size_that_is_expected_is_that_which_is_made(name, args, kwargs, monkeypatch):
    expected = []
    monkeypatch.setattr(
        _host_sizes, "check_bytes", lambda _, sizes, itemsize: expected.append(math.prod(sizes))
    )
    _host_sizes.check_result(name, args, kwargs)
    made = function_named(name)(*args, **kwargs)
    made = made[0] if isinstance(made, list) else made
    assert expected[-1] == np.size(made)


def test_each_function_is_there():
    assert _host_sizes._SIZES.keys() <= NAMES


def test_no_other_function_is_called():
    with pytest.raises(DataLossError, match="may not call"):
        function_named("os.system")
