"""A training begins with the values of another one's checkpoint: the same as in TensorFlow, which wrote the numbers."""

import functools
import logging
import os
import pathlib

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.tensorflow.estimator import Estimator, EstimatorSpec, RunConfig, VocabInfo, WarmStartSettings
from tests.cluster.processes import run_tasks
from tests.golden import checkpoint_cases

v1 = tf.compat.v1
GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "checkpoints" / "numbers.npz"


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as found:
        return dict(found)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    made = checkpoint_cases.cases(v1, tf.estimator, tf.data, str(tmp_path_factory.mktemp("cases")))
    made.old().train(made.input_fn, steps=1)
    return made


def check(made, golden, name):
    wanted = {key.partition(" ")[2]: value for key, value in golden.items() if key.startswith(f"{name} ")}
    assert made.get_variable_names() == sorted(wanted)
    for key, value in wanted.items():
        np.testing.assert_array_equal(made.get_variable_value(key), value, err_msg=f"{name} {key}")


@pytest.mark.parametrize("name", ["rows", "columns", "trained", "momentum"])
def test_settings_mean_what_they_mean_in_tensorflow(cases, golden, name):
    made = cases.new(name, cases.settings[name])
    made.train(cases.input_fn, steps=1)
    check(made, golden, name)


def test_init_from_checkpoint_is_tensorflows_and_only_the_first_training_begins(cases, golden):
    made = cases.initialized()
    made.train(cases.input_fn, steps=1)
    check(made, golden, "initialized")


# A small model of its own: quick to build, and every kind of variable.


def model_fn(features, labels, mode, params):
    with v1.variable_scope(params.get("scope", "net")):
        hidden = v1.layers.dense(features, 3, name="hidden")
        hidden = v1.layers.batch_normalization(hidden, training=mode == "train")
        logits = v1.layers.dense(hidden, params.get("units", 2), name="logits")
    if (begin := params.get("begin")) is not None:
        begin()
    average = None
    if mode == "train":
        average = v1.train.ExponentialMovingAverage(0.5).apply(v1.trainable_variables())
    if mode == "infer":
        return EstimatorSpec(mode, predictions=logits)
    loss = tf.reduce_mean(logits**2)
    train_op = v1.train.AdamOptimizer(params.get("rate", 0.1)).minimize(loss, v1.train.get_global_step())
    scaffold = params["scaffold"](mode) if "scaffold" in params else None
    return EstimatorSpec(mode, loss=loss, train_op=tf.group(train_op, average), scaffold=scaffold)


def data():
    inputs = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
    return sx.Dataset.from_tensor_slices((inputs, np.zeros(8, "float32"))).batch(4)


def estimator(folder, warm_start_from=None, strategy=None, **params):
    config = RunConfig(tf_random_seed=params.pop("seed", 1), train_distribute=strategy)
    return Estimator(model_fn, str(folder), config, params, warm_start_from)


def values(made):
    return {name: made.get_variable_value(name) for name in made.get_variable_names()}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    made = estimator(tmp_path_factory.mktemp("trained"))
    made.train(data, steps=2)
    return made


def begun(folder, **arguments):
    """What a training with a rate of 0 begins with."""
    made = estimator(folder, **{"rate": 0.0, "seed": 7} | arguments)
    made.train(data, steps=1)
    return values(made)


TRAINED = ["hidden/kernel", "hidden/bias", "logits/kernel", "logits/bias"]
NORMAL = ["batch_normalization/beta", "batch_normalization/gamma"]


def test_another_estimators_folder_gives_its_trained_variables(tmp_path, trained):
    old, new = values(trained), begun(tmp_path, warm_start_from=trained.model_dir)
    for name in [*TRAINED, *NORMAL]:
        np.testing.assert_array_equal(new[f"net/{name}"], old[f"net/{name}"])
    # What is not trained begins as it is made.
    assert new["global_step"] == 1
    np.testing.assert_allclose(new["beta1_power"], 0.9**2, rtol=1e-6)


def test_the_second_training_goes_on_from_its_own_checkpoint(tmp_path, trained):
    made = estimator(tmp_path, trained.model_dir)
    made.train(data, steps=1)
    first = values(made)
    again = estimator(tmp_path, trained.model_dir, rate=0.0)
    again.train(data, steps=1)
    assert again.get_variable_value("global_step") == 2
    np.testing.assert_array_equal(again.get_variable_value("net/logits/kernel"), first["net/logits/kernel"])


