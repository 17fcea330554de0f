"""Conditions on arrays in compiled functions: `if`, `and`, `or`, `not` and `a if c else b` (core layer).

Conditions that Python can decide while tracing stay Python's. Where the condition is traced, both branches are traced
and become one `jax.lax.cond`: the locals and variables that either assigns are its results.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.surroundings import Slot
from stratax.base.tracing import is_traced as is_traced
from stratax.base.typing import TensorLike
from stratax.core import regions
from stratax.core.control import _body, _driven, _growing, _locals
from stratax.core.control._locals import as_predicate


def read(condition: Any) -> Any:
    """Return the value of a variable that is a condition, and anything else as it is."""
    return condition.value if isinstance(condition, keras.Variable) else condition


# The operand and the result of the last `not` on an array.
_LAST_NEGATION: Slot[tuple[Any, Any]] = Slot("last negation", (None, None))


def not_(operand: object) -> Any:
    """Return `not operand`, also of an array."""
    operand = read(operand)
    if not is_traced(operand):
        return not operand
    result = jnp.logical_not(as_predicate(operand, "not"))
    # AutoGraph guards what follows a `return` by `if not do_return:`. `if_stmt` gets the result of the `not` only;
    # the operand tells it that this is such a guard.
    _LAST_NEGATION.set((operand, result))
    return result


def and_(left: Callable[[], Any], right: Callable[[], Any]) -> Any:
    """Return `left and right`. Of arrays both sides are evaluated."""
    value = read(left())
    if not is_traced(value):
        return value and right()
    return jnp.logical_and(as_predicate(value, "and"), as_predicate(read(right()), "and"))


def or_(left: Callable[[], Any], right: Callable[[], Any]) -> Any:
    """Return `left or right`. Of arrays both sides are evaluated."""
    value = read(left())
    if not is_traced(value):
        return value or right()
    return jnp.logical_or(as_predicate(value, "or"), as_predicate(read(right()), "or"))


def if_exp(condition: object, if_true: Callable[[], Any], if_false: Callable[[], Any], text: str) -> Any:
    """Return `if_true if condition else if_false`."""
    condition = read(condition)
    if not is_traced(condition) or regions.current_region() is None:
        return if_true() if condition else if_false()
    # A local without a name, which both sides assign: the expression becomes an `if` statement.
    values: list[Any] = [None]

    def assign(branch: Callable[[], Any]) -> Callable[[], None]:
        def body() -> None:
            values[0] = branch()

        return body

    def set_state(state: Sequence[Any]) -> None:
        values[:] = state

    names = (f"... if {text} else ...",)
    if_stmt(condition, assign(if_true), assign(if_false), lambda: tuple(values), set_state, names, 1)
    return values[0]


def if_stmt(
    condition: Any,
    body: Callable[[], Any],
    orelse: Callable[[], Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[Sequence[Any]], None],
    names: Sequence[str],
    num_outputs: int,
) -> None:
    """Run `if condition: body else: orelse`.

    Args:
        condition: A Python value or an array.
        body: The branch.
        orelse: The other branch.
        get_state: Gives the values of the locals in `names`.
        set_state: Sets them.
        names: The locals that a branch assigns, those that are used afterwards first.
        num_outputs: How many are used afterwards.

    Raises:
        TracingError: If the condition is an array and the branches leave a local with different types.
    """
    parent, condition = regions.current_region(), read(condition)
    # Under a `jax.jit` of the user's own there is no region; Python's `if` then raises JAX's error.
    if not is_traced(condition) or parent is None:
        taken, other = (body, orelse) if condition else (orelse, body)
        if parent is not None or not _growing.is_watched("branches", taken, other, get_state, set_state):
            taken()
        return
    # Both branches begin from these; each would otherwise see what the other has assigned.
    entry = _put_together(get_state())
    set_state(entry)
    on_true, on_false = _narrow(condition, entry, names)
    predicate = as_predicate(condition, "if")
    branches = (
        _trace(parent, body, get_state, set_state, on_true),
        _trace(parent, orelse, get_state, set_state, on_false),
    )
    merge = _Merge(branches[0].arrays, branches[1].arrays)
    state = [
        # Locals that are not used afterwards need no common type.
        merge.local(name, branches[0].state[i], branches[1].state[i]) if i < num_outputs else entry[i]
        for i, name in enumerate(names)
    ]
    results = _run(parent, predicate, branches, merge)
    set_state([value(results) if isinstance(value, _Deferred) else value for value in state])


@dataclasses.dataclass(slots=True)
class _Branch:
    """A traced branch: the block, the locals that it leaves, and where their arrays are among its results."""

    block: _body.TracedBlock
    state: list[Any]
    arrays: dict[int, int]


def _trace(
    parent: regions.Region,
    branch: Callable[[], Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[Sequence[Any]], None],
    entry: list[Any],
) -> _Branch:
    state: list[Any] = []
    arrays: dict[int, int] = {}
    region = _body.BranchRegion(parent)

    def body(_: list[Any]) -> list[Any]:
        set_state(entry)
        branch()
        # The function's own locals (AutoGraph's `nonlocal`): they are read here, and put back behind both.
        state.extend(_put_together(_locals.read_variables(get_state(), entry), entry))
        leaves = [leaf for leaf in jax.tree.leaves(state) if _locals.is_array(leaf)]
        arrays.update({id(leaf): position for position, leaf in enumerate(leaves)})
        return leaves + [region.final_value(variable) for variable in region.writes.values()]

    block = _body.trace_block(region, body, ())
    # Not the tracers of this branch, whose trace is over.
    set_state(entry)
    return _Branch(block, state, arrays)


def _narrow(
    condition: Callable[..., Any], entry: list[Any], names: Sequence[str]
) -> tuple[list[Any], list[Any]]:
    """Return what the branches may take for granted of `if not do_return:`, which guards what follows a `return`."""
    operand, result = _LAST_NEGATION.get()
    if condition is not result:
        return entry, entry
    _LAST_NEGATION.set((None, None))
    on_true, on_false = list(entry), list(entry)
    for position, name in enumerate(names):
        if name.startswith("do_return") and entry[position] is operand:
            # Values of Python's, so that guards inside the branches are decided while tracing.
            on_true[position], on_false[position] = False, True
        if name.startswith("retval_") and isinstance(entry[position], _locals.PartialReturn):
            on_true[position] = _locals.UndefinedReturnValue()
            on_false[position] = entry[position].value
    return on_true, on_false


class _Deferred:
    """A local that has its value once the condition has run."""

    def __init__(self, packed: _locals.PackedLocal, positions: dict[int, int]) -> None:
        self._packed = packed
        self._positions = positions

    def __call__(self, results: Sequence[Any]) -> Any:
        return self._packed.unpack({leaf: results[result] for leaf, result in self._positions.items()})


@dataclasses.dataclass(slots=True)
class _Output:
    """A result of the condition: where each branch has it (None: nowhere, it gives zeros), and its type."""

    positions: tuple[int | None, int | None]
    leaf: _locals.Leaf


class _Merge:
    """Decides what the locals are where two branches meet.

    Args:
        if_true: Where the first branch's arrays are among its results, by id.
        if_false: Where the second's are.
    """

    def __init__(self, if_true: dict[int, int], if_false: dict[int, int]) -> None:
        self._if_true = if_true
        self._if_false = if_false
        self.outputs: list[_Output] = []

    def local(self, name: str, left: TensorLike, right: TensorLike) -> Any:
        """Return the value of a local after the condition, or a :class:`_Deferred` one."""
        # Left alone by both branches, or assigned the same object.
        if left is right:
            return left
        if _locals.is_unset(left) or _locals.is_unset(right):
            return self._merge_half_defined(name, left, right)
        partial = isinstance(left, _locals.PartialReturn) or isinstance(right, _locals.PartialReturn)
        if partial:
            left, right = (
                v if isinstance(v, _locals.PartialReturn) else _locals.PartialReturn(v) for v in (left, right)
            )
        return self._both(_locals.pack(name, left), _locals.pack(name, right))

    def _merge_half_defined(self, name: str, left: TensorLike, right: TensorLike) -> Any:
        if _locals.is_unset(left) and _locals.is_unset(right):
            return left
        value = right if _locals.is_unset(left) else left
        # AutoGraph's name for the result of a function. Unlike another local it may be set on one path only, if the
        # other path returns later: zeros stand for it until then.
        if not name.startswith("retval_"):
            return _locals.Undefined(
                name,
                "It was assigned in one branch only of an `if` whose condition is an array. Assign it in both "
                "branches, or before the `if`.",
            )
        if not isinstance(value, _locals.PartialReturn):
            value = _locals.PartialReturn(value)
        packed = _locals.pack(name, value)
        positions = {}
        for leaf in packed.arrays:
            array = packed.leaves[leaf]
            places = self._if_true.get(id(array)), self._if_false.get(id(array))
            found = (places[0], None) if _locals.is_unset(right) else (None, places[1])
            positions[leaf] = self._add(found, _locals.describe(packed.paths[leaf], array))
        return _Deferred(packed, positions)

    def _both(self, left: _locals.PackedLocal, right: _locals.PackedLocal) -> Any:
        if left.treedef != right.treedef:
            raise errors.TracingError(
                f"The structure of {_locals.label(left.name)} differs between the branches of an `if` whose "
                f"condition is an array. Expected: {left.treedef}, as in the first branch. Received: "
                f"{right.treedef}. Give it the same structure in both."
            )
        positions = {}
        for position, (one, other, path) in enumerate(
            zip(left.leaves, right.leaves, left.paths, strict=True)
        ):
            # Equal Python numbers stay Python's, so that shapes can still be made of them.
            if one is other or _is_same_number(one, other):
                continue
            if isinstance(one, _growing.Unallocated) != isinstance(other, _growing.Unallocated):
                from stratax.core.control import _written

                places, array = _written.join(path, one, other, self._if_true, self._if_false)
                positions[position] = self._add(places, _locals.describe(path, array))
            elif _locals.is_array(one) and _locals.is_array(other):
                positions[position] = self._join(path, one, other)
            elif not _locals.same_constant(one, other):
                raise errors.TracingError(
                    f"{path[0].upper()}{path[1:]} is not an array and differs between the branches of an `if` whose "
                    f"condition is an array, so no program can choose between them. Expected: {shown(one)} in both "
                    f"branches. Received: {shown(other)} in the other. Use arrays, or a condition that Python "
                    "can decide."
                )
        return _Deferred(left, positions)

    def _join(self, path: str, one: object, other: object) -> int:
        dtype = _locals.common_dtype(
            path,
            one,
            other,
            "between the branches of an `if` whose condition is an array",
            "Reshape or cast it so that both branches agree, for example with `keras.ops.cast`.",
        )
        leaf = _locals.Leaf(path, _locals.describe(path, one).shape, dtype)
        return self._add((self._if_true[id(one)], self._if_false[id(other)]), leaf)

    def _add(self, positions: tuple[int | None, int | None], leaf: _locals.Leaf) -> int:
        self.outputs.append(_Output(positions, leaf))
        return len(self.outputs) - 1


def _put_together(state: Sequence[Any], before: Sequence[Any] = ()) -> list[Any]:
    is_growing = lambda value: isinstance(value, _growing.Growing)  # noqa: E731
    if not any(map(is_growing, jax.tree.leaves(list(state), is_leaf=is_growing))):
        return list(state)
    from stratax.core.control import _written

    return _written.put_together(state, before)


def _is_same_number(one: object, other: object) -> bool:
    numbers = (bool, int, float, complex)
    return type(one) is type(other) and isinstance(one, numbers) and one == other


def _run(
    parent: regions.Region, predicate: object, branches: tuple[_Branch, _Branch], merge: _Merge
) -> list[Any]:
    """Put the condition into the program; its variables get their new values."""
    written = _find_written(branches)
    # Read before the branches run: a variable that only one of them writes needs its old value in the other.
    current = {key: parent.get_current_value(variable) for key, variable in written.items()}

    def side(number: int) -> Callable[[], list[Any]]:
        branch = branches[number]
        own = list(branch.block.region.writes.values())

        def run() -> list[Any]:
            results = branch.block.run((), ())
            new = {
                key: regions.convert_form(value, variable, written[key])
                for variable, value in zip(own, results[len(results) - len(own) :], strict=True)
                for key in [id(regions.variable_of(variable))]
            }
            outputs = [_output(output, results, number) for output in merge.outputs]
            return outputs + [
                # A variable that this branch leaves alone keeps its value: both branches give the same.
                _locals.cast(new.get(key, value), value.dtype)
                for key, value in current.items()
            ]

        return run

    # A branch without results and effects, such as one that only logs in Python: no need of a condition.
    if not merge.outputs and not written and not any(_matters(branch.block) for branch in branches):
        return []
    if any(branch.block.region.meets for branch in branches):
        predicate = parent.agree(predicate)
    if any(branch.block.is_driven for branch in branches):
        results = _driven.branch(parent, predicate, (side(0), side(1)))
    else:
        results = jax.lax.cond(predicate, side(0), side(1))
    for variable, value in zip(written.values(), results[len(merge.outputs) :], strict=True):
        parent.take_over(variable, value, *[branch.block.region for branch in branches])
    return results[: len(merge.outputs)]


def _find_written(branches: Sequence[_Branch]) -> dict[int, Any]:
    """Return what the branches write, by the ids of variables: as a party's share where one of them does."""
    found: dict[int, Any] = {}
    for branch in branches:
        for variable in branch.block.region.writes.values():
            key = id(regions.variable_of(variable))
            if key not in found or isinstance(variable, regions.Spread):
                found[key] = variable
    return found


def _matters(block: _body.TracedBlock) -> bool:
    """Return whether a branch does something besides computing its results."""
    return block.has_effects or block.is_driven


def _output(output: _Output, results: list[Any], side: int) -> Any:
    position = output.positions[side]
    # This branch returns later: the value is never looked at.
    if position is None:
        return _locals.zeros(output.leaf)
    return _locals.cast(results[position], output.leaf.dtype)
