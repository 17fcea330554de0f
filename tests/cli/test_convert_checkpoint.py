"""`stratax convert checkpoint` and `savedmodel`: what Keras in TensorFlow and its Estimators saved goes on here."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from tests.cli import command as cli
from tests.golden import checkpoint_cases, conversion_cases, estimator_cases

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
CONVERSIONS = GOLDEN / "conversions"
OPTIMIZERS = {
    "keras2_adam": lambda: keras.optimizers.Adam(0.5),
    "keras2_beside": lambda: keras.optimizers.Adam(0.5),
    "keras2_older_adam": lambda: keras.optimizers.Adam(0.5, amsgrad=True),
    "keras2_older_sgd": lambda: keras.optimizers.SGD(0.5, momentum=0.9),
    "keras2_saved": lambda: keras.optimizers.SGD(0.5),
    "keras3_adam": lambda: keras.optimizers.Adam(0.5),
    "saver_adam": lambda: keras.optimizers.Adam(0.01),
    "keras3_rmsprop": lambda: keras.optimizers.RMSprop(0.5, momentum=0.5, centered=True),
}
PROGRAM = """
import keras
from tests.cli import test_convert_checkpoint as here

def make():
    return here.made({name!r})

def wide():
    return keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(7)])

def other():
    model = here.made({name!r})
    model.compile(keras.optimizers.SGD(momentum=0.9), "mse")
    return model

def variables():
    return [keras.Variable([0.0, 0.0, 0.0], name="new")]

def nothing():
    return 3
