"""Programs that compute with the rows that they look up, in place of whole variables (distribute layer)."""

import dataclasses
import logging
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.core import jaxprs
from stratax.parameter_servers.remote._row_spaces import Lookups, RowSpace
from stratax.parameter_servers.remote._row_uses import LookedUpIds, RowGroup, RowUses, inline, numbers_of
from stratax.seams.jax import core, partial_eval

# An array is sent by rows if that saves so many bytes: rows need a question of their own.
LEAST_BYTES_SAVED = 64 << 10
_logger = logging.getLogger("stratax")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class RowProgram:
    """A program in row space.

    Attributes:
        lookups: The rows that it looks up.
        tables: The arguments of which it gets rows, with their spaces.
        pushed: The results that it gives by rows, with their spaces.
        find: Gives row numbers, of the arguments that they follow from.
        function: Gives the results, of the arguments and, for each array of row numbers of each space, where these rows
            are among those that were pulled.
    """

    lookups: Lookups
    tables: dict[int, int]
    pushed: dict[int, int]
    find: Callable[..., list[Any]]
    function: Callable[[Sequence[Any], Sequence[Any]], list[Any]]


def in_row_space(
    function: Callable[..., Any], specs: Sequence[Any], tables: Sequence[int], pushed: Sequence[int]
) -> RowProgram | None:
    """Return a program in row space; None if there is nothing in it that is better sent by rows.

    Args:
        function: A function of arrays that gives a list of arrays.
        specs: The types of its arguments.
        tables: Which of them are variables on servers.
        pushed: Which of its results may be given by rows.
    """
    candidates = [index for index in tables if _is_worth_it(specs[index], 0)]
    if not candidates:
        return None
    closed = _trace(function, specs, {specs[index].shape[0] for index in candidates})
    arguments = {index: closed.jaxpr.invars[index] for index in candidates}
    results = {index: closed.jaxpr.outvars[index] for index in pushed}
    results = {index: atom for index, atom in results.items() if not isinstance(atom, core.Literal)}
    uses = RowUses(closed.jaxpr, list(arguments.values()), list(results.values()), _is_worth_it)
    for index, variable in arguments.items():
        if uses.group_of(variable) is None:
            _logger.debug("A step uses all of a variable of shape %s.", specs[index].shape)
    found = [uses.group_of(variable) for variable in (*arguments.values(), *results.values())]
    layout = _lay_out(uses, [group for group in found if group is not None])
    if layout is None:
        return None
    needed, find = _finder(closed, uses, layout.ids)
    return RowProgram(
        Lookups(tuple(layout.spaces), tuple(needed)),
        layout.choose_spaces(arguments),
        layout.choose_spaces(results),
        find,
        _Evaluation(closed, uses, layout),
    )


def _trace(function: Callable[..., Any], specs: Sequence[Any], sizes: set[int]) -> Any:
    """Trace a function, with what has to do with arrays of some numbers of rows written out, and nothing unused."""
    closed = inline(jax.make_jaxpr(function)(*specs), sizes)
    jaxpr, _ = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True)
    return core.ClosedJaxpr(jaxpr, closed.consts)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """The row spaces of a program.

    Attributes:
        ids: The row numbers that it looks up.
        spaces: The row spaces.
        space_of: In which of them the arrays are that are computed by rows.
        place_of: Of the row numbers of each space, which array says where they are among the rows that were pulled.
    """

    ids: list[LookedUpIds]
    spaces: list[RowSpace]
    space_of: dict[Any, int]
    place_of: dict[tuple[int, LookedUpIds], int]

    def choose_spaces(self, variables: dict[int, Any]) -> dict[int, int]:
        """Return the spaces of those of some variables that are in one."""
        return {index: self.space_of[each] for index, each in variables.items() if each in self.space_of}


