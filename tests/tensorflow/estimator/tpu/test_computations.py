"""Functions for TPUs: rewritten, replicated, divided into shards, with the host's part."""

import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.distribute import get_replica_context
from stratax.tensorflow.estimator import tpu


def test_a_rewritten_function_gives_tuples_as_tensorflows():
    assert tf.tpu.rewrite(lambda x, y: x + y, [jnp.ones(2), 2.0])[0].tolist() == [3, 3]
    first, second = tf.tpu.rewrite(lambda: [tf.constant(1), tf.constant(2)])
    assert (int(first), int(second)) == (1, 2)
    assert tf.tpu.rewrite(lambda: None) is None


def test_a_rewritten_function_runs_under_a_strategy_with_its_variables():
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        v = tf.Variable(1.0)

        def step(x):
            v.assign_add(x)
            return v.value

        assert float(tf.tpu.rewrite(step, [2.0])[0]) == 3
    assert float(v.value) == 3


def test_a_replicated_function_has_inputs_of_each_core_and_sums_over_them():
    def computation(x):
        replica = get_replica_context().replica_id_in_sync_group
        return {"own": x * 2, "total": tpu.cross_replica_sum(x), "replica": jnp.asarray(replica)}

    results = tf.tpu.replicate(computation, [[float(index)] for index in range(4)])
    assert [float(result["own"]) for result in results] == [0, 2, 4, 6]
    assert [float(result["total"]) for result in results] == [6] * 4
    assert [int(result["replica"]) for result in results] == [0, 1, 2, 3]


def test_arrays_are_divided_among_shards_and_put_together():
    x, y = np.arange(8, dtype=np.float32).reshape(4, 2), np.arange(4, dtype=np.float32).reshape(1, 4)
    (total, sums, first) = tf.tpu.shard(
        lambda x, y: (x + y.T, jnp.sum(x), x),
        [x, y],
        num_shards=2,
        input_shard_axes=[0, 1],
        outputs_from_all_shards=[True, True, False],
        output_shard_axes=[1, 0, 0],
    )
    whole = x + y.T
    np.testing.assert_array_equal(total, np.concatenate([whole[:2], whole[2:]], 1))
    assert sums.tolist() == [x[:2].sum(), x[2:].sum()]
    np.testing.assert_array_equal(first, x[:2])
    (doubled,) = tf.tpu.batch_parallel(lambda x: x * 2, [x], num_shards=4)
    np.testing.assert_array_equal(doubled, x * 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tpu.shard(lambda x: x, [jnp.ones(3)], 2), errors.BadArgumentError, "does not divide"),
        (lambda: tpu.shard(lambda x: x, [jnp.ones(4)], 0), errors.BadArgumentError, "num_shards must be"),
        (
            lambda: tpu.shard(lambda x: x, [jnp.ones(4)], 2, [0, 1]),
            errors.BadArgumentError,
            "Length of input_shard_axes",
        ),
        (lambda: tpu.replicate(lambda: 1, [[]] * 99), errors.BadArgumentError, "fewer cores"),
        (lambda: tpu.replicate(lambda x: 1, [[1], []]), errors.BadArgumentError, "lengths 1, 0"),
        (lambda: tpu.rewrite(lambda: 1, infeed_queue=3), errors.BadArgumentError, "infeed_queue=3"),
        (lambda: tpu.core(1), errors.BadArgumentError, "Each replica has one core"),
        (lambda: tpu.initialize_system(object()), errors.BadArgumentError, "Embeddings on the hosts"),
        (
            lambda: sx.function(lambda x: tpu.outside_compilation(np.asarray, x))(jnp.ones(2)),
            errors.TracingError,
            "Use a host_call",
        ),
        (
            lambda: sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).run(
                lambda: tpu.replicate(lambda: 1, [[], []])
            ),
            errors.StrategyError,
            "can't divide itself",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_what_is_for_the_host_stays_in_the_step():
    assert int(tpu.outside_compilation(np.sum, [1, 2])) == 3

    @sx.function
    def step(x):
        with tf.device(tpu.core(0)):
            return tpu.outside_compilation(lambda x, by: x * by, x, by=3)

    assert float(step(2.0)) == 6


def test_names_are_where_programs_look_for_them():
    names = {
        "CrossShardOptimizer",
        "batch_parallel",
        "bfloat16_scope",
        "core",
        "cross_replica_sum",
        "initialize_system",
        "outside_compilation",
        "replicate",
        "rewrite",
        "shard",
        "shutdown_system",
    }
    for module in (tpu, tf.tpu, tf.contrib.tpu, tf.compat.v1.tpu):
        assert names <= set(dir(module))
    estimators = {"InputPipelineConfig", "RunConfig", "TPUConfig", "TPUEstimator", "TPUEstimatorSpec"}
    for module in (tpu, tf.estimator.tpu, tf.contrib.tpu, tf.compat.v1.estimator.tpu):
        assert estimators <= set(dir(module))
