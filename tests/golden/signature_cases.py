"""Estimators that are exported, for TensorFlow's Estimator and for Stratax': the same lines.

`cases(tf)` gives, by name, a function of a folder that makes an Estimator, and the function of what its export is fed.
"""

import functools

import numpy as np

X = np.linspace(-1, 1, 24).reshape(8, 3).astype(np.float32)
WORDS = np.array(["a", "b", "c", "a"] * 2)
LABELS = np.array([0, 1] * 4, np.int32)
NAMES = ["no", "yes", "maybe"]
# Of the model function below.
OWN = (
    "predictions",
    "one tensor",
    "a PredictOutput",
    "a PredictOutput of one tensor",
    "scores",
    "classes",
    "classes and scores",
    "numbers",
    "numbers of one column",
    "several",
    "several of classes",
    "none that is named as the default",
)


def _export_outputs(tf, name, y, text):
    export = tf.estimator.export
    both = export.ClassificationOutput(y, text)
    return {
        "predictions": None,
        "one tensor": None,
        "a PredictOutput": {"a": export.PredictOutput({"y": y, "text": text})},
        "a PredictOutput of one tensor": {"serving_default": export.PredictOutput(y)},
        "scores": {"c": export.ClassificationOutput(scores=y)},
        "classes": {"c": export.ClassificationOutput(classes=text)},
        "classes and scores": {"c": both},
        "numbers": {"r": export.RegressionOutput(y[:, 0])},
        "numbers of one column": {"r": export.RegressionOutput(y[:, :1])},
        "several": {
            "serving_default": both,
            "r": export.RegressionOutput(y[:, 0]),
            "p": export.PredictOutput({"text": text}),
        },
        "several of classes": {"serving_default": both, "c": both, "again": export.PredictOutput(y)},
        "none that is named as the default": {"p": export.PredictOutput({"text": text, "y": y})},
    }[name]


def _model_fn(tf, name):
    def model_fn(features, labels, mode):
        x = features["x"] if isinstance(features, dict) else features
        matrix = tf.compat.v1.get_variable("matrix", [3, 2], initializer=tf.compat.v1.ones_initializer())
        y = tf.matmul(tf.reshape(x, [-1, 3]), matrix)
        text = tf.gather(tf.constant(NAMES), tf.argmax(y, axis=1))
        if mode == tf.estimator.ModeKeys.PREDICT:
            predictions = y if name == "one tensor" else {"y": y, "chosen": tf.argmax(y, axis=1)}
            outputs = _export_outputs(tf, name, y, tf.expand_dims(text, 1))
            return tf.estimator.EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
        loss = tf.reduce_mean(tf.square(y))
        step = tf.compat.v1.train.get_global_step()
        train_op = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    return model_fn


def input_fn(tf, labels=LABELS):
    """Gives what all of them are trained with."""
    return tf.data.Dataset.from_tensor_slices(({"x": X, "word": WORDS}, labels)).batch(4)


def _receivers(tf):
    export, placeholder = tf.estimator.export, tf.compat.v1.placeholder
    spec = {"x": tf.io.FixedLenFeature([3], tf.float32), "word": tf.io.VarLenFeature(tf.string)}

    def numbers_and_text():
        fed = {"x": placeholder(tf.float32, [None, 3]), "word": placeholder(tf.string, [None])}
        return export.ServingInputReceiver(fed, fed)

    def one_tensor():
        x = placeholder(tf.float32, [None, 3])
        return export.TensorServingInputReceiver(x, x)

    def one_tensor_by_name():
        x = placeholder(tf.float32, [None, 3])
        return export.ServingInputReceiver({"x": x}, {"given": x})

    def one_text():
        text = placeholder(tf.string, [])
        x = tf.io.decode_raw(text, tf.float32)
        return export.ServingInputReceiver({"x": tf.reshape(x, [1, 3])}, {"bytes": text})

    def two_texts():
        fed = {"a": placeholder(tf.string, [None]), "b": placeholder(tf.string, [None])}
        x = tf.reshape(tf.io.decode_raw(fed["a"], tf.float32), [-1, 3])
        length = tf.cast(tf.strings.length(fed["b"]), tf.float32)
        return export.ServingInputReceiver({"x": x * tf.expand_dims(length, 1)}, fed)

    def sizes_that_are_not_known():
        fed = {"rows": placeholder(tf.float32, [None, None, 3])}
        return export.ServingInputReceiver({"x": tf.reduce_sum(fed["rows"], axis=1)}, fed)

    def alternatives():
        serialized = placeholder(tf.string, [None])
        found = tf.io.parse_example(serialized, {"x": tf.io.FixedLenFeature([3], tf.float32)})
        return export.ServingInputReceiver(found, {"examples": serialized}, {"parsed": dict(found)})

    def alternative_of_one_tensor():
        serialized = placeholder(tf.string, [None])
        found = tf.io.parse_example(serialized, {"x": tf.io.FixedLenFeature([3], tf.float32)})
        return export.ServingInputReceiver(found, serialized, {"parsed": found["x"], "same": serialized})

    raw = {"x": np.zeros([1, 3], np.float32), "n": np.zeros([1], np.int64)}
    tensors = {key: tf.constant(value) for key, value in raw.items()}
    return {
        "Examples": export.build_parsing_serving_input_receiver_fn(spec),
        "four Examples": export.build_parsing_serving_input_receiver_fn(spec, default_batch_size=4),
        "arrays": lambda: export.build_raw_serving_input_receiver_fn(tensors)(),
        "four arrays": lambda: export.build_raw_serving_input_receiver_fn(tensors, default_batch_size=4)(),
        "numbers and text": numbers_and_text,
        "one tensor": one_tensor,
        "one tensor by name": one_tensor_by_name,
        "one text": one_text,
        "two texts": two_texts,
        "sizes that are not known": sizes_that_are_not_known,
        "alternatives": alternatives,
        "alternative of one tensor": alternative_of_one_tensor,
    }


