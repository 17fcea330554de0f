"""Functions that compute alike, each with variables of its own, compiled once and run in a loop (core layer).

Of variables that devices have in parts the loop takes the parts, and each iteration gathers what it needs.
"""

import contextlib
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.extend.core import set_current_trace
from jax.tree_util import PyTreeDef

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, PyTree
from stratax.core import regions
from stratax.core.gradients import _gradients
from stratax.seams.keras import get_stateless_scope

# Where in memory a function is differs from one trace to the next.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class _Slot:
    """Variables that stand for one another, one of each function.

    Args:
        variables: The variables.
        scope: Keras' scope around the loop.
        handles: Tracers by which the gradient of the loop is found, by variables' ids.

    Attributes:
        gathering: What gathers the first one of parts; None where all are at hand.
    """

    def __init__(
        self,
        variables: Sequence[keras.Variable],
        scope: keras.StatelessScope | None,
        handles: dict[int, tuple[Any, Any]],
    ) -> None:
        self.variables = variables
        found = [_gradients._gathering_in(scope, variable) for variable in variables]
        self._gatherings = [each for each in found if each is not None]
        parts = {each.part.shape for each in self._gatherings}
        if len(self._gatherings) not in (0, len(found)) or len(parts) > 1:
            raise errors.BadArgumentError(
                "Layers that are repeated have variables that are divided differently among devices. Expected: one "
                f"rule for all of them. Received: {shown([variable.path for variable in variables])}."
            )
        self.gathering = self._gatherings[0] if self._gatherings else None
        self._handles = [handles.get(id(variable)) for variable in variables]
        if self.gathering is not None:
            for variable in variables:
                setattr(variable, _gradients.SUMMED_IN_LOOP, True)
        self._scope = scope

    def stack(self, dtype: DTypeLike | None) -> list[Any]:
        """Return what an iteration takes of it, stacked: the values, or the parts and what the gradient goes to.

        Args:
            dtype: What parts are converted to; None for nothing.
        """
        if self.gathering is None:
            return [jnp.stack([_gradients._value_in(self._scope, variable) for variable in self.variables])]
        parts = [each.part if dtype is None else each.part.astype(dtype) for each in self._gatherings]
        given = [each for each in self._handles if each is not None]
        if len(given) == len(parts):
            return [jnp.stack(each) for each in (parts, *zip(*given, strict=True))]
        # Read as the program reads it: whatever differentiates finds it. Unless it does, nothing is computed.
        whole = [_gradients._value_in(self._scope, variable) for variable in self.variables]
        return [jnp.stack(parts), jnp.stack(whole)]


class _RepeatedRegion(_gradients.GradientRegion):
    """The region of one iteration: the function's variables have what stands for them in the loop.

    Args:
        outside: Keras' scope around the loop.
        enclosing_trace: The trace around it.
        slots: By variables' ids their slot, and what the iteration has of it.
    """

    def __init__(
        self,
        outside: keras.StatelessScope | None,
        enclosing_trace: object,
        slots: dict[int, tuple[_Slot, Sequence[Any]]],
    ) -> None:
        super().__init__(outside, enclosing_trace, [])
        self._slots = slots
        # In which dtypes what devices have in parts was gathered, by slots' ids.
        self.dtypes: dict[int, dict[Any, None]] = {id(slot): {} for slot, _ in slots.values()}
        # What is gathered in here is as well gathered there.
        if isinstance(self.parent, _gradients.GradientRegion):
            self.gathered_shapes = self.parent.gathered_shapes

    def lift(self, variable: keras.Variable) -> Any:
        if id(variable) in self._slots and self._gathering_of(variable) is None:
            return self._slots[id(variable)][1][0]
        with set_current_trace(self.trace):
            return super().lift(variable)

    def find_gathering(self, variable: keras.Variable) -> "regions.Gathering | None":
        return None if id(variable) in self.writes else self._gathering_of(variable)

    def _gathering_of(self, variable: keras.Variable) -> "regions.Gathering | None":
        if id(variable) not in self._slots:
            return super()._gathering_of(variable)
        slot, values = self._slots[id(variable)]
        gathering = slot.gathering
        if gathering is None:
            return None

        def gather(part: Array, behind: PyTree = None) -> Any:
            self.dtypes[id(slot)][part.dtype] = None
            return gathering.gather(part, behind)

        return regions.Gathering(values[0].astype(variable.dtype), gather, gathering.scatter)

    def _tie(self, variable: keras.Variable, gathering: regions.Gathering, whole: Array) -> Any:
        if id(variable) not in self._slots:
            with set_current_trace(self._enclosing_trace):
                # Of others, what is read around the loop has the gradient.
                self._arguments.setdefault(id(variable), _gradients._value_in(self._outside, variable))
            return super()._tie(variable, gathering, whole)
        self.gathered_shapes.add(whole.shape)
        _, (_, *own) = self._slots[id(variable)]
        if len(own) == 1:
            return _gradients._differentiate_by(whole, own[0])
        return _sum_in_parts(gathering.scatter, whole, *own)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _sum_in_parts(scatter: Callable[[Any], Any], value: Array, own: Array, part: Array) -> Any:
    """Return a value whose cotangent is that of another array of its shape, and summed over all parties of a third."""
    return value


