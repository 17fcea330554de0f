"""What Stratax takes from the inside of JAX, and why (seams layer).

- `core`, `ad`, `partial_eval`: the gradient tape is a trace of its own, and JAX documents no base class for one.
- `distributed`, `xla_bridge`, `make_gloo_tcp_collectives`: starting JAX as one of several processes offers no choice of
  the address at which collectives between CPUs listen, no way to forget the others without waiting for them, and no
  question whether JAX has started.
- `lowering_for_cpus`: a lowering that is registered for a primitive takes the place of JAX's, which it can't ask for.
"""

from collections.abc import Callable
from typing import Any

import jax.extend.core
from jax._src import core, distributed, xla_bridge
from jax._src.interpreters import ad, partial_eval
from jax._src.lib import _jax
from jax.interpreters import mlir

make_gloo_tcp_collectives = _jax.make_gloo_tcp_collectives

__all__ = [
    "ad",
    "core",
    "distributed",
    "lowering_for_cpus",
    "make_gloo_tcp_collectives",
    "partial_eval",
    "xla_bridge",
]


def lowering_for_cpus(primitive: jax.extend.core.Primitive) -> Callable[..., Any]:
    """Return how JAX lowers a primitive for CPUs, before anything else is registered for it."""
    # The platform's own lowering goes before the general one, as in JAX.
    entry: Any = mlir._platform_specific_lowerings["cpu"].get(primitive, mlir._lowerings.get(primitive))
    return entry.rule
