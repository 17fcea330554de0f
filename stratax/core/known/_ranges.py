"""Numbers that have to lie in a range, looked at before a program runs (core layer).

A label that is no class, or an index of no row, is an error in TensorFlow on a CPU, and NaN on a device. A compiled
program can't raise, and to wait for it or to keep its variables' old values would cost every step. But most such
numbers come as they are from what the program is given: a batch's labels, a layer's ids. While a program is traced,
they are marked (`watch_p`, which computes nothing). What leads from the program's inputs to a mark is then followed,
and the inputs are looked at before each dispatch, so that nothing has run when the error is raised. Numbers that a
program computes itself are not followed; there, the answer is NaN.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core as jax_core

from stratax.base import indices
from stratax.base.surroundings import Slot, Surroundings
from stratax.core import jaxprs, regions
from stratax.seams import jax as seam

# `watch_p.bind(numbers, bound=Bound)`: no results, no effects.
watch_p = jax_core.Primitive("stratax_watch")
watch_p.multiple_results = True
watch_p.def_abstract_eval(lambda _, *, bound: [])
watch_p.def_impl(lambda numbers, *, bound: bound.check(np.asarray(numbers)) or [])
seam.lower_as_nothing(watch_p)

# By which the body of an operation that calls it is found among the operation's parameters.
_CALLS = {
    **dict.fromkeys(("jit", "pjit", "remat", "remat2", "checkpoint"), "jaxpr"),
    **dict.fromkeys(("closed_call", "core_call", "custom_jvp_call", "custom_vjp_call"), "call_jaxpr"),
}
_UNCHANGED = ("copy", "copy_p", "stop_gradient", "sharding_constraint", "optimization_barrier")
_MOST_JOINED = 1 << 14  # Numbers: a copy of more takes longer than to look at each part.
_SMALLEST_WHOLE = 4  # Bytes: numbers that become smaller ones may be others.

Step = Callable[[np.ndarray], np.ndarray]


# Whether a thread traces a program of JAX' own whose inputs are looked at.
_IS_WATCHING: Slot[bool] = Slot("watching", False)


def watching() -> Surroundings:
    """Trace a program of JAX' own in the block, of which :func:`watches_of` is asked then."""
    return _IS_WATCHING.holding(True)


def _watch(numbers: object, bound: indices.Bound) -> None:
    """Mark numbers that are known only when the program runs that is being traced."""
    region = regions.current_region()
    if not isinstance(numbers, jax.core.Tracer) or not (_IS_WATCHING.get() or region is not None):
        return
    if region is None or not region.keep_watch(numbers, bound):
        watch_p.bind(numbers, bound=bound)


indices.tell_of_unknown(_watch)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """How a value follows from one input of the program.

    Attributes:
        source: The input's key.
        steps: What is done with it.
        lead: What its leading dimensions count that the value in the program does not have.
        is_plain: Whether all of the input's numbers are in it, unchanged.
    """

    source: Any
    steps: tuple[Step, ...] = ()
    lead: tuple[str, ...] = ()
    is_plain: bool = True

    def then(self, step: Step, *, plain: bool = True) -> "_Path":
        return dataclasses.replace(self, steps=(*self.steps, step), is_plain=self.is_plain and plain)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """An input of a program whose numbers have to lie in a range.

    Attributes:
        source: The input: an argument's index, or a leaf of what is taken from a stream.
        bound: The range.
    """

    source: Any
    bound: indices.Bound
    _path: _Path

    def check(self, array: object, count: int | None = None) -> None:
        """Raise if numbers of the input are out of range.

        Args:
            array: The input.
            count: How many of its rows count, the first ones; all if None.

        Raises:
            BadArgumentError: As TensorFlow on a CPU.
        """
        if self._path.is_plain and self._holds_for(array, count):
            return
        if isinstance(array, jax.Array) and not array.is_fully_addressable:
            # Where a part of several processes' array stands in the whole is not worth finding out.
            for part in _parts(array) if self._path.is_plain else ():
                self.bound.check(part[:count] if count else part)
            return
        whole = np.asarray(array)
        whole = whole[:count] if count else whole
        with np.errstate(all="ignore"):
            value = functools.reduce(lambda value, step: step(value), self._path.steps, whole)
        self.bound.check(value, self._path.lead)

    def _holds_for(self, array: object, count: int | None) -> bool:
        parts = _parts(array)
        if count:
            parts = [part[:count] for part in parts]
        if len(parts) > 1 and sum(part.size for part in parts) <= _MOST_JOINED:
            # On eight devices a third of the time.
            parts = [np.concatenate(parts, axis=None)]
        return all(map(self.bound.holds, parts))


