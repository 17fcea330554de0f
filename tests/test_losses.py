"""A program computes the same each time if it is made steady, and its losses are compared with another run's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import losses, programs, steady
from tools.losses import Compared, Noted, read_compared, read_notes, write_compared
from tools.program_runs import STOPPED, WELL, Ended

ROOT = Path(__file__).resolve().parents[1]
DATA = """
import numpy as np
import tensorflow as tf
x = np.arange(40).reshape(20, 2).astype("float32") / 40
y = (x.sum(1, keepdims=True) > 1).astype("float32")
"""
FIT = """
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(1)]
)
model.compile("adam", "mse")
model.fit(x, y, batch_size=4, verbose=0)
"""
LOOP = """
optimizer = tf.keras.optimizers.SGD(0.1)
w = tf.Variable(tf.random.normal([2, 1]))
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(x, w) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))
for compiled in (False, True):
    for _ in range(3):
        (tf.function(step) if compiled else step)()
"""
ESTIMATOR = """
def model_fn(features, labels, mode):
    hidden = tf.compat.v1.layers.dense(features["x"], 3, activation=tf.nn.relu)
    hidden = tf.compat.v1.layers.dropout(hidden, 0.5, training=True)
    loss = tf.reduce_mean((tf.compat.v1.layers.dense(hidden, 1) - labels) ** 2)
    step = tf.compat.v1.train.get_global_step()
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=tf.compat.v1.train.AdamOptimizer(0.01).minimize(loss, step)
    )
def input_fn():
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).shuffle(30).batch(4)
tf.estimator.Estimator(model_fn).train(input_fn, max_steps=4)
"""
# What TensorFlow 2.15 (all of them) and 1.15 (the Estimator's) note.
OF_TENSORFLOW = {
    FIT: (
        "fit",
        [
            6.411241338355467e-05,
            0.0008721047197468579,
            0.13961859047412872,
            0.2973392903804779,
            0.3768163025379181,
        ],
    ),
    LOOP: (
        "tape",
        [5.4005842208862305, 4.121313571929932, 3.149376153945923, 2.41093826, 1.84990382, 1.42365336],
    ),
    ESTIMATOR: (
        "estimator",
        [0.0009402618743479252, 0.002090747933834791, 0.4365502595901489, 0.7976957559585571],
    ),
}
ROWS = """
[[repository]]
name = "somebody/small"
tree = "small"
kind = "loop"

[[repository.program]]
file = "same.py"

[[repository.program]]
file = "other.py"
before = ["same.py"]

[[repository.program]]
file = "endless.py"

[[repository.program]]
file = "none.py"

[[repository.program]]
file = "stops.py"

[[repository.program]]
file = "own.py"
own = "is Python 2"
"""
LOSSES = """
import tensorflow as tf
weight = tf.Variable(1.0)
for i in range({n}):
    with tf.GradientTape() as tape:
        loss = weight * {loss}
    tape.gradient(loss, [weight])
"""
# Nobody's TensorFlow: what the tool needs of one, in a few lines.
TENSORFLOW = """
import types
__version__ = {version!r}
class GradientTape:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        pass
    def gradient(self, target, sources):
        return target
def Variable(value):
    return value
def reduce_sum(value):
    return value
def executing_eagerly():
    return True
nest = types.SimpleNamespace(flatten=lambda value: [value])
float32 = "float32"
class _Anything:
    def __getattr__(self, name):
        if name in ("keras", "callbacks", "train", "compat", "v1", "contrib"):
            return self
        if name in ("Callback", "SessionRunHook"):
            return object
        if name == "enable_resource_variables":
            return lambda: None
        raise AttributeError(name)
