"""The global random generators of Python, NumPy and Keras (checkpoint layer)."""

import random
from typing import Any

import numpy as np

from stratax.seams.keras import forget_random_seed, random_seed, set_random_seed


def random_state() -> dict[str, Any]:
    """Return the state of the global generators, as JSON can hold it."""
    version, numbers, gauss = random.getstate()
    # `legacy` gives a tuple of plain values, which JSON can hold.
    kind, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    seed = random_seed()
    return {
        "python": [version, list(numbers), gauss],
        "numpy": [kind, np.asarray(keys).tolist(), position, has_gauss, cached],
        "keras": None if seed is None else np.asarray(seed.value).tolist(),
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Give the global generators a state that :func:`random_state` returned."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    kind, keys, position, has_gauss, cached = state["numpy"]
    np.random.set_state((kind, np.asarray(keys, np.uint32), position, has_gauss, cached))
    if state["keras"] is None:
        forget_random_seed()
    else:
        set_random_seed(state["keras"])
