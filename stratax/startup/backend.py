"""What importing Stratax does to Keras without importing it: it runs on JAX and learns of strategies (lowest layer)."""

import functools
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import pathlib
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from stratax import errors
from stratax.base.shown import shown


def choose_backend() -> None:
    """Make Keras run on its JAX backend if it is not imported yet.

    Raises:
        BackendError: If Keras is imported already, or was told to be, with another backend.
    """
    keras = sys.modules.get("keras")
    if keras is None:
        # Before Keras is imported its environment variable decides; a value of the user's is respected and
        # refused.
        chosen = os.environ.setdefault("KERAS_BACKEND", "jax")
        if chosen == "jax":
            return
        how = f"the environment variable KERAS_BACKEND is {shown(chosen)}"
    else:
        chosen = keras.config.backend()
        if chosen == "jax":
            return
        how = f"Keras was imported before Stratax and runs on {shown(chosen)}{_find_configured()}"
    raise errors.BackendError(
        f"Stratax needs Keras on its JAX backend. Expected: KERAS_BACKEND=jax, or none. Received: {how}. Set "
        "KERAS_BACKEND=jax in the environment, or import stratax before keras and what imports it, such as TensorFlow."
    )


def hook_keras(hooks: str, after: Sequence[str]) -> None:
    """Have Keras' models follow strategies, however the program comes to import Keras.

    Args:
        hooks: The module that puts the hooks in place when it is imported. It is when one of `after` is, or when the
            first model is compiled or predicts.
        after: The modules without which there is no strategy to follow, and those on which `hooks` stands: it can't be
            imported while one of them is.
    """
    late = _LateHooks(hooks)

    def install() -> None:
        # A module that is still being imported lacks the names that the hooks replace.
        if not any(name in _executing for name in after):
            late.install()

    for name in after:
        after_import(name, install)
    after_import("keras", late.wait)


class _LateHooks:
    """Imports the hooks when a model is used, because Keras may just be imported by what they import themselves.

    Args:
        hooks: The module that puts the hooks in place.
    """

    def __init__(self, hooks: str) -> None:
        self._hooks = hooks
        # What waits at (class, name), and what Keras has there.
        self._waiting: dict[tuple[type, str], tuple[Callable[..., Any], Callable[..., Any]]] = {}

    def wait(self) -> None:
        """Have the calls of models import the hooks; what Keras looks up is checked from the beginning."""
        from stratax.seams import keras as seam
        from stratax.seams import keras_ranges, keras_text

        keras_ranges.install()
        keras_text.install()

        for owner, names in ((seam.Trainer, ("compile",)), (seam.JAXTrainer, seam.CALLS)):
            for name in names:
                keras_own = getattr(owner, name)
                waiting = self._waiting[owner, name] = self._importing(owner, name, keras_own), keras_own
                setattr(owner, name, waiting[0])

    def install(self) -> None:
        """Import the hooks. Keras' own methods go back first: the hooks wrap what they find there."""
        # Or the hooks would import it, and meet `wait` before they have all that they replace.
        importlib.import_module("keras")
        for (owner, name), (waiting, keras_own) in list(self._waiting.items()):
            if getattr(owner, name) is waiting:
                setattr(owner, name, keras_own)
                del self._waiting[owner, name]
        importlib.import_module(self._hooks)

    def _importing(self, owner: type, name: str, keras_own: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(keras_own)
        def method(model: object, *args: object, **kwargs: object) -> Any:
            self.install()
            # Somebody may have kept this method, or wrapped it, as programs do that log each `fit`. What was put in
            # its place in the class itself was wrapped by the hooks, and has just come from there.
            in_place = keras_own if (owner, name) in self._waiting else getattr(owner, name)
            return in_place(model, *args, **kwargs)

        return method


def after_import(name: str, then: Callable[[], object]) -> None:
    """Call a function once a module is imported: now, if it is already.

    Args:
        name: The module's full name.
        then: The function.
    """
    if name in sys.modules:
        then()
        return
    # One watch for a module, which calls all: a second one would not be asked.
    for finder in sys.meta_path:
        if isinstance(finder, _Watch) and finder.name == name:
            finder.thens.append(then)
            return
    # In front of all finders: the first one that knows a module ends the search.
    sys.meta_path.insert(0, _Watch(name, [then]))


# The watched modules that are being imported.
_executing: set[str] = set()


class _Watch(importlib.abc.MetaPathFinder):
    """Finds one module as the other finders do, and calls functions when it has run."""

    def __init__(self, name: str, thens: list[Callable[[], object]]) -> None:
        self.name = name
        self.thens = thens

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the module's spec, from the other finders, if it is the one that is waited for."""
        if fullname != self.name:
            return None
        # Without the watches, which would ask each other without end.
        others = (finder for finder in sys.meta_path if not isinstance(finder, _Watch))
        found = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            self._watch(spec.loader)
        return spec

    def _watch(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            _executing.add(self.name)
            try:
                execute(module)
            finally:
                _executing.discard(self.name)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                # After the module has run, so that its names are there.
                for then in self.thens:
                    then()

        loader.exec_module = exec_module


def _find_configured() -> str:
    """Return where a backend other than Keras' default came from, if its configuration file says so."""
    path = pathlib.Path(os.environ.get("KERAS_HOME", pathlib.Path.home() / ".keras")) / "keras.json"
    try:
        return f" (as {path} says)" if "backend" in json.loads(path.read_text()) else ""
    except (OSError, ValueError):
        return ""
