"""Arrays whose size values decide, which is a symbol of `jax.export` while a function is traced (core layer)."""

import itertools
from typing import Any

import jax
import jax.extend.core
import numpy as np
from jax.interpreters import ad

from stratax import errors
from stratax.base.shown import shown
from stratax.base.tracing import CHOSEN
from stratax.seams import jax as seam

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

    if not CHOSEN:
        CHOSEN.append(jax.export.SymbolicScope())
        seam.refuse_comparisons(CHOSEN[0], _make_refusal)
    (size,) = jax.export.symbolic_shape(f"chosen{next(_numbers)}", scope=CHOSEN[0])
    return places_p.bind(mask, size=size)  # type: ignore[no-any-return]


def _make_refusal(what: str) -> errors.BadTypeError:
    return errors.BadTypeError(
        "A program compares the size of an array that depends on values, which are known only when the compiled "
        f"program runs. Expected: numbers. Received: {shown(what)}. Compare tf.reduce_sum(tf.cast(mask, tf.int32)) "
        "instead."
    )


def is_size(size: object) -> bool:
    """Return whether a size of an array's shape is a symbol that :func:`find_places` made, or one computed of such."""
    return bool(CHOSEN) and type(size) is not int and getattr(size, "scope", None) is CHOSEN[0]
