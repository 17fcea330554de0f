"""Updates of small variables computed together, for a compiler that compiles each loop apart (core layer).

XLA's CPU compiler compiles a loop for each formula and shape, in 15 milliseconds, however small it is. An optimizer
makes two to four of them for each shape of a variable, and the moving statistics of a batch normalization two more: a
third of all that a network for images has. Where the formulas of several small variables are the same number by number,
their operands are laid end to end, computed with as one, and cut apart again.

What is joined is found in the trace, not asked of optimizers: whatever updates variables by such formulas is compiled
more quickly, and what looks at shapes (a norm, a product) stays as it is.
"""

import dataclasses
import itertools
import math
from collections.abc import Hashable, Sequence, Set
from typing import Any

import jax
import jax.extend.core
import numpy as np
from jax import lax
from jax.extend import core as jax_core
from jax.interpreters import mlir

from stratax.core import jaxprs
from stratax.core.cpu._parts import cut_results, lower_parts
from stratax.seams.jax import copy_equation, end_to_end, lower_apart, new_variable

# Larger ones take longer to copy, within some hundred steps, than their loop takes to compile.
MAX_SIZE = 1 << 14

# With fewer shapes, laying end to end takes as many loops as it saves.
MIN_SHAPES = 4

# The operation that takes the mesh off the type of what replicas give; it computes nothing.
_WITHOUT_MESH = "stratax_without_mesh"

# No update has a longer formula; what there is before counts as its operands.
_MAX_OPERATIONS = 64

_ELEMENTWISE = frozenset(
    (
        *(
            "abs",
            "add",
            "add_any",
            "ceil",
            "clamp",
            "convert_element_type",
            "copy",
            "cos",
            "div",
            "eq",
            "erf",
            "exp",
        ),
        *(
            "exp2",
            "expm1",
            "floor",
            "ge",
            "gt",
            "integer_pow",
            "is_finite",
            "le",
            "log",
            "log1p",
            "logistic",
            "lt",
        ),
        *(
            "max",
            "min",
            "mul",
            "ne",
            "neg",
            "pow",
            "round",
            "rsqrt",
            "select_n",
            "sign",
            "sin",
            "sqrt",
            "square",
        ),
        *("sub", "tan", "tanh"),
    )
)


@dataclasses.dataclass(frozen=True, slots=True)
class Formula:
    """How an array follows from others of its shape and from scalars, the same for every shape.

    Attributes:
        steps: The operations in order, each a primitive, its parameters by name, and its operands: pairs of the kind
            ("array", "scalar", "step" or "literal") and which one, or the value.
        dtypes: The types of the arrays.
        scalars: Which scalars stand in it, by number.
    """

    steps: tuple[tuple[Any, tuple[tuple[str, Hashable], ...], tuple[tuple[str, Any], ...]], ...]
    dtypes: tuple[Any, ...]
    scalars: tuple[int, ...]

    def compute(self, arrays: Sequence[jax.Array], scalars: Sequence[jax.Array]) -> jax.Array:
        """Compute it for arrays of one shape."""
        shape = arrays[0].shape
        results: list[Any] = []
        for primitive, params, operands in self.steps:
            values = []
            for kind, which in operands:
                if kind == "array":
                    values.append(arrays[which])
                elif kind == "step":
                    values.append(results[which])
                else:
                    value = scalars[which] if kind == "scalar" else _literal(which)
                    values.append(lax.broadcast(value, shape))
            results.append(primitive.bind(*values, **dict(params)))
        computed: jax.Array = results[-1]
        return computed


def _literal(written: tuple[str, bytes]) -> Any:
    dtype, content = written
    return np.frombuffer(content, jax.numpy.dtype(dtype)).reshape(())