keras = compat = _Anything()
"""


def run(folder, program, *options):
    (folder / "program.py").write_text(DATA + program)
    notes = folder / "notes"
    subprocess.run(
        [sys.executable, "-m", "stratax", "run", ROOT / "tools" / "steady.py", "program.py"],
        cwd=folder,
        env={**os.environ, steady.NOTES: str(notes), "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
    )
    return read_notes(notes)[0]


@pytest.mark.parametrize("program", [FIT, LOOP, ESTIMATOR], ids=["fit", "loop", "estimator"])
def test_losses_are_noted_and_are_those_of_tensorflow(tmp_path, program):
    place, expected = OF_TENSORFLOW[program]
    found = run(tmp_path, program)
    assert {name for name, seen in found.items() if seen} == {place}
    assert list(found[place].values()) == pytest.approx(expected, rel=1e-5)


def test_first_values_follow_from_the_shape_alone():
    values = steady.first_values((300, 5))
    assert (values == steady.first_values([300, 5])).all()
    assert 0.9 < (values.T @ values).diagonal().mean() < 1.1
    assert abs(steady.chances((3,))).max() <= 1
    assert steady.chances(()).shape == ()


def test_random_calls_of_a_program_give_the_same_and_inputs_keep_their_order(tmp_path):
    run(
        tmp_path,
        """
import random
assert np.random.default_rng().random() == np.random.default_rng(0).random()
assert random.random() == random.Random(0).random()
assert [int(i) for i in tf.data.Dataset.range(9).shuffle(9)] == list(range(9))
assert [int(i) for i in tf.random.shuffle(tf.range(9))] == list(range(9))
for draw in (tf.random.normal, tf.random.uniform, tf.random.truncated_normal):
    assert (np.asarray(draw([3, 2])) == np.asarray(draw([3, 2]))).all()
drawn = np.asarray(tf.random.uniform([1000], 2, 5, dtype=tf.int32))
assert set(drawn) == {2, 3, 4}
logits = np.log(np.float32([[0.1, 0.9], [0.5, 0.5]]))
first, second = (np.asarray(tf.random.categorical(logits, 200)) for _ in "ab")
assert (first == second).all() and 0.8 < first[0].mean() < 0.97 and 0.4 < first[1].mean() < 0.6
image = np.arange(12, dtype="float32").reshape(2, 2, 3)
assert (np.asarray(tf.image.random_flip_left_right(image)) == image).all()
assert tf.image.random_crop(image, [1, 2, 3]).shape == (1, 2, 3)
assert (np.asarray(tf.nn.dropout(image, 0.9)) == image).all()
""",
    )


def test_a_program_for_tpus_does_without(tmp_path):
    run(
        tmp_path,
        """
optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
assert tf.compat.v1.tpu.CrossShardOptimizer(optimizer) is optimizer
resolver = tf.distribute.cluster_resolver.TPUClusterResolver("nowhere")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
assert tf.distribute.TPUStrategy(resolver).num_replicas_in_sync == 1
tpu = tf.compat.v1.estimator.tpu
config = tpu.RunConfig(cluster=resolver, tpu_config=tpu.TPUConfig(iterations_per_loop=2))
def model_fn(features, labels, mode, params):
    assert params["batch_size"] == 8
    loss = tf.reduce_mean((tf.compat.v1.layers.dense(features, 1) - labels) ** 2)
    train_op = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
    return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