def _parts(array: object) -> list[np.ndarray]:
    """Return this process's parts of an array, of which none is copied."""
    if not isinstance(array, jax.Array):
        return [np.asarray(array)]
    count = 1 if array.is_fully_replicated else len(array.sharding.addressable_devices)
    return [np.asarray(array.addressable_data(part)) for part in range(count)]


def watches_of(
    closed: jax_core.ClosedJaxpr, inputs: Sequence[Any], placement: object, first: int = 0
) -> list[Watch]:
    """Return what a program's marks say of its inputs.

    Args:
        closed: What was traced, with markers for inputs.
        inputs: What the markers stand for; streams' leaves are looked at.
        placement: Where the devices are, or None for wherever the first is. On accelerators nothing is looked at, which
            would wait for a copy: there TensorFlow does not raise, either.
        first: The first of the arguments that is looked at, which counts as number 0.
    """
    if not _is_on_cpu(placement):
        return []
    known: dict[Any, Any] = {}
    for var, constant in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        if indices.is_known(constant):
            known[var] = constant
    known.update({var: _Path(index) for index, var in enumerate(closed.jaxpr.invars[first:])})
    for index, var in jaxprs.markers_of(closed.jaxpr).items():
        if isinstance(inputs[index], regions.FeedLeaf):
            known[var] = _Path(inputs[index])
    found: list[Watch] = []
    _follow(closed.jaxpr, known, found)
    return found


def watches_of_all(closed: jax_core.ClosedJaxpr) -> list[Watch] | None:
    """Return what a program's marks say of its arguments; None if one is of numbers that it computes itself."""
    found = watches_of(closed, [], None)
    marks = [each for each in jaxprs.walk_nested(closed.jaxpr) if each.primitive is watch_p]
    return found if len(found) == len(marks) or not _is_on_cpu(None) else None


def watches_of_rows(step: jax_core.ClosedJaxpr, first: int, count: int, placement: object) -> list[Watch]:
    """Return what the marks in a loop's iteration say of the rows that it is given, by the rows' positions.

    Args:
        step: The iteration.
        first: The first of its arguments that is a row.
        count: How many are.
        placement: Where the devices are, as in :func:`watches_of`.
    """
    if not _is_on_cpu(placement):
        return []
    rows = step.jaxpr.invars[first : first + count]
    found: list[Watch] = []
    _follow(step.jaxpr, {var: _Path(index, lead=("step",)) for index, var in enumerate(rows)}, found)
    return found


def _is_on_cpu(placement: Any) -> bool:
    devices = jax.devices() if placement is None else placement.device_set
    return next(iter(devices)).platform == "cpu"


def check_ranges(watches: Sequence[Watch], arguments: Sequence[Any], fed: dict[Any, Any]) -> None:
    """Raise if a program is about to be given numbers that are out of range.

    Args:
        watches: What is looked at.
        arguments: The program's arguments.
        fed: What it takes from streams now, by leaf.

    Raises:
        BadArgumentError: As TensorFlow on a CPU.
    """
    for watch in watches:
        if isinstance(watch.source, int):
            watch.check(arguments[watch.source])
        elif watch.source in fed:
            watch.check(fed[watch.source])


def _follow(jaxpr: Any, known: dict[Any, Any], found: list[Watch]) -> None:
    """Add to `known` what follows from its values alone, and to `found` the marks of what is known."""
    for equation in jaxprs.equations(jaxpr):
        values: list[Any] = [
            None if isinstance(atom, jax_core.Literal) else known.get(atom) for atom in equation.invars
        ]
        if not any(isinstance(value, _Path) for value in values):
            continue
        if equation.primitive is watch_p:
            found.append(Watch(values[0].source, equation.params["bound"], values[0]))
            continue
        name = equation.primitive.name
        if name in _CALLS:
            inner = equation.params[_CALLS[name]]
            results = _inside(inner, values, found)
            known.update(
                (var, of) for var, of in zip(equation.outvars, results, strict=True) if of is not None
            )
        elif name == "shard_map":
            specs = equation.params["in_specs"]
            mesh = equation.params["mesh"]
            parts = [_of_replica(value, spec, mesh) for value, spec in zip(values, specs, strict=True)]
            _inside(equation.params["jaxpr"], parts, found)
        elif name == "scan":
            num_constants, num_carried = seam.inputs_of_scan(equation)
            first = num_constants + num_carried
            carry = range(num_constants, first)
            rows = [
                None if place in carry else _row(value) if place >= first else value
                for place, value in enumerate(values)
            ]
            if equation.params["length"]:
                _inside(equation.params["jaxpr"], rows, found)
        else:
            path = _after(equation, values)
            if path is not None:
                known[equation.outvars[0]] = path


