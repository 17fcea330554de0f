"""Training, evaluation and prediction of a `model_fn`, alone and on several replicas."""

import functools
import os

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.tensorflow.estimator import (
    Estimator,
    EstimatorSpec,
    ModeKeys,
    RunConfig,
    SessionRunArgs,
    SessionRunHook,
)
from stratax.tensorflow.v1 import metrics, train
from tests.cluster import forks

random = np.random.default_rng(0)
FEATURES = random.standard_normal((96, 4)).astype(np.float32)
KERNEL = random.standard_normal((4, 3)).astype(np.float32) * np.float32(0.3)
LABELS = (FEATURES @ np.float32([[1], [2], [-1], [0.5]])).astype(np.float32)


def data(batch=32, *, repeat=True, rows=96):
    dataset = sx.data.Dataset.from_tensor_slices((FEATURES[:rows], LABELS[:rows]))
    return (dataset.repeat() if repeat else dataset).batch(batch)


def model_fn(features, labels, mode, params):
    hidden = keras.layers.Dense(3, activation="tanh")(features)
    predicted = keras.layers.Dense(1)(hidden)
    if mode == ModeKeys.PREDICT:
        return EstimatorSpec(mode, predictions={"y": predicted, "twice": 2 * predicted})
    loss = tf.reduce_mean((predicted - labels) ** 2)
    error = keras.metrics.MeanAbsoluteError(name="mae")
    error.update_state(labels, predicted)
    optimizer = train.GradientDescentOptimizer(params.get("rate", 0.05))
    train_op = optimizer.minimize(loss, global_step=train.get_or_create_global_step())
    return EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops={"mae": error})


class Watch(SessionRunHook):
    """Asks for something at some steps and keeps what it got."""

    def __init__(self, fetches, every=1):
        self.fetches, self.every = fetches, every
        self.calls, self.got = [], []

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append(f"created {session.global_step}")

    def before_run(self, run_context):
        if run_context.session.global_step % self.every == 0:
            return SessionRunArgs(self.fetches)
        return None

    def after_run(self, run_context, run_values):
        if run_values.results is not None:
            self.got.append((run_context.session.global_step, run_values.results))

    def end(self, session):
        self.calls.append(f"end {session.global_step}")


def estimator(folder, function=model_fn, **config):
    return Estimator(function, str(folder), RunConfig(**{"tf_random_seed": 1} | config), params={})


def weights(made):
    return {name: made.get_variable_value(name) for name in made.get_variable_names()}


def test_a_model_is_trained_evaluated_and_applied(tmp_path):
    made = estimator(tmp_path)
    assert made.train(data, steps=40) is made
    found = made.evaluate(functools.partial(data, repeat=False))
    assert sorted(found) == ["global_step", "loss", "mae"]
    assert found["global_step"] == 40
    rows = list(made.predict(functools.partial(data, repeat=False)))
    assert len(rows) == 96
    assert sorted(rows[0]) == ["twice", "y"]
    predicted = np.stack([row["y"] for row in rows])
    np.testing.assert_allclose(found["mae"], np.abs(predicted - LABELS).mean(), rtol=1e-5)
    np.testing.assert_allclose(found["loss"], np.square(predicted - LABELS).mean(), rtol=1e-5)
    assert found["loss"] < 0.5
    assert sorted(weights(made)) == [
        "dense/bias",
        "dense/kernel",
        "dense_1/bias",
        "dense_1/kernel",
        "global_step",
    ]


def test_a_second_training_goes_on_and_max_steps_is_exact(tmp_path):
    parts, whole = estimator(tmp_path / "parts"), estimator(tmp_path / "whole")
    # Each call reads its input from the beginning: a batch that is the whole data makes that no difference.
    whole.train(functools.partial(data, 96), steps=7)
    parts.train(functools.partial(data, 96), steps=3)
    parts.train(functools.partial(data, 96), max_steps=7)
    parts.train(functools.partial(data, 96), max_steps=7)
    assert parts.latest_checkpoint().endswith("model.ckpt-7")
    for name, value in weights(whole).items():
        assert np.array_equal(value, weights(parts)[name]), name


