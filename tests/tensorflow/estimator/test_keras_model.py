"""A compiled Keras model as an Estimator gives what Keras gives, under every strategy, and what TensorFlow gives."""

import pathlib
import shutil

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.tensorflow.estimator import model_to_estimator
from tests.cluster.processes import run_tasks
from tests.golden import keras_cases
from tests.stressed import but
from tests.tensorflow.estimator.keras_model import by_estimator, by_keras

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "checkpoints"
STRATEGIES = {
    "one device": lambda: None,
    "mirrored": lambda: sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(8)]),
    "central": lambda: sx.distribute.CentralStorageStrategy([f"/cpu:{index}" for index in range(1, 5)]),
}
PROGRAM = """
import sys
import numpy as np
import stratax as sx
from tests.tensorflow.estimator.keras_model import by_estimator

options = sx.distribute.CommunicationOptions(timeout_seconds=60.0)
strategy = sx.distribute.MultiWorkerMirroredStrategy(communication_options=options)
found, variables = by_estimator(sys.argv[1], strategy)
report(found={when: {name: np.asarray(value).tolist() for name, value in found[when].items()} for when in found},
       variables={name: np.asarray(value).tolist() for name, value in variables.items()})
"""


def check(estimators, keras_own):
    found, variables = estimators
    wanted, weights = keras_own
    for when in ("before", "after"):
        # Losses of outputs are no metrics of an Estimator, as in TensorFlow.
        names = {name for name in wanted[when] if name not in ("price_loss", "kind_loss")}
        assert found[when].keys() == names | {"global_step"}
        for name in names:
            np.testing.assert_allclose(found[when][name], wanted[when][name], rtol=1e-5, err_msg=name)
    assert [found[when]["global_step"] for when in ("before", "after")] == [0, 4]
    assert weights.keys() <= variables.keys()
    for name, value in weights.items():
        np.testing.assert_allclose(variables[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
    for name, value in wanted["predicted"].items():
        np.testing.assert_allclose(found["predicted"][name], value, rtol=1e-5, atol=1e-6, err_msg=name)


class TestStrategies:
    """Seconds each: Keras' programs and the Estimator's of all modes are compiled for each strategy."""

    @pytest.mark.parametrize("strategy", but(lambda strategy: strategy == "mirrored", STRATEGIES))
    def test_all_numbers_are_keras_own(self, strategy, tmp_path):
        made = STRATEGIES[strategy]()
        check(by_estimator(tmp_path, made), by_keras(made))

    @pytest.mark.stress
    @pytest.mark.processes
    def test_two_workers_with_four_replicas_are_eight(self, tmp_path):
        wanted = by_keras(STRATEGIES["mirrored"]())
        results = run_tasks(2, PROGRAM, str(tmp_path), devices=4)
        assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
        for result in results:
            check((result.report["found"], result.report["variables"]), wanted)


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN / "numbers.npz") as found:
        return {name.removeprefix("keras "): found[name] for name in found if name.startswith("keras ")}


class TestTensorFlow:
    def check(self, made, golden):
        found = made.evaluate(lambda: keras_cases.input_fn(tf.data, weighted=False, repeat=False))
        for name, value in golden.items():
            kind, _, rest = name.partition(" ")
            if kind == "metric":
                np.testing.assert_allclose(found[rest], value, rtol=1e-5, err_msg=name)
            elif kind == "variable":
                np.testing.assert_allclose(
                    made.get_variable_value(rest), value, rtol=1e-5, atol=1e-6, err_msg=name
                )
        assert found.keys() == {"accuracy", "mae", "loss", "global_step"}
        rows = made.predict(lambda: keras_cases.input_fn(tf.data, weighted=False, repeat=False))
        predicted = np.stack([row["kind"] for row in rows])
        np.testing.assert_allclose(predicted, golden["predicted"], rtol=1e-5, atol=1e-6)

    def test_a_training_gives_its_numbers(self, tmp_path, golden):
        make = tf.keras.estimator.model_to_estimator
        made = make(keras_cases.model(keras, keras.optimizers), model_dir=str(tmp_path))
        made.train(lambda: keras_cases.input_fn(tf.data, weighted=True), steps=keras_cases.STEPS)
        self.check(made, golden)

    def test_its_checkpoint_is_evaluated(self, tmp_path, golden):
        # An evaluation writes its summaries there.
        shutil.copytree(GOLDEN / "keras", tmp_path, dirs_exist_ok=True)
        made = model_to_estimator(keras_cases.model(keras, keras.optimizers), model_dir=tmp_path)
        self.check(made, golden)


def small(**arguments):
    inputs = keras.Input((2,))
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Dropout(0.5, seed=3)(inputs)))
    model.compile(**{"optimizer": "sgd", "loss": "mse"} | arguments)
    return model