class _Reader:
    """Reads formulas off a jaxpr."""

    def __init__(self, jaxpr: jax.extend.core.Jaxpr, variables: Set[Any]) -> None:
        self._made: dict[Any, Any] = {
            e.outvars[0]: e for e in jaxprs.equations(jaxpr) if len(e.outvars) == 1 and not e.effects
        }
        # What is computed, element by element, with the value of a variable.
        self._of_variables: set[Any] = set(variables)
        # Scalars that are computed alike, once for each variable, have one number.
        self._numbers: dict[Any, int] = {}
        self._alike: dict[Hashable, int] = {}
        self.scalars: list[Any] = []
        for equation in jaxprs.equations(jaxpr):
            atoms: list[Any] = [*equation.invars, *equation.outvars]
            if len(equation.outvars) != 1 or equation.effects:
                continue
            if not any(atom.aval.shape for atom in atoms):
                self._count(equation)
            elif _is_elementwise(equation) and any(self._is_of_variable(each) for each in equation.invars):
                self._of_variables.add(equation.outvars[0])

    def _is_of_variable(self, atom: object) -> bool:
        return isinstance(atom, jax_core.Var) and atom in self._of_variables

    def _is_part(self, equation: Any) -> bool:
        """Return whether an operation belongs to an update, and not to how a gradient or statistic comes about."""
        if self._is_of_variable(equation.outvars[0]):
            return True
        # Such as its square. With a number it would be another formula for another number of examples.
        return len(equation.invars) == 1

    def _count(self, equation: Any) -> None:
        params = _params(equation)
        if params is not None:
            operands = tuple(map(self._operand, equation.invars))
            alike = (equation.primitive, params, operands)
            self._numbers[equation.outvars[0]] = self._alike.setdefault(alike, len(self.scalars))
            if self._alike[alike] == len(self.scalars):
                self.scalars.append(equation.outvars[0])

    def _operand(self, atom: object) -> tuple[str, Any]:
        """Return how a formula names a scalar."""
        if isinstance(atom, jax_core.Literal):
            aval: Any = atom.aval
            value = np.asarray(atom.val, aval.dtype)
            return "literal", (str(value.dtype), value.tobytes())
        if atom not in self._numbers:
            self._numbers[atom] = len(self.scalars)
            self.scalars.append(atom)
        return "scalar", self._numbers[atom]

    def formula(self, result: object) -> tuple[Formula, list[Any]] | None:
        """Return the formula of a result, and its arrays; None of what is computed in any other way."""
        steps: list[Any] = []
        arrays: dict[Any, int] = {}
        scalars: dict[int, int] = {}
        found: dict[Any, tuple[str, Any]] = {}

        def operand(atom: Any) -> tuple[str, Any]:
            if isinstance(atom, jax_core.Literal) or not atom.aval.shape:
                kind, which = self._operand(atom)
                return kind, scalars.setdefault(which, len(scalars)) if kind == "scalar" else which
            if atom not in found:
                found[atom] = read(atom)
            return found[atom]

        def read(atom: Any) -> tuple[str, Any]:
            equation = self._made.get(atom)
            if equation is not None and _is_filled(equation):
                return operand(equation.invars[0])
            is_part = equation is not None and _is_elementwise(equation) and self._is_part(equation)
            if equation is None or not is_part or len(steps) >= _MAX_OPERATIONS:
                return "array", arrays.setdefault(atom, len(arrays))
            operands = tuple(operand(each) for each in equation.invars)
            steps.append((equation.primitive, _params(equation), operands))
            return "step", len(steps) - 1

        operand(result)
        if not steps or not arrays:
            return None
        dtypes = tuple(array.aval.dtype for array in arrays)
        return Formula(tuple(steps), dtypes, tuple(scalars)), list(arrays)

    def flat(self, atom: Any) -> tuple[Formula, list[Any]] | None:
        """Return the formula of a small array, and its arrays, which may have another shape."""
        made = self._made.get(atom)
        if made is not None and made.primitive.name == "reshape":
            (atom,) = made.invars
        if isinstance(atom, jax_core.Literal) or not 0 < math.prod(atom.aval.shape) <= MAX_SIZE:
            return None
        return self.formula(atom) if atom.aval.shape else None


def _is_filled(equation: Any) -> bool:
    """Return whether an array has the same scalar everywhere."""
    return equation.primitive.name == "broadcast_in_dim" and not equation.invars[0].aval.shape


def _is_elementwise(equation: Any) -> bool:
    shape = equation.outvars[0].aval.shape
    return (
        equation.primitive.name in _ELEMENTWISE
        and all(atom.aval.shape in (shape, ()) for atom in equation.invars)
        and _params(equation) is not None
    )


def _params(equation: Any) -> tuple[tuple[str, Hashable], ...] | None:
    """Return the parameters of an operation; None where they can't be compared, or say where its result is."""
    params = tuple(sorted(equation.params.items()))
    if any(equation.params.get(name) is not None for name in ("sharding", "out_sharding")):
        return None
    try:
        hash(params)
    except TypeError:
        return None
    return params


