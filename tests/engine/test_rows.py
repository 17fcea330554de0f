"""The rows of several prediction steps: an array in the order of the examples, wherever its parts are."""

import copy
import pickle

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import engine
from stratax.engine._rows import OutputRows
from tests.engine.conftest import mirrored

STEPS, REPLICAS, EXAMPLES = 3, 4, 2
X = np.arange(STEPS * REPLICAS * EXAMPLES * 5, dtype="float32").reshape(-1, 5) - 50


@pytest.fixture
def rows():
    """What a program of three steps on four replicas gives: its examples as they are."""
    strategy = mirrored(REPLICAS)
    program = engine.StepProgram.of_examples(strategy, lambda x: x)
    dataset = sx.data.Dataset.from_tensor_slices(X).batch(REPLICAS * EXAMPLES)
    with engine.StepInput.of_dataset(strategy, dataset) as steps:
        iterator = steps.open()
        iterator.available(STEPS)
        return program(*iterator.take_pending())


def test_each_replica_keeps_its_own_rows_of_each_step(rows):
    assert isinstance(rows, OutputRows)
    for replica, shard in enumerate(rows._stacked.addressable_shards):
        own = X.reshape(STEPS, REPLICAS, EXAMPLES, 5)[:, replica]
        np.testing.assert_array_equal(np.asarray(shard.data)[:, 0], own)
        assert shard.device == jax.devices()[replica]


def test_rows_have_the_shape_and_dtype_of_all_examples(rows):
    assert (rows.shape, rows.ndim, rows.size, rows.dtype, len(rows)) == (X.shape, 2, X.size, X.dtype, len(X))
    assert rows.block_until_ready() is rows
    # Its own tuple of shards is no part of a structure: it is one leaf.
    assert jax.tree.leaves({"outputs": rows}) == [rows]


def test_numpy_reads_them_in_order_without_a_program_on_the_devices(rows):
    np.testing.assert_array_equal(np.asarray(rows), X)
    np.testing.assert_array_equal(np.concatenate([rows, rows]), np.concatenate([X, X]))
    assert np.asarray(rows, "float64").dtype == np.float64
    assert "_in_order" not in vars(rows)


@pytest.mark.parametrize(
    "use",
    [
        lambda rows: rows[3],
        lambda rows: rows[4:9, 1],
        lambda rows: rows[X[:, 0] > 0],
        lambda rows: -rows + 1,
        lambda rows: 2 * rows / (rows**2 + 1.5),
        lambda rows: rows - X,
        lambda rows: X - rows,
        lambda rows: rows @ X.T,
        lambda rows: X @ rows.T,
        lambda rows: rows - rows.mean(0),
        lambda rows: rows > 0,
        lambda rows: rows == X,
        lambda rows: np.less(X, rows),
        lambda rows: (rows != 0) & (abs(rows) <= 3),
        lambda rows: rows.argmax(-1),
        lambda rows: rows.astype("int32") % 3,
        lambda rows: [float(value) for value in list(rows)[2]],
        lambda rows: float(rows[0, 0]) + int(rows.sum()) + bool(rows.any()),
        np.square,
        np.mean,
        lambda rows: np.where(rows > 0, rows, 0),
        lambda rows: np.array(rows, copy=True),
    ],
)
def test_they_are_used_as_the_array(rows, use):
    np.testing.assert_allclose(np.asarray(use(rows)), np.asarray(use(X)), rtol=1e-6)


def test_jax_and_keras_take_them(rows):
    np.testing.assert_allclose(jnp.exp(rows / 50), np.exp(X / 50), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(lambda x: x * 2)(jnp.asarray(rows)), X * 2)
    np.testing.assert_allclose(keras.ops.convert_to_numpy(rows), X)
    np.testing.assert_allclose(keras.ops.softmax(rows), keras.ops.softmax(X), rtol=1e-6)


def test_they_print_copy_and_pickle_as_the_array(rows):
    assert repr(rows) == repr(jnp.asarray(X))
    for each in (copy.copy(rows), copy.deepcopy(rows), pickle.loads(pickle.dumps(rows))):
        np.testing.assert_array_equal(np.asarray(each), X)


def test_what_arrays_have_not_is_said_by_the_array(rows):
    with pytest.raises(AttributeError, match="has no attribute 'numpy_'"):
        rows.numpy_()
    with pytest.raises(TypeError, match="unhashable"):
        hash(rows)


def test_structures_remainders_and_numbers_of_a_step_come_in_order():
    strategy = mirrored(REPLICAS)

    def step(x):
        return {"twice": x * 2, "first": (x[:, :1],), "number": x.sum()}

    program = engine.StepProgram.of_examples(strategy, step)
    # Two whole batches, and 3 examples that do not divide.
    given = X[:19]
    dataset = sx.data.Dataset.from_tensor_slices(given).batch(8)
    with engine.StepInput.of_dataset(strategy, dataset) as steps:
        iterator = steps.open()
        found = [program(*iterator.take_pending()) for _ in engine.blocks(iterator, at_most=3)]
    assert len(found) == 2
    np.testing.assert_array_equal(np.concatenate([each["twice"] for each in found]), given * 2)
    np.testing.assert_array_equal(np.concatenate([each["first"][0] for each in found]), given[:, :1])
    # One for each replica and step, as without several steps.
    np.testing.assert_allclose(found[0]["number"], given[:16].reshape(2, 4, -1).sum(-1).ravel(), rtol=1e-6)