def _inside(inner: Any, values: Sequence[Any], found: list[Watch]) -> list[Any]:
    """Follow values into a jaxpr that is called with them; return what its results are."""
    jaxpr = getattr(inner, "jaxpr", inner)
    known = {var: value for var, value in zip(jaxpr.invars, values, strict=True) if value is not None}
    _follow(jaxpr, known, found)
    return [None if isinstance(atom, jax_core.Literal) else known.get(atom) for atom in jaxpr.outvars]


def _row(value: object) -> Any:
    """Return what an iteration sees of a value that a loop goes through."""
    return dataclasses.replace(value, lead=(*value.lead, "step")) if isinstance(value, _Path) else None


def _of_replica(value: Any, spec: Any, mesh: Any) -> Any:
    """Return what a replica sees of a value that is divided among them along one dimension, or by none."""
    divided = [dim for dim, names in enumerate(spec) if names]
    if not isinstance(value, _Path) or not divided:
        return value
    if len(divided) > 1:
        return None
    names = spec[divided[0]] if isinstance(spec[divided[0]], tuple) else (spec[divided[0]],)
    count = math.prod(mesh.shape[name] for name in names)
    lead = len(value.lead)
    dim = lead + divided[0]

    def divide(array: np.ndarray) -> np.ndarray:
        parts = array.reshape(*array.shape[:dim], count, array.shape[dim] // count, *array.shape[dim + 1 :])
        return np.moveaxis(parts, dim, lead)

    return dataclasses.replace(value.then(divide), lead=(*value.lead, "replica"))


def _after(equation: Any, values: list[Any]) -> _Path | None:
    """Return what an operation gives, if it does no more than to arrange, to choose or to shift."""
    name, params = equation.primitive.name, equation.params
    if name in ("add", "sub"):
        return _find_shifted(name, equation, values)
    path = values[0]
    if not isinstance(path, _Path) or len(values) > 1:
        return None
    if name in _UNCHANGED:
        return path
    if name == "convert_element_type":
        dtype = np.dtype(params["new_dtype"])
        is_safe = dtype.kind in "fiu" and dtype.itemsize >= _SMALLEST_WHOLE
        return path.then(lambda array: array.astype(dtype)) if is_safe else None
    arranged = _find_arranging(name, params, len(path.lead))
    if arranged is not None:
        return path.then(arranged)
    if name == "slice":
        strides = params["strides"] or (1,) * len(params["start_indices"])
        parts = map(slice, params["start_indices"], params["limit_indices"], strides)
        chosen = (*[slice(None)] * len(path.lead), *parts)
        return path.then(lambda array: array[chosen], plain=False)
    return None


def _find_arranging(name: str, params: dict[str, Any], lead: int) -> Step | None:
    """Return an operation that arranges numbers anew, for arrays with some more leading dimensions."""

    def behind(dims: Sequence[int]) -> tuple[int, ...]:
        return tuple(lead + dim for dim in dims)

    if name == "reshape" and params.get("dimensions") is None:
        return lambda array: array.reshape(*array.shape[:lead], *params["new_sizes"])
    if name == "squeeze":
        return lambda array: array.squeeze(behind(params["dimensions"]))
    if name == "expand_dims":
        return lambda array: np.expand_dims(array, behind(params["dimensions"]))
    if name == "transpose":
        return lambda array: array.transpose(*range(lead), *behind(params["permutation"]))
    if name == "rev":
        return lambda array: np.flip(array, behind(params["dimensions"]))
    if name == "broadcast_in_dim":
        shape = tuple(params["shape"])
        new = tuple(dim for dim in range(len(shape)) if dim not in params["broadcast_dimensions"])
        return lambda array: np.broadcast_to(
            np.expand_dims(array, behind(new)), (*array.shape[:lead], *shape)
        )
    return None


def _find_shifted(name: str, equation: Any, values: list[Any]) -> _Path | None:
    """Return the sum or difference of a path and of what is known while the program is built."""
    path, other = values
    atom = equation.invars[1]
    if not isinstance(path, _Path):
        if name == "sub":
            return None
        path, other, atom = other, path, equation.invars[0]
    amount = atom.val if isinstance(atom, jax_core.Literal) else other
    if amount is None or isinstance(amount, _Path) or np.size(amount) == 0:
        return None
    numbers = np.asarray(amount)
    compute = np.add if name == "add" else np.subtract
    return path.then(lambda array: compute(array, numbers, dtype=array.dtype), plain=False)
