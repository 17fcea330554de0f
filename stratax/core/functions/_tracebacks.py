"""Switches of what tracebacks show, as `tf.debugging` has them (core layer)."""

import jax
import keras

from stratax.base import tracebacks


def disable_traceback_filtering() -> None:
    """Show all frames in tracebacks, also those of JAX and Keras, as `tf.debugging.disable_traceback_filtering`."""
    jax.config.update("jax_traceback_filtering", "off")
    keras.config.disable_traceback_filtering()


def enable_traceback_filtering() -> None:
    """Leave the frames of Stratax, JAX and Keras out of tracebacks again."""
    jax.config.update("jax_traceback_filtering", "auto")
    keras.config.enable_traceback_filtering()


def is_traceback_filtering_enabled() -> bool:
    """Return whether frames of Stratax, JAX and Keras are left out of tracebacks."""
    return tracebacks.is_filtering_enabled()
