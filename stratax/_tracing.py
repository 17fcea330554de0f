"""Whether a compiled function is being traced, for code that must not import JAX to find out (lowest layer)."""

import threading


class _Tracing(threading.local):
    """How many regions of compiled functions this thread is in."""

    depth = 0


TRACING = _Tracing()
