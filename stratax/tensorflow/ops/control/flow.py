"""Conditions and loops as functions: `tf.cond`, `tf.case`, `tf.switch_case`, `tf.while_loop` (ops layer).

Eagerly, and in the functions of a pipeline, they are Python's. In a compiled function, where what decides is known only
when it runs, all branches and the loop's body are traced once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.recording import recordable
from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import Array, PyTree, TensorLike
from stratax.core import autograph, regions
from stratax.core.control import Growing
from stratax.core.functions import choose, repeat
from stratax.data import elements
from stratax.data.vectorise import in_pipeline
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls._host import is_numpy
from stratax.tensorflow.ops.calls.creation import convert_to_tensor
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.calls.text import holds_text

_NUMBERS = (bool, int, float, complex)


def parts_of(structure: PyTree) -> tuple[list[Any], Any]:
    """Return the leaves of nested tuples, lists and dicts, and what :func:`stratax.data.elements.unflatten` takes."""
    return elements.flatten(structure, _is_growing)


def _is_growing(part: object) -> bool:
    return isinstance(part, Growing)


def as_tensors(structure: PyTree) -> Any:
    """Return a nested structure with tensors in the places of numbers and variables."""
    leaves, treedef = parts_of(structure)
    return elements.unflatten(treedef, [_as_tensor(leaf) for leaf in leaves])


def _as_tensor(leaf: object) -> Any:
    if is_numpy(leaf) or is_traced(leaf) or holds_text(leaf) or leaf is None or _is_growing(leaf):
        return leaf
    return convert_to_tensor(leaf)


def _truth(name: str, value: TensorLike) -> Any:
    """Return a condition as a Python bool, or as a traced scalar."""
    value = value if isinstance(value, _NUMBERS) or is_numpy(value) else convert_to_tensor(value)
    if np.size(value) != 1:
        raise BadArgumentError(
            f"{name} must be a scalar. Received: {name}={shown(value)}. Reduce it with tf.reduce_all or tf.reduce_any, "
            "or choose element by element with tf.where."
        )
    return value if is_traced(value) else bool(value)


def _check_callable(name: str, function: object) -> None:
    if not callable(function):
        raise BadTypeError(f"{name} must be callable. Received: {name}={shown(function)}.")


@op
def cond(
    pred: TensorLike, true_fn: Callable[[], Any] | None = None, false_fn: Callable[[], Any] | None = None
) -> Any:
    """Call one of two functions, as `tf.cond`.

    In a compiled function both are traced where `pred` is, and what either assigns to variables takes effect if its
    turn comes.

    Args:
        pred: A boolean scalar.
        true_fn: Called without arguments if `pred` holds.
        false_fn: Called otherwise; in a compiled function it returns the same structure, shapes and dtypes.

    Returns:
        What the function returned; in a compiled function with tensors in the places of numbers.

    Raises:
        BadTypeError: If a function is none.
        BadArgumentError: If `pred` is not a scalar.
        TracingError: If the two differ in structure, shapes or dtypes.

    Example:
        >>> import stratax.tf as tf
        >>> tf.cond(tf.constant(2) > 1, lambda: "yes", lambda: "no")
        'yes'
    """
    _check_callable("true_fn", true_fn)
    _check_callable("false_fn", false_fn)
    truth = _truth("pred", pred)
    return _choose(truth, true_fn, false_fn)


def _choose(truth: bool | Array, if_true: Any, if_false: Any) -> Any:
    # What is known decides now: the other function is not called, and no part of the program.
    if isinstance(truth, bool):
        return if_true() if truth else if_false()
    return choose(truth, lambda: as_tensors(if_true()), lambda: as_tensors(if_false()))


@op(name_default="case")
def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
) -> Any:
    """Call the function of the first condition that holds, as `tf.case`.

    Args:
        pred_fn_pairs: Pairs of a boolean scalar and a function without arguments.
        default: Called if no condition holds. Without it, one has to hold: eagerly that is checked, and in a compiled
            function the last function is called.
        exclusive: Whether at most one condition may hold, which is checked where conditions are known.
        strict: Ignored: results keep their structure.

    Raises:
        BadTypeError: If `pred_fn_pairs` is none, or a function is none.
        BadArgumentError: If no known condition holds and there is no default, or several exclusive ones hold.
    """
    pairs = [_pair(pair) for pair in _pairs(pred_fn_pairs)]
    if default is not None:
        _check_callable("default", default)
    # Each condition is looked at, as they are tensors that the program computes anyway.
    truths = [_truth("pred", pred) for pred, _ in pairs]
    known = [truth for truth in truths if isinstance(truth, bool)]
    if exclusive and sum(known) > 1:
        raise BadArgumentError(
            f"Only one condition of an exclusive case may hold. Received: {sum(known)} that do. Set exclusive=False "
            "for the first of them."
        )
    if default is None and len(known) == len(truths) and not any(known):
        raise BadArgumentError(
            f"None of the {len(pairs)} conditions holds, and there is no default. Pass default=, a function."
        )
    # Conditions as branches of one another, from the last to the first: what is known is decided now, the rest in the
    # program.
    # TensorFlow, too, takes the last function for the default, and asserts that its condition holds.
    otherwise = pairs[-1][1] if default is None else default
    rest = pairs[:-1] if default is None else pairs
    for truth, (_, function) in reversed(list(zip(truths, rest, strict=False))):
        otherwise = _nest(truth, function, otherwise)
    return otherwise()


def _nest(
    truth: bool | Array, function: Callable[[], Any], otherwise: Callable[[], Any]
) -> Callable[[], Any]:
    return lambda: _choose(truth, function, otherwise)


def _pairs(pairs: object) -> list[Any]:
    if not isinstance(pairs, list | tuple) or not pairs:
        raise BadTypeError(
            "pred_fn_pairs must be a list of pairs of a condition and a function. "
            f"Received: pred_fn_pairs={shown(pairs)}."
        )
    return list(pairs)


def _pair(pair: object) -> tuple[Any, Callable[[], Any]]:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise BadTypeError(f"Each of pred_fn_pairs must be a pair. Received: {shown(pair)}.")
    _check_callable("fn", pair[1])
    return pair[0], pair[1]


@op(name_default="switch_case")
def switch_case(branch_index: TensorLike, branch_fns: Any, default: Callable[[], Any] | None = None) -> Any:
    """Call the function of a number, as `tf.switch_case`.

    Args:
        branch_index: A scalar of whole numbers.
        branch_fns: A list of functions, a dict of functions by their numbers, or a list of pairs of number and
            function; the numbers are 0, 1, ...
        default: Called for any other number; by default the last function is.

    Raises:
        BadTypeError: If `branch_index` is no whole number, or a function is none.
        BadArgumentError: If the numbers are not 0, 1, ....
    """
    functions = _number(branch_fns)
    index: Any = branch_index if isinstance(branch_index, int) else convert_to_tensor(branch_index)
    if not isinstance(index, int) and index.dtype.kind not in "iu":
        raise BadTypeError(
            f"branch_index must be a whole number. Received: branch_index={shown(branch_index)}. Cast it with tf.cast."
        )
    otherwise = functions[-1] if default is None else default
    _check_callable("default", otherwise)
    # TensorFlow, too, calls the last function for a number that none has.
    if not is_traced(index):
        number = int(index)
        return functions[number]() if 0 <= number < len(functions) else otherwise()
    # As conditions in one another, which `cond` makes parts of the program.
    for number in reversed(range(len(functions))):
        otherwise = _nest(index == number, functions[number], otherwise)
    return otherwise()


def _number(branch_fns: object) -> list[Callable[[], Any]]:
    if not isinstance(branch_fns, dict | list | tuple) or not branch_fns:
        raise BadTypeError(
            f"branch_fns must be a list of functions, or a dict. Received: branch_fns={shown(branch_fns)}."
        )
    # A list of functions, or pairs of a number and a function, in any order.
    if not isinstance(branch_fns, dict) and all(map(callable, branch_fns)):
        return list(branch_fns)
    pairs = sorted(branch_fns.items() if isinstance(branch_fns, dict) else map(_pair, branch_fns))
    if [number for number, _ in pairs] != list(range(len(pairs))):
        raise BadArgumentError(
            f"The numbers of branch_fns must be 0 to {len(pairs) - 1}. Received: {shown([n for n, _ in pairs])}."
        )
    for _, function in pairs:
        _check_callable("branch_fns", function)
    return [function for _, function in pairs]


@recordable
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: PyTree,
    shape_invariants: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """Repeat `loop_vars = body(*loop_vars)` as long as `cond(*loop_vars)` holds, as `tf.while_loop`.

    In a compiled function the loop is one of the program, whose variables keep their shapes and dtypes. It has a
    gradient where `maximum_iterations` is a number that is known while it is traced: it then goes on to that number
    under a `GradientTape`, doing nothing. A loop over `tf.range(n)` has one anyway.

    Args:
        cond: A function of the loop's variables that gives a boolean scalar.
        body: A function of them that gives their next values.
        loop_vars: A list or tuple of tensors, numbers, `TensorArray` or nested structures of them.
        shape_invariants: Ignored: shapes stay what they are at the beginning.
        parallel_iterations: Ignored.
        back_prop: Ignored: use `tf.stop_gradient`.
        swap_memory: Ignored.
        maximum_iterations: The largest number of iterations.
        name: Ignored.

    Returns:
        The variables' last values: in a list or tuple, as `loop_vars` is; outside of compiled functions as `body` gave
        them.

    Raises:
        BadTypeError: If `cond` or `body` is not callable.
        BadArgumentError: If there are no variables, or the body gives another number of them.
        TracingError: If a variable changes its shape or dtype in a compiled function.
    """
    _check_callable("cond", cond)
    _check_callable("body", body)
    if not isinstance(loop_vars, list | tuple) or not loop_vars:
        raise BadArgumentError(
            f"loop_vars must be a list of the loop's variables. Received: loop_vars={shown(loop_vars)}."
        )
    # Numbers would be constants of the program, and not what the loop carries.
    first = as_tensors(tuple(loop_vars))
    limit = _limit(maximum_iterations)
    # What the last values stand in: what the first ones did, until a call of the body says otherwise.
    given = loop_vars

    def step(values: PyTree) -> Any:
        nonlocal given
        made = body(*values)
        # Eagerly TensorFlow gives back what the last call of the body did; in a pipeline it is a graph's.
        if isinstance(made, list | tuple) and not hasattr(made, "_fields") and not in_pipeline():
            given = made
        return as_tensors(_next(made, values))

    if limit is not None and is_traced(limit):
        values, is_traced_loop = _repeat_counting(cond, step, first, limit), True
    else:
        values, is_traced_loop = _repeat(lambda values: cond(*values), step, first, limit)
    return _standing_in(loop_vars if is_traced_loop else given, values)


def _standing_in(like: object, values: tuple[Any, ...]) -> Any:
    if hasattr(like, "_fields"):
        return type(like)(*values)
    return list(values) if isinstance(like, list) else values


def _limit(maximum_iterations: int | Array | None) -> Any:
    if maximum_iterations is None:
        return None
    # On the host where it is a number: a constant of a program is traced.
    limit = np.asarray(maximum_iterations) if isinstance(maximum_iterations, int) else maximum_iterations
    limit = limit if is_numpy(limit) else convert_to_tensor(limit)
    if np.shape(limit) != () or limit.dtype.kind not in "iu":
        raise BadTypeError(
            "maximum_iterations must be a whole number. "
            f"Received: maximum_iterations={shown(maximum_iterations)}."
        )
    return limit if is_traced(limit) else max(0, int(limit))


def _repeat_counting(
    cond: Callable[..., Any], step: Callable[[Any], Any], first: PyTree, limit: Array
) -> Any:
    """Repeat with a limit that is known only when the program runs: the loop counts in a variable of its own."""

    def go_on(counted: tuple[Array, Any]) -> Any:
        import jax.numpy as jnp

        return jnp.logical_and(counted[0] < limit, cond(*counted[1]))

    # `limit * 0` is a zero of the limit's dtype, which the counter keeps.
    counted, _ = _repeat(go_on, lambda counted: (counted[0] + 1, step(counted[1])), (limit * 0, first), None)
    return counted[1]


def _next(made: object, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what a body gave as a tuple: of a single variable it may be the bare value."""
    if len(values) == 1 and (not isinstance(made, list | tuple) or hasattr(made, "_fields")):
        made = (made,)
    if not isinstance(made, list | tuple) or len(made) != len(values):
        count = len(made) if isinstance(made, list | tuple) else 1
        raise BadArgumentError(
            f"body must return as many values as there are in loop_vars. Expected: {len(values)}. Received: {count}: "
            f"{shown(made)}."
        )
    return tuple(made)


def _repeat(
    test: Callable[[Any], Any], step: Callable[[Any], Any], state: object, limit: int | None
) -> tuple[Any, bool]:
    """Return the last state, and whether the loop is one of the program."""
    if is_compiled(state):
        return repeat(autograph.convert(test), autograph.convert(step), state, limit), True
    count = 0
    while limit is None or count < limit:
        truth = _truth("cond", test(state))
        if not isinstance(truth, bool):
            # From the first condition on that is traced, the rest is a loop of the program.
            return repeat(test, step, state, None if limit is None else limit - count), True
        if not truth:
            break
        state = step(state)
        count += 1
    return state, False


def is_compiled(state: PyTree) -> bool:
    """Return whether a loop is one of the program that is traced; a pipeline's function runs by itself."""
    if in_pipeline():
        return False
    if any(map(is_traced, parts_of(state)[0])):
        return True
    return regions.current_region() is not None
