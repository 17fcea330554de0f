"""A host call needs a tensor for each argument."""

import jax.numpy as jnp
import pytest

from stratax import errors
from stratax.tensorflow.estimator import tpu


def test_a_host_call_needs_a_tensor_for_each_argument():
    with pytest.raises(errors.BadArgumentError, match="Expected: 2 of them, for step, loss. Received: 1"):
        tpu.TPUEstimatorSpec("train", host_call=(lambda step, loss: None, [jnp.zeros(1)]))
