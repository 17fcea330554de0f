"""Programs that compute with the rows that they look up, in place of whole variables (distribute layer)."""

import dataclasses
import logging
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.distribute.remote._row_spaces import Lookups, RowSpace
from stratax.distribute.remote._row_uses import Ids, RowUses, bind, inlined, numbers_of, value_of
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
    sizes = {specs[index].shape[0] for index in candidates}
    closed = inlined(jax.make_jaxpr(function)(*specs), sizes)
    jaxpr, _ = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True)
    results = [jaxpr.outvars[index] for index in pushed]
    uses = RowUses(
        jaxpr,
        [jaxpr.invars[index] for index in candidates],
        [result for result in results if not isinstance(result, core.Literal)],
        _is_worth_it,
    )
    groups = {index: uses.group_of(jaxpr.invars[index]) for index in candidates}
    by_rows = {index: uses.group_of(jaxpr.outvars[index]) for index in pushed if _is_variable(jaxpr, index)}
    for index in candidates:
        if groups[index] is None:
            _logger.debug("A step uses all of a variable of shape %s.", specs[index].shape)
    found = [group for group in (*groups.values(), *by_rows.values()) if group is not None]
    if not found:
        return None
    ids = list(dict.fromkeys(each for group in found for each in group.ids))
    numbers = {each: number for number, each in enumerate(ids)}
    # Groups that look up the same have the same rows.
    keys = {(frozenset(group.ids), group.num_rows): group for group in found}
    spaces = [
        RowSpace(tuple(numbers[each] for each in group.ids), group.size, group.num_rows)
        for group in keys.values()
    ]
    place_of: dict[tuple[int, Ids], int] = {}
    for index, group in enumerate(keys.values()):
        for each in group.ids:
            place_of[index, each] = len(place_of)
    order = {key: index for index, key in enumerate(keys)}
    space_of = {
        variable: order[frozenset(group.root.ids), group.root.num_rows]
        for variable, (_, group) in uses.kinds.items()
    }
    needed, find = _finder(jaxpr, closed.consts, uses, ids)
    return RowProgram(
        Lookups(tuple(spaces), tuple(needed)),
        {index: space_of[jaxpr.invars[index]] for index, group in groups.items() if group is not None},
        {index: space_of[jaxpr.outvars[index]] for index, group in by_rows.items() if group is not None},
        find,
        _Evaluation(jaxpr, closed.consts, uses, spaces, space_of, place_of),
    )


def _is_worth_it(aval: Any, size: int) -> bool:
    if not aval.shape:
        return False
    row_bytes = int(np.prod(aval.shape[1:])) * np.dtype(aval.dtype).itemsize
    return (aval.shape[0] - size) * row_bytes >= LEAST_BYTES_SAVED


def _is_variable(jaxpr: Any, index: int) -> bool:
    return not isinstance(jaxpr.outvars[index], core.Literal)


def _finder(
    jaxpr: Any, constants: Sequence[Any], uses: RowUses, ids: Sequence[Ids]
) -> tuple[list[int], Callable[..., list[Any]]]:
    """Return which arguments row numbers follow from, and the function that computes them."""
    atoms = [each.atom for each in ids]
    equations = uses.slice_of(atoms) or []
    used = {id(atom) for equation in equations for atom in equation.invars} | {id(atom) for atom in atoms}
    needed = [index for index, variable in enumerate(jaxpr.invars) if id(variable) in used]
    sliced = jaxpr.replace(
        invars=[jaxpr.invars[index] for index in needed],
        outvars=atoms,
        eqns=equations,
        effects=set(),
        debug_info=jaxpr.debug_info._replace(arg_names=None, result_paths=None),
    )
    compute = core.jaxpr_as_fun(core.ClosedJaxpr(sliced, constants))

    def find(*arguments: Any) -> list[Any]:
        return [
            jnp.ravel(numbers_of(each, value)) for each, value in zip(ids, compute(*arguments), strict=True)
        ]

    return needed, find


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Evaluation:
    """Computes a jaxpr in row space."""

    jaxpr: Any
    constants: Sequence[Any]
    uses: RowUses
    spaces: Sequence[RowSpace]
    space_of: dict[Any, int]
    place_of: dict[tuple[int, Ids], int]

    def __call__(self, arguments: Sequence[Any], places: Sequence[Any]) -> list[Any]:
        jaxpr, uses = self.jaxpr, self.uses
        known: dict[Any, Any] = dict(zip(jaxpr.constvars, self.constants, strict=True))
        known |= dict(zip(jaxpr.invars, arguments, strict=True))
        for number, equation in enumerate(jaxpr.eqns):
            if number in uses.lookups:
                results = self._look_up(number, equation, known, places)
            elif any(self._is_by_row(atom) for atom in equation.invars):
                results = self._by_row(equation, known)
            else:
                results = bind(equation, [value_of(known, atom) for atom in equation.invars])
            known |= dict(zip(equation.outvars, results, strict=True))
        return [value_of(known, atom) for atom in jaxpr.outvars]

    def _is_by_row(self, atom: Any) -> bool:
        return not isinstance(atom, core.Literal) and atom in self.uses.kinds

    def _look_up(self, number: int, equation: Any, known: dict[Any, Any], places: Sequence[Any]) -> list[Any]:
        operand, indices, *updates = equation.invars
        ids = self.uses.lookups[number]
        space = self.space_of[operand if equation.primitive.name == "gather" else equation.outvars[0]]
        if self._is_by_row(operand):
            compact = known[operand]
        else:
            size = self.spaces[space].size
            compact = jnp.zeros((size, *operand.aval.shape[1:]), operand.aval.dtype)
        mode = jax.lax.GatherScatterMode.CLIP if ids.is_clipped else jax.lax.GatherScatterMode.FILL_OR_DROP
        place = jnp.reshape(places[self.place_of[space, ids]], indices.aval.shape)
        given = [compact, place, *(value_of(known, atom) for atom in updates)]
        return bind(equation, given, mode=mode, indices_are_sorted=False)

    def _by_row(self, equation: Any, known: dict[Any, Any]) -> list[Any]:
        if equation.primitive.name.startswith("reduce_"):
            return bind(equation, [known[equation.invars[0]]])
        operands = [
            # The number that it is everywhere.
            value_of(known, self.uses.uniform[atom])
            if not isinstance(atom, core.Literal) and atom in self.uses.uniform
            else value_of(known, atom)
            for atom in equation.invars
        ]
        full = max((jnp.shape(each) for each in operands), key=len)
        return bind(equation, [jnp.broadcast_to(each, full) for each in operands])