def data():
    return sx.Dataset.from_tensors((np.ones((4, 2), "float32"), np.zeros((4, 1), "float32"))).repeat(3)


def test_dropout_and_its_generator_go_on_as_in_keras(tmp_path):
    keras.utils.set_random_seed(1)
    model = small(optimizer=keras.optimizers.Adam(0.1))
    made = model_to_estimator(model, model_dir=tmp_path)
    made.train(data)
    model.fit(data(), verbose=0)
    for name, value in zip(("kernel", "bias"), model.layers[-1].get_weights(), strict=True):
        np.testing.assert_allclose(made.get_variable_value(f"dense/{name}"), value, rtol=1e-5)


def test_a_model_that_is_made_again_finds_its_variables(tmp_path):
    first = model_to_estimator(small(), model_dir=tmp_path)
    first.train(data, steps=1)
    second = model_to_estimator(small(), model_dir=tmp_path)
    assert second.train(data, steps=1).get_variable_value("global_step") == 2
    assert "dense/kernel" in second.get_variable_names()
    assert "sgd/iteration" in second.get_variable_names()
    # Predictions have the name that the output has in the model.
    model = small()
    (row, *_) = model_to_estimator(model, model_dir=tmp_path).predict(data)
    assert list(row) == model.output_names


def test_a_sequential_a_nested_and_a_saved_model(tmp_path):
    inner = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, "relu", name="inner")], name="part")
    inner.compile("sgd", "mse")
    model = keras.Sequential([keras.Input((2,)), inner, keras.layers.Dense(1, name="last")])
    model.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
    model.save(tmp_path / "model.keras")
    wanted = model.evaluate(data(), verbose=0, return_dict=True)
    for made in (model_to_estimator(model), model_to_estimator(keras_model_path=tmp_path / "model.keras")):
        found = made.evaluate(data)
        assert found.pop("global_step") == 0
        assert found == pytest.approx(wanted, rel=1e-5)
        assert "last/kernel" in made.train(data).get_variable_names()
    assert inner.compiled
    assert np.asarray(model.optimizer.iterations) == 0


def test_a_saved_model_may_have_classes_that_keras_does_not_know(tmp_path):
    class Tripled(keras.layers.Layer):
        def call(self, inputs):
            return 3 * inputs

    model = keras.Sequential([keras.Input((2,)), Tripled()])
    model.compile("sgd", "mse")
    model.save(tmp_path / "model.keras")
    made = model_to_estimator(
        keras_model_path=str(tmp_path / "model.keras"), custom_objects={"Tripled": Tripled}
    )
    (row, *_) = made.predict(data)
    assert row["tripled"].tolist() == [3, 3]


def test_plain_functions_and_half_precision(tmp_path):
    def model():
        layers = [keras.layers.Lambda(lambda x: 2 * x), keras.layers.Dense(1, dtype="mixed_float16")]
        # Not built: it is by the first batch.
        made = keras.Sequential(layers)
        made.compile(
            keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1)),
            loss=lambda y, x: keras.ops.mean(keras.ops.square(y - x), axis=-1),
        )
        return made

    def named():
        return data().map(lambda x, y: ({"any": x}, y))

    model_to_estimator(model(), model_dir=tmp_path).train(named, steps=2)
    made = model_to_estimator(model(), model_dir=tmp_path).train(named, steps=1)
    assert made.get_variable_value("global_step") == 3
    names = made.get_variable_names()
    assert {"sequential/dense/kernel", "loss_scale_optimizer/dynamic_scale", "sgd/iteration"} <= set(names)
    assert np.isfinite(made.evaluate(named)["loss"])


