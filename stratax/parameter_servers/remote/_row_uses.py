"""How a program uses variables and gradients by their rows (distribute layer).

A variable of which only rows are looked up need not be there as a whole, and a gradient that is added up from rows is
zero elsewhere. Whether that is so is not guessed: the program's jaxpr is gone through, and only uses that are known
pass. What is used otherwise too is left as it is.
"""

import dataclasses
import enum
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from stratax.core import jaxprs, programs
from stratax.parameter_servers.remote._elementwise import ELEMENTWISE, KEEP_ZERO, is_zero_literal
from stratax.seams.jax import core

_MODE = jax.lax.GatherScatterMode
# Functions of their own, by where their jaxpr stands.
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}
# What is computed again for a gradient; the name that JAX 0.10 gives it, and its name before.
_COMPUTED_AGAIN = ("remat2", "checkpoint")


class OtherRows(enum.Enum):
    """What the rows of an array are that are not looked up."""

    ANY = "any"
    ZERO = "zero"
    TRUE = "true"


class LookedUpIds(NamedTuple):
    """Row numbers of a lookup.

    Attributes:
        atom: The jaxpr's variable.
        is_clipped: Whether a number that is out of range means the nearest row, and not none.
        num_rows: How many rows there are.
    """

    atom: Any
    is_clipped: bool
    num_rows: int

    @property
    def size(self) -> int:
        """How many numbers they are."""
        return math.prod(self.atom.aval.shape)


@dataclasses.dataclass(slots=True, eq=False)
class RowGroup:
    """Arrays that have their rows together.

    Attributes:
        num_rows: How many rows they have as a whole.
        origins: The variables that they come from: arguments, and what operations make.
        ids: Which rows are looked up.
    """

    num_rows: int
    origins: list[Any]
    ids: dict[LookedUpIds, None] = dataclasses.field(default_factory=dict)
    parent: "RowGroup | None" = None

    @property
    def root(self) -> "RowGroup":
        """The group that this one has become a part of."""
        return self if self.parent is None else self.parent.root

    def join(self, other: "RowGroup") -> "RowGroup":
        """Make one of two groups."""
        left, right = self.root, other.root
        if left is not right:
            right.parent = left
            left.origins += right.origins
            left.ids |= right.ids
        return left

    @property
    def size(self) -> int:
        """How many rows may be looked up."""
        return sum(ids.size for ids in self.ids)


