"""What a module of `stratax.tf` says about a name of TensorFlow's that it does not have (tf layer)."""

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_ROOT = "stratax.tf"
_NUM_SUGGESTIONS = 3


def missing_name(
    module: str, names: Sequence[str], load: Callable[[str], Any] | None = None
) -> Callable[[str], Any]:
    """Makes a module's `__getattr__`, which is called for names that the module does not have.

    Args:
        module: The module's `__name__`.
        names: Its `__all__`.
        load: Imports one of those names, where that is left to its first use.

    Returns:
        A function that raises an `AttributeError` naming what there is instead.
    """

    def __getattr__(name: str) -> Any:
        if load is not None and name in names:
            return load(name)
        # Private names are asked for by Python itself, before it imports a submodule of that name.
        if name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        raise AttributeError(
            f"{_tensorflow_name(module)} has no name {name!r} here. {_suggestion(module, names, name)}"
            "docs/compatibility.md tells which names of TensorFlow there are and what is different.",
            name=name,
        )

    return __getattr__


def _suggestion(module: str, names: Sequence[str], name: str) -> str:
    elsewhere = [f"{place}.{name}" for place, members in _all_names() if name in members and place != module]
    near = [f"{module}.{near}" for near in difflib.get_close_matches(name, names, _NUM_SUGGESTIONS)]
    found = [_tensorflow_name(path) for path in (*elsewhere, *near)][:_NUM_SUGGESTIONS]
    return f"Did you mean {' or '.join(found)}? " if found else ""


def _tensorflow_name(path: str) -> str:
    return "tf" + path.removeprefix(_ROOT)


def _all_names() -> Iterator[tuple[str, Sequence[str]]]:
    """Every public module of `stratax.tf`, with its names."""
    root = importlib.import_module(_ROOT)
    found = (module.name for module in pkgutil.walk_packages(root.__path__, f"{_ROOT}."))
    for path in sorted((_ROOT, *(name for name in found if "._" not in name))):
        names: Any = vars(importlib.import_module(path)).get("__all__", ())
        yield path, names
