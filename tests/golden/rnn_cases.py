"""Recurrent estimators on sequences of different lengths, with TensorFlow's names or Stratax': the same lines."""

import itertools

import numpy as np

TOKENS = [[0, 1, 2], [3], [2, 2], [1, 4, 0, 3]]
NUMBERS = [[0.1, 0.2, 0.3], [1.0], [0.5, -0.5], [0.0, 1.0, 2.0, 3.0]]
# Of the steps: their weights and labels.
WEIGHTS = [[1.0, 1.0, 1.0], [2.0], [0.5, 1.0], [1.0, 1.0, 3.0, 1.0]]
LABELS = [[0, 1, 1], [1], [0, 0], [1, 0, 1, 0]]


def sparse(tf, rows):
    """Return rows of different lengths as a SparseTensor."""
    places = [(row, step) for row, values in enumerate(rows) for step, _ in enumerate(values)]
    shape = np.array([len(rows), max(map(len, rows))])
    return tf.SparseTensor(np.array(places), np.concatenate([np.array(row) for row in rows]), shape)


def first_value(shape, dtype=None, **others):
    """Give the first value of an array, by its shape."""
    del dtype, others
    return np.sin(np.arange(1, np.prod(shape) + 1)).reshape(shape).astype(np.float32) * np.float32(0.7)


def cases(tf, sgd):
    """Return by name functions that make an estimator of a folder, each with labels."""
    fc, made = tf.feature_column, tf.estimator.experimental
    token = fc.sequence_categorical_column_with_identity("token", 5)
    columns = [fc.embedding_column(token, 2, initializer=first_value), fc.sequence_numeric_column("number")]
    context = [fc.numeric_column("context")]
    one, several = np.array([[0], [1], [1], [0]]), np.array([[0], [2], [1], [0]])

    def cells(kind, *sizes):
        options = {"kernel_initializer": first_value, "recurrent_initializer": first_value}
        return lambda: (
            [kind(size, **options) for size in sizes] if len(sizes) > 1 else kind(*sizes, **options)
        )

    simple, lstm, gru = tf.keras.layers.SimpleRNNCell, tf.keras.layers.LSTMCell, tf.keras.layers.GRUCell
    return {
        "simple": (
            lambda folder: made.RNNClassifier(
                columns, context, rnn_cell_fn=cells(simple, 3), weight_column="weight", model_dir=folder
            ),
            one,
        ),
        "lstm": (
            lambda folder: made.RNNClassifier(
                columns, rnn_cell_fn=cells(lstm, 4, 3), n_classes=3, optimizer="Adam", model_dir=folder
            ),
            several,
        ),
        "gru": (
            lambda folder: made.RNNEstimator(
                tf.estimator.RegressionHead(),
                columns,
                rnn_cell_fn=cells(gru, 3),
                optimizer=lambda: sgd(0.1),
                model_dir=folder,
            ),
            np.array([[0.5], [1.0], [0.0], [2.0]], np.float32),
        ),
        "steps": (
            lambda folder: made.RNNClassifier(
                columns,
                rnn_cell_fn=cells(simple, 3),
                return_sequences=True,
                weight_column="weights",
                model_dir=folder,
            ),
            LABELS,
        ),
        "sum of steps": (
            lambda folder: made.RNNClassifier(
                columns,
                rnn_cell_fn=cells(simple, 3),
                return_sequences=True,
                loss_reduction="sum",
                sequence_mask="there",
                model_dir=folder,
            ),
            np.array([row + [0] * (4 - len(row)) for row in LABELS]),
        ),
    }


def answers(tf, make, labels, folder):
    """Return variables, metrics and the first predictions of a short training."""

    def data():
        features = {
            "token": sparse(tf, TOKENS),
            "number": sparse(tf, NUMBERS),
            "context": np.array([[1.0], [2.0], [3.0], [4.0]], np.float32),
            "weight": np.array([[1.0], [2.0], [0.5], [1.0]], np.float32),
            "weights": sparse(tf, WEIGHTS),
        }
        given = sparse(tf, labels) if isinstance(labels, list) else labels
        return tf.data.Dataset.from_tensors((features, given))

    made = make(folder)
    made.train(lambda: data().repeat(), steps=4)
    found = {f"variable {name}": made.get_variable_value(name) for name in made.get_variable_names()}
    found |= {f"metric {name}": value for name, value in made.evaluate(data).items()}
    rows = list(itertools.islice(made.predict(data), 4))
    return found | {f"prediction {key}": np.stack([row[key] for row in rows]) for key in rows[0]}
