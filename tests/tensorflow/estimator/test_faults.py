"""Bad input and faults in the middle: the error says what is wrong, and nothing stays behind."""

import functools
import itertools
import os
import signal
import threading

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.tensorflow.estimator import (
    CheckpointSaverListener,
    Estimator,
    EstimatorSpec,
    LoggingTensorHook,
    RunConfig,
    SessionRunHook,
    read_eval_metrics,
    tpu,
)
from stratax.tensorflow.v1 import train
from tests.cluster import forks
from tests.tensorflow.estimator.test_estimator import FEATURES, LABELS, data, estimator, weights

evaluation = functools.partial(data, repeat=False)
empty = functools.partial(data, repeat=False, rows=0)


def returning(**fields):
    """A model_fn whose spec has other fields; functions are called with its loss."""

    def model_fn(features, labels, mode):
        predicted = tf.layers.dense(features, 1)
        loss = tf.reduce_mean(predicted**2)
        train_op = train.GradientDescentOptimizer(0.1).minimize(loss, train.get_global_step())
        spec = {"mode": mode, "loss": loss, "train_op": train_op, "predictions": predicted}
        given = {name: field(loss) if callable(field) else field for name, field in fields.items()}
        return EstimatorSpec(**{**spec, **given})

    return model_fn


def made_of(model_fn, folder):
    return Estimator(model_fn, str(folder), RunConfig(tf_random_seed=1))


@pytest.mark.parametrize(
    ("fields", "call", "error", "message"),
    [
        ({"train_op": None}, "train", errors.BadArgumentError, "Missing train_op.*Pass train_op=optimizer"),
        ({"loss": None}, "train", errors.BadArgumentError, "Missing loss.*mode 'train'"),
        ({"loss": None}, "evaluate", errors.BadArgumentError, "Missing loss.*mode 'eval'"),
        ({"predictions": None}, "predict", errors.BadArgumentError, "Missing predictions"),
        (
            {"eval_metric_ops": lambda loss: {"a": loss}},
            "evaluate",
            errors.BadTypeError,
            r"\(metric_value, update_op\).*eval_metric_ops\['a'\]",
        ),
        (
            {"eval_metric_ops": lambda loss: {"a": (loss, loss, loss)}},
            "evaluate",
            errors.BadTypeError,
            r"\(metric_value, update_op\) tuples",
        ),
        (
            {"training_hooks": lambda loss: [LoggingTensorHook(["nothing"], every_n_iter=1)]},
            "train",
            errors.BadArgumentError,
            "no tensor of this name.*'dense/kernel'.*Received: 'nothing'.*tf.identity",
        ),
    ],
)
def test_a_spec_that_lacks_something_is_refused(tmp_path, fields, call, error, message):
    made = made_of(returning(**fields), tmp_path)
    if call == "predict":
        made_of(returning(), tmp_path).train(data, steps=1)
    calls = {
        "train": lambda: made.train(data, steps=1),
        "evaluate": lambda: made.evaluate(evaluation),
        "predict": lambda: list(made.predict(evaluation)),
    }
    with pytest.raises(error, match=message):
        calls[call]()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda made: made.train(data, steps="3"), errors.BadTypeError, "steps must be a number.*'3'"),
        (lambda made: made.train(data, max_steps=[1]), errors.BadTypeError, "max_steps must be a number"),
        (lambda made: made.train(data, steps=True), errors.BadTypeError, "steps must be a number"),
        (lambda made: made.evaluate(evaluation, steps=0), errors.BadArgumentError, "steps > 0, given: 0"),
        (lambda made: made.evaluate(evaluation, hooks=[3]), errors.BadTypeError, "All hooks must be"),
        (lambda made: made.train(data, steps=1, saving_listeners=[3]), errors.BadTypeError, "Listener"),
        (lambda made: made.train(lambda: None, steps=1), errors.BadTypeError, "Received: None"),
        (lambda made: made.evaluate(lambda: None), errors.BadTypeError, "must return a Dataset"),
        (lambda made: made.train(empty, steps=1), errors.DataError, "no batches.*from input_fn"),
        (lambda made: made.evaluate(empty), errors.DataError, "no batches.*from input_fn"),
        (
            lambda made: made.evaluate(evaluation, checkpoint_path="/nowhere/model.ckpt-1"),
            errors.FileMissingError,
            "no checkpoint to read: no file or folder has this path.*'/nowhere/model.ckpt-1'",
        ),
        (
            lambda made: made.train(lambda: (FEATURES, LABELS, LABELS), steps=1),
            errors.BadArgumentError,
            "Received: a tuple of 3",
        ),
    ],
)
def test_wrong_calls_raise(tmp_path, call, error, message):
    with pytest.raises(error, match=message):
        call(estimator(tmp_path))


def test_predictions_of_no_examples_are_none(tmp_path):
    made = estimator(tmp_path)
    made.train(data, steps=1)
    assert list(made.predict(empty)) == []


