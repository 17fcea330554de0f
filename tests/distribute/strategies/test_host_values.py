"""What the host assigns goes to each device in parts, and what it reads is not kept."""

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
