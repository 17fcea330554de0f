"""Functions with derivatives of their own: `tf.custom_gradient` and its relatives (core layer).

The variables that such a function reads become arguments of what JAX differentiates, and what it assigns becomes
results: JAX lets a derivative see nothing else.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.core import autograph, regions, storage
from stratax.core.gradients import _gradients
from stratax.seams.jax import computes_now
from stratax.seams.keras import get_stateless_scope, in_symbolic_scope
from stratax.seams.keras_remat import move_losses

_NUMBERS = (jax.Array, np.ndarray, np.generic, keras.Variable, int, float, complex)


class _MoreVariables(Exception):
    """A function has read a variable that was no argument yet."""


class _Call:
    """One call of a function, as a pure function of the arrays among its arguments and of variables.

    Args:
        function: The function.
        args: Its arguments.
        kwargs: Its keyword arguments.
        is_traced: Whether it is traced, also eagerly.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        is_traced: bool = False,
    ) -> None:
        self._given = function
        self._function = autograph.convert(function) if is_traced else _convert(function)
        self._leaves, self._treedef = jax.tree.flatten((args, kwargs))
        self._scope, self._trace = get_stateless_scope(), regions.current_trace()
        self.variables: list[keras.Variable] = []
        self.written: list[keras.Variable] = []
        self.losses: list[Any] = []
        self._is_looking = False
        self._places = [place for place, leaf in enumerate(self._leaves) if _is_number(leaf)]
        # Read here, so that a tape which watches a variable follows its value.
        self.values = [_value(self._leaves[place]) for place in self._places]

    def read_variables(self) -> list[Any]:
        """Return the values of the variables that are arguments."""
        return [_value(variable) for variable in self.variables]

    def run(self, values: Sequence[Any], variable_values: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Call the function.

        Args:
            values: What stands for the arrays among the arguments.
            variable_values: What stands for the variables.

        Returns:
            What it returned, and the new values of the variables that it assigned.

        Raises:
            _MoreVariables: It reads a trainable variable that is no argument yet; it is from now on.
        """
        leaves = list(self._leaves)
        for place, value in zip(self._places, values, strict=True):
            leaves[place] = value
        args, kwargs = jax.tree.unflatten(self._treedef, leaves)
        pairs = list(zip(self.variables, variable_values, strict=True))
        known = {id(variable) for variable in self.variables}

        def note(variable: keras.Variable, _: object) -> None:
            if variable.trainable and id(variable) not in known:
                known.add(id(variable))
                self.variables.append(variable)

        with _gradients.GradientRegion(self._scope, self._trace, pairs) as region, storage.listening(note):
            made = self._function(*args, **kwargs)
        # At the end: in the middle a call around this one, or Keras, would take the exception for one of the function.
        if len(self.variables) > len(pairs) and not self._is_looking:
            raise _MoreVariables
        self.written, self.losses = list(region.writes.values()), list(region.losses)
        return made, [region.final_value(variable) for variable in self.written]

    def look_for_variables(self) -> None:
        """Make all trainable variables that the function reads arguments, where it can be traced."""
        self._is_looking = True

        def trace(values: Any, variable_values: Any) -> None:
            self.run(values, variable_values)

        # What needs values can't be traced; its variables are then found one by one.
        with contextlib.suppress(Exception):
            jax.eval_shape(trace, self.values, self.read_variables())
        self._is_looking = False

    def write_back(self, values: Sequence[Any]) -> None:
        """Give the variables that the function assigned their values."""
        _gradients._write_back(self._scope, list(zip(self.written, values, strict=True)))

    def add_losses(self, losses: Sequence[Any]) -> None:
        """Add what layers have added in the function to the losses around it."""
        if self._scope is None or not self._scope.collect_losses:
            return
        for loss in losses:
            self._scope.add_loss(loss)
        layer = getattr(self._given, "__self__", None)
        if isinstance(layer, keras.layers.Layer):
            move_losses(layer, self.losses, losses)


def _convert(function: Callable[..., Any]) -> Callable[..., Any]:
    return function if regions.current_region() is None else autograph.convert(function)


def _is_number(leaf: object) -> bool:
    if isinstance(leaf, bool | np.bool_):
        return False
    return isinstance(leaf, _NUMBERS) and getattr(getattr(leaf, "dtype", None), "kind", "") not in (
        "O",
        "S",
        "U",
    )


def _value(leaf: object) -> Any:
    return leaf.value if isinstance(leaf, keras.Variable) else jnp.asarray(leaf)


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Return a function whose gradient it says itself, as `tf.custom_gradient`.

    Args:
        f: Returns a pair: its result, and a function of the gradients of the result (one argument for each array in it)
            that returns those of the arguments (one for each array among them; None for none). If it reads trainable
            variables, the latter takes `variables`, a list of them, too, and returns a pair: the gradients of the
            arguments, and a list of those of the variables.

    Returns:
        A function of the same arguments that returns the result.

    Raises:
        BadTypeError: If `f` returns no such pair, or reads variables and its gradient function takes none.
        BadArgumentError: If there are too few or too many gradients.

    Example:
        >>> import stratax.tf as tf
        >>> @tf.custom_gradient
        ... def clipped(x):
        ...     return x, lambda upstream: tf.clip_by_value(upstream, -1.0, 1.0)
        >>> x = tf.constant(3.0)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = clipped(x) * 5.0
        >>> float(tape.gradient(y, x))
        1.0
    """
    if f is None:
        return custom_gradient
    if not callable(f):
        raise errors.BadTypeError(f"tf.custom_gradient takes a function. Received: f={shown(f)}.")

    # What it calls is converted in the call.
    @autograph.do_not_convert
    @functools.wraps(f)
    def decorate(*args: object, **kwargs: object) -> Any:
        return _with_variables(_Call(f, args, kwargs), _differentiable)

    return decorate


def _with_variables(call: _Call, run: Callable[[_Call], Any]) -> Any:
    """Run a call with the variables that it reads as arguments, without which they would get no gradient."""
    while True:
        try:
            return run(call)
        except _MoreVariables:
            call.look_for_variables()


def _differentiable(call: _Call) -> Any:
    """Return the result of a call, tied to its gradient function."""
    noted: dict[str, Any] = {}

    def forward(values: Any, variable_values: Any) -> tuple[list[Any], Any]:
        """Return the results and new values of variables, and what the gradient function closes over."""
        made, written = call.run(values, variable_values)
        result, gradient = _pair(made)
        leaves, noted["structure"] = jax.tree.flatten(result)
        flat = [*(jnp.asarray(_value(leaf)) for leaf in leaves), *written]

        def pull(upstream: list[Any]) -> list[Any]:
            gradients = _gradients_of(call, gradient, upstream[: len(leaves)])
            noted["is_none"] = [each is None for each in gradients]
            inputs = [*values, *variable_values]
            return [
                _like(each, value) for each, value in zip(gradients, inputs, strict=True) if each is not None
            ]

        # What it closes over, traced values too, comes out as constants.
        closed = jax.make_jaxpr(pull)([jax.typeof(leaf) for leaf in flat])
        noted["pull"] = closed.jaxpr
        return flat, closed.consts

    def pull_back(constants: list[Any], upstream: list[Any]) -> tuple[list[Any], list[Any]]:
        made = iter(jax.core.eval_jaxpr(noted["pull"], constants, *upstream))
        gradients = [None if is_none else next(made) for is_none in noted["is_none"]]
        return gradients[: len(call.values)], gradients[len(call.values) :]

    compiled = regions.current_region() is not None
    flat = (_tie_in_program if compiled else _tie)(call, forward, pull_back)
    count = noted["structure"].num_leaves
    call.write_back(flat[count:])
    return jax.tree.unflatten(noted["structure"], flat[:count])


def _tie(call: _Call, forward: Callable[..., Any], pull_back: Callable[..., Any]) -> list[Any]:
    """Run a call with values, where they are known."""

    @jax.custom_vjp
    def primal(values: object, variable_values: object) -> list[Any]:
        return forward(values, variable_values)[0]

    primal.defvjp(forward, pull_back)
    return primal(call.values, call.read_variables())


def _tie_in_program(call: _Call, forward: Callable[..., Any], pull_back: Callable[..., Any]) -> list[Any]:
    """Put a call into the program that is traced.

    JAX would trace a derivative later, when the loop around it is differentiated: what the function closes over would
    be gone by then. So it is traced now, and what it closes over is an argument.
    """
    call.look_for_variables()
    noted: list[int] = []

    def whole(values: object, variable_values: object) -> list[Any]:
        flat, residuals = forward(values, variable_values)
        noted[:] = [len(flat)]
        return [*flat, *residuals]

    closed = jax.make_jaxpr(whole)(call.values, call.read_variables())
    (count,) = noted

    @jax.custom_vjp
    def primal(constants: Any, values: Any, variable_values: Any) -> list[Any]:
        return jax.core.eval_jaxpr(closed.jaxpr, constants, *values, *variable_values)[:count]

    def with_residuals(constants: Any, values: Any, variable_values: Any) -> tuple[list[Any], list[Any]]:
        results = jax.core.eval_jaxpr(closed.jaxpr, constants, *values, *variable_values)
        return results[:count], results[count:]

    def pull_all(residuals: list[Any], upstream: list[Any]) -> tuple[Any, Any, Any]:
        return (None, *pull_back(residuals, upstream))

    primal.defvjp(with_residuals, pull_all)
    return primal(closed.consts, call.values, call.read_variables())


def _pair(made: object) -> tuple[Any, Callable[..., Any]]:
    if not isinstance(made, tuple | list) or len(made) != 2 or not callable(made[1]):
        raise errors.BadTypeError(
            "A function with a gradient of its own returns a pair. Expected: its result, and a function of the "
            f"result's gradients. Received: {shown(made)}."
        )
    return made[0], made[1]


def _gradients_of(call: _Call, gradient: Callable[..., Any], upstream: Sequence[Any]) -> list[Any]:
    """Return the gradients of arrays among a call's arguments, and then of variables."""
    if call.variables:
        if not _takes_variables(gradient):
            raise errors.BadTypeError(
                "The gradient function of a tf.custom_gradient must take the keyword argument 'variables', since the "
                f"function uses variables: {shown([variable.path for variable in call.variables])}. Let it return "
                "a pair: the gradients of the arguments, and a list of those of the variables."
            )
        given, of_variables = gradient(*upstream, variables=list(call.variables))
        of_variables = list(of_variables)
    else:
        given, of_variables = gradient(*upstream), []
    gradients = jax.tree.leaves(list(given) if isinstance(given, tuple | list) else [given], is_leaf=_is_none)
    expected = len(call.values), len(call.variables)
    if (len(gradients), len(of_variables)) != expected:
        raise errors.BadArgumentError(
            f"A tf.custom_gradient gave {len(gradients)} gradients of arguments and {len(of_variables)} of variables. "
            f"Expected: {expected[0]} and {expected[1]}. Return one for each array, None for none."
        )
    floats = [jnp.issubdtype(value.dtype, jnp.inexact) for value in call.values]
    # Whole numbers have none.
    return [
        each if is_float else None for each, is_float in zip(gradients, floats, strict=True)
    ] + of_variables


def _is_none(value: object) -> bool:
    return value is None


def _takes_variables(gradient: Callable[..., Any]) -> bool:
    parameters = inspect.signature(gradient).parameters.values()
    return any(each.name == "variables" or each.kind is each.VAR_KEYWORD for each in parameters)


def _like(gradient: Any, value: Any) -> Any:
    gradient = jnp.asarray(_value(gradient), value.dtype)
    if gradient.shape != value.shape:
        raise errors.BadArgumentError(
            "A tf.custom_gradient gave a gradient of another shape than the argument's. Expected: "
            f"{tuple(value.shape)}. Received: {tuple(gradient.shape)}."
        )
    return gradient


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes what its gradient needs a second time, as `tf.recompute_grad`.

    Args:
        f: A function of arrays, which may read and assign variables.
    """
    return recompute(f)


def recompute(f: Callable[..., Any], policy: Callable[..., bool] | None = None) -> Callable[..., Any]:
    """Return a function that computes what its gradient needs a second time.

    Nothing of the first time is kept but the arguments, which saves memory. It is `jax.checkpoint` of a function that
    may read and assign variables, draw numbers and add losses to layers.

    Args:
        f: A function of arrays.
        policy: What is kept all the same, as one of `jax.checkpoint_policies`.
    """

    @autograph.do_not_convert
    @functools.wraps(f)
    def decorate(*args: object, **kwargs: object) -> Any:
        # Keras wants to know shapes, and variables need have no values. Or nobody takes a gradient: a layer that
        # prepares text or batches on the host needs their values.
        if in_symbolic_scope() or computes_now():
            return f(*args, **kwargs)
        call = _Call(f, args, kwargs, is_traced=True)
        return _with_variables(call, functools.partial(_recompute, policy=policy))

    return decorate


def _recompute(call: _Call, policy: Callable[..., bool] | None) -> Any:
    noted: dict[str, Any] = {}

    def pure(values: list[Any], variable_values: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        made, written = call.run(values, variable_values)
        leaves, noted["structure"] = jax.tree.flatten(made)
        noted["is_array"] = [_is_number(leaf) for leaf in leaves]
        noted["others"] = [None if _is_number(leaf) else leaf for leaf in leaves]
        return [_value(leaf) for leaf in leaves if _is_number(leaf)], written, call.losses

    run: Callable[..., Any] = jax.checkpoint(pure, policy=policy)
    region = regions.current_region()
    if region is not None and region.gathers:
        run = _keep_apart(run)
    arrays, written, losses = run(call.values, call.read_variables())
    call.write_back(written)
    call.add_losses(losses)
    found = iter(arrays)
    leaves = [
        next(found) if is_array else other
        for is_array, other in zip(noted["is_array"], noted["others"], strict=True)
    ]
    return jax.tree.unflatten(noted["structure"], leaves)


def _keep_apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of which a `jax.checkpoint` around it keeps no more than the function itself would.

    JAX (0.10) asks the policy of the outermost one also about what those in it compute, and where weights are gathered
    the outermost one keeps all else (`_gradients._gathers_again`).
    """

    def run(values: object, variable_values: object) -> Any:
        closed, described = jax.make_jaxpr(function, return_shape=True)(values, variable_values)
        leaves = jax.tree.leaves((values, variable_values))

        # What it closes over are arguments: in a loop, JAX traces a derivative when what is closed over is gone.
        def compute(constants: Sequence[Any], *leaves: object) -> Any:
            return jax.core.eval_jaxpr(closed.jaxpr, constants, *leaves)

        @jax.custom_vjp
        def primal(*arguments: Any) -> Any:
            return compute(*arguments)

        def with_residuals(*arguments: object) -> tuple[Any, Any]:
            return jax.vjp(compute, *arguments)

        primal.defvjp(with_residuals, lambda pull, upstream: pull(upstream))
        return jax.tree.unflatten(jax.tree.structure(described), primal(closed.consts, *leaves))

    return run


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose gradient is the identity's, as `tf.grad_pass_through`.

    Args:
        f: A function whose result has the shape of its argument (as many results as arguments).
    """

    @custom_gradient
    def pass_gradient(*args: object, **kwargs: object) -> Any:
        def gradient(*upstream: object, variables: Sequence[Any] = ()) -> Any:
            return (upstream, [None] * len(variables)) if variables else upstream

        return _convert(f)(*args, **kwargs), gradient

    return functools.update_wrapper(pass_gradient, f)