def test_evaluation_and_prediction_begin_with_it_too(tmp_path, trained):
    made = estimator(tmp_path, WarmStartSettings(trained.model_dir, [".*"]))
    assert made.evaluate(data)["loss"] == trained.evaluate(data)["loss"]
    first = next(made.predict(data, yield_single_examples=False))
    np.testing.assert_array_equal(first, next(trained.predict(data, yield_single_examples=False)))


def test_every_replica_begins_with_it(tmp_path, trained):
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(2)])
    new = begun(tmp_path, strategy=strategy, warm_start_from=trained.model_dir)
    for name in TRAINED:
        np.testing.assert_array_equal(new[f"net/{name}"], values(trained)[f"net/{name}"])


def test_a_checkpoint_of_another_model_names_three_variables(tmp_path, trained):
    path = trained.latest_checkpoint()
    wide = estimator(tmp_path / "wide", units=5)
    with pytest.raises(
        errors.RestoreError, match=r"logits/bias has the shape \(5,\) in the model and \(2,\)"
    ):
        wide.evaluate(data, checkpoint_path=path)
    other = estimator(tmp_path / "other", scope="other")
    message = r"(other/\S+ is not in the checkpoint; ){2}other/\S+ is not in the checkpoint and \d+ more"
    with pytest.raises(errors.RestoreError, match=message):
        other.evaluate(data, checkpoint_path=path)
    with pytest.raises(errors.RestoreError, match="say in a VocabInfo how their rows follow"):
        estimator(tmp_path / "wide", warm_start_from=path, units=5).train(data, steps=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vars_to_warm_start": "mine"}, "matches none of the model's trained variables"),
        ({"vars_to_warm_start": ["net", "nothing"]}, "matches none of the model's variables"),
        ({"vars_to_warm_start": "("}, "must be a regular expression"),
        ({"vars_to_warm_start": 3}, "must be a regular expression, a list of them"),
        ({"var_name_to_prev_var_name": {"mine": "net"}}, r"var_name_to_prev_var_name has names .*\['mine'\]"),
        (
            {"var_name_to_vocab_info": {"mine": None}},
            "var_name_to_vocab_info has names of variables that are not",
        ),
    ],
)
def test_settings_that_fit_nothing_are_errors(tmp_path, trained, settings, message):
    made = estimator(tmp_path, WarmStartSettings(trained.model_dir, **settings))
    with pytest.raises(errors.BadArgumentError, match=message):
        made.train(data, steps=1)


def test_a_warm_start_in_a_model_fn(tmp_path, trained, caplog):
    caplog.set_level(logging.INFO, "stratax")
    new = begun(tmp_path, begin=functools.partial(tf.train.warm_start, trained.model_dir, "net/hidden"))
    np.testing.assert_array_equal(new["net/hidden/kernel"], values(trained)["net/hidden/kernel"])
    assert not np.array_equal(new["net/logits/kernel"], values(trained)["net/logits/kernel"])
    assert "Warm-started 2 variables." in caplog.text
    with pytest.raises(errors.ModelScopeError, match="model_fn"):
        tf.train.warm_start(trained.model_dir)


class TestVocabularies:
    @pytest.fixture
    def files(self, tmp_path):
        (tmp_path / "old.txt").write_text("a\nb\nc\n")
        (tmp_path / "new.txt").write_text("c\nd\na")
        (tmp_path / "twice.txt").write_text("a\nb\na\n")
        return tmp_path

    def started(self, trained, files, **given):
        info = {
            "new_vocab": files / "new.txt",
            "new_vocab_size": 3,
            "num_oov_buckets": 0,
            "old_vocab": files / "old.txt",
        } | given
        settings = WarmStartSettings(trained.model_dir, None, {"net/hidden/bias": VocabInfo(**info)})
        return begun(files / "model", warm_start_from=settings)

    def test_a_vector_has_rows_only(self, trained, files):
        old, new = values(trained), self.started(trained, files)
        wanted = [old["net/hidden/bias"][2], 0, old["net/hidden/bias"][0]]
        np.testing.assert_array_equal(new["net/hidden/bias"], np.float32(wanted))

    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            ({"old_vocab": "/nowhere.txt"}, errors.FileMissingError, "nowhere"),
            ({"new_vocab_size": 4}, errors.BadArgumentError, "new_vocab is too short. Expected: 4 lines"),
            ({"old_vocab_size": 4}, errors.BadArgumentError, "old_vocab is too short. Expected: 4 lines"),
            (
                {"new_vocab_size": 2},
                errors.RestoreError,
                "does not fit its VocabInfo. Expected: 2 in dimension 0",
            ),
            ({"axis": 1}, errors.RestoreError, "vectors with axis=0"),
            ({"axis": 2}, errors.BadArgumentError, "only supported values for the axis"),
            ({"new_vocab_size": 0}, errors.BadArgumentError, "new_vocab_size must be positive"),
            ({"backup_initializer": 1}, errors.BadTypeError, "backup_initializer must be a function"),
        ],
    )
    def test_what_does_not_fit_is_an_error(self, trained, files, given, error, message):
        with pytest.raises(error, match=message):
            self.started(trained, files, **given)

    def test_an_entry_that_comes_twice_is_an_error(self, trained, files):
        with pytest.raises(
            errors.BadArgumentError, match=r"an entry more than once. Received: b'a', 2 times"
        ):
            self.started(trained, files, old_vocab=files / "twice.txt")

    def test_a_vocabulary_of_another_model_is_an_error(self, trained, files):
        (files / "long.txt").write_text("x\ny\nz\na\n")
        with pytest.raises(errors.RestoreError, match="more entries than the checkpoint"):
            self.started(trained, files, old_vocab=files / "long.txt")


