"""Writes down every public name of Stratax with its signature: `python -m tests.public_api` (or `make api`).

A name is public if no part of its path begins with an underscore and its module lists it in `__all__` (a module
without `__all__`: defines it). What is for other packages of Stratax is not public: some packages as a whole, and what
lies below a package (`stratax.core.regions`, `stratax.data.plan`). What a class inherits from another public one stands
there only; of what is Keras' own, only the name.
Annotations are left out; the type checker looks after those.
"""

import difflib
import enum
import importlib
import inspect
import pathlib
import pkgutil
import re
import types
from collections.abc import Iterator
from typing import Any

from stratax.base import doors

SNAPSHOT = pathlib.Path(__file__).with_name("public_api.txt")
_FOR_OTHER_PACKAGES = ("checkpoint", "command", "engine", "io", "seams", "tensorflow")
_FOR_USERS_BELOW = ("stratax.convert.beam", "stratax.summary.experimental", "stratax.tf.")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def public_modules(root: str = "stratax") -> list[types.ModuleType]:
    """The package `root` and every public module below it."""
    package = importlib.import_module(root)
    files = {found.name for found in pkgutil.walk_packages(package.__path__, f"{root}.")}
    # Doors may be stubs alone, which are no files of Python's.
    names = files.union(doors.read_tables(root)) - {root}
    return [package, *(importlib.import_module(name) for name in sorted(names) if is_for_users(name))]


def is_for_users(module: str) -> bool:
    """Whether a module of Stratax is a door for users: a package's own, and not the rooms below it."""
    _, top, *below = module.split(".")
    is_private = any(part.startswith("_") for part in (top, *below))
    is_room = bool(below) and not module.startswith(_FOR_USERS_BELOW)
    return not (is_private or is_room or top in _FOR_OTHER_PACKAGES)


def is_shown_to_users(cls: type) -> bool:
    """Whether the module that a class says it is of is a door for users, or what one names."""
    return cls.__module__ == "stratax" or is_for_users(cls.__module__)


def public_names(module: types.ModuleType) -> list[str]:
    """The names that `module` makes public."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    own = (
        name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__
    )
    return sorted(name for name in own if not name.startswith("_"))


def describe(modules: list[types.ModuleType]) -> list[str]:
    """One line for every public name, and for every public member of a public class."""
    described = {id(getattr(module, name)) for module in modules for name in public_names(module)}
    first_paths: dict[int, str] = {}
    lines = []
    for module in sorted(modules, key=lambda module: (module.__name__.count("."), module.__name__)):
        for name in public_names(module):
            path, value = f"{module.__name__}.{name}", getattr(module, name)
            is_shared = isinstance(value, type) or inspect.isroutine(value)
            if is_shared and first_paths.setdefault(id(value), path) != path:
                lines.append(f"{path} is {first_paths[id(value)]}")
            else:
                lines.extend(_describe_value(path, value, described))
    return sorted(lines)


def _describe_value(path: str, value: Any, described: set[int]) -> Iterator[str]:
    if isinstance(value, types.ModuleType):
        yield f"{path}: module {value.__name__}"
    elif _is_of_keras(value):
        # What it has is for Keras to say, and may be another in its next version.
        yield f"{path} of Keras"
    elif isinstance(value, type):
        bases = ", ".join(base.__name__ for base in value.__bases__)
        yield f"{path}: class({bases})"
        if not issubclass(value, enum.Enum | Exception):
            yield f"{path}{_signature(value)}"
        inherited = [base for base in value.__mro__[1:] if id(base) in described]
        for name, member in public_members(value).items():
            if not any(vars(base).get(name) is member for base in inherited):
                yield _describe_member(f"{path}.{name}", member)
    elif callable(value):
        yield f"{path}{_signature(value)}"
    else:
        yield f"{path}: {type(value).__name__}"


def _is_of_keras(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").split(".")[0] == "keras"


def public_members(cls: type) -> dict[str, Any]:
    """The public members that `cls` or a base class of Stratax's own defines, by name."""
    members: dict[str, Any] = {}
    # A message of protobuf gets an attribute for each value of its enums when that is first asked for.
    if _is_of_keras(cls) or any(base.__module__ == "google.protobuf.message" for base in cls.__mro__):
        return members
    for base in reversed(cls.__mro__):
        if base.__module__.split(".")[0] == cls.__module__.split(".")[0]:
            members.update((name, value) for name, value in vars(base).items() if not name.startswith("_"))
    return dict(sorted(members.items()))


def _describe_member(path: str, member: Any) -> str:
    if isinstance(member, staticmethod | classmethod):
        return f"{path}{_signature(member.__func__)} {type(member).__name__}"
    if inspect.isroutine(member):
        return f"{path}{_signature(member)}"
    if isinstance(member, property):
        return f"{path}: property" + ("" if member.fset is None else ", settable")
    return f"{path}: attribute"


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return _ADDRESS.sub(
        "", str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    )


def difference(lines: list[str]) -> str:
    """How `lines` differ from the snapshot, as a diff; empty if they don't."""
    kept = SNAPSHOT.read_text().splitlines() if SNAPSHOT.exists() else []
    return "\n".join(difflib.unified_diff(kept, lines, "tests/public_api.txt", "the code", lineterm="", n=0))


def main() -> None:
    """Rewrites the snapshot and tells what changed."""
    lines = describe(public_modules())
    print(difference(lines) or "public_api.txt: nothing has changed")
    SNAPSHOT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
