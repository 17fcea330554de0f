"""Linear models that SDCA trains, made of TensorFlow's names or of Stratax': the same lines.

Batches of one example are taken in the order of the input; of larger ones the order is drawn, and what remains the same
is where training ends.
"""

import numpy as np

ROWS = 24
random = np.random.RandomState(5)
FEATURES = {
    "id": np.array([f"example {number}" for number in range(ROWS)]),
    "x": random.randn(ROWS, 2).astype(np.float32),
    "y": random.rand(ROWS, 1).astype(np.float32),
    "kind": random.randint(0, 4, (ROWS, 1)),
    # With ids that come twice, and strings that are in no vocabulary.
    "words": np.array(["red", "green", "blue", "black"])[random.randint(0, 4, (ROWS, 3))],
    "amounts": random.rand(ROWS, 3).astype(np.float32) + 0.5,
    "w": random.randint(0, 3, (ROWS, 1)).astype(np.float32),
}
CLASSES = random.randint(0, 2, (ROWS, 1))
NUMBERS = random.randn(ROWS, 1).astype(np.float32) * 2
CASES = {
    "classifier": {"steps": 60},
    "classifier first": {"steps": 60, "is_first": True, "symmetric_l1_regularization": 0.2},
    "regressor": {"steps": 60, "symmetric_l1_regularization": 0.5, "symmetric_l2_regularization": 2.0},
    "regressor partitions": {"steps": 60, "num_loss_partitions": 3},
    "classifier end": {"steps": 300, "size": ROWS, "symmetric_l2_regularization": 0.5},
    "classifier shrunk end": {"steps": 300, "size": ROWS, "symmetric_l1_regularization": 0.4},
    "regressor end": {"steps": 300, "size": 12},
    "regressor shrunk end": {"steps": 300, "size": ROWS, "symmetric_l1_regularization": 0.7},
    "regressor adaptive end": {"steps": 300, "size": ROWS, "adaptive": True},
}


def answers(tf, name, folder):
    """Return the variables after a training, the loss of an evaluation, and the first predictions."""
    options = dict(CASES[name])
    steps, size = options.pop("steps"), options.pop("size", 1)
    is_classifier = name.startswith("classifier")
    labels = CLASSES if is_classifier else NUMBERS
    fc = tf.feature_column
    words = fc.categorical_column_with_vocabulary_list("words", ["red", "green", "blue"])
    columns = [
        fc.numeric_column("x", shape=(2,)),
        fc.bucketized_column(fc.numeric_column("y"), [0.3, 0.6]),
        fc.weighted_categorical_column(words, "amounts"),
        fc.categorical_column_with_vocabulary_list("kind", [0, 1, 2]),
        fc.crossed_column(["kind", "words"], 20),
    ]
    names = tf.compat.v1.estimator if options.pop("is_first", False) else tf.estimator
    make = names.LinearClassifier if is_classifier else names.LinearRegressor
    optimizer = tf.estimator.experimental.LinearSDCA("id", **options)
    made = make(columns, model_dir=folder, weight_column="w", optimizer=optimizer)

    def data():
        return tf.data.Dataset.from_tensor_slices((FEATURES, labels)).batch(size)

    made.train(lambda: data().repeat(), steps=steps)
    found = {f"variable {key}": made.get_variable_value(key) for key in made.get_variable_names()}
    found["loss"] = np.float64(
        made.evaluate(lambda: tf.data.Dataset.from_tensors((FEATURES, labels)))["loss"]
    )
    key = "logistic" if is_classifier else "predictions"
    found["predictions"] = np.stack([each[key] for each in made.predict(data)])
    return found