def test_training_ends_where_the_input_ends(tmp_path):
    made = estimator(tmp_path)
    made.train(functools.partial(data, repeat=False), steps=100)
    assert made.get_variable_value("global_step") == 3


def test_an_early_checkpoint_can_be_evaluated_and_old_ones_are_removed(tmp_path):
    made = estimator(tmp_path, keep_checkpoint_max=2)
    for step in (1, 2, 3):
        made.train(data, max_steps=step)
    assert sorted(path.name for path in tmp_path.glob("model.ckpt-*")) == ["model.ckpt-2", "model.ckpt-3"]
    evaluation = functools.partial(data, repeat=False)
    first = made.evaluate(evaluation, checkpoint_path=str(tmp_path / "model.ckpt-2"))
    assert (first["global_step"], made.evaluate(evaluation)["global_step"]) == (2, 3)


@pytest.mark.parametrize("replicas", [2, 8])
def test_replicas_take_a_batch_each_and_train_as_one(tmp_path, replicas):
    devices = [f"/cpu:{index}" for index in range(replicas)]
    strategy = sx.distribute.MirroredStrategy(devices)
    batch = 16 // replicas
    many = estimator(tmp_path / "many", train_distribute=strategy, eval_distribute=strategy)
    one = estimator(tmp_path / "one")
    many.train(functools.partial(data, batch), steps=10)
    one.train(functools.partial(data, 16), steps=10)
    for name, value in weights(one).items():
        np.testing.assert_allclose(weights(many)[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
    # 90 examples: the last step has some for a few replicas only.
    evaluation = functools.partial(data, repeat=False, rows=90)
    found, expected = (
        many.evaluate(functools.partial(evaluation, batch)),
        one.evaluate(functools.partial(evaluation, 16)),
    )
    np.testing.assert_allclose(found["mae"], expected["mae"], rtol=1e-5)


def test_hooks_get_what_they_ask_for(tmp_path):
    asked = {}

    def function(features, labels, mode, params):
        spec = model_fn(features, labels, mode, params)
        doubled = spec.loss * 2
        asked.setdefault("hook", Watch({"loss": spec.loss, "twice": doubled, "x": features}, every=2))
        return spec._replace(training_hooks=[asked["hook"]])

    by_name = Watch(["dense/bias", "dense_1/bias:0"], every=5)
    made = estimator(tmp_path, function)
    made.train(functools.partial(data, 96), steps=6, hooks=[by_name])
    assert by_name.calls == ["begin", "created 0", "end 6"]
    assert [step for step, _ in by_name.got] == [1, 6]
    # Variables come from before the step, as in TensorFlow.
    five = estimator(tmp_path / "five").train(functools.partial(data, 96), steps=5)
    np.testing.assert_allclose(by_name.got[-1][1][0], five.get_variable_value("dense/bias"), rtol=1e-6)
    assert not np.array_equal(by_name.got[-1][1][0], made.get_variable_value("dense/bias"))
    got = asked["hook"].got
    assert [step for step, _ in got] == [1, 3, 5]
    for _, values in got:
        assert values["twice"] == 2 * values["loss"]
        assert np.array_equal(values["x"], FEATURES)


def test_a_hook_ends_training(tmp_path):
    class Stop(SessionRunHook):
        def after_run(self, run_context, run_values):
            if run_context.session.global_step == 4:
                run_context.request_stop()

    made = estimator(tmp_path)
    made.train(data, steps=100, hooks=[Stop()])
    assert made.get_variable_value("global_step") == 4


def test_a_loss_that_is_not_a_number_names_the_step(tmp_path):
    def function(features, labels, mode, params):
        w = tf.Variable(1.0, name="w")
        step = train.get_or_create_global_step()
        loss = jnp.where(step.value == 5, jnp.nan, 1.0) * w.value
        optimizer = train.GradientDescentOptimizer(0.1)
        return EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, global_step=step))

    made = estimator(tmp_path, function)
    with pytest.raises(errors.NanLossDuringTrainingError, match="at step 6"):
        made.train(data, steps=20)
    assert not np.isnan(made.get_variable_value("w"))


