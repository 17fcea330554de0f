"""A Keras model of two inputs and two outputs, trained by Keras and as an Estimator."""

import contextlib
import functools

import keras
import numpy as np

import stratax as sx
from stratax.tensorflow.estimator import RunConfig, model_to_estimator

random = np.random.default_rng(0)
ROWS = 64
FEATURES = {
    "a": random.normal(size=(ROWS, 4)).astype("float32"),
    "b": random.normal(size=(ROWS, 3)).astype("float32"),
}
LABELS = {
    "price": FEATURES["a"][:, :1] * 2 + FEATURES["b"][:, 1:2],
    "kind": (FEATURES["a"][:, 1] > 0).astype("int32") + (FEATURES["b"][:, 0] > 0.5).astype("int32"),
}
WEIGHTS = {
    "price": random.uniform(0.5, 2, ROWS).astype("float32"),
    "kind": random.integers(0, 3, ROWS).astype("float32"),
}
EPOCHS = 2
BATCH = 32


def built():
    """The model, compiled, always with the same weights."""
    keras.utils.set_random_seed(1)
    inputs = {"a": keras.Input((4,), name="a"), "b": keras.Input((3,), name="b")}
    hidden = keras.layers.Dense(5, "tanh", kernel_regularizer=keras.regularizers.L2(0.01), name="hidden")(
        inputs["a"]
    )
    hidden = keras.layers.BatchNormalization(momentum=0.9, name="normal")(hidden)
    hidden = keras.layers.Concatenate(name="both")([hidden, inputs["b"]])
    price = keras.layers.Dense(1, name="price")(hidden)
    kind = keras.layers.Dense(3, "softmax", name="kind")(hidden)
    model = keras.Model(inputs, [price, kind], name="model")
    model.compile(
        keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
        loss={"price": _squared, "kind": "sparse_categorical_crossentropy"},
        loss_weights={"price": 0.5, "kind": 2.0},
        metrics={
            "price": ["mae", _squared],
            "kind": ["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2)],
        },
        weighted_metrics={"kind": ["accuracy"]},
    )
    return model


def _squared(y_true, y_pred):
    """A loss and metric that has no configuration."""
    return keras.ops.mean(keras.ops.square(y_true - y_pred), axis=-1)


def by_keras(strategy=None):
    """The metrics before and after a training, predictions, and the variables."""
    with contextlib.nullcontext() if strategy is None else strategy.scope():
        model = built()
    arrays = (FEATURES, tuple(LABELS.values()), tuple(WEIGHTS.values()))
    dataset = sx.Dataset.from_tensor_slices(arrays).batch(BATCH)
    found = {"before": model.evaluate(dataset, verbose=0, return_dict=True)}
    model.fit(dataset, epochs=EPOCHS, shuffle=False, verbose=0)
    found["after"] = model.evaluate(dataset, verbose=0, return_dict=True)
    found["predicted"] = dict(zip(LABELS, model.predict(FEATURES, verbose=0), strict=True))
    return found, {each.path: np.asarray(each) for each in model.weights}


def by_estimator(folder, strategy=None):
    """The same of an Estimator that is made of the model, which has to stay as it is."""
    replicas = 1 if strategy is None else strategy.num_replicas_in_sync
    config = RunConfig(train_distribute=strategy, eval_distribute=strategy)
    model = built()
    before = [np.asarray(each) for each in model.variables]
    made = model_to_estimator(model, model_dir=str(folder), config=config)

    def data(input_context, epochs=1):
        # Of each global batch of Keras, this worker's part; each replica takes a batch of its own.
        workers, worker = input_context.num_input_pipelines, input_context.input_pipeline_id
        rows = np.arange(ROWS).reshape(-1, workers, BATCH // workers)[:, worker].ravel()
        part = keras.tree.map_structure(lambda each: each[rows], (FEATURES, WEIGHTS, LABELS))
        features = {"features": part[0], "sample_weights": part[1]}
        return sx.Dataset.from_tensor_slices((features, part[2])).repeat(epochs).batch(BATCH // replicas)

    found = {"before": made.evaluate(data)}
    made.train(functools.partial(data, epochs=EPOCHS))
    found["after"] = made.evaluate(data)
    rows = list(made.predict(lambda: sx.Dataset.from_tensor_slices(FEATURES).batch(BATCH)))
    found["predicted"] = {name: np.stack([row[name] for row in rows]) for name in LABELS}
    for each, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(np.asarray(each), value)
    assert model.compiled
    return found, {name: made.get_variable_value(name) for name in made.get_variable_names()}
