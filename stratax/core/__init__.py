"""How a stateful Python function becomes a pure JAX program. Knows no strategy."""

from stratax.base import doors as _doors
from stratax.startup.backend import after_import as _after_import


def _install() -> None:
    from stratax.core import cpu

    cpu.install()


# What takes names from here does not import JAX by that: functions of pipelines use the layers above without it.
_after_import("jax", _install)

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
