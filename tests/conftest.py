"""What every test shares: eight simulated devices, and the folder of shared data."""

import os
import pathlib
import signal

# Before anything imports JAX or Keras. A process has one number of devices, so every test gets eight; the tests
# that need another number or kind start a process of their own.
os.environ["KERAS_BACKEND"] = "jax"
os.environ.setdefault("STRATAX_SIMULATE", "cpu:8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import pytest

import stratax  # noqa: F401  (applies STRATAX_SIMULATE, whatever a test imports first)

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    """The folder of data that is not part of the project: $STRATAX_SHARED, else `../shared` beside the checkout."""
    folder = pathlib.Path(os.environ.get("STRATAX_SHARED", CHECKOUT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"the shared data folder {folder} is not here (set STRATAX_SHARED to its path)")
    return folder
