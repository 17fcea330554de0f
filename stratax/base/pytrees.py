"""Types that JAX takes apart, registered when JAX is there, and paths in what it takes apart (lowest layer).

Input pipelines and their worker processes import no JAX; the types of their elements wait here for it.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

_waiting: list[tuple[type, Callable[..., Any], Callable[..., Any]]] = []


def register(kind: type, to_parts: Callable[..., Any], of_parts: Callable[..., Any]) -> None:
    """Have JAX take values of a type apart, as soon as it is imported.

    Args:
        kind: The type.
        to_parts: From a value to its parts and what is constant.
        of_parts: From what is constant and the parts to a value.
    """
    _waiting.append((kind, to_parts, of_parts))
    tell_jax()


def tell_jax() -> None:
    """Register what waits, if JAX is imported: called where values are made, and by what compiles functions."""
    if _waiting and "jax" in sys.modules:
        from jax import tree_util

        while _waiting:
            tree_util.register_pytree_node(*_waiting.pop())


def path_of(keys: Sequence[Any]) -> str:
    """Return a key path of JAX as text that reads like the path of a variable: ``hidden/kernel``."""
    from jax import tree_util

    # Variables of Flax NNX hold their arrays in an attribute, which is no part of a name.
    is_held = len(keys) > 1 and keys[-1] == tree_util.GetAttrKey("value")
    return tree_util.keystr(tuple(keys[:-1] if is_held else keys), simple=True, separator="/")
