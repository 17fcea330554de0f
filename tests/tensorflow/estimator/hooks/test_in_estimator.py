"""Hooks in a training by an Estimator: what they fetch, save, print and write, with 1 and 7 steps in a dispatch."""

import glob
import logging

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.summary.files import FileWriterCache
from stratax.tensorflow import estimator as es
from stratax.tensorflow.estimator.hooks import read_eval_metrics
from stratax.tensorflow.v1 import summary, train

FEATURES = np.random.default_rng(0).standard_normal((160, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def _forget_writers():
    yield
    FileWriterCache.clear()


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, "stratax")
    return lambda word: [line for line in (record.getMessage() for record in caplog.records) if word in line]


def features(bad_step=None):
    def input_fn():
        x = FEATURES.copy()
        if bad_step is not None:
            x[4 * (bad_step - 1)] = np.nan
        return sx.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).batch(4)

    return input_fn


def model(*make_hooks):
    """A model_fn; each of `make_hooks` makes a hook of the loss in it."""

    def model_fn(features, labels, mode):
        predicted = keras.layers.Dense(1)(features)
        loss = tf.reduce_mean((predicted - labels) ** 2)
        step = train.get_or_create_global_step()
        train_op = train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
        hooks = [make(loss) for make in make_hooks]
        return es.EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=hooks)

    return model_fn


@pytest.fixture(params=[1, 7])
def steps(request):
    return request.param


@pytest.fixture
def make(tmp_path, steps):
    class Made(es.Estimator):
        def _steps_per_dispatch(self):
            return steps

    def make(*make_hooks, **config):
        return Made(model(*make_hooks), str(tmp_path), es.RunConfig(tf_random_seed=1, **config))

    return make


def test_a_hook_finds_the_loss_in_its_collection_as_in_tensorflow(make):
    class Finding(es.SessionRunHook):
        def begin(self):
            *self.others, self.loss = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOSSES)

        def before_run(self, run_context):
            return es.SessionRunArgs(self.loss)

        def after_run(self, run_context, run_values):
            found.append(float(run_values.results))

    given, found = [], []

    class Given(Finding):
        def __init__(self, loss):
            self.loss = loss

        def begin(self):
            pass

        def after_run(self, run_context, run_values):
            given.append(float(run_values.results))

    hook = Finding()
    make(Given).train(features(), hooks=[hook], max_steps=9)
    assert hook.others == []
    assert found == given
    assert len(found) == len(set(found)) > 1


def test_tensors_of_the_model_are_printed_with_their_steps_values(make, steps, lines):
    class Noting(es.SessionRunHook):
        def __init__(self, loss):
            self.loss = loss
            noted.append(self)

        def before_run(self, run_context):
            return es.SessionRunArgs(self.loss)

        def after_run(self, run_context, run_values):
            losses.extend(run_values.each_step)

    noted, losses = [], []
    made = make(
        Noting, lambda loss: es.LoggingTensorHook({"loss": loss}, every_n_iter=10), log_step_count_steps=None
    )
    made.train(features(), steps=35)
    printed = [line.split(" (")[0] for line in lines("loss = ")]
    at = [1, 11, 21, 31] if steps == 1 else [7, 21, 35]
    assert (len(losses), printed) == (35, [f"loss = {losses[step - 1]}" for step in at])


def test_a_list_of_tensors_is_printed_by_number_or_name(make, lines):
    hook = es.LoggingTensorHook(["global_step"], every_n_iter=100)
    make(lambda loss: es.LoggingTensorHook([loss], every_n_iter=100)).train(features(), hooks=[hook], steps=7)
    assert len(lines("tensor_0 = ")) == 1
    assert len(lines("global_step = ")) == 1


def test_a_training_ends_at_a_step(make, steps):
    made = make().train(features(), hooks=[es.StopAtStepHook(num_steps=10)])
    assert made.get_variable_value("global_step") == (10 if steps == 1 else 14)


