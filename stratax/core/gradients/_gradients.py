"""Gradients in the functional way: `value_and_grad` over variables (core layer).

:func:`value_and_grad` is `jax.value_and_grad` for code that reads its parameters from variables. The variables
become arguments of the function that JAX differentiates, and what the function assigns to other variables comes
out of it as auxiliary output, so nothing is computed twice and nothing leaks.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.extend.core import set_current_trace

from stratax import errors
from stratax.base import indices
from stratax.base.shown import shown
from stratax.base.typing import Array, PyTree, TensorLike
from stratax.core import autograph, regions, storage
from stratax.seams.keras import get_stateless_scope

# The attribute of a variable of layers that are computed in a loop: its gradient is summed in parts there.
SUMMED_IN_LOOP = "_stratax_summed_in_loop"
# What is made of a gathered value without computing: whoever keeps the result keeps it all.
_FORMS = ("convert_element_type", "transpose", "reshape", "copy")


def value_and_grad(
    fun: Callable[..., Any], variables: object = None, has_aux: bool = False
) -> Callable[..., Any]:
    """Make a function that computes `fun` and the gradients of its loss with respect to variables.

    It works eagerly, inside `stratax.function`, inside `strategy.run` and inside loops. Assignments that `fun`
    makes (BatchNorm statistics, metrics, the state of a dropout seed) take effect once, after the gradients have
    been computed; when `fun` raises, no variable has changed. `model.losses` is read inside `fun`.

    Args:
        fun: A function that returns a scalar floating point loss, or `(loss, aux)` with `has_aux`.
        variables: What to differentiate with respect to: a `keras.Variable`, a nested structure of them, or a function
            without arguments that returns one (`lambda: model.trainable_variables`), which may name variables
            that `fun` itself creates on its first call (`fun` is then traced a second time). None differentiates
            with respect to the first positional argument, an array or a nested structure of arrays, as
            `jax.value_and_grad` does.
        has_aux: Whether `fun` returns a pair `(loss, aux)`. `aux` may be any structure.

    Returns:
        A function with the arguments of `fun` that returns `(loss, gradients)`, or `((loss, aux), gradients)` with
        `has_aux`. `gradients` has the structure of `variables`; each gradient has its variable's shape, dtype and
        placement, and is zero where the loss does not depend on the variable. Inside `strategy.run` they are the
        replica's own, not yet reduced over the replicas.

    Raises:
        BadTypeError: `fun` is not callable, one of `variables` is not a floating point variable, or the loss is
            not a floating point number.
        BadArgumentError: The loss is not a scalar, or `fun` does not return a pair although `has_aux` is set.
        TracingError: `fun` assigns a variable inside a JAX transformation.

    Example:
        >>> import keras, stratax as sx
        >>> weight = keras.Variable(3.0)
        >>> loss, gradient = sx.value_and_grad(lambda x: x * weight**2, weight)(2.0)
        >>> float(loss), float(gradient)
        (18.0, 12.0)
    """
    if not callable(fun):
        raise errors.BadTypeError(
            "`value_and_grad` differentiates a function. Expected: a callable that returns a scalar loss. "
            f"Received: fun={shown(fun)}. Pass the function itself, without calling it."
        )
    if variables is not None and (not callable(variables) or isinstance(variables, keras.Variable)):
        # Checked when the function is made, where the mistake is, and not when it is called.
        _flatten_variables(variables)

    @functools.wraps(fun)
    def with_gradients(*args: object, **kwargs: object) -> Any:
        # Where the call is compiled, so are the loops and conditions in `fun`.
        call = fun if regions.current_region() is None else autograph.convert(fun)
        if variables is None:
            return _differentiate_first_argument(call, has_aux=has_aux, args=args, kwargs=kwargs)
        return _differentiate_variables(call, variables, has_aux=has_aux, args=args, kwargs=kwargs)

    return with_gradients


class GradientRegion(regions.Region):
    """The region inside a differentiated function: some variables are arguments, the rest comes from outside.

    Args:
        outside: Keras' scope around the differentiated function, or None for eager code.
        enclosing_trace: The JAX trace that the differentiated function was called in.
        arguments: The variables and the tracers that stand for them.
        handles: By variables' ids, for those that a loop reads: tracers whose cotangents are the gradient with respect
            to what the loop reads, whole, and the part of its sum over all parties.
    """

    def __init__(
        self,
        outside: keras.StatelessScope | None,
        enclosing_trace: object,
        arguments: Sequence[tuple[keras.Variable, Any]],
        handles: dict[int, tuple[Any, Any]] | None = None,
    ) -> None:
        # Not the scope: Keras may have entered one of its own in between, which is read through `_outside`.
        super().__init__(parent=regions.current_region())
        self._outside = outside
        self._enclosing_trace = enclosing_trace
        self._arguments = {id(variable): tracer for variable, tracer in arguments}
        self.handles = handles or {}
        self.gathered_shapes: set[tuple[int, ...]] = set()
        # What was converted before it was gathered, by the variable's id and the dtype.
        self._converted: dict[int, dict[Any, Any]] = {}
        # Numbers and the ranges that they have to be in.
        self.watched: list[tuple[Any, Any]] = []

    def __exit__(self, *exc_info: object) -> None:
        super().__exit__(*exc_info)
        if self.parent is not None:
            # Keras knows layers' losses by their ids, which no other loss must get while the layers are traced.
            self.parent.inner_losses += [*self.losses, *self.inner_losses]

    def get_current_value(self, variable: keras.Variable) -> Any:
        dtype = None if id(variable) in self._values else self.find_conversion(variable)
        value = None if dtype is None else self._convert_and_gather(variable, dtype)
        if value is None:
            return super().get_current_value(variable)
        storage.notify(variable, value)
        return value

    def _convert_and_gather(self, variable: keras.Variable, dtype: str) -> Any:
        found = self._converted.setdefault(id(variable), {})
        if dtype not in found:
            gathering = self._gathering_of(variable)
            if gathering is None:
                return None
            with set_current_trace(self.trace):
                part = gathering.part.astype(dtype)
                found[dtype] = self._tie(variable, gathering, gathering.gather(part))
        return found[dtype]

    def _gathering_of(self, variable: keras.Variable) -> "regions.Gathering | None":
        """Return what gathers a variable's value on entry; None where it is at hand."""
        return _gathering_in(self._outside, variable)

    def _tie(self, variable: keras.Variable, gathering: regions.Gathering, whole: Array) -> Any:
        """Return what was gathered, with its cotangents going where the gradient is wanted."""
        self.gathered_shapes.add(whole.shape)
        own = self._arguments.get(id(variable))
        return whole if own is None else _differentiate_by(whole, own)

    def is_read(self, variable: keras.Variable) -> bool:
        """Return whether a variable was read here, and not in a loop alone."""
        return id(variable) in self.reads or bool(self._converted.get(id(variable)))

    def lift(self, variable: keras.Variable) -> Any:
        if isinstance(variable, regions.Spread):
            # Of the value that is differentiated, where it is an argument.
            return variable.spread(self.get_current_value(variable.variable))
        gathering = self._gathering_of(variable)
        if gathering is None:
            own = self._arguments.get(id(variable))
            return _value_in(self._outside, variable) if own is None else own
        # Here and not around: what is computed backwards gathers it again instead of keeping it.
        return self._tie(variable, gathering, gathering())

    def share_of(self, variable: keras.Variable) -> "regions.Spread | None":
        # A scope of Keras' own, which takes over what is assigned here, knows one value of each variable.
        return super().share_of(variable) if isinstance(self._outside, regions.Region) else None

    def keep_watch(self, numbers: Any, bound: object) -> bool:
        # `jax.checkpoint` leaves out of its function what gives no results.
        if not self.gathers or numbers._trace is not self.trace:
            return False
        self.watched.append((numbers, bound))
        return True

    def add_update(self, update: tuple[keras.Variable, Any]) -> None:
        variable, value = update
        self._converted.pop(id(variable), None)
        # A value of the trace around the differentiated function, which need not be a region's.
        if isinstance(value, jax.core.Tracer) and value._trace is self._enclosing_trace:
            self.writes[id(variable)] = variable
            self._values[id(variable)] = value
        else:
            super().add_update(update)

    def next_element(self, stream: object) -> Any:
        if self.parent is None:
            return super().next_element(stream)
        return self.parent.next_element(stream)


