"""What every metric of TensorFlow 1 is: names, collections, and Keras' metrics beside them."""

import jax.numpy as jnp
import keras
import numpy as np

from stratax.tensorflow.v1 import metrics
from tests.tensorflow.v1.test_scope import Step


def test_variables_are_called_as_tensorflows_and_collected():
    def body(scope, batch):
        labels = batch.astype("int32")
        pairs = [
            metrics.accuracy(labels, labels, metrics_collections=["mine"], updates_collections=("theirs",)),
            metrics.accuracy(labels, labels),
            metrics.precision(labels, labels, name="own"),
            metrics.auc(labels, batch),
            metrics.recall_at_k(labels, jnp.stack([batch, batch], -1), 2),
        ]
        assert scope.collections.get("mine") == [pairs[0][0]]
        assert scope.collections.get("theirs") == [pairs[0][1]]
        variables = scope.collections.get("metric_variables")
        assert scope.collections.get("local_variables") == variables
        assert not any(variable.trainable for variable in variables)
        assert [each.path for each in pairs[0][0].variables] == ["accuracy/total", "accuracy/count"]
        scope.run([update for _, update in pairs])

    step = Step(body)
    step(np.float32([0, 1, 1]))
    assert set(step.names) == {
        *("accuracy/total", "accuracy/count", "accuracy_1/total", "accuracy_1/count"),
        *("own/true_positives/count", "own/false_positives/count"),
        *("auc/true_positives", "auc/false_negatives", "auc/true_negatives", "auc/false_positives"),
        *("recall_at_2/true_positive_at_2", "recall_at_2/false_negative_at_2"),
    }
    assert {variable.aggregation for variable in step.state.variables.values()} == {"sum"}


def test_metrics_of_keras_stand_beside_them():
    metric = keras.metrics.Mean()

    def body(scope, batch):
        _, update = metrics.mean(batch)
        metric.update_state(batch)
        scope.run(update)

    step = Step(body)
    step(np.float32([1, 3]))
    assert float(metric.result()) == 2.0
