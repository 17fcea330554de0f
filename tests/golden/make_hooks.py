"""Makes `hooks.json`: when TensorFlow's hooks act and what they print. `python make_hooks.py`, with TensorFlow.

The file in the checkout is of TensorFlow 2.15.1, the last one that has Estimator.
"""

import json
import logging
import os
import pathlib
import tempfile
import types

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import hook_cases
import numpy as np
import tensorflow as modern
import tensorflow.compat.v1 as tf
from tensorflow.python.training import basic_session_run_hooks, training_util
from tensorflow.python.util import deprecation
from tensorflow_estimator.python.estimator import early_stopping


class Recorder(logging.Handler):
    """Notes what happens and behind how many steps."""

    def __init__(self):
        super().__init__()
        self.step, self.now, self.found, self.folder = 0, 0.0, [], ""

    def note(self, *what):
        self.found.append([self.step, *what])

    def emit(self, record):
        self.note(record.getMessage().replace(self.folder or "FOLDER", "FOLDER"))

    # A writer of summaries.

    def add_summary(self, summary, step):
        message = tf.Summary.FromString(summary) if isinstance(summary, bytes) else summary
        self.note(*[[value.tag, round(value.simple_value, 6)] for value in message.value], int(step))

    def add_session_log(self, log, step):
        pass

    def flush(self):
        pass


class Counting(tf.train.SessionRunHook):
    """Counts steps and lets time pass; the first hook."""

    def __init__(self, recorder, steps):
        self.recorder, self.steps = recorder, steps

    def after_run(self, run_context, run_values):
        self.recorder.step += self.steps
        self.recorder.now += hook_cases.SECONDS


class Listener(tf.train.CheckpointSaverListener):
    def __init__(self, recorder, last=None):
        self.recorder, self.last = recorder, last

    def begin(self):
        self.recorder.note("begin")

    def before_save(self, session, step):
        self.recorder.note("before_save", int(step))

    def after_save(self, session, step):
        self.recorder.note("after_save", int(step))
        return step == self.last

    def end(self, session, step):
        self.recorder.note("end", int(step))


def run(name, arguments, steps, start):
    recorder = Recorder()
    basic_session_run_hooks.time = types.SimpleNamespace(time=lambda: recorder.now)
    logger = logging.getLogger("tensorflow")
    logger.setLevel(logging.INFO)
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        recorder.folder = folder
        # As `create_global_step` makes it, but for its first value.
        global_step = tf.get_variable(
            "global_step",
            initializer=np.int64(start),
            trainable=False,
            collections=[tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.GLOBAL_STEP],
        )
        before = tf.identity(global_step)
        # What hooks read, which in a real step is done long before the step's last update.
        read = training_util._get_or_create_global_step_read()
        loss = tf.identity((tf.cast(before, tf.float32) + steps - 1) / 4, name="loss")
        with tf.control_dependencies([loss, read]):
            train = global_step.assign_add(steps)
        logger.handlers = [recorder]
        hook = make(name, dict(arguments), recorder, folder, steps)
        recorder.step = start
        # The saver that the hook looks for.
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
        creator = tf.train.ChiefSessionCreator()
        with tf.train.MonitoredSession(creator, [Counting(recorder, steps), hook]) as session:
            for _ in range(hook_cases.DISPATCHES):
                if session.should_stop():
                    break
                session.run(train)
        recorder.note("the end")
        logger.handlers = []
    others = ("Graph was finalized", "Running local_init_op", "Done running local_init_op", "Using ")
    return [each for each in recorder.found if not str(each[1]).startswith(others)]


def make(name, arguments, recorder, folder, steps):
    if arguments.get("formatter"):
        arguments["formatter"] = lambda values: f"loss: {values['loss']:.2f}"
    if arguments.get("summary_writer"):
        arguments["summary_writer"] = recorder
    if arguments.get("listeners"):
        last = 12 if arguments["listeners"] == "stopping" else None
        arguments["listeners"] = [Listener(recorder, last)]
    if name == "CheckpointSaverHook":
        arguments["checkpoint_dir"] = folder
    if name == "SummarySaverHook":
        arguments["summary_op"] = tf.summary.scalar(
            "loss", tf.get_default_graph().get_tensor_by_name("loss:0")
        )
    if name == "ProfilerHook":
        arguments["output_dir"] = folder
    if name == "make_early_stopping_hook":
        asked = []

        def should_stop():
            asked.append(recorder.step)
            recorder.note("asked")
            return len(asked) == 3

        arguments["should_stop_fn"] = should_stop
        return early_stopping.make_early_stopping_hook(estimator_in(folder), **arguments)
    hook = getattr(tf.train, name)(**arguments)
    if hasattr(hook, "_set_steps_per_run"):
        # As TPUEstimator does.
        hook._set_steps_per_run(steps)
    return hook


def estimator_in(folder):
    return modern.estimator.Estimator(model_fn=lambda features: None, model_dir=folder)


def stopping(function, number, min_steps, series):
    """What the function says of a series, and what it prints."""
    recorder = Recorder()
    logger = logging.getLogger("tensorflow")
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        writer = tf.summary.FileWriter(os.path.join(folder, "eval"))
        for step, value in hook_cases.SERIES[series].items():
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="metric", simple_value=value)]), step)
        writer.close()
        hook = getattr(early_stopping, function)(estimator_in(folder), "metric", number, min_steps=min_steps)
        logger.handlers = [recorder]
        stops = hook._should_stop_fn()
        logger.handlers = []
    return [stops, *(line for _, line in recorder.found)]


def main():
    """Writes the numbers as JSON."""
    deprecation._PRINT_DEPRECATION_WARNINGS = False
    found = {
        "cases": {key: run(*case) for key, case in hook_cases.CASES.items()},
        "stopping": {key: stopping(*case) for key, case in hook_cases.STOPPING.items()},
    }
    lines = [
        f'"{part}": {{\n'
        + ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in cases.items())
        + "\n}"
        for part, cases in found.items()
    ]
    path = pathlib.Path(__file__).with_name("hooks.json")
    path.write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
