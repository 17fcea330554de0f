"""`keras.utils.FeatureSpace` without TensorFlow: of batches, of one example, and as a part of a model."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

X = {
    "word": np.array([["red"], ["Blue sea"], ["green"], [""], ["sea red"]], object),
    "count": np.array([[3], [4], [5], [6], [7]]),
}


def test_feature_space_takes_batches_and_one_example():
    space = tf.keras.utils.FeatureSpace(
        {"word": "string_categorical", "count": tf.keras.utils.FeatureSpace.integer_hashed(4)},
        output_mode="concat",
    )
    space.adapt({name: each[:, 0] for name, each in X.items()})
    batch = np.asarray(space({name: tf.constant(each[:, 0]) for name, each in X.items()}))
    one = np.asarray(space({"word": "red", "count": 3}))
    np.testing.assert_array_equal(one, batch[0])
    model = tf.keras.Model(space.get_inputs(), space.get_encoded_features())
    np.testing.assert_array_equal(model.predict(X, verbose=0), batch)
    with pytest.raises(errors.BadTypeError, match="only be called with a dict"):
        space([1])
