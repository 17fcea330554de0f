"""Where compiled programs are made, and who is shown each of them before it first runs (core layer)."""

import abc
import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import keras
from jax.sharding import AbstractMesh, Mesh, NamedSharding

from stratax import errors
from stratax.core.regions import _capture
from stratax.core.storage import sharding_in


@dataclasses.dataclass(kw_only=True, slots=True)
class MadeProgram:
    """A program, as whoever listens is shown it.

    Attributes:
        name: What it is called in JAX's logs and profiles.
        compiled: What `jax.jit` made.
        donated: The numbers of the arguments whose buffers it may reuse.
        arguments: The types of the arguments of its first call, with shardings: a `jax.ShapeDtypeStruct` for each.
        variables: For arguments that are lists with variables' values: which variable stands where, None for other
            values.
        is_window: Whether it runs iterations of a loop, as many as it is told in each call.
        can_run: Whether its arguments have values, so that it is run once whoever listens has seen it.
        traced_for: Traces it anew for other devices, ``traced_for(devices, per_device) -> Made``, with as many examples
            on each as in the run, or `per_device` where that is not None; None where it can't be.
    """

    name: str
    compiled: Any
    donated: tuple[int, ...]
    arguments: tuple[Any, ...] = ()
    variables: Mapping[int, Sequence[keras.Variable | None]] = dataclasses.field(default_factory=dict)
    is_window: bool = False
    can_run: bool = True
    traced_for: "Callable[[Sequence[jax.Device], int | None], MadeProgram] | None" = None


class Listener(abc.ABC):
    """Is shown the programs that are compiled while it listens."""

    @abc.abstractmethod
    def about_to_run(self, made: MadeProgram) -> None:
        """Take a program before it first runs with arguments of these shapes; what this raises ends the call."""

    @abc.abstractmethod
    def running(self, made: MadeProgram) -> None:
        """Take note that a program is run; what this raises ends the call before it."""


class KeepsSlots(abc.ABC):
    """Capability of an optimizer that is none of Keras': it says which variables it keeps beside the weights."""

    @abc.abstractmethod
    def variables(self) -> list[keras.Variable]:
        """Return the optimizer's own variables."""


_listeners: list[Listener] = []


def listen(listener: Listener | None) -> None:
    """Have `listener` shown the programs that are made from now on, instead of the one before; None ends that."""
    _listeners[:] = [] if listener is None else [listener]


def is_heard() -> bool:
    """Return whether somebody listens."""
    return bool(_listeners)


def jit(
    function: Callable[..., Any],
    *,
    name: str,
    donated: tuple[int, ...] = (),
    variables: Mapping[int, Sequence[Any]] | None = None,
    is_window: bool = False,
    **options: Any,
) -> Any:
    """Compile a function as `jax.jit` does; nobody listens as a rule, and then this costs nothing.

    Args:
        function: The function.
        name: What it is called.
        donated: The numbers of the arguments whose buffers may be reused.
        variables: For arguments that are lists with variables' values: whose values stand there; what is no variable
            in these lists stands for any other value.
        is_window: Whether it runs iterations of a loop, as many as it is told.
        **options: Further arguments of `jax.jit`.
    """
    compiled = jax.jit(function, donate_argnums=donated, **options)
    if not _listeners:
        return compiled
    known = {
        number: [each if isinstance(each, keras.Variable) else None for each in values]
        for number, values in (variables or {}).items()
    }
    return _Heard(
        MadeProgram(name=name, compiled=compiled, donated=donated, variables=known, is_window=is_window),
        _listeners[0],
    )


def retraceable(
    compiled: object, traced_for: Callable[[Sequence[jax.Device], int | None], MadeProgram]
) -> None:
    """Say how a program that :func:`jit` made can be traced for other devices."""
    if isinstance(compiled, _Heard):
        compiled.made.traced_for = traced_for


def describe_compiled(
    compiled: Any,
    name: str,
    donated: Sequence[keras.Variable],
    kept: Sequence[Any],
    specs: Sequence[jax.ShapeDtypeStruct],
    placement: NamedSharding,
) -> MadeProgram:
    """Describe a program that is not going to run: it was traced for devices that are not there.

    Args:
        compiled: The program.
        name: What it is called.
        donated: The variables that it reads and writes.
        kept: What else it reads.
        specs: The types of its arguments.
        placement: Where variables are.
    """
    made = (
        compiled.made
        if isinstance(compiled, _Heard)
        else MadeProgram(name=name, compiled=compiled, donated=(0,))
    )

    def of(source: Any) -> jax.ShapeDtypeStruct:
        if isinstance(source, _capture.FeedLeaf):
            return source.spec(placement)
        where = sharding_in(source, placement) if isinstance(source, keras.Variable) else placement
        return jax.ShapeDtypeStruct(tuple(source.shape), jax.numpy.dtype(source.dtype), sharding=where)

    arguments = ([of(each) for each in donated], [of(each) for each in kept], list(specs))
    variables = {0: list(donated), 1: [each if isinstance(each, keras.Variable) else None for each in kept]}
    return dataclasses.replace(made, arguments=arguments, variables=variables)


