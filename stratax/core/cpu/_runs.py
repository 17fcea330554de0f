"""Whether a program runs often enough to be compiled with care (core layer)."""

from stratax.base.surroundings import Slot, Surroundings

# XLA's fast routine takes 0.1 nanoseconds for each product, on 2 cores with jaxlib 0.10.2. What is put in the place of
# convolutions takes 30 to 90 milliseconds to compile: as much as two to three times so many products.
_MIN_PRODUCTS = 1 << 28

_HAS_FEW: Slot[bool] = Slot("few runs", False)


def few_runs() -> Surroundings:
    """Have what is compiled meanwhile be compiled for few runs: small convolutions as XLA does by itself.

    The results of such a program differ in their last bits from those of one that is compiled for many runs.
    """
    return _HAS_FEW.holding(True)


def is_worth(products: int) -> bool:
    """Return whether what takes the time of so many products is worth rewriting, in the program that is compiled now.

    Args:
        products: How many XLA's fast routine would compute meanwhile.
    """
    return not _HAS_FEW.get() or products >= _MIN_PRODUCTS