def _canned(tf):
    made, fc = tf.estimator, tf.feature_column
    columns = [
        fc.numeric_column("x", shape=(3,)),
        fc.indicator_column(fc.categorical_column_with_vocabulary_list("word", ["a", "b"])),
    ]
    two = {"a": LABELS, "b": X[:, 0]}
    heads = [made.BinaryClassHead(name="a"), made.RegressionHead(name="b")]
    units, text = {"hidden_units": [2]}, np.array(["no", "yes"] * 4)
    return {
        "DNNClassifier of 2": (made.DNNClassifier, {**units}, LABELS),
        "DNNClassifier of 3": (made.DNNClassifier, {**units, "n_classes": 3}, LABELS),
        "DNNClassifier of words": (
            made.DNNClassifier,
            {**units, "n_classes": 3, "label_vocabulary": NAMES},
            text,
        ),
        "DNNClassifier of two words": (made.DNNClassifier, {**units, "label_vocabulary": NAMES[:2]}, text),
        "DNNRegressor": (made.DNNRegressor, {**units}, X[:, 0]),
        "DNNRegressor of two numbers": (made.DNNRegressor, {**units, "label_dimension": 2}, X[:, :2]),
        "LinearClassifier": (made.LinearClassifier, {}, LABELS),
        "LinearClassifier of 3": (made.LinearClassifier, {"n_classes": 3}, LABELS),
        "LinearRegressor": (made.LinearRegressor, {}, X[:, 0]),
        "MultiHead": (made.DNNEstimator, {**units, "head": made.MultiHead(heads)}, two),
        "MultiLabelHead": (made.DNNEstimator, {**units, "head": made.MultiLabelHead(2)}, np.eye(2)[LABELS]),
        "PoissonRegressionHead": (
            made.DNNEstimator,
            {**units, "head": made.PoissonRegressionHead()},
            X[:, 0] + 1,
        ),
        "LogisticRegressionHead": (
            made.LinearEstimator,
            {"head": made.LogisticRegressionHead()},
            X[:, 0] / 2 + 0.5,
        ),
    }, columns


def _keras_model(tf):
    inputs = tf.keras.Input((3,), name="x")
    hidden = tf.keras.layers.Dense(2, name="hidden")(inputs)
    outputs = [tf.keras.layers.Dense(1, name="one")(hidden), tf.keras.layers.Dense(2, name="two")(hidden)]
    model = tf.keras.Model(inputs, outputs)
    model.compile(loss="mse", optimizer="sgd")
    return model


def cases(tf):
    """Return the Estimators, and what they are fed: functions by name."""
    receivers = _receivers(tf)

    def trained(folder, make, labels=LABELS):
        made = make(model_dir=str(folder))
        # Nothing to do where it has been: what trains alike may share a folder.
        made.train(functools.partial(input_fn, tf, labels), max_steps=1)
        return made

    def own(name):
        return functools.partial(trained, make=functools.partial(tf.estimator.Estimator, _model_fn(tf, name)))

    found = {f"{name} from Examples": (own(name), receivers["Examples"]) for name in OWN}
    found |= {f"several from {name}": (own("several"), each) for name, each in receivers.items()}
    found["several of classes from arrays"] = (own("several of classes"), receivers["arrays"])
    found["predictions from one tensor"] = (own("predictions"), receivers["one tensor"])
    canned, columns = _canned(tf)
    for name, (kind, given, labels) in canned.items():
        which = "linear_feature_columns" if "Combined" in name else "feature_columns"
        make = functools.partial(kind, **{which: columns}, **given)
        for fed in ("Examples", *(["numbers and text"] if name == "DNNClassifier of 3" else [])):
            found[f"{name} from {fed}"] = (
                functools.partial(trained, make=make, labels=labels),
                receivers[fed],
            )

    def of_keras(folder):
        def data():
            labels = {"one": X[:, :1], "two": X[:, :2]}
            return tf.data.Dataset.from_tensor_slices(({"x": X}, labels)).batch(4)

        made = tf.keras.estimator.model_to_estimator(_keras_model(tf), model_dir=folder)
        made.train(data, steps=1)
        return made

    found["a Keras model from one tensor by name"] = (of_keras, receivers["one tensor by name"])
    return found
