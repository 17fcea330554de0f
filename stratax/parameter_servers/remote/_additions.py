"""What a program adds to variables, which servers add without losing what others have added (distribute layer)."""

import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any

from stratax.core import jaxprs
from stratax.seams.jax import core


@dataclasses.dataclass(frozen=True, slots=True)
class Addition:
    """What a program adds to a variable, or subtracts from it.

    Attributes:
        atoms: The jaxpr's atoms of what is added: an array; or the places and rows of a scattered addition.
        make: Gives the new value, of the old one and the atoms' values.
    """

    atoms: list[Any]
    make: Callable[..., Any]


_ADDED = {"add": operator.add, "sub": operator.sub}
_SCATTERED = ("scatter-add", "scatter-sub")


def additions_of(closed: Any, output: int, argument: Any) -> list[Addition] | None:
    """Return what a program adds to a variable and subtracts from it, in order; None if it changes it otherwise.

    Args:
        closed: A closed jaxpr.
        output: Which result is the variable's new value.
        argument: The jaxpr's variable that stands for the old one.
    """
    made = jaxprs.makers(closed.jaxpr)
    atom = closed.jaxpr.outvars[output]
    found: list[Addition] = []
    while not isinstance(atom, core.Literal) and atom is not argument:
        equation = made.get(atom)
        if equation is None:
            return None
        # The variable comes first in `assign_add`; what is added may depend on it all the same.
        atom, *rest = equation.invars
        if equation.primitive.name in _ADDED:
            found.append(Addition(rest, _ADDED[equation.primitive.name]))
        elif equation.primitive.name in _SCATTERED:
            found.append(Addition(rest, functools.partial(equation.primitive.bind, **equation.params)))
        else:
            return None
    return None if isinstance(atom, core.Literal) or not found else found[::-1]
