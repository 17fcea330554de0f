"""Whether a program runs often enough to be compiled with care (core layer)."""

import contextlib
import contextvars
from collections.abc import Iterator

# XLA's fast routine takes 0.1 nanoseconds for each product, on 2 cores with jaxlib 0.10.2. What is put in the place of
# convolutions takes 30 to 90 milliseconds to compile: as much as two to three times so many products.
_MIN_PRODUCTS = 1 << 28

_has_few: contextvars.ContextVar[bool] = contextvars.ContextVar("has_few", default=False)


@contextlib.contextmanager
def few_runs() -> Iterator[None]:
    """Have what is compiled meanwhile be compiled for few runs: small convolutions as XLA does by itself.

    The results of such a program differ in their last bits from those of one that is compiled for many runs.
    """
    before = _has_few.set(True)
    try:
        yield
    finally:
        _has_few.reset(before)


def is_worth(products: int) -> bool:
    """Return whether what takes the time of so many products is worth rewriting, in the program that is compiled now.

    Args:
        products: How many XLA's fast routine would compute meanwhile.
    """
    return not _has_few.get() or products >= _MIN_PRODUCTS
