"""Policies of dtypes as TensorFlow 2.3 writes them (keras2 layer)."""

import keras


class Policy(keras.DTypePolicy):
    """Which dtype layers compute in and which their variables have, as `tf.keras.mixed_precision.experimental.Policy`.

    Args:
        name: For example "mixed_bfloat16".
        loss_scale: No effect on the policy: `compile` scales the loss for "mixed_float16" by itself.
    """

    def __init__(self, name: str, loss_scale: object = "auto") -> None:
        super().__init__(name)
