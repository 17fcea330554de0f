"""Keras 2's modules and names in Keras itself, for programs that import it beside TensorFlow or alone (tf layer).

Keras 2 has `keras.layers.core` and `keras.utils.np_utils`, array functions in `keras.backend`, and what `tf.keras` has
here besides. They are found where Keras has none of these names.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence

# Keras 2's modules, and the ones that have what they have.
_MODULES: dict[str, tuple[str, ...]] = {
    "keras.engine": ("keras.layers", "keras.models", "keras"),
    "keras.objectives": ("stratax.tf.keras.losses",),
    "keras.preprocessing.text": ("stratax.tf.keras.preprocessing.text",),
    **{
        f"keras.layers.{name}": ("keras.layers",)
        for name in (
            "advanced_activations",
            "convolutional",
            "convolutional_recurrent",
            "core",
            "embeddings",
            "merge",
            "noise",
            "normalization",
            "pooling",
            "recurrent",
            "wrappers",
        )
    },
    **{
        f"keras.utils.{name}": ("keras.utils",)
        for name in ("data_utils", "generic_utils", "io_utils", "layer_utils", "np_utils", "vis_utils")
    },
    **{
        f"keras.engine.{name}": ("keras.layers", "keras.models", "keras")
        for name in (
            "base_layer",
            "input_layer",
            "input_spec",
            "network",
            "sequential",
            "topology",
            "training",
        )
    },
}
# Keras' own modules, and those of `tf.keras` that have what Keras 2 has there besides.
_EXTENDED = {
    "keras.backend": "stratax.tf.keras.backend",
    "keras.preprocessing.image": "stratax.tf.keras.preprocessing.image",
    "keras.utils": "stratax.tf.keras.utils",
}


def install() -> None:
    """Have Keras' modules give what Keras 2's gave; called once Keras is imported, safe to call again."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    # Behind all others: what Keras has itself is Keras'.
    sys.meta_path.append(_Finder())
    for name, public in _EXTENDED.items():
        _extend(importlib.import_module(name), (public,))


def _extend(module: types.ModuleType, places: Sequence[str]) -> None:
    """Have a module give what others have, where it has nothing of a name itself."""
    looked_for: set[str] = set()

    def of_others(name: str) -> object:
        # The others may ask this module, in turn.
        if not name.startswith("__") and name not in looked_for:
            looked_for.add(name)
            try:
                modules = map(importlib.import_module, places)
                found = next(
                    (each for each in (getattr(m, name, None) for m in modules) if each is not None), None
                )
            finally:
                looked_for.discard(name)
            if found is not None:
                return found
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module)

    vars(module).setdefault("__getattr__", of_others)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that Keras 2 has and Keras 3 does not."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of one of them."""
        places = _MODULES.get(fullname)
        if places is None:
            return None
        return importlib.machinery.ModuleSpec(
            fullname, _Loader(places), is_package=fullname == "keras.engine"
        )


class _Loader(importlib.abc.Loader):
    """Makes a module of Keras 2 of those that have its names.

    Args:
        places: Their names.
    """

    def __init__(self, places: Sequence[str]) -> None:
        self._places = places

    def exec_module(self, module: types.ModuleType) -> None:
        """Say what it is, and where its names are."""
        module.__doc__ = f"What Keras 2 has in `{module.__name__}`: {', '.join(self._places)}."
        _extend(module, self._places)
