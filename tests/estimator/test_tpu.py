"""TPUEstimator: batch sizes, loops of many steps, host calls, on simulated cores and on one device."""

import functools

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.estimator import ModeKeys, SessionRunHook, tpu
from stratax.v1 import train

random = np.random.default_rng(0)
FEATURES = random.standard_normal((100, 4)).astype(np.float32)
LABELS = (FEATURES @ np.float32([[1], [2], [-1], [0.5]])).astype(np.float32)


def input_fn(params, seen=None, repeat=True, drop=False):
    if seen is not None:
        seen.append((params["batch_size"], params["context"].num_replicas))
    dataset = sx.data.Dataset.from_tensor_slices((FEATURES, LABELS))
    return (dataset.repeat() if repeat else dataset).batch(params["batch_size"], drop_remainder=drop)


evaluation = functools.partial(input_fn, repeat=False)


def model_fn(features, labels, mode, params):
    predicted = keras.layers.Dense(1)(keras.layers.Dense(3, activation="tanh")(features))
    if mode == ModeKeys.PREDICT:
        return tpu.TPUEstimatorSpec(mode, predictions={"y": predicted})
    loss = tf.reduce_mean((predicted - labels) ** 2)
    step = train.get_or_create_global_step()
    optimizer = tpu.CrossShardOptimizer(train.GradientDescentOptimizer(0.05))

    def metric_fn(labels, predicted):
        error = keras.metrics.MeanAbsoluteError(name="mae")
        error.update_state(labels, predicted)
        return {"mae": error}

    def host_fn(step, loss):
        params["calls"].append((step.tolist(), loss.shape))

    return tpu.TPUEstimatorSpec(
        mode,
        loss=loss,
        train_op=optimizer.minimize(loss, global_step=step),
        eval_metrics=(metric_fn, [labels, predicted]),
        host_call=(host_fn, [jnp.reshape(step.value, [1]), jnp.reshape(loss, [1])])
        if "calls" in params
        else None,
    )


class Dispatches(SessionRunHook):
    def __init__(self):
        self.steps = []

    def after_run(self, run_context, run_values):
        self.steps.append(run_context.session.steps)


def strategy(replicas):
    return sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(replicas)])


def estimator(
    folder, *, replicas=8, loop=4, use_tpu=True, params=None, size=16, function=model_fn, **options
):
    config = tpu.RunConfig(
        tpu.TPUConfig(loop, **options), train_distribute=strategy(replicas) if use_tpu else None
    )
    sizes = {f"{mode}_batch_size": size for mode in ("train", "eval", "predict")}
    return tpu.TPUEstimator(function, str(folder), config, params, use_tpu=use_tpu, **sizes)


def weights(made):
    return {name: made.get_variable_value(name) for name in made.get_variable_names()}


def test_steps_run_in_loops_that_end_exactly(tmp_path):
    dispatches = Dispatches()
    made = estimator(tmp_path)
    made.train(input_fn, max_steps=10, hooks=[dispatches])
    assert dispatches.steps == [4, 4, 2]
    assert made.get_variable_value("global_step") == 10


@pytest.mark.parametrize("by_host", [True, False, tpu.InputPipelineConfig.PER_HOST_V2])
def test_cores_train_as_one_device_does(tmp_path, by_host):
    seen = []
    many = estimator(tmp_path / "many", per_host_input_for_training=by_host)
    one = estimator(tmp_path / "one", use_tpu=False)
    many.train(functools.partial(input_fn, seen=seen), steps=9)
    one.train(functools.partial(input_fn, seen=seen), steps=9)
    assert seen == [(16 if by_host is True else 2, 8), (16, 1)]
    for name, value in weights(one).items():
        np.testing.assert_allclose(weights(many)[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_evaluation_and_prediction_take_every_example_once(tmp_path):
    made = estimator(tmp_path)
    made.train(input_fn, steps=4)
    found = made.evaluate(evaluation)
    predicted = np.stack([row["y"] for row in made.predict(evaluation)])
    assert predicted.shape == (100, 1)
    np.testing.assert_allclose(found["mae"], np.abs(predicted - LABELS).mean(), rtol=1e-5)


def test_a_host_call_gets_what_each_step_gave(tmp_path):
    calls = []
    estimator(tmp_path, params={"calls": calls}).train(input_fn, steps=6)
    assert calls == [([step] * 8, (8,)) for step in range(6)]
    calls.clear()
    made = estimator(tmp_path, params={"calls": calls}, experimental_host_call_every_n_steps=3, use_tpu=False)
    made.train(input_fn, steps=6)
    assert calls == [([step], (1,)) for step in (6, 9)]


def test_an_error_of_a_host_call_ends_the_training(tmp_path):
    class Calls:
        def append(self, call):
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        estimator(tmp_path, params={"calls": Calls()}).train(input_fn, steps=6)


def test_a_sum_over_the_cores_is_as_many_times_the_mean(tmp_path):
    def function(features, labels, mode, params):
        w = tf.Variable(0.0, name="w")
        total = tpu.cross_replica_sum(jnp.ones(()))
        loss = tf.reduce_mean(features[:, 0] * 0) + w.value * total
        optimizer = tpu.CrossShardOptimizer(train.GradientDescentOptimizer(1.0), reduction="weighted_sum")
        step = train.get_or_create_global_step()
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, step))

    made = estimator(tmp_path, function=function)
    made.train(input_fn, steps=1)
    assert made.get_variable_value("w") == -64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"params": {"batch_size": 3}}, "reserved keys"),
        ({"train_batch_size": None}, "`train_batch_size` cannot be `None`"),
        ({"train_batch_size": 12}, "train batch size 12 must be divisible by number of replicas 8"),
        ({"eval_batch_size": 0}, "eval_batch_size must be a positive integer"),
        ({"batch_axis": [1, 0]}, "first dimension"),
        ({"embedding_config_spec": object()}, "Embeddings"),
        ({"config": None}, "tpu.RunConfig"),
    ],
)
def test_wrong_arguments_raise(tmp_path, change, message):
    config = tpu.RunConfig(train_distribute=strategy(8))
    arguments = {"model_fn": model_fn, "model_dir": str(tmp_path), "config": config, "train_batch_size": 16}
    with pytest.raises(errors.BadArgumentError, match=message):
        tpu.TPUEstimator(**arguments | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iterations_per_loop": 0}, "iterations_per_loop must be a positive integer"),
        ({"num_cores_per_replica": 2}, "divided among several cores"),
        ({"per_host_input_for_training": tpu.InputPipelineConfig.BROADCAST}, "one process reads for all"),
    ],
)
def test_wrong_configurations_raise(change, message):
    with pytest.raises(errors.BadArgumentError, match=message):
        tpu.TPUConfig(**change)


def test_a_batch_size_that_is_missing_and_an_input_without_params_raise(tmp_path):
    config = tpu.RunConfig(train_distribute=strategy(8))
    made = tpu.TPUEstimator(model_fn, str(tmp_path), config, train_batch_size=16)
    with pytest.raises(errors.BadArgumentError, match="eval_batch_size in TPUEstimator"):
        made.evaluate(evaluation)
    with pytest.raises(errors.BadArgumentError, match="input_fn must take params"):
        made.train(lambda: input_fn({"batch_size": 16}), steps=1)
    with pytest.raises(errors.BadArgumentError, match="first dimension"):
        tpu.TPUEstimatorSpec("train", host_call=(print, [jnp.zeros(())])).as_estimator_spec()
