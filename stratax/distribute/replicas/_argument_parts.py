"""Arrays of which devices have parts, as arguments of a replica's function, which sees them whole (distribute layer).

What the function computes of them is traced first. Each operation that needs the whole of such an array then gathers it
for itself: on the way back anew, so that nothing that was gathered is kept until then. What works element by element,
such as a conversion to the dtype that is computed with, is done with the parts before.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core as jax_core
from jax.sharding import PartitionSpec

from stratax.base.typing import Array, PyTree, TensorLike
from stratax.core import jaxprs
from stratax.distribute.replicas._divided import gather_whole
from stratax.distribute.replicas._values import SHARD_AXIS
from stratax.seams import jax as seam

# Of each element by itself; further operands are numbers that the program knows.
_ELEMENTWISE = frozenset(
    [
        *(
            "abs",
            "add",
            "convert_element_type",
            "copy",
            "div",
            "exp",
            "integer_pow",
            "log",
            "logistic",
            "max",
        ),
        *("min", "mul", "neg", "reduce_precision", "rsqrt", "sign", "sqrt", "square", "sub", "tanh"),
    ]
)
# What costs nothing to do once more with what was gathered.
_CHEAP = _ELEMENTWISE | {"broadcast_in_dim", "expand_dims", "reshape", "rev", "slice", "squeeze", "transpose"}
_CALLS = ("jit", "pjit")
_REMATS = ("checkpoint", "remat", "remat2")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """A value of which this device has a part.

    Attributes:
        part: The part.
        dim: The dimension of which it is a part.
        then: What is still to be computed of the whole.
    """

    part: Array
    dim: int
    then: tuple[Any, ...] = ()


class _Gatherer:
    """Computes what a jaxpr says, and gathers what it reads.

    Args:
        keeps: Whether it gathers a value once, and keeps it: in what is computed again as a whole.
    """

    def __init__(self, *, keeps: bool = False) -> None:
        # What was gathered, by the identities of values; with these, as identities are used again.
        self._gathered: dict[int, tuple[_Piece, Array]] = {}
        self._keeps = keeps

    def rule(self, equation: Any, operands: list[Any]) -> Sequence[Any] | None:
        """Compute an operation some operands of which may be pieces; see `jaxprs.Rule`."""
        pieces = [operand for operand in operands if isinstance(operand, _Piece)]
        if not pieces:
            return None
        name = equation.primitive.name
        if name == "reshard":
            # Of the mesh outside, for an array that lies on it; here each device has its own.
            return pieces
        if name in _CALLS:
            return jaxprs.evaluate(equation.params["jaxpr"], operands, self.rule)
        if name in _REMATS:
            return self._compute_again(equation, operands)
        if name == "scan":
            return self._scan(equation, operands)
        others = [operand for operand in operands if not isinstance(operand, _Piece)]
        if len(pieces) == 1 and name in _CHEAP and all(_is_known_number(other) for other in others):
            return [_do_with_part(equation, operands, pieces[0])]
        behind = [other for other in others if isinstance(other, jax.core.Tracer)]
        return jaxprs.bind(equation, [self.whole(operand, behind) for operand in operands])

    def whole(self, value: Any, behind: PyTree = None) -> Any:
        """Return the whole of a value."""
        if not isinstance(value, _Piece):
            return value
        known = self._gathered.get(id(value))
        if known is not None and self._keeps:
            return known[1]
        spec = PartitionSpec(*(None,) * value.dim, SHARD_AXIS)
        # The first time whenever XLA likes, which begins early where that is faster.
        whole = gather_whole(value.part, spec, (behind or None) if known is not None else None)
        for equation, operands in value.then:
            (whole,) = jaxprs.bind(equation, [whole if each is None else each for each in operands])
        self._gathered[id(value)] = value, whole
        return whole

    def _compute_again(self, equation: Any, operands: list[Any]) -> list[Any]:
        """Have what is computed again gather what it reads."""
        # Its jaxpr is an open one, and so has the constants among its operands.
        closed = jax_core.ClosedJaxpr(equation.params["jaxpr"], [])
        jaxpr, constants = self._retrace(closed, operands, keeps=True)
        given = [_part_of(operand) for operand in operands]
        return jaxprs.bind(equation, [*given, *constants], jaxpr=jaxpr.jaxpr)

    def _retrace(self, closed: Any, operands: Sequence[Any], *, keeps: bool) -> tuple[Any, Sequence[Any]]:
        def compute(*given: Array) -> list[Any]:
            own = [
                dataclasses.replace(operand, part=value) if isinstance(operand, _Piece) else value
                for operand, value in zip(operands, given, strict=True)
            ]
            gatherer = _Gatherer(keeps=keeps)
            return [gatherer.whole(value) for value in jaxprs.evaluate(closed, own, gatherer.rule)]

        traced = jax.make_jaxpr(compute)(*[_part_of(operand) for operand in operands])
        return jaxprs.with_constants_as_inputs(traced), traced.consts

    def _scan(self, equation: Any, operands: list[Any]) -> list[Any]:
        """Have each iteration gather what it reads of a stack of arrays, such as the weights of its layer."""
        num_constants, num_carried = seam.inputs_of_scan(equation)
        num_before = num_constants + num_carried
        stacks = [
            operand if isinstance(operand, _Piece) and operand.dim > 0 and not operand.then else None
            for operand in operands[num_before:]
        ]
        before = [self.whole(operand) for operand in operands[:num_before]]
        if not any(stacks):
            return jaxprs.bind(equation, [*before, *map(self.whole, operands[num_before:])])
        closed, params = equation.params["jaxpr"], equation.params

        def step(carried: list[Any], stacked: list[Any]) -> tuple[list[Any], list[Any]]:
            own = [
                value if stack is None else _Piece(value, stack.dim - 1)
                for stack, value in zip(stacks, stacked, strict=True)
            ]
            gatherer = _Gatherer(keeps=True)
            found = jaxprs.evaluate(closed, [*before[:num_constants], *carried, *own], gatherer.rule)
            results = [gatherer.whole(value) for value in found]
            return results[:num_carried], results[num_carried:]

        given = [
            operand.part if stack is not None else self.whole(operand)
            for stack, operand in zip(stacks, operands[num_before:], strict=True)
        ]
        carried, stacked = jax.lax.scan(
            step,
            before[num_constants:],
            given,
            length=params["length"],
            reverse=params["reverse"],
            unroll=params["unroll"],
        )
        return [*carried, *stacked]


def gather_where_read(
    function: Callable[[list[Any]], PyTree],
    parts: Sequence[Array],
    specs: Sequence[PartitionSpec],
    captured: Sequence[Array] = (),
) -> PyTree:
    """Return what a function computes of whole arrays, of which this device has parts.

    Args:
        function: Of a list of arrays; returns a structure of arrays.
        parts: The parts.
        specs: How they are divided.
        captured: Arrays that the function has from around it, of which the last parts are.
    """
    pieces = [_Piece(part, tuple(spec).index(SHARD_AXIS)) for part, spec in zip(parts, specs, strict=True)]
    closed, shapes = jax.make_jaxpr(function, return_shape=True)([_type_of_whole(piece) for piece in pieces])
    gatherer = _Gatherer()
    # JAX has those from around the function as constants.
    last = {id(value): piece for value, piece in zip(reversed(captured), reversed(pieces), strict=False)}
    constants = [last.get(id(value), value) for value in closed.consts]
    closed = jax_core.ClosedJaxpr(closed.jaxpr, constants)
    results = jaxprs.evaluate(closed, pieces, gatherer.rule)
    return jax.tree.unflatten(jax.tree.structure(shapes), [gatherer.whole(value) for value in results])


def _type_of_whole(piece: _Piece) -> jax.ShapeDtypeStruct:
    shape = list(piece.part.shape)
    shape[piece.dim] *= jax.lax.axis_size(SHARD_AXIS)
    return jax.ShapeDtypeStruct(shape, piece.part.dtype)


def _part_of(operand: Any) -> Any:
    return operand.part if isinstance(operand, _Piece) else operand


def _is_known_number(operand: TensorLike) -> bool:
    return not isinstance(operand, jax.core.Tracer) and np.ndim(operand) == 0


def _do_with_part(equation: Any, operands: list[Any], piece: _Piece) -> _Piece:
    """Compute an operation with the part of a value, where it can be, else note it for later."""
    if not piece.then:
        do = functools.partial(jaxprs.bind, equation, [_part_of(operand) for operand in operands])
        name, params = equation.primitive.name, equation.params
        if name in _ELEMENTWISE:
            return _Piece(do()[0], piece.dim)
        if name == "transpose":
            return _Piece(do()[0], tuple(params["permutation"]).index(piece.dim))
        if name == "squeeze":
            before = sum(dim < piece.dim for dim in params["dimensions"])
            return _Piece(do()[0], piece.dim - before)
        size = equation.invars[0].aval.shape[piece.dim]
        if name == "slice" and params["start_indices"][piece.dim] == 0 and params["strides"] is None:
            limits = list(params["limit_indices"])
            if limits[piece.dim] == size:
                limits[piece.dim] = piece.part.shape[piece.dim]
                return _Piece(do(limit_indices=tuple(limits))[0], piece.dim)
    later = (equation, [None if isinstance(operand, _Piece) else operand for operand in operands])
    return _Piece(piece.part, piece.dim, (*piece.then, later))