def input_fn(params):
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(params["batch_size"], drop_remainder=True)
estimator = tpu.TPUEstimator(model_fn, config=config, use_tpu=True, train_batch_size=8)
estimator.train(input_fn, max_steps=2)
""",
    )


def test_the_global_step_grows_behind_what_reads_it():
    class Operation:
        def __init__(self, kind, *inputs, inside=None):
            self.type, self.inputs, self.inside, self.behind = kind, inputs, inside, []

        def _add_control_inputs(self, operations):
            self.behind += operations

        def _get_control_flow_context(self):
            return self.inside

    step, other = object(), object()
    first = Operation("AssignVariableOp", step)
    reads = [Operation("ReadVariableOp", step), Operation("ReadVariableOp", step)]
    rest = [Operation("ReadVariableOp", other), Operation("ReadVariableOp", step, inside="a branch")]
    grows = Operation("AssignAddVariableOp", step)
    last = Operation("ReadVariableOp", step)

    class Graph:
        def get_operations(self):
            return [first, *reads, *rest, grows, last]

    steady.raise_behind_readers(Graph(), step)
    assert grows.behind == reads
    assert not any(each.behind for each in [first, *reads, *rest, last])


WELL_ENDED = Ended(WELL, "", 1.0)


def noted(ended=WELL_ENDED, version="1.2", **seen):
    places = {place: {} for place in ("estimator", "fit", "batch", "tape")}
    return Noted({**places, **seen}, version, ended)


def test_losses_are_compared_at_the_steps_that_both_have():
    ours = noted(estimator={2: 2.0, 4: 3.0, 6: 9.0}, tape={1: 5.0})
    theirs = noted(estimator={1: 7.0, 2: 2.0, 3: 7.0, 4: 3.03, 5: 7.0, 6: 1.0}, tape={1: 1.0})
    assert losses.compare(ours, theirs, 2) == Compared(steps=2, difference=9.9e-3, version="1.2")
    # The next place, if one has noted nothing at the first.
    assert losses.compare(noted(tape={1: 5.0}), theirs, 2).difference == 4


def test_a_loss_near_zero_is_compared_with_the_largest():
    assert losses.compare(noted(fit={1: 1.0, 2: 2e-9}), noted(fit={1: 1.0, 2: 1e-9}), 9).difference == 1e-6
    assert losses.compare(noted(fit={1: 0.0}), noted(fit={1: 0.0}), 9).difference == 0


@pytest.mark.parametrize(
    ("ours", "theirs", "why"),
    [
        (noted(Ended(STOPPED, "KeyError: 1", 1.0)), noted(tape={1: 1.0}), "KeyError: 1"),
        (noted(tape={1: 1.0}), noted(), "computes no loss"),
        (noted(tape={1: 1.0}), noted(Ended(STOPPED, "OSError", 1.0)), "OSError"),
    ],
)
def test_why_nothing_is_compared_is_said(ours, theirs, why):
    assert losses.compare(ours, theirs, 9).why == why


def test_what_is_known_is_kept_in_a_file(tmp_path):
    known = {"b": Compared(steps=3, difference=0.0, version="2.15"), "a": Compared(why="stops")}
    write_compared(tmp_path / "f.json", known)
    assert read_compared(tmp_path / "f.json") == known
    assert list(json.loads((tmp_path / "f.json").read_text())) == ["a", "b"]
    assert read_compared(tmp_path / "none.json") == {}


def test_what_is_known_of_the_list_is_of_its_programs():
    keys = {row.key for row in programs.read_programs(programs.ROWS)}
    assert set(read_compared()) <= keys


def test_programs_are_run_in_both_and_compared(tmp_path, capsys):
    tree = tmp_path / "trees" / "small"
    tree.mkdir(parents=True)
    call = LOSSES
    for name, text in {
        "same.py": call.format(n=3, loss="(2.0 + i)"),
        "other.py": call.format(n=3, loss="(2.0 + (i > 0) * 0.5 * (tf.__version__ == '2.3'))"),
        "endless.py": call.format(n="10**9", loss="2.0"),
        "none.py": "import tensorflow",
        "stops.py": "import no_such_module",
        "own.py": "print 1",
    }.items():
        (tree / name).write_text(text)
    (tmp_path / "rows.toml").write_text(ROWS)
    python = tmp_path / "theirs" / "bin" / "python"
    (tmp_path / "packages" / "tensorflow").mkdir(parents=True)
    (tmp_path / "packages" / "tensorflow" / "__init__.py").write_text(TENSORFLOW.format(version="2.3"))
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}/packages:$PYTHONPATH exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    kept = tmp_path / "f.json"
    options = ["--tensorflow", str(python), "--json", str(kept), "--logs", str(tmp_path / "logs")]
    assert losses.main([str(tmp_path / "trees"), str(tmp_path / "rows.toml"), *options]) == 0

    found = {key.removeprefix("small/"): each for key, each in read_compared(kept).items()}
    assert (
        found.pop("stops.py").why == "TensorFlow 2.3: ModuleNotFoundError: No module named 'no_such_module'"
    )
    assert found == {
        "same.py": Compared(steps=3, difference=0.0, version="2.3"),
        "other.py": Compared(steps=3, difference=0.2, version="2.3"),
        "endless.py": Compared(steps=10, difference=0.0, version="2.3"),
        "none.py": Compared(why="computes no loss"),
        "own.py": Compared(why="is Python 2"),
    }
    assert "[2/6] small/other.py ... 2.0e-01 over 3 steps, 2.3" in capsys.readouterr().out
    assert (tmp_path / "logs" / "small_stops.py.theirs.log").exists()
