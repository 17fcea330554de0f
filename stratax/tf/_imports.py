"""What `import stratax.tf.x` and `import tensorflow.x` give (tf layer).

Names of `stratax.tf` that are modules can be imported as such, wherever they are made: `stratax.tf.keras.layers` is a
door, which is a stub alone, `stratax.tf.keras.applications` is Keras' own module. Where a process takes Stratax for
TensorFlow, `tensorflow` and what is below it are the same modules. What is not there is refused with the sentence that
the attribute would have.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import os
import sys
import types
from collections.abc import Callable, Sequence

from stratax.base.shown import shown
from stratax.errors import BackendError
from stratax.startup import backend
from stratax.tf import _companions, _keras_alone, _own_modules, _stubs

_OWN = "stratax.tf"
_TENSORFLOW = "tensorflow"
_ESTIMATOR = "tensorflow_estimator"

_log = logging.getLogger("stratax")


class _Missing:
    # What is said about a name that is not there, by the module that lacks it.
    describe: Callable[[str, str], str]


def describe_missing_by(function: Callable[[str, str], str]) -> None:
    """Have a function say what errors say about a name that is not there.

    Args:
        function: It takes the module of `stratax.tf` that lacks it, and the name.
    """
    _Missing.describe = staticmethod(function)


def install() -> None:
    """Let the modules below `stratax.tf` be imported by TensorFlow's paths; safe to call again."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # In front of the finder of files, which would import a library's module a second time by our name.
        sys.meta_path.insert(0, _Finder())
        backend.after_import("keras", _take_keras2)
        # Later: what has to be imported before the first `compile` sees to that by itself.
        backend.after_import("stratax.keras", _take_training_of_keras2)


def install_as_tensorflow() -> None:
    """Make `import tensorflow` give `stratax.tf`, in this process and in the Python processes that it starts.

    A TensorFlow that is installed is hidden there. Call it before anything imports `tensorflow`; calling it again is
    safe. Keras stays on JAX, and what only looks whether there is TensorFlow (TensorBoard, Keras) goes on as without
    it.

    Raises:
        BackendError: If TensorFlow itself is imported already.

    Example:
        At the top of a program whose modules say `import tensorflow as tf`; a notebook has `%load_ext stratax.tf`::

            import stratax.tf
            stratax.tf.install_as_tensorflow()
    """
    install()
    own = importlib.import_module(_OWN)
    imported = sys.modules.get(_TENSORFLOW)
    # The package that stands in calls this while it is imported itself.
    if imported is not None and imported is not own and not _is_stand_in(imported.__spec__):
        raise BackendError(
            "Stratax can't take the place of TensorFlow, which is imported already. Expected: a call in front of the "
            f"first `import tensorflow`. Received: the module {shown(imported)}."
        )
    if imported is own:
        return
    _tell_what_is_hidden()
    sys.modules[_TENSORFLOW] = own
    _own_modules.install()
    _keras_alone.install()
    # TensorBoard's own way to be told not to use TensorFlow.
    sys.modules.setdefault("tensorboard.compat.notf", types.ModuleType("tensorboard.compat.notf"))
    backend.after_import("keras", _hide_from_keras)
    _pass_on(os.environ)


def load_ipython_extension(shell: object) -> None:
    """Let a notebook's `import tensorflow` give Stratax: what `%load_ext stratax.tf` calls.

    Args:
        shell: The notebook's shell, which is left as it is.
    """
    install_as_tensorflow()


def _pass_on(environment: "os._Environ[str] | dict[str, str]") -> None:
    paths = environment.get("PYTHONPATH", "").split(os.pathsep)
    if _companions.STAND_IN not in paths:
        environment["PYTHONPATH"] = os.pathsep.join([_companions.STAND_IN, *filter(None, paths)])


def environment_as_tensorflow() -> dict[str, str]:
    """Return this process' environment, changed such that a Python process takes Stratax for TensorFlow."""
    environment = dict(os.environ)
    _pass_on(environment)
    # Of value where a program imports Keras first.
    environment.setdefault("KERAS_BACKEND", "jax")
    return environment


def _is_stand_in(spec: importlib.machinery.ModuleSpec | None) -> bool:
    return spec is not None and spec.origin is not None and spec.origin.startswith(_companions.STAND_IN)


def _tell_what_is_hidden() -> None:
    folders = [path for path in sys.path if os.path.abspath(path) != _companions.STAND_IN]
    hidden = importlib.machinery.PathFinder.find_spec(_TENSORFLOW, folders)
    if hidden is not None and hidden.origin is not None:
        _log.debug("`import tensorflow` gives stratax.tf in this process, not %s.", hidden.origin)


def _take_keras2() -> None:
    from stratax.tensorflow.keras2 import install
    from stratax.tensorflow.ops.text import formats

    install()
    formats.install()
    if importlib.util.find_spec(_TENSORFLOW) is None:
        _hide_from_keras()


def _take_training_of_keras2() -> None:
    from stratax.tensorflow.keras2 import install_training

    install_training()


