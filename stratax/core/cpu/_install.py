"""What XLA compiles quickly for CPUs is put in the place of what it does not (core layer)."""

from stratax.core.cpu import _convolutions, _pooling, _sums


def install() -> None:
    """Register the lowerings."""
    _convolutions.install()
    _pooling.install()
    _sums.install()
