"""Whether a compiled function is being traced, for code that must not import JAX to find out (lowest layer)."""

import sys
import threading


class _Tracing(threading.local):
    """How many regions of compiled functions this thread is in."""

    depth = 0


TRACING = _Tracing()


def is_symbolic_size(size: object) -> bool:
    """Return whether it is JAX' symbol for a size, which a layer of Keras meets when its output's shape is found."""
    # Who has such a size has imported it.
    export = sys.modules.get("jax.export")
    return type(size) is not int and export is not None and bool(export.is_symbolic_dim(size))
