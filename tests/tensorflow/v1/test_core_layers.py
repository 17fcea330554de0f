"""Dense layers and dropout: draws, initializers, sharing, and who refuses what."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import layers
from tests.tensorflow.v1.steps import Step


def test_collections_have_losses_and_updates():
    def body(scope, x):
        half = keras.regularizers.L2(0.5)
        with v1.variable_scope("s", regularizer=lambda w: jnp.sum(w) * 0 + 7.0):
            layers.dense(x, 1, use_bias=False, kernel_initializer="ones", kernel_regularizer=half)
        layers.dense(x, 2, kernel_initializer="ones", activity_regularizer=half, name="d")
        layers.dense(x, 2, name="d", reuse=True, kernel_regularizer=half)
        layers.batch_normalization(x, training=True)
        layers.batch_normalization(x)
        assert len(v1.get_collection(v1.GraphKeys.UPDATE_OPS)) == 1
        assert len(v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES, scope="s")) == 2
        return v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)

    # The scope's regularizer, the layer's of 3 ones, and that of 4 x 2 results that are 3, over a batch of 4.
    assert Step(body)(np.ones((4, 3), np.float32)) == [7, 1.5, 9]


def test_dropout_draws_anew_in_each_step_and_follows_its_seed():
    def body(scope, x, seed):
        return layers.dropout(x, 0.25, noise_shape=(None, 1), seed=seed, training=True)

    x = np.ones((100, 3), np.float32)
    step, again = Step(body), Step(body)
    first, second = step(x, 5), step(x, 5)
    assert (np.asarray(again(x, 5)) == first).all()
    assert (np.asarray(first) != second).any()
    assert set(np.unique(first)) == {0, np.float32(1 / 0.75)}
    assert (np.ptp(first, axis=1) == 0).all()
    assert 10 < np.sum(np.asarray(first)[:, 0] == 0) < 45
    unseeded = Step(body)
    assert (np.asarray(unseeded(x, None)) != unseeded(x, None)).any()
    # The model's own generator, which checkpoints hold.
    assert unseeded.names == ["seed_generator_state"]


def test_the_initializer_is_the_scopes_where_a_layer_has_none():
    def body(scope, x):
        with v1.variable_scope("s", initializer=keras.initializers.Constant(3.0)):
            layers.dense(x, 2)
        layers.dense(x, 200)
        return x

    step = Step(body)
    step(np.ones((2, 100), np.float32))
    assert np.unique(step.value("s/dense/kernel")).tolist() == [3]
    # Glorot's uniform.
    limit = np.sqrt(6 / 300)
    assert 0.95 * limit < np.abs(step.value("dense/kernel")).max() <= limit


def test_a_function_that_may_not_share_raises():
    def body(scope, x):
        layers.dense(x, 2, name="a")
        with pytest.raises(errors.BadArgumentError, match="Variable a/kernel already exists, disallowed"):
            layers.dense(x, 2, name="a")
        with pytest.raises(errors.BadArgumentError, match="Variable b/kernel does not exist"):
            layers.dense(x, 2, name="b", reuse=True)
        first, second = (layers.dense(x, 2, name="c", reuse=v1.AUTO_REUSE) for _ in range(2))
        assert len(scope.global_variables()) == 4
        return first - second

    assert not np.any(Step(body)(np.ones((2, 3), np.float32)))


def test_replicas_drop_elements_of_their_own():
    for seed in (None, 3):
        step = Step(lambda scope, x, seed=seed: layers.dropout(x, 0.5, seed=seed, training=True))
        first, second = (on_replicas(step, np.ones((16, 32), np.float32)) for _ in range(2))
        assert (first != second).any()
        assert len({part.tobytes() for part in np.split(first, 8)}) == 8


def on_replicas(step, x):
    """What a step gives for a batch on 8 replicas, put together."""
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(8)])
    batch = next(iter(strategy.experimental_distribute_dataset(sx.data.Dataset.from_tensors(x))))
    with strategy.scope():
        parts = strategy.run(step.function, args=(batch,))
    return np.concatenate(strategy.experimental_local_results(parts))