def join_small(closed: jax_core.ClosedJaxpr, results: Sequence[int]) -> jax_core.ClosedJaxpr:
    """Have small results that follow from others by the same formula computed together.

    Args:
        closed: What was traced.
        results: Which results may be joined, by position: those that every device has whole.

    Returns:
        The same, with other equations.
    """
    variables = set(jaxprs.markers_of(closed.jaxpr).values())
    return _join_here(_join_in_replicas(closed, results, variables), results, variables)


def _join_in_replicas(
    closed: jax_core.ClosedJaxpr, results: Sequence[int], variables: Set[Any]
) -> jax_core.ClosedJaxpr:
    """Have those joined that replicas compute, each for itself and all alike."""
    makers = jaxprs.makers(closed.jaxpr)
    places: dict[int, list[int]] = {}
    for position in results:
        atom: Any = closed.jaxpr.outvars[position]
        equation = makers.get(atom) if isinstance(atom, jax_core.Var) else None
        while equation is not None and equation.primitive.name == _WITHOUT_MESH:
            (atom,) = equation.invars
            equation = makers.get(atom)
        if equation is not None and equation.primitive.name == "shard_map":
            place = equation.outvars.index(atom)
            if not any(equation.params["out_specs"][place]):
                places.setdefault(id(equation), []).append(place)
    if not places:
        return closed

    def change_equation(equation: Any) -> Any:
        if id(equation) not in places:
            return equation
        body = jax_core.ClosedJaxpr(equation.params["jaxpr"], [])
        pairs = zip(body.jaxpr.invars, equation.invars, strict=True)
        own = {mine for mine, given in pairs if isinstance(given, jax_core.Var) and given in variables}
        made = _join_here(body, places[id(equation)], own)
        return equation.replace(params={**equation.params, "jaxpr": made.jaxpr})

    return jaxprs.cut(closed, equations=[*map(change_equation, jaxprs.equations(closed.jaxpr))])


def _join_here(
    closed: jax_core.ClosedJaxpr, results: Sequence[int], variables: Set[Any]
) -> jax_core.ClosedJaxpr:
    reader = _Reader(closed.jaxpr, variables)
    given = jaxprs.equations(closed.jaxpr)
    equations = list(itertools.chain.from_iterable(_concatenate(each, reader) for each in given))
    groups: dict[Any, dict[Any, list[Any]]] = {}
    for position in results:
        result: Any = closed.jaxpr.outvars[position]
        if isinstance(result, jax_core.Literal) or not 0 < math.prod(result.aval.shape) <= MAX_SIZE:
            continue
        found = reader.formula(result) if result.aval.shape else None
        if found is not None:
            groups.setdefault((found[0], result.aval.dtype), {})[result] = found[1]
    outvars: list[Any] = list(closed.jaxpr.outvars)
    added: list[tuple[list[Any], list[Any], Formula]] = []
    for (formula, _), members in groups.items():
        if len({result.aval.shape for result in members}) < MIN_SHAPES:
            continue
        new = {result: new_variable(result.aval) for result in members}
        outvars = [new.get(each, each) if isinstance(each, jax_core.Var) else each for each in outvars]
        operands: list[Any] = [reader.scalars[number] for number in formula.scalars]
        operands += itertools.chain.from_iterable(zip(*members.values(), strict=True))
        added.append((operands, [*new.values()], formula))
    equations += [
        _make_joined_equation(equations[-1], operands, made, formula, is_cut=True)
        for operands, made, formula in added
    ]
    equations, outvars = cut_results(equations, outvars, set(results))
    if len(equations) == len(given):
        return closed
    longer = jaxprs.cut(closed, outputs=outvars, equations=equations)
    # Without what computed them one by one. What a program is given stays in its order, used or not.
    used = jaxprs.find_needed(longer.jaxpr, outvars, also=_is_kept)
    return jaxprs.cut(longer, equations=used.equations)


def _make_joined_equation(
    beside: object, operands: list[Any], results: list[Any], formula: Formula, *, is_cut: bool
) -> Any:
    return copy_equation(beside, operands, results, joined_p, {"formula": formula, "is_cut": is_cut})


