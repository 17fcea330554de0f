"""`tf.contrib.tpu.keras_to_tpu_model`: models of Keras on TPUs, before strategies were for Keras, too."""

from typing import Any

import keras

from stratax import distribute


def TPUDistributionStrategy(
    tpu_cluster_resolver: Any = None, using_single_core: bool = False
) -> distribute.TPUStrategy:
    """Return the strategy of a TPU, as `tf.contrib.tpu.TPUDistributionStrategy`.

    Args:
        tpu_cluster_resolver: Finds the TPU.
        using_single_core: Ignored.
    """
    return distribute.TPUStrategy(tpu_cluster_resolver)


def keras_to_tpu_model(model: keras.Model, strategy: Any = None) -> Any:
    """Return a model like another one, with its weights, which a strategy's devices train.

    Args:
        model: The other one. Where it is compiled, the new one is, in the same way.
        strategy: The strategy; by default that of the TPU of this host.
    """
    with (strategy or TPUDistributionStrategy()).scope():
        made = keras.models.clone_model(model)
        made.set_weights(model.get_weights())
        if model.compiled:
            made.compile_from_config(model.get_compile_config())
    return made