class RowUses:
    """What of a jaxpr can be computed in row space.

    Args:
        jaxpr: The jaxpr, written out by :func:`inline`.
        tables: Those of its arguments that are variables which are worth it.
        pushed: Those of its results that may be given by rows.
        is_worth_it: Whether an array of a shape and dtype is better sent as so many rows.

    Attributes:
        kinds: The arrays that are computed by rows, with their groups.
        lookups: For each operation that looks up or adds up rows, by its result: which.
        uniform: Arrays that are one number everywhere, with that number.
    """

    def __init__(
        self,
        jaxpr: Any,
        tables: Sequence[Any],
        pushed: Sequence[Any],
        is_worth_it: Callable[[Any, int], bool],
    ) -> None:
        self._jaxpr = jaxpr
        self._pushed = set(pushed)
        self._refused: set[Any] = set()
        self.kinds: dict[Any, tuple[OtherRows, RowGroup]] = {}
        self.lookups: dict[Any, LookedUpIds] = {}
        self.uniform: dict[Any, Any] = {}
        # What is refused may be used by others: until nothing more is.
        while True:
            known = len(self._refused)
            self._go_through([table for table in tables if table not in self._refused])
            self._check(is_worth_it)
            if len(self._refused) == known:
                break

    def group_of(self, variable: object) -> RowGroup | None:
        """Return the group of an array; None where it is computed as a whole."""
        found = self.kinds.get(variable)
        return None if found is None else found[1].root

    def _go_through(self, tables: Sequence[Any]) -> None:
        self.kinds, self.lookups, self.uniform = {}, {}, {}
        for table in tables:
            self.kinds[table] = OtherRows.ANY, RowGroup(table.aval.shape[0], [table])
        for equation in jaxprs.equations(self._jaxpr):
            self._meet(equation)
        for variable in jaxprs.variables_of(self._jaxpr.outvars):
            found = self.kinds.get(variable)
            if found is not None and (found[0] is not OtherRows.ZERO or variable not in self._pushed):
                self._refuse(found[1].root)

    def _meet(self, equation: Any) -> None:
        """Find out what an operation makes; what it uses in a way that is not known is refused."""
        groups = [self.kinds[atom][1] for atom in equation.invars if self._kind(atom) is not None]
        if groups:
            # Of one length, or the operation is none that is known here.
            group = functools.reduce(RowGroup.join, groups).root
            if not self._follow(equation, group):
                self._refuse(group.root)
                for variable in equation.outvars:
                    self.kinds.pop(variable, None)
        elif self._is_made_of_rows(equation):
            (made,) = equation.outvars
            group = RowGroup(made.aval.shape[0], [made])
            self._look_up(equation, group)
            self.kinds[made] = OtherRows.ZERO, group
        elif equation.primitive.name == "broadcast_in_dim" and not equation.invars[0].aval.shape:
            self.uniform[equation.outvars[0]] = equation.invars[0]

    def _is_made_of_rows(self, equation: Any) -> bool:
        is_wanted = _is_scatter(equation) and equation.outvars[0] not in self._refused
        return is_wanted and self._is_zero(equation.invars[0])

    def _follow(self, equation: Any, group: RowGroup) -> bool:
        """Find out what an operation makes of arrays by rows; return whether it is known."""
        name, kind = equation.primitive.name, self._kind(equation.invars[0])
        if name == "gather" or _is_scatter(equation):
            others = any(self._kind(atom) is not None for atom in equation.invars[1:])
            expected = OtherRows.ANY if name == "gather" else OtherRows.ZERO
            if kind is not expected or others or (name == "gather" and not _is_by_row(equation)):
                return False
            self._look_up(equation, group)
            if name != "gather":
                self.kinds[equation.outvars[0]] = OtherRows.ZERO, group
            return True
        if name in ("reduce_sum", "reduce_and"):
            if kind is not (OtherRows.ZERO if name == "reduce_sum" else OtherRows.TRUE):
                return False
            if 0 not in equation.params["axes"]:
                self.kinds[equation.outvars[0]] = kind, group
            return True
        made = self._elementwise(equation) if name in ELEMENTWISE else None
        if made is None:
            return False
        self.kinds[equation.outvars[0]] = made, group
        return True

    def _elementwise(self, equation: Any) -> OtherRows | None:
        """Return what an operation that works element by element makes; None where that is not known."""
        name, atoms = equation.primitive.name, equation.invars
        kinds = [self._kind(atom) for atom in atoms]
        if any(
            kind is None and atom.aval.shape and atom not in self.uniform
            for atom, kind in zip(atoms, kinds, strict=True)
        ):
            return None
        if OtherRows.ANY in kinds:
            return OtherRows.ANY if set(kinds) <= {OtherRows.ANY, None} else None
        if OtherRows.TRUE in kinds:
            return OtherRows.TRUE if name == "and" and set(kinds) == {OtherRows.TRUE} else None
        zero = [
            kind is OtherRows.ZERO or self._is_zero(atom) for atom, kind in zip(atoms, kinds, strict=True)
        ]
        keeps = {
            "mul": True,
            "div": kinds[0] is OtherRows.ZERO and kinds[-1] is None,
            "integer_pow": equation.params.get("y", 0) > 0,
            "select_n": kinds[0] is None and all(zero[1:]),
        }
        if keeps.get(name, name in KEEP_ZERO and all(zero)):
            return OtherRows.ZERO
        return OtherRows.TRUE if name == "is_finite" else None

    def _look_up(self, equation: Any, group: RowGroup) -> None:
        mode, is_gather = equation.params["mode"], equation.primitive.name == "gather"
        # XLA moves what is looked up into the range, and leaves out what would be added outside of it.
        is_clipped = mode == _MODE.CLIP or (is_gather and mode == _MODE.PROMISE_IN_BOUNDS)
        ids = self.lookups[equation.outvars[0]] = LookedUpIds(equation.invars[1], is_clipped, group.num_rows)
        group.ids[ids] = None

    def _check(self, is_worth_it: Callable[[Any, int], bool]) -> None:
        """Refuse what is better sent as a whole, and rows that can't be known before the step."""
        arguments = set(self._jaxpr.invars)
        wanted = set()
        for variable, (_, group) in self.kinds.items():
            if variable in arguments or variable in self._pushed:
                wanted.add(group.root)
                if not is_worth_it(variable.aval, group.root.size):
                    self._refuse(group.root)
        for group in {each[1].root for each in self.kinds.values()}:
            if group not in wanted or any(self.slice_of([ids.atom]) is None for ids in group.ids):
                self._refuse(group)

    def slice_of(self, atoms: Sequence[Any]) -> list[Any] | None:
        """Return the operations that compute atoms; None if they need arrays by rows, or do more than to compute."""
        found, variables = jaxprs.find_needed(self._jaxpr, atoms)
        if not variables.isdisjoint(self.kinds) or not variables.isdisjoint(self.lookups):
            return None
        return None if any(each.effects or programs.is_call(each) for each in found) else found

    def _refuse(self, group: RowGroup) -> None:
        self._refused.update(group.origins)

    def _kind(self, atom: object) -> OtherRows | None:
        if isinstance(atom, core.Literal):
            return None
        found = self.kinds.get(atom)
        return None if found is None else found[0]

    def _is_zero(self, atom: object) -> bool:
        """Return whether an array is known to be zero everywhere."""
        if not isinstance(atom, core.Literal):
            atom = self.uniform.get(atom)
        return is_zero_literal(atom)


