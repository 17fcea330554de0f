"""`stratax launch` with parameter servers: whole jobs as users start them, whose workers come and go."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

pytestmark = [pytest.mark.stress, pytest.mark.processes]

JOB = ("--ps", "2", "--workers", "3", "--chief", "--evaluator")

BEGIN = """
import json, os, sys
task = json.loads(os.environ["TF_CONFIG"])["task"]
print("pid", os.getpid(), flush=True)
import numpy as np
import stratax.tf as tf

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
folder, steps = sys.argv[1], int(sys.argv[2])
"""

# Each gradient is 1: the weights count the steps, and the optimizer does.
FIT = (
    BEGIN
    + """
class Counting(tf.keras.layers.Layer):
    def build(self, shape):
        self.first = self.add_weight(shape=(3,), initializer="zeros", name="first")
        self.second = self.add_weight(shape=(5,), initializer="zeros", name="second")

    def call(self, x):
        return tf.reduce_sum(self.first) + tf.reduce_sum(self.second) + 0.0 * x

def made():
    model = tf.keras.Sequential([tf.keras.Input((1,)), Counting()])
    model.compile(tf.keras.optimizers.SGD(1.0), lambda y, out: -out)
    return model

x = np.zeros((8 * steps, 1), "float32")
if resolver.task_type == "evaluator":
    evaluator = tf.keras.utils.SidecarEvaluator(made(), tf.data.Dataset.from_tensors((x[:8], x[:8])), folder)
    evaluator.start()
strategy = tf.distribute.ParameterServerStrategy(resolver)
with strategy.scope():
    model = made()

class Telling(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 100:
            print("trains", flush=True)

dataset = tf.data.Dataset.from_tensor_slices((x, x)).batch(8)
model.fit(dataset, epochs=1, verbose=0, callbacks=[Telling()])
tf.train.Checkpoint(model=model).save(os.path.join(folder, "ckpt"))
print("weights", sorted({float(n) for w in model.trainable_weights for n in w.numpy()}), flush=True)
print("iterations", int(model.optimizer.iterations.numpy()), flush=True)
"""
)

COORDINATOR = (
    BEGIN
    + """
if resolver.task_type == "evaluator":
    print("evaluates", flush=True)
    sys.exit(0)
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    first, second = tf.Variable(tf.zeros([3])), tf.Variable(tf.zeros([5]))
    optimizer = tf.keras.optimizers.SGD(1.0)

@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = -tf.reduce_sum(first) - tf.reduce_sum(second)
    optimizer.apply_gradients(zip(tape.gradient(loss, [first, second]), [first, second]))

for number in range(steps):
    coordinator.schedule(step)
    if number % 100 == 99:
        coordinator.join()
    if number == 100:
        print("trains", flush=True)
coordinator.join()
print("weights", sorted({float(n) for w in (first, second) for n in w.numpy()}), flush=True)
print("iterations", int(optimizer.iterations.numpy()), flush=True)
"""
)


class Job:
    """A launcher that runs, and what it has written to both outputs."""

    def __init__(self, folder, source, steps, *options):
        program = folder / "program.py"
        program.write_text(textwrap.dedent(source))
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "stratax", "launch", *JOB, *options, program, folder, str(steps)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "STRATAX_SIMULATE": "", "PYTHONUNBUFFERED": "1"},
            )

    @property
    def lines(self):
        return self._log.read_text().splitlines()

    def wait_for(self, text, seconds=90):
        """Wait until a line has a text."""
        until = time.monotonic() + seconds
        while not any(text in line for line in self.lines):
            assert time.monotonic() < until, "\n".join(self.lines)
            assert self.process.poll() is None, "\n".join(self.lines)
            time.sleep(0.05)

    def pids(self, task):
        """The process ids of all starts of a task."""
        found = (re.match(rf"\[{task}\]\s+pid (\d+)$", line) for line in self.lines)
        return [int(each[1]) for each in found if each]

    def end(self, seconds=180):
        """Wait until the launcher has ended; give its exit code. Nothing that it started is left."""
        code = self.process.wait(seconds)
        assert not self.left(), "\n".join(self.lines)
        return code

    def left(self):
        program = str(self._log.with_name("program.py"))
        return [each for each in psutil.process_iter(["cmdline"]) if program in (each.info["cmdline"] or ())]

    def close(self):
        self.process.kill()
        self.process.wait()
        for each in self.left():
            each.kill()


@pytest.fixture
def launch(tmp_path):
    """Start jobs, and leave none behind."""
    jobs = []

    def start(*arguments):
        jobs.append(Job(tmp_path, *arguments))
        return jobs[-1]

    yield start
    for job in jobs:
        job.close()


def check(job, steps):
    """Check that the job has made each of its steps once."""
    assert job.end() == 0, "\n".join(job.lines)
    lines = [line.removeprefix("[chief 0]").strip() for line in job.lines if line.startswith("[chief 0]")]
    assert f"weights [{float(steps)}]" in lines, "\n".join(job.lines)
    assert f"iterations {steps}" in lines
    return "\n".join(job.lines)


@pytest.mark.parametrize("source", [FIT, COORDINATOR], ids=["fit", "coordinator"])
def test_workers_that_are_killed_come_again_and_others_leave(launch, source):
    job = launch(source, 3000, "--restarts", "3")
    job.wait_for("trains")
    os.kill(job.pids("worker 1")[0], signal.SIGKILL)
    os.kill(job.pids("worker 2")[0], signal.SIGTERM)
    text = check(job, 3000)
    assert "worker 1 ended with exit code 137 (killed by SIGKILL); it is started again alone in 1 s" in text
    for index in (1, 2):
        assert f"Worker /job:worker/task:{index} has left or is lost" in text
    assert re.search(r"Worker /job:worker/task:1 at \S+ takes part again", text), text
    assert len(job.pids("worker 1")) == 2
    assert len(job.pids("chief 0")) == len(job.pids("worker 2")) == len(job.pids("ps 0")) == 1


@pytest.mark.parametrize("source", [FIT, COORDINATOR], ids=["fit", "coordinator"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_job_and_leaves_nothing(launch, source, number):
    job = launch(source, 100_000)
    job.wait_for("trains")
    began = time.monotonic()
    job.process.send_signal(number)
    code = job.end(30)
    assert code == 128 + number, "\n".join(job.lines)
    assert time.monotonic() - began < 15
    assert f"{number.name} came, and all tasks were ended." in "\n".join(job.lines)


def test_an_error_of_the_chief_is_shown_last_and_is_the_jobs_code(launch):
    source = COORDINATOR.replace(
        "for number in range(steps):", "raise ValueError('not a step')\nfor number in ():"
    )
    job = launch(source, 10)
    assert job.end() == 1
    assert "stratax: chief 0 failed first, with exit code 1 (USER_ERROR). What it wrote last:" in job.lines
    assert "  ValueError: not a step" in job.lines


def test_an_evaluator_that_makes_the_strategy_is_told_what_to_do(launch):
    job = launch(COORDINATOR.replace('== "evaluator"', '== "nobody"'), 100_000)
    assert job.end() == 78
    text = "\n".join(job.lines)
    assert "evaluator 0 failed first" in text
    assert "the evaluator's part of the program comes before ParameterServerStrategy" in text