class Doubled(keras.Model):
    """A model of its own class, with a layer that is built when it is called."""

    def __init__(self, units=1, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.dense = keras.layers.Dense(units)

    def call(self, inputs):
        return {"once": self.dense(inputs), "twice": 2 * self.dense(inputs)}

    def get_config(self):
        return {"units": self.units}


def test_a_subclass_keeps_its_weights_if_it_has_some(tmp_path):
    model = Doubled(1)
    model.compile("sgd", {"once": "mse", "twice": "mse"})
    built = np.asarray(model(np.ones((1, 2), "float32"))["once"])

    def two():
        return data().map(lambda x, y: (x, {"once": y, "twice": y}))

    made = model_to_estimator(model, model_dir=tmp_path / "built", checkpoint_format="saver")
    (row, *_) = made.predict(two)
    np.testing.assert_allclose(row["once"], built[0], rtol=1e-6)
    np.testing.assert_allclose(row["twice"], 2 * built[0], rtol=1e-6)
    fresh = Doubled(1)
    fresh.compile("sgd", {"once": "mse", "twice": "mse"})
    assert np.isfinite(
        model_to_estimator(fresh, model_dir=tmp_path / "fresh").train(two).evaluate(two)["loss"]
    )


def test_metrics_are_renamed_and_outputs_exported():
    model = small(metrics=["mae", keras.metrics.MeanSquaredError(name="error")])
    names = {"mae": "mine", "error": "other"}
    exported = {model.output_names[0]: lambda value: value}
    made = model_to_estimator(model, metric_names_map=names, export_outputs=exported)
    assert made.evaluate(data).keys() == {"mine", "other", "loss", "global_step"}
    made = model_to_estimator(model, metric_names_map={"mae": "mine"})
    with pytest.raises(
        errors.BadArgumentError, match="metric_names_map must have the names of the compiled metrics"
    ):
        made.evaluate(data)
    made = model_to_estimator(model, export_outputs={"none": lambda value: value})
    with pytest.raises(
        errors.BadArgumentError, match=r"export_outputs has names of outputs .* Received: \['none'\]"
    ):
        made.evaluate(data)


def test_the_model_dir_of_the_argument_comes_first(tmp_path):
    config = sx.estimator.RunConfig(model_dir=str(tmp_path / "config"))
    assert model_to_estimator(small(), config=config).model_dir == str(tmp_path / "config")
    made = model_to_estimator(small(), model_dir=tmp_path / "argument", config=config)
    assert made.model_dir == str(tmp_path / "argument")


class TestWrong:
    def test_arguments(self):
        model = small()
        with pytest.raises(errors.BadArgumentError, match="Either keras_model or keras_model_path"):
            model_to_estimator()
        with pytest.raises(errors.BadArgumentError, match="but not both"):
            model_to_estimator(model, "model.keras")
        with pytest.raises(errors.BadArgumentError, match="checkpoint_format must be one of"):
            model_to_estimator(model, checkpoint_format="h5")
        with pytest.raises(errors.BadTypeError, match="keras_model must be a keras.Model"):
            model_to_estimator(3)
        with pytest.raises(errors.BadArgumentError, match="has not been compiled yet"):
            model_to_estimator(keras.Sequential([keras.layers.Dense(1)]))

    def test_a_model_that_can_not_be_copied(self):
        class Own(keras.Model):
            def __init__(self, given):
                super().__init__()
                self.given = given

            def call(self, inputs):
                return inputs

        model = Own(object())
        model.compile("sgd", "mse")
        with pytest.raises(errors.BadArgumentError, match="A copy of the model 'own' can't be made"):
            model_to_estimator(model)

    def test_features_and_labels(self):
        inputs = {"a": keras.Input((2,), name="a"), "b": keras.Input((2,), name="b")}
        outputs = [keras.layers.Dense(1, name=f"of_{name}")(inputs[name]) for name in inputs]
        model = keras.Model(inputs, outputs)
        model.compile("sgd", ["mse", "mse"])
        made = model_to_estimator(model)
        ones = np.ones((4, 2), "float32")
        with pytest.raises(
            errors.BadArgumentError, match=r"do not cover the inputs of the model.*missing are \['b'\]"
        ):
            next(made.predict(lambda: sx.Dataset.from_tensors({"a": ones, "c": ones})))
        with pytest.raises(
            errors.BadArgumentError, match=r"labels do not cover the outputs.*missing are \['of_b'\]"
        ):
            made.evaluate(lambda: sx.Dataset.from_tensors(({"a": ones, "b": ones}, {"of_a": ones[:, :1]})))


def test_an_optimizer_of_tensorflow_1_trains_as_in_keras(tmp_path):
    def make():
        model = keras.Sequential(
            [keras.Input((2,), name="x"), keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")]
        )
        model.compile(tf.compat.v1.train.MomentumOptimizer(0.01, 0.9), "mse")
        return model

    x, y = np.arange(8, dtype=np.float32).reshape(4, 2), np.ones((4, 1), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices(({"x": x}, y)).batch(2).repeat(2)
    estimator = model_to_estimator(make(), model_dir=str(tmp_path))
    estimator.train(lambda: dataset)
    (kernel,) = (name for name in estimator.get_variable_names() if name.endswith("kernel"))
    # As `fit` on TensorFlow 2.15 gives it.
    np.testing.assert_allclose(
        estimator.get_variable_value(kernel).ravel(), [-0.2831794, -0.5622532], rtol=1e-5
    )
