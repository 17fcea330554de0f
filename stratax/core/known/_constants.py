"""Values of a program that is being traced and follow from constants alone (core layer).

`tf.zeros([tf.constant(2) * 3])` makes a shape of such a value. JAX traces what is computed of constants, too. By what
it notes of each operation the value is computed at once; the program computes it, too, as it did.
"""

from typing import Any

import jax

from stratax.base.tracing import is_symbolic_size
from stratax.core import jaxprs, regions
from stratax.seams.jax import core, operation_of


def constant_of(value: object) -> Any:
    """Return the value of something traced, if it is the same in every run of the program.

    Args:
        value: A traced value, or any other, which stays as it is.

    Raises:
        LookupError: If it depends on an argument, a variable, a replica, or what the host computes.
    """
    known: dict[int, Any] = {}
    with regions.outside_scopes():
        return _find_computed(value, known)


def _find_computed(value: object, known: dict[int, Any]) -> Any:
    value = core.full_lower(value)
    if not isinstance(value, jax.core.Tracer):
        return value
    if id(value) not in known:
        known[id(value)] = _result(value, known)
    return known[id(value)]


def _result(value: jax.core.Tracer, known: dict[int, Any]) -> Any:
    made = operation_of(value)
    # What asks the host may be answered otherwise in another run.
    if (
        made is None
        or made.has_effects
        or made.primitive is jaxprs.input_p
        or jaxprs.holds_within(made, _is_callback)
    ):
        raise LookupError
    # A symbol for a size has another value in another run.
    if any(map(is_symbolic_size, (*made.params.values(), *value.shape))):
        raise LookupError
    operands = [_find_computed(operand, known) for operand in made.operands]
    results = made.primitive.bind(*operands, **made.params)
    return results[made.position] if made.primitive.multiple_results else results


def _is_callback(made: Any) -> bool:
    return "callback" in made.primitive.name
