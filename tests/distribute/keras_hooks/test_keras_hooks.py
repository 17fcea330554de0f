"""Where Keras asks for a strategy."""

import keras

from stratax.distribute.keras_hooks import _keras_hooks


def test_hooks_are_put_in_place_once():
    functions = [
        (keras.layers.BatchNormalization, "__init__"),
        (keras.layers.BatchNormalization, "_moments"),
        (keras.metrics.Mean, "update_state"),
        (keras.Variable, "_initialize_layout"),
        (keras.optimizers.Optimizer, "apply"),
    ]
    before = [getattr(owner, name) for owner, name in functions]
    _keras_hooks.install()
    assert [getattr(owner, name) for owner, name in functions] == before
