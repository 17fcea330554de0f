"""Losses have Keras 2's reductions."""

import keras
import pytest

import stratax.tf as tf
from stratax import errors


def test_losses_have_keras_2s_reductions_and_names():
    reduction = tf.keras.losses.Reduction
    loss = tf.keras.losses.MeanSquaredError(reduction=reduction.NONE)
    assert loss([[1.0], [2.0]], [[0.0], [0.0]]).tolist() == [1.0, 4.0]
    assert float(tf.keras.losses.MeanSquaredError(reduction=reduction.AUTO)([[1.0]], [[0.0]])) == 1.0
    assert tf.losses.Reduction.AUTO == reduction.AUTO
    reduction.validate(reduction.SUM)
    with pytest.raises(errors.BadArgumentError, match="A reduction is one of"):
        reduction.validate("most")
    assert tf.keras.losses.mae is tf.keras.metrics.MAE is keras.losses.mean_absolute_error
