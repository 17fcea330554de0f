"""What the host assigns goes to each device in parts, and what it reads is not kept."""

import warnings

import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.seams import keras as seam

CPUS = [f"/cpu:{index}" for index in range(4)]
ROWS = np.arange(64, dtype="float32").reshape(8, 8)


@pytest.fixture
def variable():
    with sx.distribute.ShardedStrategy(CPUS, layout={"v": ("shard",)}).scope():
        return keras.Variable(np.zeros((8, 8), "float32"), name="v")


@pytest.fixture
def converted(monkeypatch):
    """The shapes of arrays of NumPy that went to one device whole."""
    path = "keras.src.backend.jax.core:convert_to_tensor"
    owner, name = seam._BY_PATH[path].owner()
    original, found = getattr(owner, name), []

    def convert(x, *args, **kwargs):
        if isinstance(x, np.ndarray):
            found.append(x.shape)
        return original(x, *args, **kwargs)

    monkeypatch.setattr(owner, name, convert)
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_assigned_goes_to_devices_in_parts(variable, converted, dtype):
    value = ROWS.astype(dtype)
    variable.assign(value)
    value[:] = 0
    np.testing.assert_array_equal(variable, ROWS)
    assert variable.value.sharding.shard_shape((8, 8)) == (2, 8)
    assert converted == []
    # Of another dtype, it is Keras who converts.
    variable.assign(ROWS.astype("int16"))
    assert converted == [(8, 8)]
    np.testing.assert_array_equal(variable, ROWS)
    assert variable.value.sharding.shard_shape((8, 8)) == (2, 8)


def test_what_does_not_fit_is_refused_as_ever(variable):
    with pytest.raises(ValueError, match="must match"):
        variable.assign(np.zeros((4, 8), "float32"))
    with sx.distribute.ShardedStrategy(CPUS, layout={"ids": ("shard",)}).scope():
        ids = keras.Variable(np.zeros(8, "int32"), name="ids")
    with pytest.raises(errors.BadArgumentError, match="does not fit into the 32 bits"):
        ids.assign(np.full(8, 1 << 40))
    ids.assign(np.arange(8))
    np.testing.assert_array_equal(ids, np.arange(8))


def test_what_is_read_is_kept_by_nobody(variable):
    variable.assign(ROWS)
    np.testing.assert_array_equal(variable.numpy(), ROWS)
    assert np.asarray(variable, "float64").dtype == "float64"
    assert keras.ops.convert_to_numpy(variable).dtype == "float32"
    assert variable._value._npy_value is None


def test_assignments_in_a_function_are_as_ever(variable):
    @sx.function
    def step():
        variable.assign(ROWS)
        return variable + 1.0

    np.testing.assert_array_equal(step(), ROWS + 1)
    np.testing.assert_array_equal(variable, ROWS)
    assert variable.value.sharding.shard_shape((8, 8)) == (2, 8)


class Reading(keras.layers.Layer):
    """Multiplies by a weight that it reads in Python."""

    def __init__(self, read, size):
        super().__init__()
        self.read, self.size = read, size
        self.table = self.add_weight(shape=(size, 8), name="table")

    def call(self, inputs):
        return inputs @ self.read(self.table)


@pytest.mark.parametrize("read", [np.asarray, lambda v: v.numpy(), keras.ops.convert_to_numpy, np.array])
@pytest.mark.parametrize(("size", "is_told"), [(1 << 17, True), (1 << 16, False)])
def test_a_layer_that_reads_a_whole_weight_in_python_works_and_is_told_once_if_it_is_large(
    read, size, is_told
):
    with sx.distribute.ShardedStrategy(CPUS).scope():
        layer = Reading(read, size)
    rows = np.zeros((1, size), "float32")
    rows[0, 5] = 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        for _ in range(2):
            expected = 2 * np.asarray(layer.table)[5:6]
            np.testing.assert_allclose(layer(rows), expected, rtol=1e-6)
    told = [each for each in caught if issubclass(each.category, UserWarning)]
    assert len(told) == is_told
    if is_told:
        assert "/table' of shape (131072, 8) in Python" in str(told[0].message)
        assert told[0].filename == __file__
    assert layer.table.value.sharding.shard_shape((size, 8)) == (size // 4, 8)
