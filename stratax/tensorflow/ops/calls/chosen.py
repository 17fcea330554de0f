"""Parts of arrays whose sizes values decide: of as many rows as there are when the program runs (ops layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.indices import is_known
from stratax.base.tracing import as_numbers
from stratax.base.typing import Array


def take_chosen(compute: Callable[[Any, Any], Any], array: Array, parts: tuple[Any, ...]) -> Any:
    """Return a part of an array that has a symbol for a size.

    Args:
        compute: Returns a part of an array of JAX.
        array: The array.
        parts: The index. A number of a row that is not there gives NaN, or 0 in whole numbers.
    """
    import jax.numpy as jnp

    from stratax.core import jaxprs

    kept, enough = list(parts), []
    for place, (part, dim) in enumerate(zip(parts, _dims(parts, array.ndim), strict=True)):
        size = array.shape[dim] if dim is not None else 1
        if not jaxprs.is_size(size):
            continue
        if is_index(part):
            enough.append(as_numbers(size) >= (int(part) + 1 if int(part) >= 0 else -int(part)))
        elif isinstance(part, slice) and part.step in (None, 1) and _has_bounds(part):
            begin, length = _find_range(size, part.start or 0, part.stop)
            array = jnp.take(array, begin + jnp.arange(length), axis=dim, mode="clip")
            kept[place] = slice(None)
    found = compute(array, tuple(kept))
    for each in enough:
        found = jnp.where(each, found, jnp.asarray(np.nan if found.dtype.kind in "fcV" else 0, found.dtype))
    return found


def _has_bounds(part: slice) -> bool:
    return all(bound is None or type(bound) is int for bound in (part.start, part.stop))


def _find_range(size: Any, start: int, stop: int | None) -> tuple[Any, Any]:
    """Return where a slice begins, and how many rows it has, in terms that are the same for equal numbers of rows."""
    from stratax.seams.jax_sizes import largest, smallest

    if start >= 0 and (stop is None or stop < 0):
        return start, largest(size + ((stop or 0) - start), 0)
    begin = start if start >= 0 else largest(size + start, 0)
    end = size if stop is None else smallest(size, stop) if stop >= 0 else largest(size + stop, 0)
    return as_numbers(begin), largest(end - begin, 0)


def _dims(parts: tuple[Any, ...], rank: int) -> list[int | None]:
    """Return which dimension each part of an index stands for; None for those that stand for none or for several."""
    found: list[int | None] = []
    dim = 0
    for place, part in enumerate(parts):
        if part is Ellipsis:
            dim = rank - sum(map(dims_of, parts[place + 1 :]))
        taken = dims_of(part)
        found.append(dim if taken == 1 else None)
        dim += taken
    return found


def dims_of(part: Any) -> int:
    """Return how many dimensions a part of an index stands for."""
    if part is None or part is Ellipsis or isinstance(part, bool | np.bool_):
        return 0
    dtype = getattr(part, "dtype", None)
    # A mask stands for as many dimensions as it has itself.
    return int(part.ndim) if dtype is not None and dtype == np.bool_ else 1


def is_index(part: Any) -> bool:
    """Return whether a part of an index is a number that is known."""
    if isinstance(part, int | np.integer):
        return True
    return getattr(part, "ndim", None) == 0 and np.dtype(part.dtype).kind in "iu" and is_known(part)
