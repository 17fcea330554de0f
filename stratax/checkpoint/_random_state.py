"""The global random generators of Python, NumPy and Keras (checkpoint layer)."""

import random
from typing import Any

import numpy as np
from keras.src.backend.common import global_state  # Keras has no public door to its global generator.
from keras.src.random import seed_generator


def random_state() -> dict[str, Any]:
    """The state of the global generators, as JSON can hold it."""
    version, numbers, gauss = random.getstate()
    kind, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    seed = _keras_generator()
    return {
        "python": [version, list(numbers), gauss],
        "numpy": [kind, np.asarray(keys).tolist(), position, has_gauss, cached],
        "keras": None if seed is None else np.asarray(seed.state.value).tolist(),
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Gives the global generators a state that :func:`random_state` returned."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    kind, keys, position, has_gauss, cached = state["numpy"]
    np.random.set_state((kind, np.asarray(keys, np.uint32), position, has_gauss, cached))
    _set_keras_seed(state["keras"])


def _set_keras_seed(seed: list[int] | None) -> None:
    if seed is None:
        # Keras makes its generator when it is first wanted, from Python's.
        global_state.set_global_attribute(seed_generator.GLOBAL_SEED_GENERATOR, None)
        return
    generator = seed_generator.global_seed_generator()
    generator.state.assign(np.asarray(seed, generator.state.dtype))


def _keras_generator() -> Any:
    return global_state.get_global_attribute(seed_generator.GLOBAL_SEED_GENERATOR)
