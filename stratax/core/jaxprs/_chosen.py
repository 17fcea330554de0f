"""Arrays whose size values decide, which is a symbol of `jax.export` while a function is traced (core layer)."""

import itertools
from typing import Any

import jax
import jax.extend.core
import numpy as np

from stratax.seams import jax as seam

places_p = jax.extend.core.Primitive("stratax_places")
places_p.def_abstract_eval(lambda mask, *, size: jax.core.ShapedArray((size,), np.dtype("int32")))
seam.leave_underived(places_p)

_numbers = itertools.count()
# Where symbols are made, once there is one: most processes have none, and look for none.
_scopes: list[Any] = []


def find_places(mask: jax.Array) -> jax.Array:
    """Return the places in a vector of booleans that hold, as a vector whose size is a symbol.

    Args:
        mask: Booleans that are known when the program runs.
    """
    import jax.export

    if not _scopes:
        _scopes.append(jax.export.SymbolicScope())
    (size,) = jax.export.symbolic_shape(f"chosen{next(_numbers)}", scope=_scopes[0])
    return places_p.bind(mask, size=size)  # type: ignore[no-any-return]


def are_found() -> bool:
    """Return whether there has been such an array in this process."""
    return bool(_scopes)


def is_size(size: object) -> bool:
    """Return whether a size of an array's shape is a symbol that :func:`find_places` made, or one computed of such."""
    return bool(_scopes) and type(size) is not int and getattr(size, "scope", None) is _scopes[0]