def _hide_from_keras() -> None:
    from stratax.seams import keras as seam

    seam.hide_tensorflow(sys.modules[_OWN])
    if _is_taken_for_tensorflow(f"{_TENSORFLOW}."):
        _keras_alone.add_names()


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of `stratax.tf` and, where a process takes it for TensorFlow, of `tensorflow`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec of a stub or one that gives another module's object, or None where files of Python decide.

        Raises:
            ModuleNotFoundError: If TensorFlow has this module and Stratax does not.
        """
        place, _, name = fullname.rpartition(".")
        if fullname.split(".")[0] == _ESTIMATOR and _is_taken_for_tensorflow(f"{_TENSORFLOW}."):
            # A package of its own, which TensorFlow 1 has below `tensorflow.python`.
            return _find_private(fullname, fullname.partition(".")[2])
        if place.startswith("keras") and (found := _place_of_keras2(fullname)) is not None:
            return _as_spec(fullname, importlib.import_module(found))
        if (stand_in := _companions.place_of(fullname)) is not None:
            return _as_spec(fullname, importlib.import_module(stand_in))
        parent = sys.modules.get(place)
        if parent is None or not (fullname.startswith(f"{_OWN}.") or _is_taken_for_tensorflow(fullname)):
            return None
        inside = fullname.removeprefix(f"{_TENSORFLOW}.").removeprefix(f"{_OWN}.").split(".")
        if inside[0].startswith("_"):
            # Our own, which files decide.
            return _stubs.find_spec(fullname, path)
        from stratax.tf import _private

        if _private.is_private(".".join(inside)):
            return _find_private(fullname, ".".join(inside))
        if parent.__name__ != place:
            # The parent is known by several names, and its modules are imported by its own.
            return _as_spec(fullname, importlib.import_module(f"{parent.__name__}.{name}"))
        if not place.startswith(_OWN):
            return None
        if (stub := _stubs.find_spec(fullname, path)) is not None:
            return stub
        if importlib.machinery.PathFinder.find_spec(fullname, path) is not None:
            return None
        found = getattr(parent, name, None)
        if isinstance(found, types.ModuleType):
            return _as_spec(fullname, found)
        if _private.is_known(".".join(inside)):
            # `from tensorflow.python.keras import backend_config`: the package is one with the public one here.
            return _find_private(fullname, ".".join(["python", *inside]))
        raise _error(place, name, is_there=found is not None)


def _place_of_keras2(fullname: str) -> str | None:
    """Return what has the names of a module of Keras 2, where a process takes Stratax for TensorFlow."""
    if not fullname.startswith("keras.") or not _is_taken_for_tensorflow(f"{_TENSORFLOW}."):
        return None
    return _keras_alone.place(fullname.removeprefix("keras."))


def _is_taken_for_tensorflow(fullname: str) -> bool:
    """Return whether a module is below `tensorflow` where that is Stratax; beside it there may be TensorFlow itself."""
    if not fullname.startswith(f"{_TENSORFLOW}."):
        return False
    root = sys.modules.get(_TENSORFLOW)
    return root is not None and (root is sys.modules.get(_OWN) or _is_stand_in(root.__spec__))


def _find_private(fullname: str, path: str) -> importlib.machinery.ModuleSpec:
    from stratax.tf import _private

    found = _private.place(path)
    if found is None:
        place, _, name = fullname.rpartition(".")
        raise _error(place.replace(_TENSORFLOW, _OWN, 1), name, is_there=False)
    if found.startswith(_private.MESSAGES):
        from stratax.summary import forms

        return _as_spec(fullname, forms.tensorboard(found.partition(".")[2]))
    if found:
        return _as_spec(fullname, importlib.import_module(found))
    return importlib.machinery.ModuleSpec(fullname, _Package(_private.public_place(path)), is_package=True)


class _Package(importlib.abc.Loader):
    """Loads a package of other modules, which has functions and classes of a public one besides.

    Args:
        public: That one's name; None for none.
    """

    def __init__(self, public: str | None) -> None:
        self._public = public

    def exec_module(self, module: types.ModuleType) -> None:
        """Say what it is, and where its functions are."""
        module.__doc__ = f"What programs import below `{module.__name__}`, and nothing else."
        if self._public is not None:
            public = importlib.import_module(self._public)

            def of_public(name: str) -> object:
                found = None if name.startswith("__") else getattr(public, name, None)
                # A module of the name is one below the package, which the import system looks for next.
                if found is None or isinstance(found, types.ModuleType):
                    raise AttributeError(f"{module.__name__} has no {name}.", name=name, obj=module)
                return found

            vars(module)["__getattr__"] = of_public


def _as_spec(name: str, module: types.ModuleType) -> importlib.machinery.ModuleSpec:
    file = getattr(module, "__file__", None)
    return importlib.machinery.ModuleSpec(name, _Alias(module), origin=file, is_package=True)


class _Alias(importlib.abc.Loader):
    """Loads a module that exists already."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def exec_module(self, module: types.ModuleType) -> None:
        """Put the module in the place of the new one, which is how a module replaces itself."""
        sys.modules[module.__name__] = self._module


def _error(place: str, name: str, *, is_there: bool) -> ModuleNotFoundError:
    if is_there:
        return ModuleNotFoundError(f"{place}.{name} is no module.", name=f"{place}.{name}")
    # Not with the module's own name, for which `from stratax.tf import x` would hide the message.
    return ModuleNotFoundError(_Missing.describe(place, name), name=place)