@pytest.mark.parametrize("times", [0, 2])
def test_a_global_step_that_does_not_count_the_steps_is_refused(tmp_path, times):
    def function(features, labels, mode, params):
        w = tf.Variable(1.0, name="w")
        optimizer = train.GradientDescentOptimizer(0.1)
        counted = [optimizer.minimize(w.value, train.get_or_create_global_step()) for _ in range(times)]
        train_op = tf.group(optimizer.minimize(w.value), *counted)
        return EstimatorSpec(mode, loss=w.value * 2, train_op=train_op)

    with pytest.raises(errors.BadArgumentError, match=f"Received: {times} in 1 steps"):
        estimator(tmp_path, function).train(data, steps=3)


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    estimator(tmp_path).train(data, steps=1)

    def other(features, labels, mode, params):
        predicted = keras.layers.Dense(2, name="dense")(features)
        loss = tf.reduce_mean(predicted**2)
        optimizer = train.GradientDescentOptimizer(0.1)
        return EstimatorSpec(
            mode, loss=loss, train_op=optimizer.minimize(loss, train.get_or_create_global_step())
        )

    with pytest.raises(
        errors.RestoreError, match=r"dense/kernel has the shape \(4, 2\) in the model and \(4, 3\)"
    ):
        estimator(tmp_path, other).train(data, steps=1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda made: made.train(data, steps=1, max_steps=1),
            errors.BadArgumentError,
            "both steps and max_steps",
        ),
        (lambda made: made.train(data, steps=0), errors.BadArgumentError, "steps > 0, given: 0"),
        (lambda made: made.train(3, steps=1), errors.BadTypeError, "input_fn must be a function"),
        (lambda made: made.train(lambda rows: None, steps=1), errors.BadArgumentError, "Received: rows"),
        (lambda made: made.train(lambda: "text", steps=1), errors.BadTypeError, "must return a Dataset"),
        (lambda made: made.get_variable_names(), errors.FileMissingError, "Could not find trained model"),
        (lambda made: made.get_variable_names(), ValueError, "Could not find trained model"),
        (lambda made: made.get_variable_value("bias"), ValueError, "Could not find trained model"),
        (lambda made: made.train(data, steps=1, hooks=[3]), errors.BadTypeError, "SessionRunHook"),
    ],
)
def test_wrong_calls_raise(tmp_path, call, error, message):
    with pytest.raises(error, match=message):
        call(estimator(tmp_path))


@pytest.mark.parametrize(
    ("function", "params", "message"),
    [
        (lambda x: None, None, "must take features"),
        (lambda features: None, {"a": 1}, "does not take params"),
        (lambda features, **others: None, {"a": 1}, "does not take params"),
        (lambda features, other: None, None, "Received: other"),
    ],
)
def test_functions_that_are_no_model_fn_raise(function, params, message):
    with pytest.raises(errors.BadArgumentError, match=message):
        Estimator(function, params=params)


class Settings:
    """What programs give as params in the place of a dict."""

    def __init__(self):
        self.rate, self.seen = 0.05, []


@pytest.mark.parametrize("make", [Settings, lambda: tf.contrib.training.HParams(rate=0.05, seen=[0])])
def test_params_are_any_object_of_which_each_call_gets_a_copy(tmp_path, make):
    given, told = make(), []

    def input_fn(params):
        params.seen.append("input_fn")
        return data()

    def function(features, labels, mode, params):
        params.seen.append("model_fn")
        told.append((type(params), params.rate, len(params.seen)))
        return model_fn(features, labels, mode, {"rate": params.rate})

    made = Estimator(function, str(tmp_path), params=given)
    length = len(given.seen)
    given.rate = 1e9
    made.train(input_fn, steps=1)
    assert set(told) == {(type(given), 0.05, length + 1)}
    assert made.params is not given
    assert made.params.seen is not made.params.seen
    assert len(made.params.seen) == length


