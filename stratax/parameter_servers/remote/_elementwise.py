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

from stratax.core import jaxprs
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


def write_out(closed: Any) -> Any:
    """Return a closed jaxpr with the functions that it calls written out in it."""
    return jaxprs.trace_again(closed, _write_out)


def _write_out(equation: Any, operands: Sequence[Any]) -> list[Any] | None:
    name = equation.primitive.name
    if name == "cond":
        # All branches, of which one result each is taken: updates have no side effects.
        index, *given = operands
        branches = [jaxprs.evaluate(each, given, _write_out) for each in equation.params["branches"]]
        return [jax.lax.select_n(index, *each) for each in zip(*branches, strict=True)]
    if name in _CALLS:
        return jaxprs.evaluate(equation.params[_CALLS[name]], operands, _write_out)
    return None


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
    variables, arrays = jaxpr.invars[:num_variables], jaxpr.invars[num_variables:]
    early = _early(jaxpr, variables)
    late = jaxprs.others(jaxpr, early)
    needed = {*jaxprs.variables_of(jaxpr.outvars), *_operands_of(late)}
    sources = [*arrays, *(variable for equation in early for variable in equation.outvars)]
    sent = [variable for variable in sources if variable in needed]
    first = jaxprs.cut(closed, inputs=arrays, outputs=sent, equations=early)
    rest = jaxprs.cut(closed, inputs=[*variables, *sent], equations=late)
    return core.jaxpr_as_fun(first), rest


def _early(jaxpr: Any, variables: Sequence[Any]) -> list[Any]:
    """Return the operations that mix elements and need no variables, with everything that they need."""
    depends = jaxprs.dependents_of(jaxpr, variables)

    def is_early(equation: Any) -> bool:
        # A number is less to send than what it is computed of.
        is_number = not any(variable.aval.shape for variable in equation.outvars)
        return depends.isdisjoint(equation.outvars) and (is_number or not _is_elementwise(equation))

    return jaxprs.find_needed(jaxpr, also=is_early).equations


def _operands_of(equations: Sequence[Any]) -> list[Any]:
    return [variable for equation in equations for variable in jaxprs.variables_of(equation.invars)]


def inputs_of(closed: Any, output: int) -> list[int]:
    """Return which arguments of a closed jaxpr one of its results depends on."""
    needed = _find_needed(closed, output).variables
    return [index for index, variable in enumerate(closed.jaxpr.invars) if variable in needed]


def mixes_elements(closed: Any, output: int, shape: Sequence[int]) -> str | None:
    """Return the name of an operation because of which a result can't be computed in parts; None if it can.

    Args:
        closed: A closed jaxpr, written out.
        output: Which of its results.
        shape: The shape of the variable. Everything that the result needs has this shape, or is a scalar.
    """
    needed = _find_needed(closed, output)
    for equation in needed.equations:
        shapes = {tuple(variable.aval.shape) for variable in equation.outvars}
        if not _is_elementwise(equation) or not shapes <= {(), tuple(shape)}:
            return str(equation.primitive.name)
    constants = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    if any(jnp.shape(value) for variable, value in constants.items() if variable in needed.variables):
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
    kept = {jaxpr.invars[argument]}
    zero = {jaxpr.invars[index] for index in zeros}
    for equation in _find_needed(closed, output).equations:
        is_zero = [
            is_zero_literal(atom) if isinstance(atom, core.Literal) else atom in zero
            for atom in equation.invars
        ]
        is_kept = [not isinstance(atom, core.Literal) and atom in kept for atom in equation.invars]
        if _makes_zero(equation, is_zero):
            zero.update(equation.outvars)
        elif _keeps(equation, is_kept, is_zero):
            kept.update(equation.outvars)
    return any(jaxpr.outvars[output] is variable for variable in kept)


def _makes_zero(equation: Any, is_zero: Sequence[bool]) -> bool:
    """Return whether an operation's result is zero where some of its operands are."""
    name, atoms = equation.primitive.name, equation.invars
    operands = list(zip(atoms, is_zero, strict=True))
    makes_zero = {
        "mul": any(is_zero),
        "div": is_zero[0],
        "integer_pow": is_zero[0] and equation.params.get("y", 0) > 0,
        "select_n": all(is_zero[1:]),
        # As clipping to a range does that has zero in it.
        "max": any(is_zero) and all(zero or _literal(atom, 1) <= 0 for atom, zero in operands),
        "min": any(is_zero) and all(zero or _literal(atom, -1) >= 0 for atom, zero in operands),
    }
    return bool(makes_zero.get(name, name in KEEP_ZERO and all(is_zero)))


def _keeps(equation: Any, is_kept: Sequence[bool], is_zero: Sequence[bool]) -> bool:
    """Return whether an operation's result is one of its operands where others are zero."""
    keeps = {
        "add": any(is_kept) and any(is_zero),
        "sub": is_kept[0] and is_zero[-1],
        "copy": is_kept[0],
        "copy_p": is_kept[0],
        "select_n": all(is_kept[1:]),
    }
    return keeps.get(equation.primitive.name, False)


def result_of(closed: object, output: int, arguments: Sequence[Any]) -> Any:
    """Compute one result of a closed jaxpr.

    Args:
        closed: The jaxpr.
        output: Which of its results.
        arguments: Its arguments; None for what the result does not need.
    """
    (result,) = jaxprs.evaluate(_for_output(closed, output), arguments)
    return result


def part_of(closed: object, output: int, arguments: Sequence[Any], shape: Sequence[int]) -> Any:
    """Compute a part of a result from the same parts of the arguments.

    Args:
        closed: A closed jaxpr, written out, whose result does not mix elements.
        output: Which of its results.
        arguments: Scalars, and arrays of one shape, the part's; None for what is not needed.
        shape: That shape.
    """
    (result,) = jaxprs.evaluate(_for_output(closed, output), arguments, _bind_part)
    return jnp.broadcast_to(result, shape)


def _bind_part(equation: Any, operands: Sequence[Any]) -> list[Any]:
    if equation.primitive.name == "broadcast_in_dim":
        # Of a scalar: the next operation makes it as large as what it meets.
        return [operands[0]]
    full = max((jnp.shape(each) for each in operands), key=len)
    return jaxprs.bind(equation, [jnp.broadcast_to(each, full) for each in operands])


def _literal(atom: object, otherwise: float) -> float:
    """Return the number that stands in a jaxpr, or another one where there is none."""
    return float(atom.val) if isinstance(atom, core.Literal) and np.shape(atom.val) == () else otherwise


def is_zero_literal(atom: object) -> bool:
    """Return whether an atom of a jaxpr is the number zero, written there."""
    return isinstance(atom, core.Literal) and np.shape(atom.val) == () and not atom.val


def _find_needed(closed: Any, output: int) -> jaxprs.Needed:
    return jaxprs.find_needed(closed.jaxpr, [closed.jaxpr.outvars[output]])


def _for_output(closed: Any, output: int) -> Any:
    """Return what of a closed jaxpr computes one of its results."""
    outputs = [closed.jaxpr.outvars[output]]
    return jaxprs.cut(closed, outputs=outputs, equations=_find_needed(closed, output).equations)


def _is_elementwise(equation: Any) -> bool:
    if equation.primitive.name == "broadcast_in_dim":
        return not equation.invars[0].aval.shape
    return equation.primitive.name in ELEMENTWISE