def test_a_checkpoint_of_another_model_names_the_first_three_variables_that_differ(tmp_path):
    def of_size(size):
        def model_fn(features, labels, mode):
            hidden = features
            for _ in range(3):
                hidden = tf.layers.dense(hidden, size)
            loss = tf.reduce_mean(hidden**2)
            train_op = train.GradientDescentOptimizer(0.1).minimize(loss, train.get_global_step())
            return EstimatorSpec(mode, loss=loss, train_op=train_op)

        return model_fn

    made_of(of_size(4), tmp_path).train(data, steps=1)
    for call in (lambda made: made.train(data, steps=1), lambda made: made.evaluate(evaluation)):
        with pytest.raises(errors.RestoreError) as caught:
            call(made_of(of_size(5), tmp_path))
        text = str(caught.value)
        assert text.count("has the shape") == 3
        assert "and 3 more" in text


def test_a_feature_that_a_column_needs_is_named(tmp_path):
    def model_fn(features, labels, mode):
        return tf.compat.v1.feature_column.input_layer(features, [tf.feature_column.numeric_column("age")])

    with pytest.raises(errors.BadArgumentError, match="age"):
        made_of(model_fn, tmp_path).train(lambda: ({"height": FEATURES}, LABELS), steps=1)


def test_a_folder_that_differs_from_the_configuration_is_refused(tmp_path):
    with pytest.raises(errors.BadArgumentError, match=r"set both.*'/one', in `RunConfig`: '/other'"):
        Estimator(returning(), "/one", RunConfig("/other"))


def test_batch_sizes_and_input_functions_of_a_tpu_estimator_are_checked(tmp_path):
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    config = tpu.RunConfig(model_dir=str(tmp_path), train_distribute=strategy)
    with pytest.raises(
        errors.BadArgumentError, match="train batch size 9 must be divisible by .* replicas 2"
    ):
        tpu.TPUEstimator(returning(), config=config, train_batch_size=9)
    made = tpu.TPUEstimator(returning(), config=config, train_batch_size=8)
    with pytest.raises(errors.BadArgumentError, match="input_fn must take params, which has the batch size"):
        made.train(data, steps=1)


def is_left():
    """What this process has open: threads, and files other than those of the tests themselves."""
    descriptors = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    found = [os.readlink(name) for name in descriptors if os.path.lexists(name)]
    return threading.active_count(), len(found)


class Watch(SessionRunHook):
    """Notes what is called, and fails in one of them."""

    def __init__(self, fails_in=""):
        self.calls, self._fails_in = [], fails_in

    def _note(self, name):
        self.calls.append(name)
        if name == self._fails_in:
            raise RuntimeError(f"in {name}")

    def begin(self):
        self._note("begin")

    def after_create_session(self, session, coord):
        self._note("created")

    def before_run(self, run_context):
        self._note("before")

    def after_run(self, run_context, run_values):
        self._note("after")

    def end(self, session):
        self._note("end")


@pytest.mark.parametrize("where", ["begin", "created", "before", "after", "end"])
def test_an_error_in_a_hook_reaches_the_caller_and_nothing_stays_behind(tmp_path, where):
    estimator(tmp_path).train(data, steps=1)
    for call in (
        lambda hooks: estimator(tmp_path).train(data, steps=1, hooks=hooks),
        lambda hooks: estimator(tmp_path).evaluate(evaluation, hooks=hooks),
    ):
        left = []
        for _ in range(4):
            failing, other = Watch(where), Watch()
            with pytest.raises(RuntimeError, match=f"in {where}"):
                call([failing, other])
            # As in TensorFlow: behind an error no hook's end is called.
            assert "end" not in other.calls
            left.append(is_left())
        # What a process opens once stays, and what other tests have left may end: a fault leaves more at every call.
        assert any(after <= before for before, after in itertools.pairwise(threads for threads, _ in left))
        assert any(after <= before for before, after in itertools.pairwise(files for _, files in left))


def fails_in_generator(folder):
    def rows():
        yield from zip(FEATURES[:40], LABELS[:40], strict=True)
        raise RuntimeError("in the generator")

    signature = (sx.data.TensorSpec((4,), "float32"), sx.data.TensorSpec((1,), "float32"))
    dataset = sx.data.Dataset.from_generator(rows, output_signature=signature).batch(8).prefetch(2)
    estimator(folder, save_summary_steps=1).train(lambda: dataset, steps=20)