@jax.custom_vjp
def _differentiate_by(value: Array, own: Array) -> Any:
    """Return a value whose cotangent is that of another array of its shape."""
    return value


def _keep_value(value: Array, own: Array) -> tuple[Any, Any]:
    # Of the other array its dtype alone.
    return value, jnp.zeros((0,), own.dtype)


def _hand_on(like: Array, cotangent: Array) -> tuple[Any, Any]:
    return jnp.zeros_like(cotangent), cotangent.astype(like.dtype)


_differentiate_by.defvjp(_keep_value, _hand_on)


def _gathers_again(shapes: set[tuple[int, ...]]) -> Callable[..., bool]:
    """Return a policy for `jax.checkpoint` by which everything is kept for the way back but what was gathered.

    Args:
        shapes: The shapes of what was gathered, which are known when the policy is asked.
    """

    def keeps(primitive: Any, *types: Any, **params: Any) -> bool:
        if primitive.name == "all_gather":
            return False
        return primitive.name not in _FORMS or types[0].shape not in shapes

    return keeps


def _gathering_in(scope: keras.StatelessScope | None, variable: keras.Variable) -> "regions.Gathering | None":
    """Return what gathers a variable's value of devices' parts, where that is its value under `scope`."""
    return scope.find_gathering(variable) if isinstance(scope, regions.Region) else None


