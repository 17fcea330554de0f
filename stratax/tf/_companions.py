"""Libraries beside TensorFlow, where a process takes Stratax for it (tf layer).

`tf_keras` and `tf_slim` are packages that TensorFlow once had: what it has for them stands in. TensorFlow Probability
comes with a form of itself for JAX, whose names are given in its own place.
"""

import functools
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
from typing import Any

from stratax.base.shown import shown

# A folder with a package `tensorflow`: in front of the installed ones, it makes a process take Stratax for TensorFlow.
STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_stand_in")
# By the package, the module that stands in for it.
STANDING_IN = {"tf_keras": "stratax.tf.keras", "tf_slim": "stratax.tf.contrib.slim"}
_PROBABILITY = "tensorflow_probability"
_LARGEST_SEED = 2**31 - 1
_FOR_JAX = f"{_PROBABILITY}.substrates.jax"


def place_of(fullname: str) -> str | None:
    """Return the module that stands in for one of a companion's; None if none does.

    Args:
        fullname: The module's name, as `tf_keras.layers`.
    """
    package, _, inside = fullname.partition(".")
    # Where the installed package was imported before Stratax, it is itself.
    if not inside or package not in STANDING_IN or not _is_stood_in_for(package):
        return None
    return f"{STANDING_IN[package]}.{inside}"


def _is_stood_in_for(package: str) -> bool:
    found = sys.modules.get(package)
    return found is not None and found.__name__ == STANDING_IN[package]


def import_probability() -> None:
    """Import TensorFlow Probability, with the names of its form for JAX in the place of those that need TensorFlow.

    Raises:
        ModuleNotFoundError: If it is not installed.
        ImportError: If it does not fit this JAX, with what to install instead.
    """
    own = sys.modules["tensorflow"]
    # Where there is TensorFlow it registers itself there, and takes its functions for the docstrings' sake.
    sys.modules["tensorflow"] = None  # type: ignore[assignment]
    try:
        package = _import_installed(_PROBABILITY)
        form: Any = importlib.import_module(_FOR_JAX)
    except AttributeError as error:
        raise ImportError(
            "TensorFlow Probability does not fit the JAX that is installed: "
            f"{type(error).__name__}: {str(error)[:200]}. Run `pip install tfp-nightly`, whose form for JAX does."
        ) from error
    finally:
        sys.modules["tensorflow"] = own
    for name, found in vars(form).items():
        if isinstance(found, types.ModuleType) and not name.startswith("_"):
            setattr(package, name, found)
            sys.modules[f"{_PROBABILITY}.{name}"] = found
    samplers: Any = importlib.import_module(f"{_FOR_JAX}.internal.samplers")
    samplers.sanitize_seed = _with_any_seed(samplers.sanitize_seed)
    distribution = form.distributions.Distribution
    distribution._call_sample_n = _with_a_seed(distribution._call_sample_n)


def find_installed(name: str) -> importlib.machinery.ModuleSpec | None:
    """Find a package that is installed, and not the one of this name that stands in for it."""
    folders = [path for path in sys.path if os.path.abspath(path) != STAND_IN]
    return importlib.machinery.PathFinder.find_spec(name, folders)


def _import_installed(name: str) -> types.ModuleType:
    """Import an installed package that one of this name stands in for."""
    spec = find_installed(name)
    if spec is None or spec.loader is None:
        # As Python words it: programs look for the text.
        raise ModuleNotFoundError(f"No module named {shown(name)}", name=name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _with_any_seed(given: Any) -> Any:
    """Return its reading of seeds with those of TensorFlow: a number, or two numbers without a state."""

    @functools.wraps(given)
    def sanitize_seed(seed: Any, salt: Any = None, name: Any = None) -> Any:
        return given(_key_of(seed), salt, name)

    return sanitize_seed


def _with_a_seed(given: Any) -> Any:
    """Return its drawing of samples with a seed of its own where there is none, as with TensorFlow."""

    @functools.wraps(given)
    def call(self: Any, sample_shape: Any, seed: Any, *args: Any, **kwargs: Any) -> Any:
        return given(self, sample_shape, _key_of(seed), *args, **kwargs)

    return call


def _key_of(seed: Any) -> Any:
    """Return a key of JAX' for a seed of TensorFlow's."""
    import jax
    import jax.numpy as jnp

    if isinstance(seed, jax.Array) and jax.dtypes.issubdtype(seed.dtype, jax.dtypes.prng_key):
        return seed
    if seed is None or isinstance(seed, int):
        from stratax.tensorflow.ops.random import random

        seed = random.uniform([2], maxval=_LARGEST_SEED, dtype="int32", seed=seed)
    return jnp.asarray(seed).astype(jnp.uint32)