def test_settings_are_checked():
    with pytest.raises(errors.BadArgumentError, match="MUST be set"):
        WarmStartSettings("")
    with pytest.raises(errors.BadTypeError, match="a path or a WarmStartSettings"):
        estimator("unused", warm_start_from=3)


def test_keras_layers_are_found_by_their_names(tmp_path):
    def keras_model_fn(features, mode, params):
        with v1.variable_scope(params["scope"]):
            logits = keras.layers.Dense(2, name="dense")(features)
        if params["scope"] == "new":
            tf.train.init_from_checkpoint(str(tmp_path / "old"), {"old/": "new/"})
        loss, step = tf.reduce_mean(logits**2), v1.train.get_global_step()
        train_op = v1.train.GradientDescentOptimizer(0.0).minimize(loss, step)
        return EstimatorSpec(mode, loss=loss, train_op=train_op)

    found = []
    for scope in ("old", "new"):
        made = Estimator(keras_model_fn, str(tmp_path / scope), params={"scope": scope})
        made.train(lambda: data().map(lambda x, _: x), steps=1)
        found.append(made.get_variable_value(f"{scope}/dense/kernel"))
    np.testing.assert_array_equal(*found)


def test_a_checkpoint_of_objects_is_found_by_the_variables_names(tmp_path):
    layer = keras.layers.Dense(3, name="hidden")
    layer.build((None, 4))
    layer.bias.assign([1.0, 2.0, 3.0])
    path = sx.train.Checkpoint(layer=layer).write(tmp_path / "objects")
    assert sorted(name for name, _ in sx.train.list_variables(path)) == ["layer/bias", "layer/kernel"]
    settings = WarmStartSettings(
        path, "net/hidden", None, {"net/hidden/bias": "hidden/bias", "net/hidden/kernel": "layer/kernel"}
    )
    new = begun(tmp_path / "model", warm_start_from=settings)
    assert new["net/hidden/bias"].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(new["net/hidden/kernel"], np.asarray(layer.kernel))


def test_a_scaffold_fn_of_a_tpu_begins_on_every_core(tmp_path, trained):
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(2)])

    def tpu_model_fn(features, labels, mode, params):
        def scaffold_fn():
            tf.train.init_from_checkpoint(trained.model_dir, {"net/hidden/": "net/hidden/"})
            return v1.train.Scaffold(saver=v1.train.Saver(max_to_keep=1))

        spec = model_fn(features, labels, mode, {"rate": 0.0})
        return tf.estimator.tpu.TPUEstimatorSpec(
            mode, loss=spec.loss, train_op=spec.train_op, scaffold_fn=scaffold_fn
        )

    config = tf.estimator.tpu.RunConfig(
        model_dir=str(tmp_path),
        train_distribute=strategy,
        tpu_config=tf.estimator.tpu.TPUConfig(iterations_per_loop=2),
    )
    made = tf.estimator.tpu.TPUEstimator(tpu_model_fn, config=config, train_batch_size=4)
    made.train(lambda params: data().unbatch().repeat().batch(params["batch_size"]), steps=2)
    old, new = values(trained), values(made)
    np.testing.assert_array_equal(new["net/hidden/kernel"], old["net/hidden/kernel"])
    assert not np.array_equal(new["net/logits/kernel"], old["net/logits/kernel"])
    assert [path.name for path in tmp_path.glob("model.ckpt-*")] == ["model.ckpt-2"]