def _concatenate(equation: Any, reader: _Reader) -> list[Any]:
    """Have neighbours that are laid end to end and follow from others by the same formula computed together.

    Args:
        equation: Any operation.
        reader: Reads formulas.

    Returns:
        What takes its place: itself, or computing together and laying end to end what is left to be.
    """
    if equation.primitive.name != "concatenate" or len(equation.outvars[0].aval.shape) != 1:
        return [equation]
    made: list[Any] = []
    parts: list[Any] = []
    for formula, neighbours in itertools.groupby(
        ((reader.flat(atom), atom) for atom in equation.invars), key=lambda pair: pair[0] and pair[0][0]
    ):
        members = list(neighbours)
        inputs = [found[1] for found, _ in members if found is not None]
        if formula is None or len({own[0].aval.shape for own in inputs}) < MIN_SHAPES:
            parts += [atom for _, atom in members]
            continue
        operands: list[Any] = [reader.scalars[number] for number in formula.scalars]
        operands += itertools.chain.from_iterable(zip(*inputs, strict=True))
        size = sum(atom.aval.size for _, atom in members)
        whole = new_variable(jax.core.ShapedArray((size,), equation.outvars[0].aval.dtype))
        made.append(_make_joined_equation(equation, operands, [whole], formula, is_cut=False))
        parts.append(whole)
    return [*made, equation.replace(invars=parts)] if made else [equation]


def _is_kept(equation: Any) -> bool:
    return bool(equation.effects) or equation.primitive is jaxprs.input_p


joined_p = jax_core.Primitive("stratax_joined")
joined_p.multiple_results = True


def _divide(operands: Sequence[Any], formula: Formula) -> tuple[Sequence[Any], list[Sequence[Any]]]:
    """Return the scalars, and the arrays by their place in the formula."""
    scalars, arrays = operands[: len(formula.scalars)], operands[len(formula.scalars) :]
    count = len(arrays) // len(formula.dtypes)
    return scalars, [arrays[start : start + count] for start in range(0, len(arrays), count)]


def _each(*operands: object, formula: Formula, is_cut: bool) -> list[Any]:
    scalars, arrays = _divide(operands, formula)
    results = [formula.compute(each, scalars) for each in zip(*arrays, strict=True)]
    return results if is_cut else [lax.concatenate([each.reshape(-1) for each in results], 0)]


@joined_p.def_abstract_eval
def _types(*operands: object, formula: Formula, is_cut: bool) -> list[Any]:
    scalars, arrays = _divide(operands, formula)
    first = jax.eval_shape(
        lambda *given: formula.compute(given[len(scalars) :], given[: len(scalars)]),
        *(
            jax.ShapeDtypeStruct(each.shape, each.dtype)
            for each in (*scalars, *next(zip(*arrays, strict=True)))
        ),
    )
    shapes = [each.shape for each in arrays[0]]
    if not is_cut:
        shapes = [(sum(map(math.prod, shapes)),)]
    return [jax.core.ShapedArray(shape, first.dtype) for shape in shapes]


def _lower_together(ctx: mlir.LoweringRuleContext, *operands: Any, formula: Formula, is_cut: bool) -> Any:
    scalars, arrays = _divide(ctx.avals_in, formula)
    shapes = [each.shape for each in arrays[0]]
    sizes = [math.prod(shape) for shape in shapes]

    def compute(*operands: Any) -> Any:
        return formula.compute(operands[len(scalars) :], operands[: len(scalars)])

    given: Sequence[Any] = ctx.avals_in
    result_type: Any = ctx.avals_out[0]
    plain = [jax.core.ShapedArray(each.shape, each.dtype) for each in given]
    values = map(end_to_end, _divide(operands, formula)[1])
    long = [jax.core.ShapedArray((sum(sizes),), dtype) for dtype in formula.dtypes]
    within = ctx.replace(avals_in=[*plain[: len(scalars)], *long])
    # Apart, since XLA would compute it again in each of the parts.
    (result,) = lower_apart(within, compute, *operands[: len(scalars)], *values)
    if not is_cut:
        return [result]
    one = jax.core.ShapedArray((sum(sizes),), result_type.dtype)
    starts = list(itertools.accumulate(sizes, initial=0))[:-1]
    return lower_parts(ctx.replace(avals_in=[one]), result, starts, shapes)


mlir.register_lowering(joined_p, mlir.lower_fun(_each, multiple_results=True))
mlir.register_lowering(joined_p, _lower_together, platform="cpu")