def move_specs(
    values: Sequence[Any], placement: jax.sharding.NamedSharding, per_device: int | None = None
) -> list[jax.ShapeDtypeStruct]:
    """Return the types that arguments have on other devices.

    Args:
        values: The arguments.
        placement: Where variables are on the other devices.
        per_device: How many examples of the batch each of the other devices has; as many as here if it is None.

    Raises:
        BadArgumentError: If there is no batch that could be of another size.
    """
    specs = [spec_of(value) for value in values]
    before = None
    if per_device is not None:
        found = find_divided_batch(specs)
        if found is None:
            raise errors.BadArgumentError(
                "None of the program's arguments is divided among devices, so its batch can't be given another size. "
                f"Expected: a program that is given its batches by a strategy. Received: {per_device} examples for "
                "each device."
            )
        spec, dim = found
        before = spec.shape[dim + 1]
    return [_move_spec(spec, placement, before, per_device) for spec in specs]


def _move_spec(
    spec: jax.ShapeDtypeStruct,
    placement: jax.sharding.NamedSharding,
    before: int | None,
    per_device: int | None,
) -> jax.ShapeDtypeStruct:
    if not isinstance(spec.sharding, NamedSharding):
        return jax.ShapeDtypeStruct(spec.shape, spec.dtype, sharding=placement, weak_type=spec.weak_type)
    # Only dimensions that are divided grow, and arguments are divided among all devices.
    shape = list(spec.shape)
    for dim, axis in enumerate(spec.sharding.spec):
        if axis is not None:
            shape[dim] = shape[dim] // _count(spec.sharding.mesh, axis) * _count(placement.mesh, axis)
    divided = find_divided_dim(spec)
    if per_device is not None and divided is not None and shape[divided + 1 : divided + 2] == [before]:
        shape[divided + 1] = per_device
    moved = NamedSharding(placement.mesh, spec.sharding.spec)
    return jax.ShapeDtypeStruct(tuple(shape), spec.dtype, sharding=moved, weak_type=spec.weak_type)


def _count(mesh: Mesh | AbstractMesh, axis: str | tuple[str, ...]) -> int:
    """Return into how many parts an axis of a mesh, or several, divides a dimension."""
    return math.prod(mesh.shape[each] for each in ((axis,) if isinstance(axis, str) else axis))


def find_divided_batch(specs: Sequence[jax.ShapeDtypeStruct]) -> tuple[jax.ShapeDtypeStruct, int] | None:
    """Return the first array that has several values for each device, and its dimension of devices.

    Steps come first, then devices, then the examples of each. Variables are divided among no devices.
    """
    for spec in specs:
        dim = find_divided_dim(spec)
        if dim is not None and len(spec.shape) > dim + 1:
            return spec, dim
    return None


def find_divided_dim(spec: jax.ShapeDtypeStruct) -> int | None:
    """Return the dimension of an array that is divided among devices."""
    if not isinstance(spec.sharding, NamedSharding):
        return None
    return next((dim for dim, axis in enumerate(spec.sharding.spec) if axis is not None), None)


def arguments_of(
    made: MadeProgram,
) -> Iterator[tuple[int, jax.ShapeDtypeStruct, keras.Variable | None]]:
    """Return each array that a program takes: the number of its argument, its type, and whose value it is."""
    for number, argument in enumerate(made.arguments):
        variables = made.variables.get(number, ())
        for spec, variable in itertools.zip_longest(jax.tree.leaves(argument), variables):
            yield number, spec, variable


class _Heard:
    """A compiled program that is shown to a listener before it runs."""

    def __init__(self, made: MadeProgram, listener: Listener) -> None:
        self.made = made
        self._listener = listener
        self._shown: set[Any] = set()

    def __call__(self, *arguments: object) -> Any:
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(arguments)):
            # A part of another program, which is shown as a whole.
            return self.made.compiled(*arguments)
        specs = jax.tree.map(spec_of, arguments)
        # Of another shape it is another program, which JAX compiles anew.
        key = tuple((leaf.shape, leaf.dtype, leaf.sharding) for leaf in jax.tree.leaves(specs))
        if key not in self._shown:
            self._shown.add(key)
            can_run = not any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in jax.tree.leaves(arguments))
            self._listener.about_to_run(dataclasses.replace(self.made, arguments=specs, can_run=can_run))
        self._listener.running(self.made)
        return self.made.compiled(*arguments)

    def lower(self, *arguments: object) -> Any:
        return self.made.compiled.lower(*arguments)


def spec_of(value: object) -> jax.ShapeDtypeStruct:
    """Return the type of an array or number, with its sharding where it is on devices for good; of a type, itself."""
    if isinstance(value, jax.ShapeDtypeStruct):
        return value
    if isinstance(value, jax.Array):
        sharding = value.sharding if value.committed else None
        return jax.ShapeDtypeStruct(value.shape, value.dtype, sharding=sharding, weak_type=value.weak_type)
    # Numbers of Python are weakly typed in JAX.
    array = jax.eval_shape(lambda: jax.numpy.asarray(value))
    return jax.ShapeDtypeStruct(array.shape, array.dtype, weak_type=isinstance(value, int | float | complex))