"""


def run(*arguments, command="checkpoint"):
    return cli.run(["convert", command, *map(str, arguments)])


def made(name):
    model = (conversion_cases.plain_model if name == "saver_adam" else conversion_cases.model)(keras)
    if name in OPTIMIZERS:
        model.compile(OPTIMIZERS[name](), "mse")
    return model


@pytest.fixture
def program(tmp_path, monkeypatch):
    # Paths and modules that the command adds are taken away again.
    monkeypatch.setattr(sys, "path", [*sys.path, str(pathlib.Path(__file__).parents[2])])

    def write(name=""):
        (tmp_path / "program.py").write_text(PROGRAM.format(name=name))
        return str(tmp_path / "program.py")

    yield write
    sys.modules.pop("program", None)


def report(capsys):
    return json.loads(capsys.readouterr().out)


def by_here(found):
    return {row["here"]: row for row in found["variables"] if row["here"] is not None}


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_a_model_and_its_optimizer_go_on_as_in_tensorflow(tmp_path, program, capsys, name):
    command = "savedmodel" if name.endswith("saved") else "checkpoint"
    path = program(name)
    assert (
        run(CONVERSIONS / name, tmp_path / "out", "--model", f"{path}:make", "--json", command=command) == 0
    )
    found = report(capsys)
    assert found["complete"]
    assert found["totals"]["missing"] == found["totals"]["different"] == 0
    assert {row["status"] for row in found["variables"] if "seed" in (row["here"] or "")} <= {"kept"}
    with np.load(CONVERSIONS / name / "numbers.npz") as numbers:
        golden = dict(numbers)
    model = made(name)
    restored = sx.train.Checkpoint(model=model).restore(tmp_path / "out")
    inputs, _ = conversion_cases.batches()
    predicted = np.asarray(model(inputs, training=False))
    np.testing.assert_allclose(predicted, golden["predicted"], atol=1e-6)
    # The slots, the learning rate and the count of steps are TensorFlow's.
    conversion_cases.step(tf, model)
    restored.assert_consumed()
    assert model.optimizer.iterations == golden["iterations"] + 1
    for index, variable in enumerate(model.trainable_variables):
        np.testing.assert_allclose(np.asarray(variable), golden[f"further {index}"], atol=1e-6)


def test_without_a_model_the_places_of_objects_are_the_keys(tmp_path, program):
    assert run(CONVERSIONS / "keras2_older_adam", tmp_path / "out") == 0
    model = made("keras2_older_adam")
    options = sx.train.CheckpointOptions(expect_partial=True)
    step = sx.Variable(0)
    status = sx.train.Checkpoint(model=model, step=step).restore(tmp_path / "out", options)
    model.optimizer.build(model.trainable_variables)
    status.assert_nontrivial_match()
    assert step == conversion_cases.STEPS
    with np.load(CONVERSIONS / "keras2_older_adam" / "numbers.npz") as golden:
        predicted = np.asarray(model(conversion_cases.batches()[0], training=False))
        np.testing.assert_allclose(predicted, golden["predicted"], atol=1e-6)
        conversion_cases.step(tf, model)
        np.testing.assert_allclose(np.asarray(model.trainable_variables[0]), golden["further 0"], atol=1e-6)


def test_an_export_of_keras_3_is_matched_by_name(tmp_path, program, capsys):
    keras.backend.clear_session()
    source = CONVERSIONS / "keras3_exported"
    assert run(source, tmp_path / "out", "--model", f"{program()}:make", command="savedmodel") == 0
    assert "by name" in capsys.readouterr().out
    model = made("")
    sx.train.Checkpoint(model=model).restore(tmp_path / "out").assert_consumed()
    with np.load(source / "numbers.npz") as golden:
        predicted = np.asarray(model(conversion_cases.batches()[0], training=False))
        np.testing.assert_allclose(predicted, golden["predicted"], atol=1e-6)
    assert run(source, tmp_path / "names", command="savedmodel") == 0
    assert sx.train.load_variable(tmp_path / "names", "shared/kernel").shape == (4, 3)


def test_a_checkpoint_of_the_same_program_says_what_is_wanted(tmp_path, capsys):
    model = made("keras3_adam")
    model.optimizer.build(model.trainable_variables)
    like = sx.train.Checkpoint(model=model, optimizer=model.optimizer).write(tmp_path / "like")
    assert run(CONVERSIONS / "keras3_adam", tmp_path / "out", "--like", like, "--json") == 0
    found = by_here(report(capsys))
    assert found["model/optimizer/iterations"]["status"] == "matched"
    sx.train.Checkpoint(model=model, optimizer=model.optimizer).restore(tmp_path / "out").assert_consumed()
    assert model.optimizer.iterations == conversion_cases.STEPS


def test_an_estimator_goes_on_from_a_converted_checkpoint(tmp_path):
    assert run(GOLDEN / "checkpoints" / "estimator", tmp_path / "model" / "model.ckpt-12") == 0
    model_fn, train, _ = estimator_cases.cases(tf.compat.v1, tf.estimator, tf.data)
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path / "model"))
    estimator.train(train, steps=checkpoint_cases.STEPS)
    with np.load(GOLDEN / "checkpoints" / "numbers.npz") as golden:
        for name in estimator.get_variable_names():
            found = estimator.get_variable_value(name)
            np.testing.assert_allclose(found, golden[f"further {name}"], rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("folder", ["version_1", "version_2", "shards"])
def test_names_and_values_of_a_saver_are_kept(tmp_path, capsys, folder):
    source = GOLDEN / "checkpoints" / folder / "model.ckpt-3"
    assert run(source, tmp_path / "out", "--json") == 0
    found = by_here(report(capsys))
    expected = checkpoint_cases.many(is_version_2=folder == "version_2")
    assert found.keys() == expected.keys() - {"text"}
    for name in found:
        value = sx.train.load_variable(tmp_path / "out", name)
        np.testing.assert_array_equal(value, expected[name].astype(value.dtype), err_msg=name)
    # As variables hold them here, where that loses nothing of a whole number or of a number's size.
    assert found["global_step"]["here_dtype"] == "int32"
    assert found["int64"]["here_dtype"] == "int64"
    variable = sx.Variable(np.zeros((10, 4), "float32"))
    tf.compat.v1.train.Saver({"scope/sliced": variable}).restore(None, tmp_path / "out")
    np.testing.assert_array_equal(np.asarray(variable), expected["scope/sliced"])


def test_names_are_changed_as_asked(tmp_path, program, capsys):
    source = GOLDEN / "checkpoints" / "version_1"
    (tmp_path / "names").write_text("# a comment\n\nscope/ = new/scope/\nint32=scope/whole\n")
    assert run(source, tmp_path / "a", "--map", tmp_path / "names", "--map", "bool:0=flag", "--json") == 0
    found = by_here(report(capsys))
    assert found["new/scope/sliced"]["why"] == "as asked"
    assert found["scope/whole"]["tensorflow"] == "int32"
    assert "flag" in found
    assert "bool" not in found
    # For variables of a model, by their names or their keys.
    objects = GOLDEN / "checkpoints" / "objects"
    arguments = ["--model", f"{program()}:variables", "--map", "first/bias=new", "--json"]
    assert run(objects, tmp_path / "b", *arguments) == 0
    assert report(capsys)["totals"]["matched"] == 1
    np.testing.assert_array_equal(sx.train.load_variable(tmp_path / "b", "new"), [1, 2, 3])
    arguments = [objects, tmp_path / "c", "--model", f"{program()}:variables"]
    assert run(*arguments, "--map", "first/bias=newer") == 2
    assert "no variable of the name" in capsys.readouterr().err
    for wrong, why in (
        ("other=new", "no such name"),
        ("other/=new/", "no such name"),
        ("scope/=new", "name of a scope"),
        ("scope", "OLD=NEW"),
        ("=new", "OLD=NEW"),
    ):
        assert run(source, tmp_path / "c", "--map", wrong) == 2
        assert why in capsys.readouterr().err
    assert run(source, tmp_path / "c", "--map", "int8=x", "--map", "uint8=x") == 2
    assert "the same name" in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


def test_what_does_not_match_is_reported_and_nothing_is_written(tmp_path, program, capsys):
    path = program()
    arguments = [CONVERSIONS / "keras2_saved", tmp_path / "out", "--model", f"{path}:wide"]
    assert run(*arguments) == 1
    printed = capsys.readouterr()
    assert "nothing was written" in printed.out
    assert "Say with --map" in printed.err
    assert not (tmp_path / "out").exists()
    source = GOLDEN / "checkpoints" / "objects"
    names = ["--map", "first/kernel=model/layers/0/kernel", "--partial", "--json"]
    assert run(source, tmp_path / "out", "--model", f"{path}:wide", *names) == 0
    found = report(capsys)
    kernel = by_here(found)["model/layers/0/kernel"]
    assert (kernel["status"], kernel["shape"], kernel["here_shape"]) == ("different", [2, 3], [4, 7])
    assert by_here(found)["model/layers/0/bias"]["status"] == "different"
    assert not found["complete"]


def test_an_optimizer_of_another_kind_gets_nothing(tmp_path, program, capsys):
    for name in ("keras2_adam", "keras2_older_adam", "keras3_adam", "saver_adam"):
        arguments = ["--model", f"{program(name)}:other", "--json"]
        is_by_name = name == "saver_adam"
        # A name that has no such slot may as well be another program's.
        assert run(CONVERSIONS / name, tmp_path / name, *arguments) == (0 if is_by_name else 1)
        for here, row in by_here(report(capsys)).items():
            if "optimizer" in here:
                assert row["status"] == ("kept" if is_by_name else "missing")
                assert "optimizer" in row["why"]
        sys.modules.pop("program")


def test_a_dry_run_writes_nothing(tmp_path, capsys):
    assert run(GOLDEN / "checkpoints" / "objects", "--dry-run") == 0
    assert run(GOLDEN / "checkpoints" / "objects", tmp_path / "out", "--dry-run") == 0
    assert "5 matched" in capsys.readouterr().out
    assert os.listdir(tmp_path) == []
    assert run(GOLDEN / "checkpoints" / "objects") == 2
    assert "only a --dry-run needs none" in capsys.readouterr().err


def test_a_file_of_a_checkpoint_stands_for_it(tmp_path, capsys):
    for suffix in ("index", "data-00000-of-00001"):
        source = CONVERSIONS / "keras3_adam" / f"ckpt-1.{suffix}"
        assert run(source, "--dry-run", "--json") == 0
        assert report(capsys)["source"].endswith("ckpt-1")
    shutil.copy(CONVERSIONS / "keras3_adam" / "ckpt-1.index", tmp_path / "other.index")
    assert run(tmp_path / "other.index", "--dry-run") == 1
    assert "is missing or damaged" in capsys.readouterr().err
    (tmp_path / "other.index").rename(tmp_path / "other")
    assert run(tmp_path / "other", "--dry-run") == 1
    assert "does not say which arrays" in capsys.readouterr().err


def test_wrong_calls_and_damage_say_what_is_wrong(tmp_path, program, capsys):
    source, out = GOLDEN / "checkpoints" / "objects", tmp_path / "out"
    path = program()
    own = sx.train.Checkpoint(step=sx.Variable(1)).write(tmp_path / "own")
    shutil.copytree(CONVERSIONS / "keras3_adam", tmp_path / "cut")
    data = tmp_path / "cut" / "ckpt-1.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-100])
    shutil.copytree(GOLDEN / "checkpoints" / "version_1", tmp_path / "old")
    (tmp_path / "old" / "model.ckpt-3").write_bytes((tmp_path / "old" / "model.ckpt-3").read_bytes()[:-9])
    (tmp_path / "empty").mkdir()
    (tmp_path / "of_tensorflow.py").write_text("import tensorflow.no_such_module\n")
    for arguments, code, why in (
        ([source, out, "--model", f"{tmp_path}/of_tensorflow.py:f"], 2, "stratax run -m stratax convert"),
        ([tmp_path / "nothing", out], 1, "nothing of this name"),
        ([tmp_path / "cut" / "ckpt", out], 1, "There are: ckpt-1"),
        ([tmp_path / "empty", out], 1, "a folder without a file 'checkpoint'"),
        ([path, out], 1, "no checkpoint of TensorFlow, or one that was cut off"),
        ([tmp_path / "cut", out], 1, "is cut off"),
        ([tmp_path / "old" / "model.ckpt-3", out], 1, "one that was cut off"),
        ([own, out], 2, "of Stratax, which needs no conversion"),
        ([source, own], 1, "something at OUT already"),
        ([source, f"{path}/out"], 1, "could not be written"),
        ([source, out, "--model", "nothing"], 2, "MODULE:FUNCTION"),
        ([source, out, "--model", "no_such_module:f"], 2, "a module that is not there"),
        ([source, out, "--model", f"{path}:absent"], 2, "a function that is not there"),
        ([source, out, "--model", f"{tmp_path}/other.py:f"], 2, "a file that is not there"),
        ([source, out, "--model", f"{path}:nothing"], 2, "is converted for a Keras model"),
        ([source, out, "--model", f"{path}:make", "--like", own], 2, "Give one of them"),
        ([source, out, "--like", tmp_path / "empty"], 1, "no checkpoint"),
    ):
        assert run(*arguments) == code, arguments
        assert why in capsys.readouterr().err.replace("\n", " "), arguments
    assert run(source, out, command="savedmodel") == 1
    assert "There is no SavedModel" in capsys.readouterr().err
    assert not out.exists()
    assert run(source, own, "--overwrite") == 0
    assert sx.train.load_variable(own, "step") == 7


@pytest.mark.processes
@pytest.mark.stress
def test_ctrl_c_leaves_nothing(tmp_path):
    # The model's function waits, as a large one would.
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\ndef f():\n  pathlib.Path('x').touch(); time.sleep(60)\n"
    )
    command = [sys.executable, "-m", "stratax.cli", "convert", "checkpoint"]
    arguments = [GOLDEN / "checkpoints" / "objects", "out", "--model", "slow:f"]
    started = subprocess.Popen(
        [*command, *map(str, arguments)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    while not (tmp_path / "x").exists():
        assert started.poll() is None
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    assert started.wait(30) == 130
    assert "Interrupted" in started.stderr.read()
    assert sorted(set(os.listdir(tmp_path)) - {"__pycache__"}) == ["slow.py", "x"]