def test_arguments_of_any_name_get_nothing(tmp_path):
    def function(features, labels, mode, **others):
        assert not others
        return model_fn(features, labels, mode, {})

    Estimator(function, str(tmp_path)).train(data, steps=1)


def test_a_model_that_was_not_trained_predicts_as_it_is_made(tmp_path):
    def constant(features, labels, mode):
        bias = tf.compat.v1.get_variable("bias", [], initializer=tf.compat.v1.ones_initializer())
        return EstimatorSpec(mode, predictions=features[:, 0] * 0 + bias)

    made = Estimator(constant, str(tmp_path))
    assert list(made.predict(functools.partial(data, repeat=False)))[:2] == [1.0, 1.0]


def test_a_variable_is_found_by_the_name_that_it_gives_itself(tmp_path):
    made = estimator(tmp_path)
    made.train(data, steps=1)
    assert made.get_variable_value("global_step:0") == 1


def test_a_model_fn_that_returns_something_else_raises(tmp_path):
    with pytest.raises(errors.BadTypeError, match="should return an EstimatorSpec"):
        Estimator(lambda features, labels: {"loss": 1}, str(tmp_path)).train(data, steps=1)


def test_later_calls_compile_nothing_that_was_compiled_before(tmp_path):
    compiled = []

    def note(event, duration, **details):
        if event.endswith("backend_compile_duration") and details.get("fun_name") in (
            "jit(train)",
            "jit(evaluate)",
        ):
            compiled.append(details["fun_name"])

    made = estimator(tmp_path)
    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        for _ in range(3):
            made.train(data, steps=2)
            made.evaluate(lambda: data(repeat=False))
    finally:
        jax.monitoring.unregister_event_duration_listener(note)
    assert sorted(compiled) == ["jit(evaluate)", "jit(train)"]
    assert made.get_variable_value("global_step") == 6


def test_restored_variables_are_not_initialized_first(tmp_path):
    called = []

    def initializer(shape, dtype=None):
        called.append(shape)
        return jnp.full(shape, 0.5, dtype)

    def with_variable(features, labels, mode):
        weight = tf.compat.v1.get_variable("weight", [4, 1], tf.bfloat16, initializer=initializer)
        predicted = features @ tf.cast(weight, tf.float32)
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions=predicted)
        loss = tf.reduce_mean((predicted - labels) ** 2)
        train_op = train.GradientDescentOptimizer(0.0).minimize(loss, train.get_or_create_global_step())
        return EstimatorSpec(mode, loss=loss, train_op=train_op)

    made = Estimator(with_variable, str(tmp_path))
    made.train(data, steps=1)
    assert called == [(4, 1)]
    made.train(data, steps=1)
    made.evaluate(lambda: data(repeat=False))
    found = next(made.predict(lambda: data(repeat=False)))
    assert called == [(4, 1)]
    np.testing.assert_allclose(found, FEATURES[0].sum(keepdims=True) / 2, rtol=1e-5)


def test_values_that_are_computed_of_a_metrics_value_are_of_all_batches(tmp_path):
    def function(features, labels, mode, params):
        total = metrics.mean(labels)
        loss = tf.reduce_mean(labels)
        value = jax.nn.relu(jnp.asarray(total[0])) if params else tf.square(total[0])
        pairs = {"of values": (value, total[1]), "of the batch": (tf.reduce_max(features), total[1])}
        return EstimatorSpec(mode, loss=loss, eval_metric_ops=pairs)

    found = Estimator(function, str(tmp_path), RunConfig()).evaluate(lambda: data(repeat=False))
    np.testing.assert_allclose(found["of values"], LABELS.mean() ** 2, rtol=1e-4)
    assert found["of the batch"] == FEATURES[64:].max()
    with pytest.raises(errors.BadArgumentError, match="derivative of its own"):
        Estimator(function, str(tmp_path), RunConfig(), {"relu": True}).evaluate(lambda: data(repeat=False))


