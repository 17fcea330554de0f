"""A linear model, trained as the guide on distributed training has it."""

import pytest

import stratax.tf as tf


def test_the_linear_regressor_of_the_guide_on_distributed_training():
    strategy = tf.distribute.MirroredStrategy()
    config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)
    regressor = tf.estimator.LinearRegressor(
        feature_columns=[tf.feature_column.numeric_column("feats")], optimizer="SGD", config=config
    )

    def input_fn():
        dataset = tf.data.Dataset.from_tensors(({"feats": [1.0]}, [1.0]))
        return dataset.repeat(1000).batch(10)

    regressor.train(input_fn=input_fn, steps=10)
    found = regressor.evaluate(input_fn=input_fn, steps=10)
    assert sorted(found) == ["average_loss", "global_step", "label/mean", "loss", "prediction/mean"]
    assert found["loss"] == pytest.approx(found["average_loss"])
    # As in the guide.
    assert found["average_loss"] == pytest.approx(1.4210855e-14, abs=1e-12)
    assert found["prediction/mean"] == pytest.approx(1.0, abs=1e-6)