def _value_in(scope: keras.StatelessScope | None, variable: keras.Variable) -> Any:
    """Return the value of `variable` under `scope`, or its own where the scope does not know it."""
    value = None if scope is None else scope.get_current_value(variable)
    return regions.concrete_value(variable) if value is None else value


def _differentiate_variables(
    fun: Callable[..., Any], variables: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, has_aux: bool
) -> Any:
    given_later = callable(variables) and not isinstance(variables, keras.Variable)
    structure = variables() if given_later else variables
    leaves, treedef = _flatten_variables(structure)
    # A variable may be listed twice; each entry gets the gradient of the whole.
    unique = list({id(variable): variable for variable in leaves}.values())
    outside = get_stateless_scope()

    # What is gathered inside is differentiated by something that is added to it.
    values = [
        _value_in(outside, variable)
        if _gathering_in(outside, variable) is None
        else jnp.zeros(variable.shape, variable.dtype)
        for variable in unique
    ]
    handles = _make_handles(outside, unique)

    def standing_for(value: PyTree) -> tuple[Any, Any]:
        given, of_loops = value
        in_loops = {id(unique[index]): each for (index, _), each in zip(handles, of_loops, strict=True)}
        return list(zip(unique, given, strict=True)), in_loops

    result, (gradients, of_loops), updates, region = _differentiate(
        lambda _: fun(*args, **kwargs), (values, [each for _, each in handles]), standing_for, has_aux=has_aux
    )
    for (index, _), (whole, part) in zip(handles, of_loops, strict=True):
        rest = gradients[index] if region.is_read(unique[index]) else None
        gradients[index] = whole if rest is None else rest + whole
        outside.note_reduced(gradients[index], rest, part)  # type: ignore[union-attr]
    if given_later:
        regions.initialize_pending()
        if {id(v) for v in _flatten_variables(variables())[0]} != {id(v) for v in unique}:
            # The call created some of the variables; they have their values now and can be differentiated.
            return _differentiate_variables(fun, variables(), has_aux=has_aux, args=args, kwargs=kwargs)
    _write_back(outside, updates)
    by_variable = {id(variable): gradient for variable, gradient in zip(unique, gradients, strict=True)}
    return result, jax.tree.unflatten(treedef, [by_variable[id(variable)] for variable in leaves])


def _make_handles(
    scope: keras.StatelessScope | None, variables: Sequence[keras.Variable]
) -> list[tuple[int, tuple[Any, Any]]]:
    """Return what loops differentiate by, for the variables (by their numbers) that loops sum the gradients of."""
    found = []
    for index, variable in enumerate(variables):
        gathering = _gathering_in(scope, variable) if getattr(variable, SUMMED_IN_LOOP, False) else None
        if gathering is not None:
            whole = jnp.zeros(variable.shape, variable.dtype)
            found.append((index, (whole, jnp.zeros_like(gathering.part))))
    return found


def _differentiate_first_argument(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, has_aux: bool
) -> Any:
    if not args:
        raise errors.BadTypeError(
            "`value_and_grad` without `variables` differentiates with respect to the first positional argument. "
            f"Expected: at least one positional argument. Received: args={shown(args)}. Pass the argument by "
            "position, or "
            "`variables=model.trainable_variables`."
        )

    outside = get_stateless_scope()
    result, gradients, updates, _ = _differentiate(
        lambda x: fun(x, *args[1:], **kwargs), args[0], has_aux=has_aux
    )
    _write_back(outside, updates)
    return result, gradients


def _differentiate(
    call: Callable[[Any], Any],
    at: object,
    standing_for: Callable[[Any], tuple[Any, Any]] = lambda _: ((), {}),
    *,
    has_aux: bool,
) -> tuple[Any, Any, list[Any], "GradientRegion"]:
    """Differentiate `call` at a value.

    Args:
        call: The function.
        at: The value.
        standing_for: Returns, of what stands for the value, the arguments and handles of the region.
        has_aux: Whether it returns something besides the loss.

    Returns:
        What `call` returned, the gradients, the assignments that it made as `(variable, value)` pairs, and the region.
    """
    outside, trace = get_stateless_scope(), regions.current_trace()
    written: list[keras.Variable] = []
    static: dict[str, Any] = {}
    shapes: set[tuple[int, ...]] = set()

    def pure(value: Any) -> tuple[Any, Any]:
        with GradientRegion(outside, trace, *standing_for(value)) as region:
            returned = call(value)
            loss, aux = _split(returned) if has_aux else (returned, None)
            arrays, static["aux"] = _partition(aux)
            loss = _check_loss(loss)
        # Of the last trace, where the function is traced more than once.
        static["region"] = region
        written[:] = region.writes.values()
        shapes.update(region.gathered_shapes)
        static["bounds"] = [bound for _, bound in region.watched]
        # What is assigned inside leaves as an auxiliary result: JAX lets no tracer out otherwise.
        new = [region.final_value(variable) for variable in written]
        return loss, (arrays, new, [numbers for numbers, _ in region.watched])

    gathers = isinstance(outside, regions.Region) and outside.gathers
    function = jax.checkpoint(pure, policy=_gathers_again(shapes)) if gathers else pure
    (loss, (arrays, new_values, watched)), gradients = jax.value_and_grad(function, has_aux=True)(at)
    for numbers, bound in zip(watched, static["bounds"], strict=True):
        indices.check_bound(numbers, bound)
    result = (loss, _combine(arrays, static["aux"])) if has_aux else loss
    return result, gradients, list(zip(written, new_values, strict=True)), static["region"]


