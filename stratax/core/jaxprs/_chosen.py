"""Arrays whose size values decide, which is a symbol of `jax.export` while a function is traced (core layer)."""

import itertools
from typing import Any

import jax
import jax.extend.core
import numpy as np
from jax.interpreters import ad

from stratax.base.tracing import CHOSEN

places_p = jax.extend.core.Primitive("stratax_places")
places_p.def_abstract_eval(lambda mask, *, size: jax.core.ShapedArray((size,), np.dtype("int32")))
_numbers = itertools.count()


def _derive(primals: list[Any], _: object, *, size: object) -> tuple[Any, Any]:
    places = places_p.bind(*primals, size=size)
    return places, ad.Zero(jax.typeof(places).to_tangent_aval())


ad.primitive_jvps[places_p] = _derive


def find_places(mask: jax.Array) -> jax.Array:
    """Return the places in a vector of booleans that hold, as a vector whose size is a symbol.

    Args:
        mask: Booleans that are known when the program runs.
    """
    import jax.export

    from stratax.seams import jax_sizes

    if not CHOSEN:
        CHOSEN.append(jax.export.SymbolicScope())
        jax_sizes.compute_comparisons(CHOSEN[0])
    # JAX takes each name for 1 at least, and there may be no place: the size is one less.
    (size,) = jax.export.symbolic_shape(f"chosen{next(_numbers)} - 1", scope=CHOSEN[0])
    return places_p.bind(mask, size=size)  # type: ignore[no-any-return]


def is_size(size: object) -> bool:
    """Return whether a size of an array's shape is a symbol that :func:`find_places` made, or one computed of such."""
    return bool(CHOSEN) and type(size) is not int and getattr(size, "scope", None) is CHOSEN[0]