def test_predictions_of_several_replicas_keep_order_and_batches(tmp_path):
    def function(features, labels, mode, params):
        rows = jnp.full(features.shape[:1], features.shape[0])
        return EstimatorSpec(
            mode, predictions={"x": features[:, 0], "rows": rows, "total": jnp.sum(features)}
        )

    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(4)])
    estimator(tmp_path).train(data, steps=1)

    def batches(strategy, rows):
        made = Estimator(function, str(tmp_path), RunConfig(train_distribute=strategy))
        return list(made.predict(lambda: data(8, repeat=False, rows=rows), yield_single_examples=False))

    # Six batches and a short one: four for the replicas, then each by itself.
    for rows in (52, 64, 3):
        found, wanted = batches(strategy, rows), batches(None, rows)
        assert [batch["rows"].tolist() for batch in found] == [batch["rows"].tolist() for batch in wanted]
        np.testing.assert_array_equal(np.concatenate([batch["x"] for batch in found]), FEATURES[:rows, 0])
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one["total"], other["total"], rtol=1e-5)
    made = Estimator(function, str(tmp_path), RunConfig(eval_distribute=strategy))
    rows = [
        row["x"] for row in made.predict(lambda: data(8, repeat=False, rows=52), predict_keys=["x", "rows"])
    ]
    np.testing.assert_array_equal(rows, FEATURES[:52, 0])


def test_a_hook_outside_of_the_model_fn_asks_for_the_tensor_of_its_last_trace(tmp_path):
    watch = Watch(None)

    def giving(features, labels, mode, params):
        spec = model_fn(features, labels, mode, params)
        watch.fetches = spec.loss
        return spec

    estimator(tmp_path, giving).train(data, steps=4, hooks=[watch])
    reference = Watch("global_step")
    estimator(tmp_path / "other").train(data, steps=4, hooks=[reference])
    assert [step for step, _ in watch.got] == [step for step, _ in reference.got] == [1, 2, 3, 4]
    losses = [float(loss) for _, loss in watch.got]
    assert losses == sorted(losses, reverse=True)
    assert len(set(losses)) == 4


def test_metrics_of_keras_do_not_add_up_in_training(tmp_path):
    variables = []

    def function(features, labels, mode, params):
        spec = model_fn(features, labels, mode, {})
        variables[:] = spec.eval_metric_ops["mae"].variables
        return spec

    class Sums(SessionRunHook):
        def end(self, session):
            self.found = session.run(variables)

    hook = Sums()
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    made = estimator(tmp_path, function, train_distribute=strategy).train(data, steps=3, hooks=[hook])
    assert len(hook.found) == 2
    assert not np.any(hook.found)
    assert made.evaluate(lambda: data(repeat=False))["mae"] > 0


def test_a_gradient_penalty_is_trained_as_by_jax(tmp_path):
    def critic(x, kernel):
        return jnp.sum(jax.nn.softplus(x @ kernel) ** 2, 1)

    def function(features, labels, mode, params):
        kernel = tf.compat.v1.get_variable("kernel", (4, 3), initializer=tf.constant_initializer(KERNEL))
        scores = critic(features, kernel.value)
        (slopes,) = tf.gradients(scores, [features])
        norms = tf.sqrt(tf.reduce_sum(tf.square(slopes), 1))
        loss = tf.reduce_mean(scores) + 10 * tf.reduce_mean((norms - 1) ** 2)
        optimizer = train.GradientDescentOptimizer(0.01)
        step = train.get_or_create_global_step()
        return EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, global_step=step))

    def loss(kernel, x):
        slopes = jax.grad(lambda x: jnp.sum(critic(x, kernel)))(x)
        norms = jnp.sqrt(jnp.sum(slopes**2, 1))
        return jnp.mean(critic(x, kernel)) + 10 * jnp.mean((norms - 1) ** 2)

    wanted = KERNEL
    for start in (0, 32, 64):
        wanted = wanted - 0.01 * jax.grad(loss)(wanted, FEATURES[start : start + 32])
    replicas = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    for folder, size, strategy in (("one", 32, None), ("two", 16, replicas)):
        made = estimator(tmp_path / folder, function, train_distribute=strategy)
        made.train(lambda size=size: data(size), steps=3)
        np.testing.assert_allclose(made.get_variable_value("kernel"), wanted, rtol=1e-4, atol=1e-5)