def inline(closed: Any, sizes: set[int]) -> Any:
    """Return a closed jaxpr with the functions that it calls written out in it.

    Functions whose intermediate values are computed again for a gradient stay as they are, unless they have to do with
    arrays of some numbers of rows: written out, they need more memory.

    Args:
        closed: The jaxpr.
        sizes: These numbers of rows.
    """

    def rule(equation: Any, operands: Sequence[Any]) -> list[Any] | None:
        name = equation.primitive.name
        if name in _CALLS:
            return jaxprs.evaluate(equation.params[_CALLS[name]], operands, rule)
        if name in _COMPUTED_AGAIN and _has_rows(equation.params["jaxpr"], sizes):
            return jaxprs.evaluate(core.ClosedJaxpr(equation.params["jaxpr"], ()), operands, rule)
        return None

    return jaxprs.trace_again(closed, rule)


def numbers_of(ids: LookedUpIds, value: Any) -> Any:
    """Return row numbers as 32-bit integers, in which the number of rows stands for no row.

    Args:
        ids: What they are.
        value: Their value.
    """
    value = value.astype(jnp.int32) if value.dtype.itemsize < 4 else value
    last = ids.num_rows - 1
    if ids.is_clipped:
        return jnp.clip(value, 0, last).astype(jnp.int32)
    return jnp.where((value >= 0) & (value <= last), value, ids.num_rows).astype(jnp.int32)


def _has_rows(jaxpr: Any, sizes: set[int]) -> bool:
    atoms = [*jaxpr.invars, *jaxprs.makers(jaxpr)]
    return any(atom.aval.shape and atom.aval.shape[0] in sizes for atom in atoms)


def _is_scatter(equation: Any) -> bool:
    """Return whether an operation adds whole rows."""
    if equation.primitive.name != "scatter-add" or equation.params["mode"] not in _MODES:
        return False
    numbers, operand, updates = (
        equation.params["dimension_numbers"],
        equation.invars[0].aval,
        equation.invars[2].aval,
    )
    window = tuple(updates.shape[dimension] for dimension in numbers.update_window_dims)
    return (
        tuple(numbers.inserted_window_dims) == (0,)
        and tuple(numbers.scatter_dims_to_operand_dims) == (0,)
        and not numbers.operand_batching_dims
        and window == tuple(operand.shape[1:])
    )


def _is_by_row(equation: Any) -> bool:
    """Return whether a `gather` takes whole rows."""
    numbers = equation.params["dimension_numbers"]
    return (
        equation.params["mode"] in _MODES
        and tuple(numbers.collapsed_slice_dims) == (0,)
        and tuple(numbers.start_index_map) == (0,)
        and not numbers.operand_batching_dims
        and tuple(equation.params["slice_sizes"]) == (1, *equation.invars[0].aval.shape[1:])
    )


_MODES = (_MODE.CLIP, _MODE.FILL_OR_DROP, _MODE.PROMISE_IN_BOUNDS)
