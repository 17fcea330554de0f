"""Hooks in a training by an Estimator: what they fetch, save, print and write, with 1 and 7 steps in a dispatch."""

import glob
import logging
import os

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.summary.files import FileWriterCache
from stratax.tensorflow import estimator as es
from stratax.tensorflow.estimator.hooks import read_eval_metrics
from stratax.tensorflow.v1 import summary, train
from stratax.tensorflow.v1 import trainable_variables as train_variables

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


def test_checkpoints_are_saved_and_listeners_told(make, steps, tmp_path):
    told = []

    class Listener(es.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            told.append((global_step_value, session.global_step))
            return global_step_value >= 20

    folder = str(tmp_path / "other")
    made = make()
    made.train(features(), hooks=[es.CheckpointSaverHook(folder, save_steps=10, listeners=[Listener()])])
    expected = [0, 10, 20] if steps == 1 else [0, 14, 28]
    assert told == [(step, step) for step in expected]
    # The Estimator saves none of its own then.
    assert made.latest_checkpoint() is None
    for step in expected:
        path = os.path.join(folder, f"model.ckpt-{step}")
        assert sx.train.load_variable(path, "global_step") == step


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


def test_it_is_evaluated_while_it_trains(make, steps, lines):
    made = make()
    evaluator = es.InMemoryEvaluatorHook(made, features(), steps=2, every_n_iter=14)
    made.train(features(), hooks=[evaluator], steps=28)
    at = [int(line.split()[5].rstrip(":")) for line in lines("Saving dict")]
    assert at == [0, 14, 28, 28]
    assert [name for name in glob.glob(f"{made.model_dir}/*") if "ckpt-14" in name] == []


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


def test_hooks_that_do_not_ask_share_one_program(make, steps, monkeypatch):
    """Each dispatch between two lines runs the program without the tensor, or the one with it: not a third one."""
    from stratax.tensorflow.estimator import _session

    programs = []
    whole = _session.SessionHooks.program

    def noted(self, *arguments):
        result = whole(self, *arguments)
        programs.append(len(self._programs))
        return result

    monkeypatch.setattr(_session.SessionHooks, "program", noted)
    hook = es.LoggingTensorHook(["global_step"], every_n_iter=10)
    make().train(features(), hooks=[hook, es.StepCounterHook(), es.StopAtStepHook(last_step=35)], steps=35)
    assert max(programs) <= 2


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


def test_hooks_find_variables_and_read_them_by_name(make):
    read = {}

    class Reading(es.SessionRunHook):
        def begin(self):
            self.step = train.get_global_step()
            self.note("begin")

        def after_create_session(self, session, coord):
            self.note("after_create_session", session)

        def before_run(self, run_context):
            self.note("before_run", run_context.session)
            return es.SessionRunArgs("global_step:0")

        def after_run(self, run_context, run_values):
            self.note("after_run", run_context.session)
            self.results = int(run_values.results)
            with pytest.raises(errors.BadTypeError, match="the name of one"):
                run_context.session.run("loss:0")

        def end(self, session):
            self.note("end", session)

        def note(self, method, session=None):
            assert train.get_global_step() is train.get_or_create_global_step() is self.step
            assert self.step.name == "global_step:0"
            names = [variable.name for variable in train_variables()]
            assert names == ["dense/kernel:0", "dense/bias:0"]
            if session is not None:
                values = session.run({"step": "global_step:0", "kernel": names[0], "bias": ["dense/bias"]})
                assert (values["kernel"].shape, values["bias"][0].shape) == ((3, 1), (1,))
                read[method] = int(values["step"])

    hook = Reading()
    made = make()
    made.train(features(), hooks=[hook], steps=7)
    assert read == {"after_create_session": 0, "before_run": read["before_run"], "after_run": 7, "end": 7}
    assert read["before_run"] in (0, 6)
    # Before the last step, as in TensorFlow.
    assert hook.results == 6
    made.evaluate(features(), hooks=[hook], steps=1)
    assert set(read.values()) == {7}
    # There is none outside, as in TensorFlow.
    assert train.get_global_step() is None


def test_what_a_hook_assigns_after_a_step_takes_effect_at_once(make):
    class Assigning(es.SessionRunHook):
        def after_run(self, run_context, run_values):
            train.get_global_step().assign(100)

    made = make()
    made.train(features(), hooks=[Assigning()], steps=1)
    assert made.get_variable_value("global_step") == 100
