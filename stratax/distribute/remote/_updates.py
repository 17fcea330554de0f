"""How an update of variables becomes programs of the servers that keep them (distribute layer)."""

import dataclasses
import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax.core import programs, regions
from stratax.distribute.remote import _elementwise
from stratax.distribute.remote._layout import Layout, Shard
from stratax.distribute.remote._servers import Request
from stratax.distribute.remote._store import ServerStore
from stratax.errors import InternalError, StrategyError
from stratax.seams.jax import core

_logger = logging.getLogger("stratax")


@dataclasses.dataclass(frozen=True, slots=True)
class Sent:
    """An array that a server is sent for an update: one of those that the program gives, or rows of it.

    Attributes:
        index: Which one.
        rows: Which rows of it.
    """

    index: int
    start: int = 0
    stop: int | None = None

    def of(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Return what is sent, of all arrays."""
        array = arrays[self.index]
        return array if self.stop is None else array[self.start : self.stop]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ServerUpdate:
    """What one server does in an update.

    Attributes:
        server: The server's number.
        name: The update's name there, which tells it from all others.
        program: The exported program: see `stratax.servers.Shards.define`.
        replaced: The names of the arrays that it replaces.
        read: The names of those that it reads besides.
        sent: What it is sent each time.
    """

    server: int
    name: str
    program: bytes
    replaced: list[str]
    read: list[str]
    sent: list[Sent]

    def definition(self) -> Request:
        """Return what tells the server of the update."""
        header = {"op": "define", "update": self.name, "replaced": self.replaced, "read": self.read}
        return Request(header, [np.frombuffer(self.program, np.uint8)])

    def sent_of(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return what the server is sent, of the arrays that the program gives."""
        return [sent.of(arrays) for sent in self.sent]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Update:
    """An update of variables on servers.

    Attributes:
        prepare: Gives, of the arrays of the update, what servers are sent; a part of the worker's program.
        parts: What each server does.
    """

    prepare: Callable[..., list[Any]]
    parts: list[ServerUpdate]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Traced:
    """An update that was traced.

    Attributes:
        closed: A jaxpr of the variables that it needs and of what is sent; it gives the new values.
        needed: The variables, in the order of its arguments.
        written: Those that it changes, in the order of its results.
    """

    closed: Any
    needed: list[keras.Variable]
    written: list[keras.Variable]


def update_of(store: ServerStore, make: Callable[[list[Any]], None], arrays: Sequence[Any]) -> Update:
    """Trace an update, and divide it among the servers that keep its variables.

    Args:
        store: Where the variables are. Variables that can't be updated where they are, are moved.
        make: Makes the update with a list of arrays.
        arrays: The shapes and dtypes of the arrays.
    """
    region = regions.ProgramRegion()
    written: list[keras.Variable] = []

    def body(*given: Any) -> list[Any]:
        with region:
            make(list(given))
            written[:] = region.writes.values()
            return [region.final_value(variable) for variable in written]

    closed = jax.make_jaxpr(body)(*arrays)
    regions.initialize_pending()
    needed = region.inputs
    if not all(isinstance(source, keras.Variable) for source in needed):
        raise InternalError("An update on servers needs more than variables.")
    flat = programs.lift_inputs(closed, len(needed))
    inputs = [jax.ShapeDtypeStruct(tuple(v.shape), jax.dtypes.canonicalize_dtype(v.dtype)) for v in needed]
    whole = _elementwise.written_out(jax.make_jaxpr(flat)(*inputs, *arrays))
    prepare, rest = _elementwise.without_reductions(whole, len(needed))
    traced = _Traced(rest, needed, written)
    _make_updatable(store, traced)
    servers = {shard.server for variable in written for shard in store.layouts.of(variable).all}
    return Update(prepare, [_part(store, traced, server) for server in sorted(servers)])


def _make_updatable(store: ServerStore, traced: _Traced) -> None:
    """Move variables that can't be updated where they are beside each other, onto one server."""
    groups: list[tuple[list[keras.Variable], str | None]] = []
    for output, variable in enumerate(traced.written):
        indices = _elementwise.inputs_of(traced.closed, output)
        used = [traced.needed[index] for index in indices if index < len(traced.needed)]
        involved = [each for each in [variable, *used] if not store.layouts.of(each).copies]
        if not involved:
            continue
        reason = None if _is_local(store, involved) else _reason(store, traced, output, involved)
        # What one update needs together, another one may need together with more.
        members = {id(each) for each in involved}
        joined = [group for group in groups if any(id(each) in members for each in group[0])]
        groups = [group for group in groups if not any(group is other for other in joined)]
        everything = {id(each): each for group in joined for each in group[0]}
        everything |= {id(each): each for each in involved}
        reasons = [each for each in (reason, *(group[1] for group in joined)) if each]
        groups.append((list(everything.values()), reasons[0] if reasons else None))
    for variables, reason in groups:
        if reason is not None:
            _gather(store, variables, reason)


def _reason(
    store: ServerStore, traced: _Traced, output: int, involved: Sequence[keras.Variable]
) -> str | None:
    """Return why a new value can't be computed in the parts that servers have; None if it can."""
    variable = traced.written[output]
    own = store.layouts.of(variable)
    if all(store.layouts.of(each).is_like(own) for each in involved):
        return _elementwise.mixes_elements(traced.closed, output, tuple(variable.shape))
    return "variables of several shapes"


def _gather(store: ServerStore, variables: Sequence[keras.Variable], reason: str) -> None:
    largest = max(variables, key=lambda each: int(np.prod(tuple(each.shape))))
    server = store.layouts.of(largest).shards[0].server
    for each in variables:
        layout = store.layouts.of(each)
        if len(layout.shards) > 1 or layout.shards[0].server != server:
            _logger.info(
                "Variable %s is kept as a whole on parameter server %d, where its optimizer needs all of it (%s).",
                each.path,
                server,
                reason,
            )
            store.move(each, server)


def _is_local(store: ServerStore, variables: Sequence[keras.Variable]) -> bool:
    """Return whether one server has all of several variables, each as a whole."""
    layouts = [store.layouts.of(variable) for variable in variables]
    return all(len(layout.shards) == 1 for layout in layouts) and (
        len({layout.shards[0].server for layout in layouts}) == 1
    )


@dataclasses.dataclass(slots=True, eq=False)
class _Names:
    """Arrays of a server that a program uses, in the order in which they were first asked for."""

    specs: dict[str, jax.ShapeDtypeStruct] = dataclasses.field(default_factory=dict)

    def add(self, variable: keras.Variable, shard: Shard) -> str:
        shape = shard.shape_of(tuple(variable.shape))
        self.specs[shard.name] = jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(variable.dtype))
        return shard.name


