"""The one setting that importing Stratax makes: Keras runs on JAX (lowest layer)."""

import json
import os
import pathlib
import sys

from stratax import errors


def choose_backend() -> None:
    """Makes Keras run on its JAX backend if it is not imported yet.

    Raises:
        BackendError: If Keras is imported already, or was told to be, with another backend.
    """
    keras = sys.modules.get("keras")
    if keras is None:
        chosen = os.environ.setdefault("KERAS_BACKEND", "jax")
        if chosen == "jax":
            return
        how = f"the environment variable KERAS_BACKEND is {chosen!r}"
    else:
        chosen = keras.config.backend()
        if chosen == "jax":
            return
        how = f"Keras was imported before Stratax and runs on {chosen!r}{_configured()}"
    raise errors.BackendError(
        f"Stratax needs Keras on its JAX backend. Expected: KERAS_BACKEND=jax, or none. Received: {how}. Set "
        "KERAS_BACKEND=jax in the environment, or import stratax before keras."
    )


def _configured() -> str:
    """Where a backend other than Keras' default came from, if its configuration file says so."""
    path = pathlib.Path(os.environ.get("KERAS_HOME", pathlib.Path.home() / ".keras")) / "keras.json"
    try:
        return f" (as {path} says)" if "backend" in json.loads(path.read_text()) else ""
    except (OSError, ValueError):
        return ""