def fails_in_listener(folder):
    class Listener(CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            if global_step_value == 2:
                raise RuntimeError("in the listener")

    made = estimator(folder, save_summary_steps=1, save_checkpoints_steps=2)
    made.train(data, steps=20, saving_listeners=[Listener()])


def fails_in_host_call(folder):
    def model_fn(features, labels, mode, params):
        def host(loss):
            raise RuntimeError("in the host_call")

        spec = returning()(features, labels, mode)
        host_call = (host, [tf.reshape(spec.loss, [1])])
        return tpu.TPUEstimatorSpec(mode, loss=spec.loss, train_op=spec.train_op, host_call=host_call)

    config = tpu.RunConfig(model_dir=str(folder), save_summary_steps=1)
    made = tpu.TPUEstimator(model_fn, config=config, train_batch_size=8)
    made.train(lambda params: data(params["batch_size"]), steps=200)


@pytest.mark.parametrize("fails", [fails_in_generator, fails_in_listener, fails_in_host_call])
def test_an_error_elsewhere_reaches_the_caller_and_nothing_stays_behind(tmp_path, fails):
    before = is_left()
    with pytest.raises(RuntimeError, match="in the "):
        fails(tmp_path)
    assert is_left() == before
    # What came before it is on the disk.
    written = read_eval_metrics(str(tmp_path))
    assert "loss" in written[min(written)]


def test_ctrl_c_ends_a_training_which_can_go_on(tmp_path):
    class Interrupt(SessionRunHook):
        def after_run(self, run_context, run_values):
            if run_context.session.global_step == 3:
                signal.raise_signal(signal.SIGINT)

    whole, parts = (
        estimator(tmp_path / name, save_checkpoints_steps=2, save_summary_steps=1)
        for name in ("whole", "parts")
    )
    whole.train(data, max_steps=5)
    before = is_left()
    with pytest.raises(KeyboardInterrupt):
        parts.train(data, max_steps=5, hooks=[Interrupt()])
    assert is_left() == before
    # As in TensorFlow, nothing is saved then.
    assert parts.get_variable_value("global_step") == 2
    assert set(read_eval_metrics(str(tmp_path / "parts"))) >= {1, 2}
    parts.train(data, max_steps=5)
    for name, value in weights(whole).items():
        assert np.array_equal(weights(parts)[name], value), name


def test_a_checkpoint_that_is_cut_off_is_passed_over(tmp_path, caplog):
    estimator(tmp_path, save_checkpoints_steps=1).train(data, steps=2)
    index = tmp_path / "model.ckpt-2" / "index.json"
    index.write_bytes(index.read_bytes()[:-1])
    estimator(tmp_path).train(data, steps=2)
    assert estimator(tmp_path).get_variable_value("global_step") == 3
    assert any("model.ckpt-2" in record.getMessage() for record in caplog.records)


def test_a_checkpoint_whose_content_is_damaged_is_passed_over_and_named_where_it_is_asked_for(
    tmp_path, caplog
):
    estimator(tmp_path, save_checkpoints_steps=1).train(data, steps=2)
    for path in (tmp_path / "model.ckpt-2" / "arrays").rglob("d/*"):
        content = bytearray(path.read_bytes())
        content[-1] ^= 255
        path.write_bytes(bytes(content))
    with pytest.raises(
        errors.DataLossError, match="checksum is wrong.*Or remove the folder '.*model.ckpt-2'"
    ):
        estimator(tmp_path).evaluate(data, steps=1, checkpoint_path=str(tmp_path / "model.ckpt-2"))
    estimator(tmp_path).train(data, steps=2)
    assert estimator(tmp_path).get_variable_value("global_step") == 3
    assert any("checksum is wrong" in record.getMessage() for record in caplog.records)


FULL = """
import resource, sys
from tests.tensorflow.estimator.test_estimator import data, estimator
from stratax.tensorflow.estimator import SessionRunHook

class Fill(SessionRunHook):
    def after_run(self, run_context, run_values):
        if run_context.session.global_step == 3:
            # As a full disk would, this keeps files from growing.
            resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))

try:
    estimator(sys.argv[1], save_checkpoints_steps=2).train(data, steps=20, hooks=[Fill()])
except Exception as error:
    # What is printed goes into a file, too.
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(f"{type(error).__name__}: {error}")
"""


@pytest.mark.processes
def test_a_full_disk_ends_a_training_with_its_last_checkpoint_whole(tmp_path):
    done = forks.run(["-c", FULL, str(tmp_path / "model")], forks.environment_of_a_task())
    assert "CheckpointError: The checkpoint could not be written" in done.stdout
    assert "Make room or choose another folder" in done.stdout
    made = estimator(tmp_path / "model")
    step = made.get_variable_value("global_step")
    made.train(data, steps=1)
    assert made.get_variable_value("global_step") == step + 1


def test_calls_leave_no_thread_and_no_file_open(tmp_path):
    made = estimator(tmp_path)
    made.train(data, steps=1)
    before = is_left()
    for _ in range(4):
        made.train(data, steps=1)
    made.evaluate(evaluation)
    assert len(list(made.predict(evaluation))) == 96
    # One that is broken off.
    predicted = made.predict(evaluation)
    next(predicted)
    predicted.close()
    assert is_left() == before
