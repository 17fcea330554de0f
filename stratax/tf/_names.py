"""What a module of `stratax.tf` says about a name of TensorFlow's that it does not have (tf layer)."""

import difflib
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

_ROOT = "stratax.tf"
_NUM_SUGGESTIONS = 3


def missing_name(module: str, names: Sequence[str]) -> Callable[[str], NoReturn]:
    """Makes a module's `__getattr__`, which is called for names that the module does not have.

    Args:
        module: The module's `__name__`.
        names: Its `__all__`.

    Returns:
        A function that raises an `AttributeError` naming what there is instead.
    """

    def __getattr__(name: str) -> NoReturn:
        if name.startswith("__"):
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
    """Every imported public module of `stratax.tf`, with its names."""
    for path, module in sorted(sys.modules.items()):
        is_public = (path == _ROOT or path.startswith(f"{_ROOT}.")) and "._" not in path
        if is_public and isinstance(module, types.ModuleType):
            names: Any = vars(module).get("__all__", ())
            yield path, names