def _part(store: ServerStore, traced: _Traced, server: int) -> ServerUpdate:
    """Return what one server does."""
    replaced, needed = _Names(), _Names()
    sent: dict[Sent, jax.ShapeDtypeStruct] = {}
    num_variables = len(traced.needed)
    layouts = [store.layouts.of(variable) for variable in traced.needed]
    steps: list[Callable[[dict[str, Any], dict[Sent, Any]], Any]] = []
    for output, variable in enumerate(traced.written):
        shape = tuple(variable.shape)
        indices = _elementwise.inputs_of(traced.closed, output)
        for shard in store.layouts.of(variable).on(server):
            replaced.add(variable, shard)
            sources: dict[int, Any] = {}
            for index in indices:
                if index < num_variables:
                    own = _beside(layouts[index], shard)
                    sources[index] = needed.add(traced.needed[index], own)
                else:
                    aval = traced.closed.in_avals[index]
                    is_part = shard.stop is not None and tuple(aval.shape) == shape
                    key = (
                        Sent(index - num_variables, shard.start, shard.stop)
                        if is_part
                        else Sent(index - num_variables)
                    )
                    sources[index] = key
                    sent[key] = jax.ShapeDtypeStruct(
                        shard.shape_of(shape) if is_part else tuple(aval.shape), aval.dtype
                    )
            steps.append(_step(traced.closed, output, sources, shard, shape))
    read = {name: spec for name, spec in needed.specs.items() if name not in replaced.specs}

    def run(replaced_values: list[Any], read_values: list[Any], sent_values: list[Any]) -> list[Any]:
        named = dict(zip(replaced.specs, replaced_values, strict=True))
        named |= dict(zip(read, read_values, strict=True))
        given = dict(zip(sent, sent_values, strict=True))
        return [step(named, given) for step in steps]

    exported = jax.export.export(jax.jit(run), platforms=("cpu",))(
        list(replaced.specs.values()), list(read.values()), list(sent.values())
    )
    program = bytes(exported.serialize())
    names = json.dumps([list(replaced.specs), list(read)]).encode()
    digest = hashlib.sha256(names + program).hexdigest()[:32]
    return ServerUpdate(server, digest, program, list(replaced.specs), list(read), list(sent))


def _step(
    closed: Any, output: int, sources: dict[int, Any], shard: Shard, shape: tuple[int, ...]
) -> Callable[[dict[str, Any], dict[Sent, Any]], Any]:
    """Return what computes a shard's new value of a server's arrays and what was sent."""

    def step(named: dict[str, Any], given: dict[Sent, Any]) -> Any:
        arguments = [
            None if index not in sources else {**named, **given}[sources[index]]  # type: ignore[misc]
            for index in range(len(closed.in_avals))
        ]
        if shard.stop is None:
            return _elementwise.result_of(closed, output, arguments)
        return _elementwise.part_of(closed, output, arguments, shard.shape_of(shape))

    return step


def _beside(layout: Layout, shard: Shard) -> Shard:
    """Return the shard of a variable that has the same rows, on the same server, as one of another variable."""
    for own in layout.on(shard.server):
        if own.rows == shard.rows or (layout.copies and own.stop is None):
            return own
    raise StrategyError(
        f"Parameter servers can't update {shard.name}: each has a copy of this number, and its new value depends on "
        f"{layout.name}, which is on one of them. Use one parameter server, or an optimizer whose numbers depend on "
        "gradients only."
    )


def sum_of_assignments(closed: Any, output: int, argument: Any) -> list[tuple[str, Any]] | None:
    """Return what a program adds to a variable and subtracts from it, in order; None if it changes it otherwise.

    Args:
        closed: A closed jaxpr.
        output: Which result is the variable's new value.
        argument: The jaxpr's variable that stands for the old one.

    Returns:
        Names of operations and the jaxpr's atoms.
    """
    made = {variable: equation for equation in closed.jaxpr.eqns for variable in equation.outvars}
    atom = closed.jaxpr.outvars[output]
    found: list[tuple[str, Any]] = []
    while not isinstance(atom, core.Literal) and atom is not argument:
        equation = made.get(atom)
        if equation is None or equation.primitive.name not in ("add", "sub"):
            return None
        left, right = equation.invars
        # The variable comes first in `assign_add`; what is added may depend on it all the same.
        found.append((equation.primitive.name, right))
        atom = left
    return None if isinstance(atom, core.Literal) or not found else found[::-1]