def test_checkpoints_may_be_those_of_the_training(make, tmp_path):
    made = make().train(features(), hooks=[es.CheckpointSaverHook(tmp_path, save_steps=14)], steps=28)
    assert made.latest_checkpoint() == str(tmp_path / "model.ckpt-28")
    assert sx.train.load_variable(str(tmp_path / "model.ckpt-14"), "global_step") == 14


def test_nan_is_found_with_its_step_before_it_is_saved(make, steps, tmp_path):
    made = make(es.NanTensorHook)
    with pytest.raises(es.NanLossDuringTrainingError, match="at step 11"):
        made.train(features(bad_step=11))
    assert made.latest_checkpoint() == str(tmp_path / "model.ckpt-0")


def test_summaries_of_the_model_are_written(make, steps, tmp_path):
    folder = str(tmp_path / "summaries")

    def saver(loss):
        return es.SummarySaverHook(save_steps=10, output_dir=folder, summary_op=summary.scalar("loss", loss))

    counter = es.StepCounterHook(every_n_steps=14, output_dir=folder)
    make(saver).train(features(), hooks=[counter], steps=28)
    found = read_eval_metrics(folder)
    assert [step for step in found if "loss" in found[step]] == ([1, 11, 21] if steps == 1 else [7, 21])
    assert [step for step in found if "global_step/sec" in found[step]] == ([15] if steps == 1 else [21])
    assert all(metrics["loss"] > 0 for metrics in found.values() if "loss" in metrics)


def test_early_stopping_ends_the_training(make, steps):
    asked = []

    def should_stop():
        asked.append(0)
        return len(asked) == 2

    made = make()
    hook = es.make_early_stopping_hook(made, should_stop, run_every_secs=None, run_every_steps=10)
    made.train(features(), hooks=[hook])
    assert made.get_variable_value("global_step") == (11 if steps == 1 else 21)


def test_variables_are_read_at_the_end(make):
    hooks = []

    def final(loss):
        hooks.append(es.FinalOpsHook({"step": train.get_global_step()}))
        return hooks[-1]

    make(final).train(features(), steps=7)
    assert [hook.final_ops_values for hook in hooks if hook.final_ops_values] == [{"step": 7}]


def test_what_is_computed_of_a_batch_has_no_value_at_the_end(make):
    with pytest.raises(TypeError, match="A hook's session gives what depends on variables alone"):
        make(es.FinalOpsHook).train(features(), steps=7)


def test_a_profile_is_written(make, tmp_path):
    make().train(features(), hooks=[es.ProfilerHook(save_steps=7, output_dir=tmp_path / "profile")], steps=14)
    # Those of one second have one name.
    assert len(glob.glob(f"{tmp_path}/profile/plugins/profile/*/*.xplane.pb")) in (1, 2)


def test_train_and_evaluate_ends_where_evaluations_get_no_better(make, steps, lines):
    made = make(save_checkpoints_steps=7)
    hook = es.stop_if_no_decrease_hook(made, "loss", 21, min_steps=14, run_every_secs=None, run_every_steps=1)
    # Each evaluation is of a harder batch than the one before.
    growing = iter(range(1, 100))

    def evaluated():
        x = np.full([4, 3], next(growing), np.float32)
        return sx.data.Dataset.from_tensors((x, -100 * x.sum(1, keepdims=True)))

    metrics, _ = es.train_and_evaluate(
        made,
        es.TrainSpec(lambda: features()().repeat(), max_steps=500, hooks=[hook]),
        es.EvalSpec(evaluated, throttle_secs=0),
    )
    # The best one is that of step 14; the hook looks behind the dispatch after the one that the evaluation follows.
    assert metrics["global_step"] == made.get_variable_value("global_step") == (36 if steps == 1 else 42)
    assert lines(
        'No decrease in metric "loss" for 21 steps, which is greater than or equal to max steps (21)'
    )