def test_gradients_are_there_in_evaluations_and_predictions_too(tmp_path):
    modes = []

    def function(features, labels, mode, params):
        modes.append(mode)
        kernel = tf.compat.v1.get_variable("kernel", (4, 3), initializer=tf.constant_initializer(KERNEL))
        scores = tf.reduce_sum(tf.square(tf.matmul(features, kernel)), 1)
        (slopes,) = tf.gradients(scores, [features])
        if mode == "infer":
            return EstimatorSpec(mode, predictions={"slopes": slopes})
        return EstimatorSpec(mode, loss=tf.reduce_mean(slopes))

    made = estimator(tmp_path, function)
    slopes = 2 * FEATURES @ KERNEL @ KERNEL.T
    found = [each["slopes"] for each in made.predict(lambda: data(repeat=False).map(lambda x, y: x))]
    np.testing.assert_allclose(found, slopes[:96], rtol=1e-4)
    assert made.evaluate(lambda: data(repeat=False))["loss"] == pytest.approx(np.mean(slopes[:96]), rel=1e-4)
    # No trace but the first of each is in vain.
    assert modes == ["infer"] * 3 + ["eval"] * 3


@pytest.mark.parametrize("replicas", [1, 2])
def test_hooks_of_predictions_get_what_they_ask_for(tmp_path, replicas):
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(replicas)])

    def function(features, labels, mode, params):
        spec = model_fn(features, labels, mode, {})
        if mode == ModeKeys.PREDICT:
            tf.identity(features[0, 0], name="first")
            spec = spec._replace(prediction_hooks=[own])
        return spec

    own, given = Watch("dense/bias"), Watch("first")
    made = estimator(tmp_path, function, train_distribute=strategy)
    made.train(data, steps=2)
    assert len(list(made.predict(lambda: data(32, repeat=False), hooks=[given]))) == 96
    starts = [0, 32, 64] if replicas == 1 else [0, 64]
    assert [float(value) for _, value in given.got] == [FEATURES[start, 0] for start in starts]
    assert given.calls == own.calls == ["begin", "created 2", "end 2"]
    assert [value.shape for _, value in own.got] == [(3,)] * len(starts)

    class Stop(SessionRunHook):
        def after_run(self, run_context, run_values):
            run_context.request_stop()

    assert len(list(made.predict(lambda: data(32, repeat=False), hooks=[Stop()]))) == 32 * replicas

    order = []

    class Batches(SessionRunHook):
        def after_run(self, run_context, run_values):
            order.append("run")

    for batch in made.predict(
        lambda: data(32 // replicas, repeat=False), hooks=[Batches()], yield_single_examples=False
    ):
        order.append(len(next(iter(batch.values()))))
    # No batch ahead of what the caller has.
    assert order == ["run", *[32 // replicas] * replicas] * 3


def test_a_function_of_logits_gets_the_arguments_that_it_names():
    call = tf.estimator.experimental.call_logit_fn
    seen = []

    def logit_fn(features, mode, config):
        seen.append((mode, config))
        return features * 2.0

    assert float(call(logit_fn, tf.constant(1.0), "train", {"a": 1}, "c")) == 2.0
    assert seen == [("train", "c")]
    assert call(lambda features, params: {"a": features}, LABELS, "eval", {}, None)["a"] is LABELS
    with pytest.raises(errors.BadTypeError, match="should return a Tensor or a dictionary of Tensors"):
        call(lambda features: [1.0], LABELS, "eval", None, None)


@pytest.mark.programs
def test_an_estimator_trains_without_tensorboard_in_a_process_of_its_own():
    found = forks.run(["-m", "tests.tensorflow.estimator.without_tensorboard"], dict(os.environ))
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert [line for line in lines if not line.startswith("said:")] == [
        "steps: 3",
        "steps: 3",
        "predictions: 8",
    ]
    assert sum("No summaries are written" in line for line in lines) == 1