def _lay_out(uses: RowUses, found: Sequence[RowGroup]) -> _Layout | None:
    """Return the row spaces of arrays that have their rows together; None where there are none."""
    if not found:
        return None
    # Groups that look up the same have the same rows.
    groups = {_key(group): group for group in found}
    ids = list(dict.fromkeys(each for group in found for each in group.ids))
    numbers = {each: number for number, each in enumerate(ids)}
    spaces = [
        RowSpace(tuple(numbers[each] for each in group.ids), group.size, group.num_rows)
        for group in groups.values()
    ]
    order = {key: index for index, key in enumerate(groups)}
    space_of = {variable: order[_key(group.root)] for variable, (_, group) in uses.kinds.items()}
    places = [(index, each) for index, group in enumerate(groups.values()) for each in group.ids]
    return _Layout(ids, spaces, space_of, {place: number for number, place in enumerate(places)})


def _key(group: RowGroup) -> tuple[frozenset[LookedUpIds], int]:
    return frozenset(group.ids), group.num_rows


def _is_worth_it(aval: Any, size: int) -> bool:
    if not aval.shape:
        return False
    row_bytes = int(np.prod(aval.shape[1:])) * np.dtype(aval.dtype).itemsize
    return (aval.shape[0] - size) * row_bytes >= LEAST_BYTES_SAVED


def _finder(
    closed: Any, uses: RowUses, ids: Sequence[LookedUpIds]
) -> tuple[list[int], Callable[..., list[Any]]]:
    """Return which arguments row numbers follow from, and the function that computes them."""
    atoms = [each.atom for each in ids]
    equations = uses.slice_of(atoms) or []
    used = {id(atom) for equation in equations for atom in equation.invars} | {id(atom) for atom in atoms}
    needed = [index for index, variable in enumerate(closed.jaxpr.invars) if id(variable) in used]
    inputs = [closed.jaxpr.invars[index] for index in needed]
    compute = core.jaxpr_as_fun(jaxprs.cut(closed, inputs=inputs, outputs=atoms, equations=equations))

    def find(*arguments: object) -> list[Any]:
        return [
            jnp.ravel(numbers_of(each, value)) for each, value in zip(ids, compute(*arguments), strict=True)
        ]

    return needed, find


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Evaluation:
    """Computes a jaxpr in row space."""

    closed: Any
    uses: RowUses
    layout: _Layout

    def __call__(self, arguments: Sequence[Any], places: Sequence[Any]) -> list[Any]:
        uses, numbers = self.uses, dict[Any, Any]()

        def rule(equation: Any, operands: list[Any]) -> list[Any] | None:
            if not uses.lookups.keys().isdisjoint(equation.outvars):
                return self._look_up(equation, operands, places)
            if any(map(self._is_by_row, equation.invars)):
                return self._by_row(equation, operands, numbers)
            # The number that an array is everywhere.
            numbers.update((made, operands[0]) for made in equation.outvars if made in uses.uniform)
            return None

        return jaxprs.evaluate(self.closed, arguments, rule)

    def _is_by_row(self, atom: object) -> bool:
        return not isinstance(atom, core.Literal) and atom in self.uses.kinds

    def _look_up(self, equation: Any, operands: list[Any], places: Sequence[Any]) -> list[Any]:
        (operand, indices, *_), (made,) = equation.invars, equation.outvars
        compact, _, *updates = operands
        ids = self.uses.lookups[made]
        space = self.layout.space_of[operand if equation.primitive.name == "gather" else made]
        if not self._is_by_row(operand):
            size = self.layout.spaces[space].size
            compact = jnp.zeros((size, *operand.aval.shape[1:]), operand.aval.dtype)
        mode = jax.lax.GatherScatterMode.CLIP if ids.is_clipped else jax.lax.GatherScatterMode.FILL_OR_DROP
        place = jnp.reshape(places[self.layout.place_of[space, ids]], indices.aval.shape)
        return jaxprs.bind(equation, [compact, place, *updates], mode=mode, indices_are_sorted=False)

    def _by_row(self, equation: Any, operands: list[Any], numbers: dict[Any, Any]) -> list[Any]:
        if equation.primitive.name.startswith("reduce_"):
            return jaxprs.bind(equation, operands)
        given = [
            value if isinstance(atom, core.Literal) else numbers.get(atom, value)
            for atom, value in zip(equation.invars, operands, strict=True)
        ]
        full = max((jnp.shape(each) for each in given), key=len)
        return jaxprs.bind(equation, [jnp.broadcast_to(each, full) for each in given])
