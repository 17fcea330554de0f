"""How an update of variables becomes programs of the servers that keep them (distribute layer)."""

import dataclasses
import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax.core import jaxprs, programs, regions
from stratax.errors import InternalError, StrategyError, TracingError
from stratax.parameter_servers.remote import _elementwise
from stratax.parameter_servers.remote._layout import ServerLayout, ServerShard
from stratax.parameter_servers.remote._servers import Request
from stratax.parameter_servers.remote._store import ServerStore

_logger = logging.getLogger("stratax")


@dataclasses.dataclass(frozen=True, slots=True)
class Sent:
    """An array that a server is sent for an update: one of those that the program gives, or rows of it.

    Attributes:
        index: Which one.
        start: The first row of the variable that the server has.
        stop: The row behind the last one; None for all that there is.
        ids: Of an array that has some of the variable's rows: which array says which, in order.
    """

    index: int
    start: int = 0
    stop: int | None = None
    ids: int | None = None

    def of(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Return what is sent, of all arrays."""
        array = arrays[self.index]
        if self.ids is None:
            return array if self.stop is None else array[self.start : self.stop]
        shard = ServerShard(0, "", self.start, self.stop)
        ids = arrays[self.ids]
        if self.index == self.ids:
            return shard.numbers_of(ids)
        first = 0 if self.stop is None else int(np.searchsorted(ids, self.start))
        return array[first : first + len(shard.numbers_of(ids))]

    @property
    def numbers(self) -> "Sent":
        """What says which rows these are."""
        return Sent(self.ids or 0, self.start, self.stop, self.ids)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ServerUpdate:
    """What one server does in an update.

    Attributes:
        server: The server's number.
        name: The update's name there, which tells it from all others.
        program: The exported program: see `stratax.parameter_servers.servers.Shards.define`.
        replaced: The names of the arrays that it replaces.
        read: The names of those that it reads besides.
        sent: What it is sent each time.
        fills: For each of these what fills it up where it may have any number of rows; None where it may not.
    """

    server: int
    name: str
    program: bytes
    replaced: list[str]
    read: list[str]
    sent: list[Sent]
    fills: list[int | None]

    def definition(self) -> Request:
        """Return what tells the server of the update."""
        header = {
            "op": "define",
            "update": self.name,
            "replaced": self.replaced,
            "read": self.read,
            "fills": self.fills,
        }
        return Request(header, [np.frombuffer(self.program, np.uint8)])

    def choose_sent(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return what the server is sent, of the arrays that the program gives."""
        return [sent.of(arrays) for sent in self.sent]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Update:
    """An update of variables on servers, as it was traced.

    Attributes:
        prepare: Gives, of the arrays of the update, what servers are sent; a part of the worker's program.
        closed: A jaxpr of the variables that it needs and of what is sent; it gives the new values.
        needed: The variables, in the order of its arguments.
        written: Those that it changes, in the order of its results.
    """

    prepare: Callable[..., list[Any]]
    closed: Any
    needed: list[keras.Variable]
    written: list[keras.Variable]

    @property
    def sent(self) -> list[Any]:
        """The types of what is sent."""
        return list(self.closed.in_avals[len(self.needed) :])


def update_of(make: Callable[[list[Any]], None], arrays: Sequence[Any]) -> Update:
    """Trace an update.

    Args:
        make: Makes the update with a list of arrays.
        arrays: The shapes and dtypes of the arrays.

    Raises:
        TracingError: The update calls Python.
    """
    region = regions.ProgramRegion()
    written: list[keras.Variable] = []

    def body(*given: object) -> list[Any]:
        with region:
            make(list(given))
            written[:] = region.writes.values()
            return [region.final_value(variable) for variable in written]

    closed = jax.make_jaxpr(body)(*arrays)
    if programs.calls_back(closed.jaxpr):
        raise TracingError(
            "An optimizer's update is made on parameter servers, and can't call Python there (print, py_function, an "
            "assertion). Call it in the step, before apply_gradients."
        )
    regions.initialize_pending()
    needed = region.inputs
    if not all(isinstance(source, keras.Variable) for source in needed):
        raise InternalError("An update on servers needs more than variables.")
    flat = jaxprs.lift_inputs(closed, len(needed))
    inputs = [jax.ShapeDtypeStruct(tuple(v.shape), jax.dtypes.canonicalize_dtype(v.dtype)) for v in needed]
    whole = _elementwise.write_out(jax.make_jaxpr(flat)(*inputs, *arrays))
    prepare, rest = _elementwise.without_reductions(whole, len(needed))
    return Update(prepare, rest, needed, written)


def parts_of(store: ServerStore, update: Update, by_rows: dict[int, int]) -> list[ServerUpdate]:
    """Divide an update among the servers that keep its variables.

    Args:
        store: Where the variables are. Variables that can't be updated where they are, are moved.
        update: The update.
        by_rows: What is sent by rows, and which array says which rows these are.

    Returns:
        What each server does.
    """
    _make_updatable(store, update)
    servers = {shard.server for variable in update.written for shard in store.layouts.of(variable).all}
    return [_part(store, update, server, by_rows) for server in sorted(servers)]


@dataclasses.dataclass(slots=True, eq=False)
class _Together:
    """Variables that an update needs together.

    Attributes:
        variables: The variables, by id.
        reason: Why it can't be made in the parts that servers have; None if it can.
    """

    variables: dict[int, keras.Variable]
    reason: str | None


def _make_updatable(store: ServerStore, traced: Update) -> None:
    """Move variables that can't be updated where they are beside each other, onto one server."""
    groups: list[_Together] = []
    for output, variable in enumerate(traced.written):
        indices = _elementwise.inputs_of(traced.closed, output)
        used = [traced.needed[index] for index in indices if index < len(traced.needed)]
        involved = [each for each in [variable, *used] if not store.layouts.of(each).copies]
        if involved:
            reason = None if _is_local(store, involved) else _reason(store, traced, output, involved)
            groups = _join_groups(groups, _Together({id(each): each for each in involved}, reason))
    for group in groups:
        if group.reason is not None:
            _gather(store, list(group.variables.values()), group.reason)


def _join_groups(groups: Sequence[_Together], new: _Together) -> list[_Together]:
    """Add a group; what one update needs together, another one may need together with more."""
    others = [group for group in groups if group.variables.keys().isdisjoint(new.variables)]
    met = [group for group in groups if group not in others]
    variables = {key: each for group in (*met, new) for key, each in group.variables.items()}
    reasons = [group.reason for group in (new, *met) if group.reason]
    return [*others, _Together(variables, reasons[0] if reasons else None)]


def _reason(
    store: ServerStore, traced: Update, output: int, involved: Sequence[keras.Variable]
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

    def add(self, variable: keras.Variable, shard: ServerShard) -> str:
        shape = shard.shape_of(tuple(variable.shape))
        self.specs[shard.name] = jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(variable.dtype))
        return shard.name


class _SentArrays:
    """What a server is sent, in the order in which it was first asked for."""

    def __init__(self) -> None:
        self.specs: dict[Sent, jax.ShapeDtypeStruct] = {}
        self.fills: dict[Sent, int | None] = {}
        self._scope = jax.export.SymbolicScope()
        self._sizes: dict[Sent, Any] = {}

    def add(
        self, number: int, aval: Any, shard: ServerShard, shape: tuple[int, ...], ids: int | None
    ) -> Sent:
        """Have it sent what belongs to a shard of an array, or to the rows of it that another one names.

        Args:
            number: Which array.
            aval: Its type, as a whole.
            shard: The shard.
            shape: The shape of the variable that the shard is of.
            ids: Which array names rows; None where all are sent.
        """
        is_part = shard.stop is not None and tuple(aval.shape) == shape
        sent = Sent(number, shard.start, shard.stop, ids) if is_part else Sent(number, ids=ids)
        full = shard.shape_of(shape) if is_part else tuple(aval.shape)
        if ids is None:
            self.specs[sent], self.fills[sent] = jax.ShapeDtypeStruct(full, aval.dtype), None
            return sent
        numbers = sent.numbers
        if numbers not in self._sizes:
            name = f"rows{len(self._sizes)}"
            (self._sizes[numbers],) = jax.export.symbolic_shape(name, scope=self._scope)
            self.specs[numbers] = jax.ShapeDtypeStruct((self._sizes[numbers],), np.int32)
            # No row of the shard's: what is computed for it is left out.
            self.fills[numbers] = full[0]
        self.specs[sent] = jax.ShapeDtypeStruct((self._sizes[numbers], *full[1:]), aval.dtype)
        self.fills[sent] = 0
        return sent


@dataclasses.dataclass(slots=True, eq=False)
class _Part:
    """What one server does, as it is put together.

    Attributes:
        replaced: The arrays that it replaces.
        needed: The arrays of its own that new values are computed of.
        sent: What it is sent.
        steps: What computes the new values, in the order of `replaced`.
    """

    replaced: _Names = dataclasses.field(default_factory=_Names)
    needed: _Names = dataclasses.field(default_factory=_Names)
    sent: _SentArrays = dataclasses.field(default_factory=_SentArrays)
    steps: "list[_ShardStep]" = dataclasses.field(default_factory=list)

    @property
    def read(self) -> dict[str, jax.ShapeDtypeStruct]:
        """What it reads and does not replace."""
        return {name: spec for name, spec in self.needed.specs.items() if name not in self.replaced.specs}

    def run(self, replaced_values: list[Any], read_values: list[Any], sent_values: list[Any]) -> list[Any]:
        """Compute the new values."""
        named = dict(zip(self.replaced.specs, replaced_values, strict=True))
        named |= zip(self.read, read_values, strict=True)
        given = dict(zip(self.sent.specs, sent_values, strict=True))
        return [step(named, given) for step in self.steps]


def _part(store: ServerStore, traced: Update, server: int, by_rows: dict[int, int]) -> ServerUpdate:
    """Return what one server does."""
    part = _Part()
    for output, variable in enumerate(traced.written):
        for shard in store.layouts.of(variable).on(server):
            part.replaced.add(variable, shard)
            sources = _sources(store, traced, output, shard, part, by_rows)
            part.steps.append(_ShardStep(traced, output, sources, shard))
    return _export(server, part)


def _sources(
    store: ServerStore, traced: Update, output: int, shard: ServerShard, part: _Part, by_rows: dict[int, int]
) -> "dict[int, str | Sent]":
    """Return what a shard's new value is computed of, by the update's arguments, and have the server get it."""
    shape = tuple(traced.written[output].shape)
    sources: dict[int, str | Sent] = {}
    for index in _elementwise.inputs_of(traced.closed, output):
        number = index - len(traced.needed)
        if number < 0:
            variable = traced.needed[index]
            sources[index] = part.needed.add(variable, _beside(store.layouts.of(variable), shard))
        else:
            aval = traced.closed.in_avals[index]
            sources[index] = part.sent.add(number, aval, shard, shape, by_rows.get(number))
    return sources


def _export(server: int, part: _Part) -> ServerUpdate:
    replaced, read, sent = part.replaced.specs, part.read, part.sent
    exported = jax.export.export(jax.jit(part.run), platforms=("cpu",))(
        list(replaced.values()), list(read.values()), list(sent.specs.values())
    )
    program = bytes(exported.serialize())
    names = json.dumps([list(replaced), list(read)]).encode()
    digest = hashlib.sha256(names + program).hexdigest()[:32]
    return ServerUpdate(
        server, digest, program, list(replaced), list(read), list(sent.specs), list(sent.fills.values())
    )


class _ShardStep:
    """Computes a shard's new value, of a server's arrays by name and of what was sent.

    Args:
        traced: The update.
        output: Which of its results.
        sources: What the result is computed of, by the update's arguments.
        shard: The shard.
    """

    def __init__(
        self, traced: Update, output: int, sources: dict[int, str | Sent], shard: ServerShard
    ) -> None:
        self._closed, self._output, self._sources, self._shard = traced.closed, output, sources, shard
        self._shape = tuple(traced.written[output].shape)
        self._rows = _find_changed_rows(traced, output, sources)

    def __call__(self, named: dict[str, Any], given: dict[Sent, Any]) -> Any:
        if self._rows is not None:
            return self._change_rows(named, given, given[self._rows.numbers])
        own_shape = self._shard.shape_of(self._shape)
        arguments = self._arguments(named, self._whole(given, own_shape))
        if self._shard.stop is None:
            return _elementwise.result_of(self._closed, self._output, arguments)
        return _elementwise.part_of(self._closed, self._output, arguments, own_shape)

    def _arguments(self, named: dict[str, Any], given: dict[Sent, Any]) -> list[Any]:
        every: dict[Any, Any] = {**named, **given}
        return [every.get(self._sources.get(index)) for index in range(len(self._closed.in_avals))]

    def _whole(self, given: dict[Sent, Any], own_shape: tuple[int, ...]) -> dict[Sent, Any]:
        """Return what was sent, with whole arrays in place of their rows."""
        whole = dict(given)
        for index, sent in self._sources.items():
            if isinstance(sent, Sent) and sent.ids is not None:
                full = own_shape if sent.stop is not None else self._closed.in_avals[index].shape
                zeros = jnp.zeros(full, given[sent].dtype)
                whole[sent] = zeros.at[given[sent.numbers]].set(given[sent], mode="drop")
        return whole

    def _change_rows(self, named: dict[str, Any], given: dict[Sent, Any], numbers: Any) -> Any:
        """Return the new value where only some rows change."""
        # Numbers, such as a learning rate, are no rows.
        parts = {
            name: named[name].at[numbers].get(mode="clip") if named[name].shape else named[name]
            for name in self._sources.values()
            if isinstance(name, str)
        }
        shape = (*numbers.shape, *self._shape[1:])
        changed = _elementwise.part_of(self._closed, self._output, self._arguments(parts, given), shape)
        return named[self._shard.name].at[numbers].set(changed, mode="drop")


def _find_changed_rows(traced: Update, output: int, sources: dict[int, Any]) -> Sent | None:
    """Return what has the rows that an update changes; None where it changes others, too, or that is not known.

    Args:
        traced: The update.
        output: Which of its results.
        sources: What the result is computed of.
    """
    variable = traced.written[output]
    shape = tuple(variable.shape)
    own = next((index for index, each in enumerate(traced.needed) if each is variable), None)
    sent = {index: source for index, source in sources.items() if isinstance(source, Sent)}
    rows = {index: source for index, source in sent.items() if source.ids is not None}
    avals = [traced.closed.in_avals[index] for index in sources]
    numbers = {source.numbers for source in rows.values()}
    if own is None or len(numbers) != 1 or not all(tuple(aval.shape) in ((), shape) for aval in avals):
        return None
    if any(index not in rows and traced.closed.in_avals[index].shape for index in sent):
        return None
    if _elementwise.mixes_elements(traced.closed, output, shape) is not None:
        return None
    if not _elementwise.keeps_where_zero(traced.closed, output, own, list(rows)):
        return None
    return next(iter(rows.values()))


def _beside(layout: ServerLayout, shard: ServerShard) -> ServerShard:
    """Return the shard of a variable that has the same rows, on the same server, as one of another variable."""
    for own in layout.on(shard.server):
        if own.rows == shard.rows or (layout.copies and own.stop is None):
            return own
    raise StrategyError(
        f"Parameter servers can't update {shard.name}: each has a copy of this number, and its new value depends on "
        f"{layout.name}, which is on one of them. Use one parameter server, or an optimizer whose numbers depend on "
        "gradients only."
    )
