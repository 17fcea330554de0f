"""Keras runs on JAX, or importing Stratax says why not."""

import keras
import pytest

from stratax import errors
from stratax.startup import backend


def test_another_backend_is_refused_with_what_to_do(monkeypatch):
    backend.choose_backend()
    monkeypatch.setattr(keras.config, "backend", lambda: "tensorflow")
    with pytest.raises(errors.BackendError, match="Set KERAS_BACKEND=jax in the environment"):
        backend.choose_backend()
