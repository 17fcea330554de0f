"""TPUEstimator: batch sizes, loops of many steps, host calls, on simulated cores and on one device."""

import functools

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.tensorflow.estimator import (
    EvalSpec,
    ModeKeys,
    SessionRunHook,
    TrainSpec,
    tpu,
    train_and_evaluate,
)
from stratax.tensorflow.v1 import train
from tests.tensorflow.estimator.noted import Noted
from tests.test_import import run

random = np.random.default_rng(0)
FEATURES = random.standard_normal((100, 4)).astype(np.float32)
LABELS = (FEATURES @ np.float32([[1], [2], [-1], [0.5]])).astype(np.float32)


def input_fn(params, repeat=True, drop=False):
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

        self.coming = []

    def before_run(self, run_context):
        self.coming.append(run_context.session.steps)

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
    assert dispatches.steps == dispatches.coming == [4, 4, 2]
    assert made.get_variable_value("global_step") == 10


@pytest.mark.parametrize("by_host", [True, False, tpu.InputPipelineConfig.PER_HOST_V2])
def test_cores_train_as_one_device_does(tmp_path, by_host):
    seen = []
    many = estimator(tmp_path / "many", per_host_input_for_training=by_host)
    one = estimator(tmp_path / "one", use_tpu=False)

    def given(params):
        seen.append((params["batch_size"], params["context"].num_replicas))
        batches = input_fn(params)
        _, index, count, _ = params["context"].current_input_fn_deployment()
        return batches.shard(count, index)

    many.train(given, steps=9)
    one.train(given, steps=9)
    calls = 8 if by_host is False else 1
    assert seen == [(16 if by_host is True else 2, 8)] * calls + [(16, 1)]
    for name, value in weights(one).items():
        np.testing.assert_allclose(weights(many)[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(("cores", "dims"), [(4, [[1, 4]]), (2, [{"x": [1, 2], "other": None}, [2, 1]])])
def test_cores_that_share_a_replica_train_as_one_device_does(tmp_path, cores, dims, monkeypatch):
    divided = []
    constrain = jax.lax.with_sharding_constraint

    def note(array, sharding):
        divided.append((np.shape(array), tuple(sharding.spec))) if isinstance(array, jax.Array) else None
        return constrain(array, sharding)

    monkeypatch.setattr(jax.lax, "with_sharding_constraint", note)
    is_named = isinstance(dims[0], dict)

    def given(params):
        batches = input_fn(params)
        return batches.map(lambda x, y: ({"x": x, "other": y}, y)) if is_named else batches

    def function(features, labels, mode, params):
        return model_fn(features["x"] if is_named else features, labels, mode, params)

    def made(folder, config, use_tpu):
        return tpu.TPUEstimator(function, str(folder), config, use_tpu=use_tpu, train_batch_size=16)

    config = tpu.TPUConfig(
        2, 8 // cores, cores, tpu.InputPipelineConfig.PER_HOST_V2, input_partition_dims=dims
    )
    many = made(tmp_path / "many", tpu.RunConfig(config, train_distribute=strategy(8)), True)
    one = made(tmp_path / "one", tpu.RunConfig(tpu.TPUConfig(2)), False)
    many.train(given, steps=4)
    one.train(given, steps=4)
    for name, value in weights(one).items():
        np.testing.assert_allclose(weights(many)[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
    assert ((16 * cores // 8, 4), (None, "model")) in divided
    wrong = tpu.RunConfig(tpu.TPUConfig(2, 8, 4), train_distribute=strategy(8))
    with pytest.raises(errors.BadArgumentError, match="Expected: 2, the number of cores"):
        made(tmp_path / "wrong", wrong, True)


def test_evaluation_and_prediction_take_every_example_once(tmp_path):
    made = estimator(tmp_path)
    made.train(input_fn, steps=4)
    found = made.evaluate(evaluation)
    predicted = np.stack([row["y"] for row in made.predict(evaluation)])
    assert predicted.shape == (100, 1)
    np.testing.assert_allclose(found["mae"], np.abs(predicted - LABELS).mean(), rtol=1e-5)


def test_a_host_call_gets_what_each_step_gave(tmp_path):
    calls = Noted()
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"params": {"batch_size": 3}}, "reserved keys"),
        ({"params": tf.contrib.training.HParams(context=3)}, "reserved keys"),
        ({"train_batch_size": None}, "`train_batch_size` cannot be `None`"),
        ({"train_batch_size": 12}, "train batch size 12 must be divisible by number of replicas 8"),
        ({"eval_batch_size": 0}, "eval_batch_size must be a positive integer"),
        ({"batch_axis": [1, -1]}, "numbers from 0"),
        ({"embedding_config_spec": object()}, "Embeddings"),
        ({"config": None}, "tpu.RunConfig"),
    ],
)
def test_wrong_arguments_raise(tmp_path, change, message):
    config = tpu.RunConfig(train_distribute=strategy(8))
    arguments = {"model_fn": model_fn, "model_dir": str(tmp_path), "config": config, "train_batch_size": 16}
    with pytest.raises(errors.BadArgumentError, match=message):
        tpu.TPUEstimator(**arguments | change)


def test_a_batch_size_that_is_missing_and_an_input_without_params_raise(tmp_path):
    config = tpu.RunConfig(train_distribute=strategy(8))
    made = tpu.TPUEstimator(model_fn, str(tmp_path), config, train_batch_size=16)
    with pytest.raises(errors.BadArgumentError, match="eval_batch_size in TPUEstimator"):
        made.evaluate(evaluation)
    with pytest.raises(errors.BadArgumentError, match="input_fn must take params"):
        made.train(lambda: input_fn({"batch_size": 16}), steps=1)
    with pytest.raises(errors.BadArgumentError, match="first dimension"):
        tpu.TPUEstimatorSpec(
            "train", loss=jnp.zeros(()), host_call=(print, [jnp.zeros(())])
        ).as_estimator_spec()


def test_a_host_call_is_made_in_evaluation_too(tmp_path):
    calls = Noted()
    estimator(tmp_path, params={"calls": calls}, experimental_host_call_every_n_steps=3).evaluate(evaluation)
    assert [shape for _, shape in calls] == [(8,)] * 6 + [(1,)]


def test_each_core_has_an_input_of_its_own(tmp_path):
    def of_core(params):
        _, index, count, _ = params["context"].current_input_fn_deployment()
        dataset = sx.data.Dataset.from_tensor_slices((FEATURES, LABELS)).shard(count, index)
        return dataset.batch(params["batch_size"]).repeat(2)

    def function(features, labels, mode, params):
        seen = tf.Variable(0.0, name="seen")
        step = train.get_or_create_global_step()
        total = tpu.cross_replica_sum(tf.reduce_sum(labels))
        op = tf.compat.v1.group(seen.assign_add(total), step.assign_add(1))
        return tpu.TPUEstimatorSpec(mode, loss=tf.reduce_sum(labels) * 0, train_op=op)

    made = estimator(tmp_path, function=function, per_host_input_for_training=False)
    made.train(of_core)
    # Each example twice, whatever its core has.
    np.testing.assert_allclose(made.get_variable_value("seen"), 2 * LABELS.sum(), rtol=1e-4)


def test_the_batch_may_be_another_dimension(tmp_path):
    def columns(params):
        dataset = input_fn(params, repeat=False)
        return dataset.map(lambda features, labels: (features.T, labels))

    def function(features, labels, mode, params):
        assert features.shape[0] == 4
        y = features[0] * 2
        return tpu.TPUEstimatorSpec(mode, predictions={"y": y}, loss=tf.reduce_mean(y - labels[:, 0]))

    config = tpu.RunConfig(train_distribute=strategy(8))
    made = tpu.TPUEstimator(function, str(tmp_path), config, None, True, 16, 16, 16, batch_axis=[1, 0])
    found = made.evaluate(columns)
    assert found["loss"] == pytest.approx(
        np.mean([np.mean(FEATURES[i : i + 16, 0] * 2 - LABELS[i : i + 16, 0]) for i in range(0, 100, 16)]),
        abs=1e-5,
    )
    wrong = tpu.TPUEstimator(function, str(tmp_path), config, None, True, 16, 16, 16, batch_axis=[1, 0, 0])
    with pytest.raises(errors.BadArgumentError, match="a dimension for each tensor of the input"):
        wrong.evaluate(columns)


def test_training_and_evaluation_in_turns_are_one_devices(tmp_path):
    found = {}
    for name, use_tpu in (("cores", True), ("one", False)):
        made = estimator(tmp_path / name, use_tpu=use_tpu)
        made._config = made.config.replace(save_checkpoints_steps=4)
        metrics, _ = train_and_evaluate(
            made, TrainSpec(input_fn, max_steps=8), EvalSpec(evaluation, steps=None, throttle_secs=0)
        )
        found[name] = metrics
    assert found["cores"]["global_step"] == found["one"]["global_step"] == 8
    for key in ("loss", "mae"):
        assert found["cores"][key] == pytest.approx(found["one"][key], rel=1e-4)


SIMULATED = """
import json, tempfile
import stratax as sx
import stratax.tf as tf
from tests.tensorflow.estimator.tpu import test_estimator as example
resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
topology = tf.tpu.initialize_system()
config = tf.contrib.tpu.RunConfig(tf.contrib.tpu.TPUConfig(3), cluster=resolver)
made = tf.contrib.tpu.TPUEstimator(example.model_fn, tempfile.mkdtemp(), config, None, True, 16, 16, 16)
made.train(example.input_fn, max_steps=4)
found = made.evaluate(example.evaluation)
rows = list(made.predict(example.evaluation))
tf.tpu.shutdown_system()
cores = made._on_cores().num_replicas_in_sync
print(json.dumps([cores, int(found["global_step"]), len(rows), topology.num_tasks]))
"""


@pytest.mark.programs
@pytest.mark.processes
def test_a_program_for_tpus_runs_on_simulated_ones():
    assert run(SIMULATED, STRATAX_SIMULATE="tpu:4") == [4, 4, 100, 1]


def test_a_last_batch_has_the_batch_size_that_model_fn_is_told(tmp_path):
    told = []

    def reshaping(features, labels, mode, params):
        told.append((mode, params["batch_size"], params["use_tpu"]))
        return model_fn(tf.reshape(features, [params["batch_size"], 4]), labels, mode, params)

    made = tpu.TPUEstimator(
        reshaping,
        str(tmp_path),
        tpu.RunConfig(tpu_config=tpu.TPUConfig(), train_distribute=sx.distribute.MirroredStrategy()),
        train_batch_size=32,
        eval_batch_size=32,
        predict_batch_size=32,
    )
    made.train(input_fn, steps=1)
    assert set(told) == {("train", 4, True)}
    whole = made.evaluate(evaluation)["mae"]
    assert len(list(made.predict(evaluation))) == 100
    assert {size for mode, size, _ in told if mode != "train"} >= {4}
    alone = tpu.TPUEstimator(
        reshaping, str(tmp_path), tpu.RunConfig(), train_batch_size=32, eval_batch_size=100, use_tpu=False
    )
    np.testing.assert_allclose(alone.evaluate(evaluation)["mae"], whole, rtol=1e-5)
    assert told[-1] == ("eval", 100, False)


def test_settings_of_hparams_are_beside_what_the_estimator_adds(tmp_path):
    told = []

    def input_of(params):
        return input_fn({"batch_size": params.batch_size})

    def function(features, labels, mode, params):
        told.append((params.rate, params.batch_size, params.use_tpu, params.context.num_replicas))
        return model_fn(features, labels, mode, {})

    given = tf.contrib.training.HParams(rate=0.1, use_tpu=False)
    made = estimator(tmp_path, replicas=2, params=given, function=function)
    made.train(input_of, steps=1)
    assert set(told) == {(0.1, 8, True, 2)}
    assert "batch_size" not in given
