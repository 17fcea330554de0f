"""Compiled programs that several functions run: what JAX lowers to the same code is compiled once (core layer)."""

import collections
import hashlib
from collections.abc import Callable, Hashable
from typing import Any

import jax

# Enough for the programs of an object that trains, evaluates and predicts, with their remainders.
_LIMIT = 32


class CompiledPrograms:
    """Programs that were compiled, by the code that they were compiled of.

    A function that is made anew, like the one of a `model_fn` at each call of `Estimator.train`, is traced anew; where
    that gives the same code, what was compiled before is run. Whoever makes such functions owns one of these.
    """

    def __init__(self) -> None:
        self._compiled: collections.OrderedDict[Hashable, Callable[..., Any]] = collections.OrderedDict()

    def __len__(self) -> int:
        return len(self._compiled)

    def same_as(self, compiled: Any, arguments: tuple[Any, ...], types: Hashable) -> Callable[..., Any]:
        """Return a compiled function that does the same: an earlier one, or else this one.

        Args:
            compiled: What `jax.jit` made. It must not call back into Python: its code does not tell whom it calls.
            arguments: The arrays of its first call.
            types: What its code does not tell: the types of its arguments and results as JAX has them.
        """
        # Constants that JAX passes as arguments would not be in the code.
        if jax.config.jax_use_simplified_jaxpr_constants:  # type: ignore[attr-defined]
            return compiled
        # JAX keeps what it lowers: the first call does not lower it again.
        lowered = compiled.lower(*arguments)
        code = hashlib.sha256(lowered.as_text().encode()).digest()
        places = tuple(_place(leaf) for leaf in jax.tree.leaves(arguments))
        key = (code, lowered.in_tree, lowered.out_tree, places, types)
        found = self._compiled.setdefault(key, compiled)
        self._compiled.move_to_end(key)
        while len(self._compiled) > _LIMIT:
            self._compiled.popitem(last=False)
        return found


def _place(leaf: object) -> Hashable:
    """Return where an argument is: code for one device is the same for all of them."""
    return (leaf.sharding, leaf.committed) if isinstance(leaf, jax.Array) else None
