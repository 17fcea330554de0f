"""A canned estimator with weights, several classes and both kinds of columns, and a short training of it."""

import numpy as np

import stratax as sx
import stratax.tf as tf

random = np.random.default_rng(0)
# The last batch of 8 has 3 rows, which do not divide among replicas.
ROWS = 43
FEATURES = {
    "x": random.normal(size=(ROWS, 3)).astype("float32"),
    "kind": random.integers(0, 4, ROWS),
    "word": np.array(["red", "green", "blue"])[random.integers(0, 3, ROWS)],
    "w": random.integers(0, 3, ROWS).astype("float32"),
}
LABELS = np.array(["no", "yes"])[(FEATURES["x"][:, 0] > 0).astype("int32")]


def trained(folder, strategy=None, *, is_first=False):
    """The metrics, all variables and predictions of a short training."""
    replicas = 1 if strategy is None else strategy.num_replicas_in_sync
    config = tf.estimator.RunConfig(tf_random_seed=1, train_distribute=strategy, eval_distribute=strategy)
    fc, estimators = tf.feature_column, tf.compat.v1.estimator if is_first else tf.estimator
    word = fc.categorical_column_with_vocabulary_list("word", ["red", "green"])
    kind = fc.categorical_column_with_identity("kind", 4)
    x = fc.numeric_column("x", shape=(3,))
    made = estimators.DNNLinearCombinedClassifier(
        str(folder),
        linear_feature_columns=[x, word],
        dnn_feature_columns=[x, fc.embedding_column(kind, 2)],
        dnn_optimizer=tf.compat.v1.train.AdagradOptimizer(0.1),
        dnn_hidden_units=[4],
        weight_column="w",
        label_vocabulary=["no", "yes"],
        config=config,
    )

    def data(input_context=None):
        dataset = sx.data.Dataset.from_tensor_slices((FEATURES, LABELS))
        if input_context is not None:
            dataset = dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
        # Each replica consumes a batch of its own.
        return dataset.batch(8 // replicas)

    made.train(data)
    found = made.evaluate(data)
    return found, {name: made.get_variable_value(name) for name in made.get_variable_names()}
