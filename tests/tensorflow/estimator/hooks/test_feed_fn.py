"""Hooks that feed do so in sessions; an Estimator, whose step is compiled, says that it can't."""

import numpy as np
import pytest

import stratax.tf.compat.v1 as tf
from stratax import errors
from stratax.tensorflow.estimator import (
    Estimator,
    EstimatorSpec,
    FeedFnHook,
    FinalOpsHook,
    SessionRunArgs,
    SessionRunHook,
)


def test_a_session_is_fed_by_hooks():
    with tf.Graph().as_default():
        fed, others = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [2])
        total, both = fed + 2, fed + others
        numbers = iter(range(3, 9))
        final = FinalOpsHook([others + 1, fed], {others: [5, 6], fed: 7})
        with tf.train.MonitoredSession(hooks=[FeedFnHook(lambda: {fed: next(numbers)}), final]) as session:
            assert [session.run(total), session.run(total)] == [5, 6]
            assert session.run(both, {others: [1, 2]}).tolist() == [6, 7]
        assert [value.tolist() for value in final.final_ops_values] == [[6, 7], 7]


class Feeding(SessionRunHook):
    def before_run(self, run_context):
        return SessionRunArgs([], {"x:0": 1.0})


def model_fn(features, labels, mode):
    step = tf.assign_add(tf.train.get_global_step(), 1)
    return EstimatorSpec(mode, predictions=features, loss=tf.reduce_sum(features), train_op=step)


@pytest.mark.parametrize("hook", [FeedFnHook(lambda: {"x:0": 1.0}), Feeding()], ids=["FeedFnHook", "own"])
def test_an_estimator_refuses_to_be_fed(tmp_path, hook):
    made = Estimator(model_fn, str(tmp_path))

    def input_fn():
        return tf.data.Dataset.from_tensors(np.ones(2, np.float32))

    for run in (made.train, made.evaluate, lambda *args, hooks: list(made.predict(*args, hooks=hooks))):
        with pytest.raises(errors.BadArgumentError, match=r"a hook can't feed.*Have input_fn return"):
            run(input_fn, hooks=[hook])


def test_nothing_is_fed_behind_an_estimators_run(tmp_path):
    made = Estimator(model_fn, str(tmp_path))
    with pytest.raises(errors.BadTypeError, match="A hook's session gives what depends on variables alone"):
        made.train(
            lambda: tf.data.Dataset.from_tensors(np.ones(2, np.float32)),
            hooks=[FinalOpsHook("global_step:0", {"x:0": 1})],
        )