def _keep_dtype(scatter: Callable[[Any], Any], value: Array, own: Array, part: Array) -> tuple[Any, Any]:
    return value, jnp.zeros((0,), own.dtype)


def _hand_on_sum(scatter: Callable[[Any], Any], like: Array, cotangent: Array) -> tuple[Any, Any, Any]:
    # Here: whole gradients of all iterations at once are what no device has room for.
    whole = cotangent.astype(like.dtype)
    return jnp.zeros_like(cotangent), whole, scatter(whole)


_sum_in_parts.defvjp(_keep_dtype, _hand_on_sum)


class _Loop:
    """Functions that compute alike, while one after the other is traced.

    Args:
        calls: The functions, each of one argument.
        variables: Of each function its variables, in one order.
        names: What the functions are called.
    """

    def __init__(
        self,
        calls: Sequence[Callable[[Any], Any]],
        variables: Sequence[Sequence[keras.Variable]],
        names: Sequence[str],
    ) -> None:
        self._calls = calls
        self._names = names
        self._scope, self._trace = get_stateless_scope(), regions.current_trace()
        region = regions.current_region()
        handles = region.handles if isinstance(region, _gradients.GradientRegion) else {}
        alike = list(zip(*variables, strict=True))
        # One that all functions share is read where it is.
        self._slots = [
            _Slot(each, self._scope, handles) for each in alike if len({id(one) for one in each}) > 1
        ]
        self._noted: dict[str, Any] = {}

    @property
    def noted_losses(self) -> list[Any]:
        """The losses that a function has added, as it knows them, in the trace that counts."""
        return self._noted["losses"]

    def run(self, argument: PyTree) -> tuple[Any, list[list[Any]]]:
        """Return the result, and for each loss that a function adds those of all functions."""
        values, structure = jax.tree.flatten(argument)
        values = [jnp.asarray(value) for value in values]
        values = self._settle(values, structure, _types_of([slot.stack(None) for slot in self._slots]))
        stacked = [slot.stack(dtype) for slot, dtype in zip(self._slots, self._noted["dtypes"], strict=True)]
        self._check_alike(values, structure, _types_of(stacked))
        values, (written, losses) = jax.lax.scan(
            lambda carried, own: self._call(0, structure, carried, own), values, stacked
        )
        self._assign(written)
        count = len(self._calls)
        return jax.tree.unflatten(structure, values), [[loss[i] for i in range(count)] for loss in losses]

    def _call(self, number: int, structure: PyTreeDef, values: list[Any], own: list[Any]) -> Any:
        """Compute one function: the carried values, and what the variables that it assigns and its losses become."""
        slots = {
            id(slot.variables[number]): (slot, each) for slot, each in zip(self._slots, own, strict=True)
        }
        with _RepeatedRegion(self._scope, self._trace, slots) as region:
            made = self._calls[number](jax.tree.unflatten(structure, values))
        leaves, found = jax.tree.flatten(made)
        if found != structure:
            raise self._describe_change(number, structure, found)
        foreign = [source for key, source in region.writes.items() if key not in slots]
        if foreign:
            raise errors.TracingError(
                f"The layer {shown(self._names[number])}, which is repeated, assigns a variable that is not its own, "
                "or that replicas combine. Expected: assignments of variables in `layer.variables` (for random "
                "numbers, a seed generator of the layer's). Received: one of "
                f"{shown(regions.variable_of(foreign[0]).path)}. Call the layers one after the other."
            )
        written = [
            (index, slot.variables[number])
            for index, slot in enumerate(self._slots)
            if id(slot.variables[number]) in region.writes
        ]
        self._noted["written"] = [(index, id(each) in region.in_agreement) for index, each in written]
        self._noted["losses"] = list(region.losses)
        self._noted["read"] = [list(region.dtypes[id(slot)]) for slot in self._slots]
        new = [region.final_value(variable) for _, variable in written]
        return [jnp.asarray(leaf) for leaf in leaves], (new, list(region.losses))

    def _settle(self, values: list[Any], structure: PyTreeDef, own: list[Any]) -> list[Any]:
        """Return the argument in the dtype that functions hand on to one another, such as a layer's compute dtype."""
        for _ in range(2):
            made, _ = jax.eval_shape(lambda *given: self._call(0, structure, *given), values, own)
            if [each.shape for each in made] != [each.shape for each in values]:
                raise self._describe_change(0, [each.shape for each in values], [each.shape for each in made])
            if all(new.dtype == old.dtype for new, old in zip(made, values, strict=True)):
                break
            values = [old.astype(new.dtype) for new, old in zip(made, values, strict=True)]
        # Where all that is read is converted, the stack is made of what is converted.
        self._noted["dtypes"] = [
            found[0] if slot.gathering is not None and len(found) == 1 else None
            for slot, found in zip(self._slots, self._noted["read"], strict=True)
        ]
        return values

    def _describe_change(self, number: int, before: object, after: object) -> errors.StrataxError:
        return errors.BadArgumentError(
            "Layers that are repeated hand their result on to one another. Expected: a result like the argument, "
            f"{shown(before)}. Received: {shown(after)} of {shown(self._names[number])}."
        )

    def _check_alike(self, values: list[Any], structure: PyTreeDef, own: list[Any]) -> None:
        """Raise unless all functions compute the same, which their traces show."""
        expected: tuple[list[str], list[Any]] | None = None
        for number, name in enumerate(self._names):
            closed = jax.make_jaxpr(lambda *given, at=number: self._call(at, structure, *given))(values, own)
            found = (
                [*_ADDRESS.sub("", str(closed.jaxpr)).splitlines(), str(self._noted["written"])],
                closed.consts,
            )
            expected = expected or found
            if found[0] != expected[0] or not _are_equal(found[1], expected[1]):
                pairs = zip(expected[0], found[0], strict=False)
                differing = next(((a.strip(), b.strip()) for a, b in pairs if a != b), ("", ""))
                raise errors.BadArgumentError(
                    "Layers that are repeated compute differently. Expected: layers that differ in the values of "
                    f"their variables alone. Received: {shown(name)} computes {shown(differing[1])} where "
                    f"{shown(self._names[0])} computes {shown(differing[0])}."
                )

    def _assign(self, written: Sequence[Any]) -> None:
        """Give each function's variables what its iteration has assigned."""
        for (index, is_agreed), stacked in zip(self._noted["written"], written, strict=True):
            pairs = [(variable, stacked[i]) for i, variable in enumerate(self._slots[index].variables)]
            with regions.equal_on_all_replicas() if is_agreed else contextlib.nullcontext():
                _gradients._write_back(self._scope, pairs)


