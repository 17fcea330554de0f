"""Hooks act behind the same steps as TensorFlow 2.15's, and print the same (`tests/golden/make_hooks.py`)."""

import importlib.util
import json
import logging
import pathlib
import types

import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from stratax.tensorflow.estimator import hooks as module
from stratax.tensorflow.estimator.hooks import _timer
from tests.tensorflow.estimator.hooks import loop

GOLDEN = pathlib.Path(__file__).parents[3] / "golden"
EXPECTED = json.loads((GOLDEN / "hooks.json").read_text())
specification = importlib.util.spec_from_file_location("hook_cases", GOLDEN / "hook_cases.py")
hook_cases = importlib.util.module_from_spec(specification)
specification.loader.exec_module(hook_cases)


class Recorder(logging.Handler):
    """Notes what happens and behind how many steps."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.step, self.now, self.found = str(folder), 0, 0.0, []

    def note(self, *what):
        self.found.append([self.step, *what])

    def emit(self, record):
        self.note(record.getMessage().replace(self.folder, "FOLDER"))

    def passed(self, session):
        self.step = session.global_step
        self.now += hook_cases.SECONDS

    def add_summary(self, summary, step):
        self.note(*[[value.tag, round(value.simple_value, 6)] for value in summary.value], step)

    def flush(self):
        pass


class Listener(module.CheckpointSaverListener):
    def __init__(self, recorder, last):
        self.recorder, self.last = recorder, last

    def begin(self):
        self.recorder.note("begin")

    def before_save(self, session, global_step_value):
        self.recorder.note("before_save", global_step_value)

    def after_save(self, session, global_step_value):
        self.recorder.note("after_save", global_step_value)
        return global_step_value == self.last

    def end(self, session, global_step_value):
        self.recorder.note("end", global_step_value)


@pytest.fixture
def recorder(tmp_path, monkeypatch):
    made = Recorder(tmp_path)
    monkeypatch.setattr(_timer, "time", types.SimpleNamespace(monotonic=lambda: made.now))
    logger = logging.getLogger("stratax")
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(made)
    yield made
    logger.removeHandler(made)
    logger.setLevel(before)


def estimator_in(folder):
    return types.SimpleNamespace(config=None, train=None, eval_dir=lambda: str(folder / "eval"))


def make(name, arguments, recorder, folder):
    if arguments.get("formatter"):
        arguments["formatter"] = lambda values: f"loss: {values['loss']:.2f}"
    if arguments.get("summary_writer"):
        arguments["summary_writer"] = recorder
    if arguments.get("listeners"):
        arguments["listeners"] = [Listener(recorder, 12 if arguments["listeners"] == "stopping" else None)]
    if name == "CheckpointSaverHook":
        arguments["checkpoint_dir"] = folder
    if name == "SummarySaverHook":
        arguments["summary_op"] = {"loss_1": "loss"}
    if name == "ProfilerHook":
        arguments["output_dir"] = folder
    if name == "make_early_stopping_hook":
        answers = iter([False, False, True])

        def should_stop():
            recorder.note("asked")
            return next(answers)

        arguments["estimator"], arguments["should_stop_fn"] = estimator_in(folder), should_stop
    return getattr(module, name)(**arguments)


def alike(found):
    """What both print differently by intention, made alike: the first word says what it is."""
    for step, *what in found:
        line = str(what[0])
        if line.startswith(("Saving timeline", "Saving profile")):
            yield [step, "profile"]
        elif line.startswith("Requesting early stopping"):
            # TensorFlow names the step before.
            yield [step, "stopping"]
        elif line.startswith("A CheckpointSaverListener"):
            yield [step, line.split("listener:")[0]]
        else:
            yield [step, *what]


@pytest.mark.parametrize("key", hook_cases.CASES)
def test_a_hook_acts_when_tensorflows_does(key, recorder, tmp_path, monkeypatch):
    name, arguments, steps, start = hook_cases.CASES[key]
    arguments = dict(arguments)
    if key == "logging, seven steps":
        # TensorFlow counts dispatches.
        arguments["every_n_iter"] *= steps
    monkeypatch.setattr("stratax.summary.trace_on", lambda **_: None)
    monkeypatch.setattr("stratax.summary.trace_export", lambda *_, **__: None)
    hook = make(name, arguments, recorder, tmp_path)
    recorder.step = start
    loop.run(
        [hook],
        hook_cases.DISPATCHES,
        steps,
        loop.Session(start),
        {"loss": lambda step: np.float32((step - 1) / 4)},
        on_dispatch=recorder.passed,
    )
    recorder.note("the end")
    expected = EXPECTED["cases"][key]
    assert list(alike(recorder.found)) == list(alike(expected))
    assert len(expected) > 1 or key.startswith("stop")


@pytest.mark.parametrize("key", hook_cases.STOPPING)
def test_early_stopping_decides_as_tensorflow_does(key, recorder, tmp_path):
    function, number, min_steps, series = hook_cases.STOPPING[key]
    writer = EventFileWriter(str(tmp_path / "eval"))
    for step, value in hook_cases.SERIES[series].items():
        summary = Summary(value=[Summary.Value(tag="metric", simple_value=value)])
        writer.add_event(Event(step=step, summary=summary))
    writer.close()
    hook = getattr(module, function)(
        estimator_in(tmp_path), "metric", number, min_steps=min_steps, run_every_secs=None, run_every_steps=1
    )
    session = loop.run([hook], 3)
    stops, *lines = EXPECTED["stopping"][key]
    asked = [line for _, line in recorder.found if not line.startswith("Requesting")]
    assert (session.global_step == 1, asked) == (stops, lines)
