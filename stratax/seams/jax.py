"""What Stratax takes from the inside of JAX, and why (seams layer).

- `core`, `ad`, `partial_eval`: the gradient tape is a trace of its own, and JAX documents no base class for one.
- `distributed`, `xla_bridge`, `make_gloo_tcp_collectives`: starting JAX as one of several processes offers no choice of
  the address at which collectives between CPUs listen, no way to forget the others without waiting for them, and no
  question whether JAX has started.
"""

from jax._src import core, distributed, xla_bridge
from jax._src.interpreters import ad, partial_eval
from jax._src.lib import _jax

make_gloo_tcp_collectives = _jax.make_gloo_tcp_collectives

__all__ = ["ad", "core", "distributed", "make_gloo_tcp_collectives", "partial_eval", "xla_bridge"]
