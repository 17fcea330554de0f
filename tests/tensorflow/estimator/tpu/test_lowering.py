"""Programs of Estimators are lowered for TPUs too, also where they call the host while they run."""

import numpy as np
import pytest
from jax._src.interpreters import mlir

import stratax as sx
import stratax.tf.compat.v1 as tf
from stratax.core.programs import _program
from stratax.tensorflow.estimator import (
    Estimator,
    EstimatorSpec,
    ModeKeys,
    RunConfig,
    SessionRunArgs,
    SessionRunHook,
    tpu,
)
from tests.tensorflow.estimator.noted import Noted

random = np.random.default_rng(0)
COLORS = np.array([b"red", b"green", b"blue"], object)
ROWS = 20
FEATURES = {
    "color": COLORS[random.integers(0, 3, ROWS)],
    "image": random.normal(size=(ROWS, 6, 6, 1)).astype(np.float32),
}
LABELS = random.integers(0, 2, ROWS).astype(np.int32)
fc = tf.feature_column


class Client:
    platform = "tpu"

    def make_python_callback_from_host_send_and_recv(self, *_):
        return object()


@pytest.fixture
def lowered(monkeypatch):
    """The code for TPUs of each program that is run, by the program."""
    found = {}
    dispatch = _program.Program._run

    def noted(self, donated, kept, arguments):
        if id(self) not in found:
            traced = self.compiled.trace(donated, kept, arguments)
            with monkeypatch.context() as context:
                # The client of a TPU, which is asked for nothing else while code is made for it.
                context.setattr(mlir.ModuleContext, "get_backend", lambda *_, **__: Client())
                found[id(self)] = self, traced.lower(lowering_platforms=("tpu",)).as_text()
        return dispatch(self, donated, kept, arguments)

    # What is shared between calls is no function of JAX's until the first one.
    monkeypatch.setattr(_program.Program, "share", lambda *_: None)
    monkeypatch.setattr(_program.Program, "_run", noted)
    return lambda: [code for _, code in found.values()]


def model_fn(features, labels, mode, params):
    is_training = mode == ModeKeys.TRAIN
    color = fc.categorical_column_with_vocabulary_list("color", list(COLORS))
    columns = [fc.embedding_column(color, 2), fc.indicator_column(color)]
    with tf.tpu.bfloat16_scope():
        hidden = tf.layers.conv2d(tf.cast(features["image"], tf.bfloat16), 2, 3, activation=tf.nn.relu)
    hidden = tf.layers.batch_normalization(tf.cast(hidden, tf.float32), training=is_training)
    hidden = tf.layers.dropout(
        tf.layers.flatten(tf.layers.max_pooling2d(hidden, 2, 2)), 0.2, training=is_training
    )
    logits = tf.layers.dense(tf.concat([hidden, fc.input_layer(features, columns)], 1), 2)
    classes = tf.argmax(logits, 1)
    if mode == ModeKeys.PREDICT:
        return tpu.TPUEstimatorSpec(mode, predictions={"class": classes})
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    step = tf.train.get_or_create_global_step()
    tf.summary.scalar("accuracy", tf.reduce_mean(tf.cast(tf.equal(classes, labels), tf.float32)))
    tf.contrib.summary.scalar("inside", loss, step=step)
    tf.print("loss", loss)
    optimizer = tpu.CrossShardOptimizer(tf.train.AdamOptimizer(params["rate"]))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train_op = optimizer.minimize(loss, global_step=step)

    def metric_fn(labels, classes, scores):
        return {"accuracy": tf.metrics.accuracy(labels, classes), "auc": tf.metrics.auc(labels, scores)}

    return tpu.TPUEstimatorSpec(
        mode,
        loss=loss,
        train_op=train_op,
        eval_metrics=(metric_fn, [labels, classes, tf.nn.softmax(logits)[:, 1]]),
        host_call=(lambda loss: params["losses"].append(loss), [tf.reshape(loss, [1])]),
    )


def input_fn(params):
    dataset = sx.data.Dataset.from_tensor_slices((FEATURES, LABELS)).repeat(2)
    return dataset.batch(params["batch_size"])


def test_training_evaluation_and_prediction_of_a_tpuestimator_are_lowered(tmp_path, lowered):
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(2)])
    config = tpu.RunConfig(
        tpu.TPUConfig(iterations_per_loop=2), train_distribute=strategy, save_summary_steps=2
    )
    losses = Noted()
    made = tpu.TPUEstimator(model_fn, str(tmp_path), config, {"rate": 0.1, "losses": losses}, True, 8, 8, 8)
    with sx.summary.create_file_writer(str(tmp_path)).as_default():
        made.train(input_fn, max_steps=3)
    made.evaluate(input_fn)
    assert len(list(made.predict(input_fn))) == 2 * ROWS
    assert len(losses) >= 3
    codes = lowered()
    # Two loops of training; batches and whatever is left over of evaluation.
    assert len(codes) >= 4
    assert any("stablehlo.while" in code for code in codes)
    assert any("stablehlo.all_reduce" in code for code in codes)
    # Summaries and what is printed leave loops by channels to the host.
    assert any("stablehlo.send" in code and "stablehlo.while" in code for code in codes)


def test_an_estimators_programs_are_lowered_with_what_hooks_fetch(tmp_path, lowered):
    class Fetch(SessionRunHook):
        def before_run(self, run_context):
            return SessionRunArgs({"norm": "norm", "kernel": "dense/kernel"})

    def function(features, labels, mode, params):
        x = tf.reshape(features["image"], [-1, 36])
        y = tf.layers.dense(x, 1)[:, 0]
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions=y)
        loss = tf.reduce_mean((y - tf.cast(labels, tf.float32)) ** 2)
        tf.identity(tf.norm(x), name="norm")
        train_op = tf.train.FtrlOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        metrics = {"error": tf.metrics.root_mean_squared_error(labels, y)}
        return EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)

    made = Estimator(function, str(tmp_path), RunConfig(log_step_count_steps=1), {})
    made.train(lambda: input_fn({"batch_size": 8}), hooks=[Fetch()], max_steps=2)
    made.evaluate(lambda: input_fn({"batch_size": 8}), steps=1)
    next(made.predict(lambda: input_fn({"batch_size": 8})))
    assert len(lowered()) >= 3
