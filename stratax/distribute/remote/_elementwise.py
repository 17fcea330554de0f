"""Which updates of variables can be made shard by shard, and how they are (distribute layer).

An update that treats all elements of a variable alike, as most optimizers do, gives a shard of the new value from the
same shard of everything that it needs. Whether it does is not guessed: its jaxpr is gone through, and only operations
that are known to work element by element pass. What an optimizer computes of gradients alone, a norm to clip by for
instance, is taken out first and computed by the worker, which has all of them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.seams.jax import core

# Operations whose result has, at each place, what follows from the operands at that place, and that have no shape
# among their parameters.
ELEMENTWISE = frozenset(
    {
        *(
            "add",
            "sub",
            "mul",
            "div",
            "rem",
            "neg",
            "sign",
            "abs",
            "max",
            "min",
            "pow",
            "integer_pow",
            "square",
        ),
        *(
            "exp",
            "exp2",
            "log",
            "log1p",
            "expm1",
            "sqrt",
            "rsqrt",
            "cbrt",
            "tanh",
            "logistic",
            "sin",
            "cos",
            "tan",
        ),
        *(
            "erf",
            "floor",
            "ceil",
            "round",
            "is_finite",
            "eq",
            "ne",
            "lt",
            "le",
            "gt",
            "ge",
            "and",
            "or",
            "not",
            "xor",
        ),
        *(
            "select_n",
            "clamp",
            "convert_element_type",
            "nextafter",
            "copy",
            "copy_p",
            "stop_gradient",
            "add_any",
        ),
        *("reduce_precision", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh"),
    }
)
# Operations that make zeros of zeros.
KEEP_ZERO = frozenset(
    {
        *("add", "sub", "add_any", "max", "min", "neg", "sign", "abs", "square", "sqrt"),
        *("convert_element_type", "copy", "copy_p", "stop_gradient", "broadcast_in_dim"),
    }
)
# Operations that are a function of its own, which is written out.
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr"}


def written_out(closed: Any) -> Any:
    """Return a closed jaxpr with the functions that it calls written out in it."""

    def evaluate(jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        known: dict[Any, Any] = dict(zip(jaxpr.constvars, constants, strict=True))
        known |= dict(zip(jaxpr.invars, arguments, strict=True))
        for equation in jaxpr.eqns:
            operands = [_value(known, atom) for atom in equation.invars]
            inner = _CALLS.get(equation.primitive.name)
            if equation.primitive.name == "cond":
                # All branches, of which one result each is taken: updates have no side effects.
                index, *given = operands
                branches = [evaluate(each.jaxpr, each.consts, given) for each in equation.params["branches"]]
                results = [jax.lax.select_n(index, *each) for each in zip(*branches, strict=True)]
            elif inner is None:
                results = _bind(equation, operands)
            else:
                called = equation.params[inner]
                results = evaluate(called.jaxpr, called.consts, operands)
            known |= dict(zip(equation.outvars, results, strict=True))
        return [_value(known, atom) for atom in jaxpr.outvars]

    return jax.make_jaxpr(lambda *arguments: evaluate(closed.jaxpr, closed.consts, arguments))(
        *closed.in_avals
    )


def without_reductions(closed: Any, num_variables: int) -> tuple[Callable[..., list[Any]], Any]:
    """Take out of an update what mixes elements and needs none of the variables.

    Args:
        closed: The update, written out: a jaxpr of the variables' values and of arrays.
        num_variables: How many of its arguments are variables.

    Returns:
        A function of the arrays that gives what an update needs of them, and the rest: a closed jaxpr of the variables'
        values and of those.
    """
    jaxpr = closed.jaxpr
    variables = set(jaxpr.invars[:num_variables])
    depends = set(variables)
    for equation in jaxpr.eqns:
        if any(atom in depends for atom in _variables_of(equation.invars)):
            depends.update(equation.outvars)
    # What mixes elements, with everything that it needs.
    early: set[int] = set()
    wanted: set[Any] = set()
    for index in reversed(range(len(jaxpr.eqns))):
        equation = jaxpr.eqns[index]
        if any(variable in depends for variable in equation.outvars):
            continue
        # A number is less to send than what it is computed of.
        is_number = not any(variable.aval.shape for variable in equation.outvars)
        is_wanted = any(variable in wanted for variable in equation.outvars)
        if is_wanted or is_number or not _is_elementwise(equation):
            early.add(index)
            wanted.update(_variables_of(equation.invars))
    made = {variable for index in early for variable in jaxpr.eqns[index].outvars}
    late = [equation for index, equation in enumerate(jaxpr.eqns) if index not in early]
    needed = [
        *_variables_of(jaxpr.outvars),
        *(v for equation in late for v in _variables_of(equation.invars)),
    ]
    sources = [*jaxpr.invars[num_variables:], *made]
    sent = [variable for variable in dict.fromkeys(sources) if variable in set(needed)]
    first = core.ClosedJaxpr(
        jaxpr.replace(
            invars=jaxpr.invars[num_variables:],
            outvars=sent,
            eqns=[jaxpr.eqns[index] for index in sorted(early)],
            debug_info=_no_names(jaxpr),
        ),
        closed.consts,
    )
    rest = jaxpr.replace(
        invars=[*jaxpr.invars[:num_variables], *sent], eqns=late, debug_info=_no_names(jaxpr)
    )
    return core.jaxpr_as_fun(first), core.ClosedJaxpr(rest, closed.consts)


def inputs_of(closed: Any, output: int) -> list[int]:
    """Return which arguments of a closed jaxpr one of its results depends on."""
    needed = _needed(closed.jaxpr, output)
    return [index for index, variable in enumerate(closed.jaxpr.invars) if variable in needed]


def mixes_elements(closed: Any, output: int, shape: Sequence[int]) -> str | None:
    """Return the name of an operation because of which a result can't be computed in parts; None if it can.

    Args:
        closed: A closed jaxpr, written out.
        output: Which of its results.
        shape: The shape of the variable. Everything that the result needs has this shape, or is a scalar.
    """
    needed = _needed(closed.jaxpr, output)
    for equation in closed.jaxpr.eqns:
        if any(variable in needed for variable in equation.outvars):
            shapes = {tuple(variable.aval.shape) for variable in equation.outvars}
            if not _is_elementwise(equation) or not shapes <= {(), tuple(shape)}:
                return str(equation.primitive.name)
    constants = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    if any(jnp.shape(value) for variable, value in constants.items() if variable in needed):
        return "an array that is a constant"
    return None


def keeps_where_zero(closed: Any, output: int, argument: int, zeros: Sequence[int]) -> bool:
    """Return whether a result is an argument, unchanged, wherever some other arguments are zero.

    Numbers that it multiplies by are taken to be finite, and those that it divides by not to be zero.

    Args:
        closed: A closed jaxpr, written out, whose result does not mix elements.
        output: Which of its results.
        argument: The argument that it is.
        zeros: The arguments that are zero.
    """
    jaxpr = closed.jaxpr
    needed = _needed(jaxpr, output)
    kept = {jaxpr.invars[argument]}
    zero = {jaxpr.invars[index] for index in zeros}

    def is_zero(atom: Any) -> bool:
        return is_zero_literal(atom) if isinstance(atom, core.Literal) else atom in zero

    for equation in jaxpr.eqns:
        (made, *_), name, atoms = equation.outvars, equation.primitive.name, equation.invars
        if made not in needed:
            continue
        zeros_given = [is_zero(atom) for atom in atoms]
        keeps_zero = {
            "mul": any(zeros_given),
            "div": zeros_given[0],
            "integer_pow": zeros_given[0] and equation.params.get("y", 0) > 0,
            "select_n": all(zeros_given[1:]),
            # As clipping to a range does that has zero in it.
            "max": any(zeros_given) and all(is_zero(atom) or _literal(atom, 1) <= 0 for atom in atoms),
            "min": any(zeros_given) and all(is_zero(atom) or _literal(atom, -1) >= 0 for atom in atoms),
        }
        if keeps_zero.get(name, name in KEEP_ZERO and all(zeros_given)):
            zero.add(made)
            continue
        same = [not isinstance(atom, core.Literal) and atom in kept for atom in atoms]
        keeps = {
            "add": any(same) and any(zeros_given),
            "sub": same[0] and zeros_given[-1],
            "copy": same[0],
            "copy_p": same[0],
            "select_n": all(same[1:]),
        }
        if keeps.get(name, False):
            kept.add(made)
    return any(jaxpr.outvars[output] is variable for variable in kept)


def result_of(closed: Any, output: int, arguments: Sequence[Any]) -> Any:
    """Compute one result of a closed jaxpr.

    Args:
        closed: The jaxpr.
        output: Which of its results.
        arguments: Its arguments; None for what the result does not need.
    """
    jaxpr = closed.jaxpr
    needed = _needed(jaxpr, output)
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    known |= dict(zip(jaxpr.invars, arguments, strict=True))
    for equation in jaxpr.eqns:
        if any(variable in needed for variable in equation.outvars):
            operands = [_value(known, atom) for atom in equation.invars]
            known |= dict(zip(equation.outvars, _bind(equation, operands), strict=True))
    return _value(known, jaxpr.outvars[output])


def part_of(closed: Any, output: int, arguments: Sequence[Any], shape: Sequence[int]) -> Any:
    """Compute a part of a result from the same parts of the arguments.

    Args:
        closed: A closed jaxpr, written out, whose result does not mix elements.
        output: Which of its results.
        arguments: Scalars, and arrays of one shape, the part's; None for what is not needed.
        shape: That shape.
    """
    jaxpr = closed.jaxpr
    needed = _needed(jaxpr, output)
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    known |= dict(zip(jaxpr.invars, arguments, strict=True))
    for equation in jaxpr.eqns:
        if not any(variable in needed for variable in equation.outvars):
            continue
        operands = [_value(known, atom) for atom in equation.invars]
        if equation.primitive.name == "broadcast_in_dim":
            # Of a scalar: the next operation makes it as large as what it meets.
            known[equation.outvars[0]] = operands[0]
            continue
        full = max((jnp.shape(each) for each in operands), key=len)
        whole = [jnp.broadcast_to(each, full) for each in operands]
        known |= dict(zip(equation.outvars, _bind(equation, whole), strict=True))
    return jnp.broadcast_to(_value(known, jaxpr.outvars[output]), shape)


def _literal(atom: Any, otherwise: float) -> float:
    """Return the number that stands in a jaxpr, or another one where there is none."""
    return float(atom.val) if isinstance(atom, core.Literal) and np.shape(atom.val) == () else otherwise


def is_zero_literal(atom: Any) -> bool:
    """Return whether an atom of a jaxpr is the number zero, written there."""
    return isinstance(atom, core.Literal) and np.shape(atom.val) == () and not atom.val


def _needed(jaxpr: Any, output: int) -> set[Any]:
    needed = set(_variables_of([jaxpr.outvars[output]]))
    for equation in reversed(jaxpr.eqns):
        if any(variable in needed for variable in equation.outvars):
            needed.update(_variables_of(equation.invars))
    return needed


def _is_elementwise(equation: Any) -> bool:
    if equation.primitive.name == "broadcast_in_dim":
        return not equation.invars[0].aval.shape
    return equation.primitive.name in ELEMENTWISE


def _variables_of(atoms: Sequence[Any]) -> list[Any]:
    return [atom for atom in atoms if not isinstance(atom, core.Literal)]


def _value(known: dict[Any, Any], atom: Any) -> Any:
    return atom.val if isinstance(atom, core.Literal) else known[atom]


def _bind(equation: Any, operands: Sequence[Any]) -> list[Any]:
    results = equation.primitive.bind(*operands, **equation.primitive.get_bind_params(equation.params))
    return list(results) if equation.primitive.multiple_results else [results]


def _no_names(jaxpr: Any) -> Any:
    return jaxpr.debug_info._replace(arg_names=None, result_paths=None)
