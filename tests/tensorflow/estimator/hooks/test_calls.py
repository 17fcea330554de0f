"""Which methods of hooks are called, in which order: tensorflow-estimator 2.15's answers."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.tensorflow import estimator as es

NUM_BATCHES = 3


class Noting(es.SessionRunHook):
    """Notes the calls of its methods; asks for a stop in its n-th `before_run` or `after_run`."""

    def __init__(self, calls, name, stop_before=None, stop_after=None):
        self.calls, self.name = calls, name
        self.stop_before, self.stop_after = stop_before, stop_after
        self.num_before = self.num_after = 0

    def _note(self, method):
        self.calls.append(f"{self.name} {method}")

    def begin(self):
        self._note("begin")

    def after_create_session(self, session, coord):
        self._note("create")

    def before_run(self, run_context):
        self._note("before, stopped" if run_context.stop_requested else "before")
        self.num_before += 1
        if self.num_before == self.stop_before:
            run_context.request_stop()

    def after_run(self, run_context, run_values):
        self._note("after")
        self.num_after += 1
        if self.num_after == self.stop_after:
            run_context.request_stop()

    def end(self, session):
        self._note("end")


def model_fn(features, labels, mode):
    w = tf.compat.v1.get_variable("w", [])
    predicted = features["x"] * w
    if mode == "infer":
        return es.EstimatorSpec(mode, predictions={"p": predicted})
    loss = tf.reduce_mean((predicted - labels) ** 2)
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
    train_op = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
    return es.EstimatorSpec(mode, loss=loss, train_op=train_op)


def batches():
    numbers = np.arange(2 * NUM_BATCHES, dtype=np.float32)
    return tf.data.Dataset.from_tensor_slices(({"x": numbers}, numbers)).batch(2)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("trained"))
    es.Estimator(model_fn, folder).train(batches, steps=1)
    return folder


def run(kind, trained, tmp_path, hooks, steps=None):
    if kind == "train":
        es.Estimator(model_fn, str(tmp_path)).train(batches, hooks=hooks, steps=steps)
    elif kind == "evaluate":
        es.Estimator(model_fn, trained).evaluate(batches, steps=steps, hooks=hooks)
    else:
        assert steps is None
        list(es.Estimator(model_fn, trained).predict(batches, hooks=hooks))


def each(names, method):
    return [f"{name} {method}" for name in names]


def begun(names):
    return [*each(names, "begin"), *each(names, "create")]


def dispatches(names, count):
    return [*each(names, "before"), *each(names, "after")] * count


@pytest.mark.parametrize("kind", ["train", "evaluate", "predict"])
def test_the_run_that_finds_no_batch_begins_like_the_others(kind, trained, tmp_path):
    calls = []
    run(kind, trained, tmp_path, [Noting(calls, "a"), Noting(calls, "b")])
    assert calls == [*begun("ab"), *dispatches("ab", 3), "a before", "b before", "a end", "b end"]


@pytest.mark.parametrize("kind", ["train", "evaluate"])
@pytest.mark.parametrize("steps", [2, 3, 5])
def test_only_steps_that_are_more_than_there_are_batches_meet_the_end(kind, steps, trained, tmp_path):
    calls = []
    run(kind, trained, tmp_path, [Noting(calls, "a")], steps)
    at_end = ["a before"] if steps > NUM_BATCHES else []
    assert calls == [*begun("a"), *dispatches("a", min(steps, NUM_BATCHES)), *at_end, "a end"]


@pytest.mark.parametrize("kind", ["train", "evaluate", "predict"])
def test_a_stop_ends_the_run_before_the_end_is_met(kind, trained, tmp_path):
    for number in (2, NUM_BATCHES):
        calls = []
        run(
            kind, trained, tmp_path / str(number), [Noting(calls, "a"), Noting(calls, "b", stop_after=number)]
        )
        assert calls == [*begun("ab"), *dispatches("ab", number), "a end", "b end"]


@pytest.mark.parametrize("kind", ["train", "evaluate", "predict"])
def test_a_stop_that_is_asked_for_at_the_end_is_known_to_the_hooks_behind(kind, trained, tmp_path):
    calls = []
    hooks = [Noting(calls, "a"), Noting(calls, "b", stop_before=NUM_BATCHES + 1), Noting(calls, "c")]
    run(kind, trained, tmp_path, hooks)
    at_end = ["a before", "b before", "c before, stopped"]
    assert calls == [*begun("abc"), *dispatches("abc", 3), *at_end, *each("abc", "end")]


def test_hooks_of_the_spec_stand_where_tensorflow_has_them(tmp_path):
    calls = []

    def with_hooks(features, labels, mode):
        return model_fn(features, labels, mode)._replace(
            training_hooks=[Noting(calls, "s")],
            training_chief_hooks=[Noting(calls, "k")],
            evaluation_hooks=[Noting(calls, "v")],
            prediction_hooks=[Noting(calls, "p")],
        )

    estimator = es.Estimator(with_hooks, str(tmp_path))
    estimator.train(batches, hooks=[Noting(calls, "a")], steps=1)
    estimator.evaluate(batches, hooks=[Noting(calls, "b")], steps=1)
    list(estimator.predict(batches, hooks=[Noting(calls, "c", stop_after=1)]))
    assert calls == [
        name
        for names in ("kas", "bv", "cp")
        for name in [*begun(names), *dispatches(names, 1), *each(names, "end")]
    ]