def _write_back(scope: keras.StatelessScope | None, updates: Sequence[tuple[keras.Variable, Any]]) -> None:
    """Make assignments that were collected inside take effect outside."""
    for variable, value in updates:
        if scope is None:
            # Keras' `assign` would convert and check once more what it has checked inside.
            variable._direct_assign(value)
        else:
            scope.add_update((variable, value))
    if scope is None:
        regions.initialize_pending()


def _partition(aux: object) -> tuple[list[Any], Any]:
    """Split a structure into its arrays, which JAX has to see, and everything else."""
    leaves, treedef = jax.tree.flatten(aux)
    is_array = [isinstance(leaf, jax.Array) for leaf in leaves]
    arrays = [leaf for leaf, array in zip(leaves, is_array, strict=True) if array]
    # Auxiliary results of JAX are arrays only; a string in `aux` is put back by `_combine`.
    others = [None if array else leaf for leaf, array in zip(leaves, is_array, strict=True)]
    return arrays, (treedef, is_array, others)


def _combine(arrays: Sequence[Any], static: Any) -> Any:
    treedef, is_array, others = static
    remaining = iter(arrays)
    leaves = [next(remaining) if array else other for array, other in zip(is_array, others, strict=True)]
    return jax.tree.unflatten(treedef, leaves)


def _flatten_variables(structure: PyTree) -> tuple[list[keras.Variable], Any]:
    """Return the variables in a structure, and the structure. Keras' tracked lists count as lists."""
    plain = list(structure) if isinstance(structure, list) else structure
    leaves, treedef = jax.tree.flatten(plain)
    for leaf in leaves:
        if not isinstance(leaf, keras.Variable):
            raise errors.BadTypeError(
                "`variables` of `value_and_grad` contains something that is no variable. Expected: a keras.Variable, a "
                f"nested structure of them, or a function that returns one. Received: {shown(leaf)} of type "
                f"{type(leaf).__name__}. To differentiate with respect to an array, leave `variables` out and pass "
                "the array as the first argument."
            )
        if not jnp.issubdtype(leaf._dtype, jnp.floating):
            raise errors.BadTypeError(
                f"Variable {shown(leaf.path)} can't be differentiated. Expected: a floating point dtype. "
                f"Received: dtype={shown(leaf._dtype)}. Leave it out of `variables`; `model.trainable_variables` does."
            )
    return leaves, treedef


def _split(returned: object) -> tuple[Any, Any]:
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        raise errors.BadArgumentError(
            "With `has_aux=True` the function has to return a pair. Expected: (loss, aux). "
            f"Received: {shown(returned)}. Return a pair, or leave `has_aux` out."
        )
    return returned[0], returned[1]


def _check_loss(loss: TensorLike) -> Any:
    loss = loss.value if isinstance(loss, keras.Variable) else loss
    if not isinstance(loss, (jax.Array, np.ndarray, np.generic, int, float)):
        raise errors.BadTypeError(
            "The function given to `value_and_grad` has to return its loss. Expected: a scalar array of floating point "
            f"dtype. Received: loss={shown(loss)} of type {type(loss).__name__}. Add a `return`, or set "
            "`has_aux=True` if it returns more than the loss."
        )
    if not jnp.issubdtype(jnp.result_type(loss), jnp.floating):
        raise errors.BadTypeError(
            "The loss of `value_and_grad` can't be differentiated. Expected: a floating point dtype. "
            f"Received: dtype={jnp.result_type(loss)}. Cast it, for example with `keras.ops.cast(loss, 'float32')`."
        )
    if jnp.shape(loss) != ():
        raise errors.BadArgumentError(
            "The loss of `value_and_grad` is not a scalar. Expected: shape=(). "
            f"Received: shape={jnp.shape(loss)}. Reduce it with `keras.ops.mean` or `compute_average_loss`, "
            "or take the gradient of a sum with `GradientTape`."
        )
    return loss
