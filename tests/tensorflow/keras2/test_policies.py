"""Policies of TensorFlow 2.3."""

import stratax.tf as tf


def test_policies_of_tensorflow_2_3():
    experimental = tf.keras.mixed_precision.experimental
    policy = experimental.Policy("mixed_bfloat16", loss_scale=None)
    assert (policy.compute_dtype, policy.variable_dtype) == ("bfloat16", "float32")
    before = experimental.global_policy()
    experimental.set_policy(policy)
    try:
        assert tf.keras.layers.Dense(1).compute_dtype == "bfloat16"
    finally:
        experimental.set_policy(before)