def _types_of(stacked: list[list[Any]]) -> list[list[Any]]:
    """Return the types of what an iteration has of what is stacked."""
    return jax.tree.map(lambda each: jax.ShapeDtypeStruct(each.shape[1:], each.dtype), stacked)


def _are_equal(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Return whether two traces have taken the same values from around them."""

    def is_equal(one: Array, other: Array) -> bool:
        known = not isinstance(one, jax.core.Tracer) and not isinstance(other, jax.core.Tracer)
        return one is other or (known and np.array_equal(np.asarray(one), np.asarray(other)))

    return len(found) == len(expected) and all(map(is_equal, found, expected))


def run_alike(
    calls: Sequence[Callable[[Any], Any]],
    variables: Sequence[Sequence[keras.Variable]],
    names: Sequence[str],
    argument: PyTree,
) -> tuple[Any, list[Any], list[list[Any]]]:
    """Call functions one after the other, each with the result of the one before, in a loop that is compiled once.

    Args:
        calls: The functions, each of one argument, an array or a structure of arrays.
        variables: Of each function its variables, in one order.
        names: What the functions are called in errors.
        argument: The first one's argument.

    Returns:
        The last one's result; the losses that the first one has added, as it knows them; and for each of these those of
        all functions.

    Raises:
        BadArgumentError: If the functions do not compute alike, or their results are unlike their arguments.
        TracingError: If one assigns what is not among its variables.
    """
    loop = _Loop(calls, variables, names)
    result, losses = loop.run(argument)
    return result, loop.noted_losses, losses


def trace_only(call: Callable[[Any], Any], argument: PyTree) -> None:
    """Trace a function for the variables that it makes, and drop what it computes and assigns."""
    scope, trace = get_stateless_scope(), regions.current_trace()

    def run(given: PyTree) -> None:
        with _gradients.GradientRegion(scope, trace, []):
            call(given)

    jax.eval_shape(run, argument)