PROGRAM = """
import sys
import numpy as np
import stratax as sx
import stratax.tf as tf
from tests.tensorflow.estimator.test_warm_start import estimator, data, values

settings, folder = sys.argv[1:3]
drawn = np.random.default_rng()
vocabulary = tf.estimator.VocabInfo(
    folder + "/new.txt", 3, 0, folder + "/old.txt", backup_initializer=lambda shape: drawn.normal(size=shape)
)
settings = tf.estimator.WarmStartSettings(settings, "net/hidden", {"net/hidden/bias": vocabulary})
made = estimator(folder + "/model", settings, sx.distribute.MultiWorkerMirroredStrategy(), rate=0.0)
seen = []

class Look(tf.estimator.SessionRunHook):
    def after_create_session(self, session, coord):
        seen.append(session.run(self.variables))

    def begin(self):
        self.variables = tf.compat.v1.trainable_variables("net/hidden")

made.train(data, steps=1, hooks=[Look()])
report(seen=[each.tolist() for each in seen[0]])
"""


@pytest.mark.programs
@pytest.mark.processes
def test_what_is_drawn_for_new_entries_is_the_chiefs_in_every_worker(tmp_path, trained):
    (tmp_path / "old.txt").write_text("a\nb\nc\n")
    (tmp_path / "new.txt").write_text("c\nd\na\n")
    results = run_tasks(2, PROGRAM, trained.model_dir, str(tmp_path))
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    first, second = (dict(enumerate(result.report["seen"])) for result in results)
    assert first == second
    bias = next(each for each in first.values() if np.shape(each) == (3,))
    old = values(trained)["net/hidden/bias"]
    np.testing.assert_allclose([bias[0], bias[2]], [old[2], old[0]])
    assert bias[1] != 0


def scaled(first):
    def model_fn(features, labels, mode):
        weight = tf.compat.v1.get_variable("x", initializer=first)
        given = tf.reshape(features["number"], [-1])
        found = {"y": weight * given, "name": tf.strings.as_string(given)}
        step = tf.compat.v1.assign_add(tf.compat.v1.train.get_global_step(), 1)
        predictions = found if mode == "infer" else found["y"]
        return tf.estimator.EstimatorSpec(mode, predictions, tf.reduce_sum(found["y"]), step)

    return model_fn


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    made = tf.estimator.Estimator(scaled(42.0), str(folder / "model"))
    made.train(numbers, steps=10)
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn({"number": np.zeros(2, np.float32)})
    return made.export_saved_model(folder / "exports", receiver)


def numbers():
    return tf.data.Dataset.from_tensors({"number": np.ones(2, np.float32)}).repeat()


@pytest.mark.parametrize(
    "start",
    [
        lambda path: path,
        os.fsdecode,
        lambda path: tf.estimator.WarmStartSettings(os.path.join(os.fsdecode(path), "variables")),
        lambda path: tf.estimator.WarmStartSettings(os.path.join(os.fsdecode(path), "variables/variables")),
    ],
    ids=["bytes", "text", "its folder", "its checkpoint"],
)
def test_a_training_begins_with_the_values_of_an_export(tmp_path, exported, start):
    made = tf.estimator.Estimator(scaled(36.0), str(tmp_path), warm_start_from=start(exported))
    assert made.evaluate(numbers, steps=1)["loss"] == 84.0
    made.train(numbers, steps=5)
    # TensorFlow 2.15: the values of the export, and a step of its own.
    assert (made.get_variable_value("x"), made.get_variable_value("global_step")) == (42.0, 5)


def test_the_values_of_an_export_are_listed_as_those_of_a_checkpoint(exported):
    path = os.path.join(os.fsdecode(exported), "variables", "variables")
    assert ("x", []) in [(name, list(shape)) for name, shape in tf.train.list_variables(path)]
    assert tf.train.load_variable(path, "x") == 42.0
    # No checkpoint that a training would go on from.
    assert tf.train.latest_checkpoint(os.fsdecode(exported)) is None


def test_an_exports_signature_gives_tensors_of_text_and_numbers(exported):
    found = tf.saved_model.load(exported.decode()).signatures["serving_default"](tf.constant([1.0, 2.0]))
    assert all(isinstance(each, tf.Tensor) for each in found.values())
    assert found["y"].numpy().tolist() == [42.0, 84.0]
    assert found["name"].numpy().tolist() == [b"1.000000", b"2.000000"]
