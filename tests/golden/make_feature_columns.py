"""Makes `feature_columns.npz`: what TensorFlow gives for `feature_column_cases.py`. `python make_feature_columns.py`.

The file in the checkout is of TensorFlow 2.15.1, on a CPU.
"""

import json
import pathlib

import feature_column_cases as cases
import numpy as np
import tensorflow.compat.v1 as tf


def main() -> None:
    """Writes the numbers as JSON."""
    found, names = {}, {}
    for key, case in cases.CASES.items():
        with tf.Graph().as_default(), tf.Session() as session:
            names[key], made = _made(session, case)
            found |= {f"{key}|{part}": value for part, value in made.items()}
    for key, case in cases.SEQUENCES.items():
        with tf.Graph().as_default(), tf.Session() as session:
            found |= {f"sequence|{key}|{part}": value for part, value in _sequences(session, case).items()}
    shapes = {key: np.shape(value) for key, value in found.items()}
    values = np.concatenate([np.ravel(value) for value in found.values()]).astype(np.float32)
    index = np.frombuffer(json.dumps([shapes, names]).encode(), np.uint8)
    path = pathlib.Path(__file__).with_name("feature_columns.npz")
    np.savez_compressed(path, index=index, values=values, fingerprints=_fingerprints())


def _made(session, case):
    """Return the names of the variables, by column, and the results."""
    features = {
        key: tf.SparseTensor(*value.parts) if isinstance(value, cases.Sparse) else tf.constant(value)
        for key, value in case.features.items()
    }
    of_columns = {}
    function = getattr(tf.feature_column, case.function)
    result = function(features, case.columns(tf), cols_to_vars=of_columns, **case.arguments)
    variables = tf.global_variables()
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    for variable in variables:
        variable.load(cases.value_of(variable.op.name, variable.shape.as_list()), session)
    # Each result weighs differently in what is differentiated.
    weights = np.cos(np.arange(np.prod(session.run(tf.shape(result))))).astype(np.float32)
    total = tf.reduce_sum(tf.reshape(result, [-1]) * weights)
    made = {"result": result}
    trained = tf.trainable_variables()
    if trained:
        gradients = tf.gradients(total, trained)
        made |= {
            f"{v.op.name}|gradient": tf.convert_to_tensor(g) for v, g in zip(trained, gradients, strict=True)
        }
    names = {
        column if isinstance(column, str) else column.name: [v.op.name for v in values]
        for column, values in of_columns.items()
    }
    shapes = {v.op.name: v.shape.as_list() for v in variables}
    return [names, shapes, [v.op.name for v in trained]], session.run(made)


def _sequences(session, case):
    """Return a layer's results."""
    features = {key: tf.SparseTensor(*value.parts) for key, value in case.features.items()}
    result, lengths = tf.keras.experimental.SequenceFeatures(case.columns(tf))(features)
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    for variable in tf.global_variables():
        variable.load(cases.value_of("table", variable.shape.as_list()), session)
    return session.run({"result": result, "lengths": lengths})


def _fingerprints():
    """Return, for each length, the exclusive or of the strings' fingerprints, as far as TensorFlow gives them."""
    with tf.Session() as session:
        return np.array(
            [
                np.bitwise_xor.reduce(session.run(tf.strings.to_hash_bucket_fast(row, 2**63 - 1)))
                for row in cases.strings()
            ]
        )


if __name__ == "__main__":
    main()
