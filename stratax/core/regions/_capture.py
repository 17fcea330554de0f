"""How the state that a Python function reads and writes becomes inputs and outputs (core layer).

A :class:`Region` is a `keras.StatelessScope` that is active while one piece of a program is traced. The first
time a variable is read in a region the region *lifts* it: a tracer that stands for the variable's value on entry.
Assignments change what the region hands out and leave the variable itself alone. What remains after tracing is a
jaxpr whose marker equations (:data:`jaxprs.input_p`) say which values have to be fed in, so that one trace is enough.
"""

import abc
import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

import jax
import keras
import numpy as np
from jax.extend import core as jax_core

from stratax import errors
from stratax.base.shown import shown
from stratax.base.surroundings import Slot, Surroundings
from stratax.base.tracing import TRACING
from stratax.base.typing import DTypeLike, PyTree, TensorLike
from stratax.core import jaxprs, regions, storage
from stratax.core.storage import Move
from stratax.seams.keras import (
    find_autocast,
    find_uninitialized_variables,
    get_stateless_scope,
    outside_stateless_scope,
    set_uninitialized_variables,
)


def current_trace() -> Any:
    """Return the JAX trace that operations go to now, on this thread."""
    with jax_core.take_current_trace() as trace:
        return trace


_AGREES: Slot[bool] = Slot("agreement", False)


def equal_on_all_replicas() -> Surroundings:
    """Mark the variables that are assigned in a block as having equal values on all replicas."""
    return _AGREES.holding(True)


class Spread(abc.ABC):
    """A variable's value as several parties hold it for a while, each its own, before they are one again.

    A loop whose iterations run replicas carries these instead of merging in every iteration.

    Args:
        variable: The variable.
    """

    # Whether it is what one party holds, which the regions inside of the party's own hand on to one another.
    is_share = False
    # Whether it outlives the program.
    is_kept = False

    def __init__(self, variable: keras.Variable) -> None:
        self.variable = variable

    def check(self, value: object) -> None:  # noqa: B027 (most take any value)
        """Raise if a value can't be assigned by parties that hold parts of the variable."""

    @abc.abstractmethod
    def spread(self, value: object) -> Any:
        """Return all parties' values, as one array with a leading dimension, of a variable's one value."""

    @abc.abstractmethod
    def merge(self, array: TensorLike) -> Any:
        """Return the variable's one value of all parties' values."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Gathering:
    """How a party gets the whole of a variable of which devices have parts.

    Attributes:
        part: This device's part.
        gather: Returns the whole of parts, ``gather(part, behind)``.
        scatter: Returns this device's part of the sum of all parties' wholes.
    """

    part: Any
    gather: Callable[..., Any]
    scatter: Callable[[Any], Any]

    def __call__(self, behind: PyTree = None) -> Any:
        return self.gather(self.part, behind)


def variable_of(source: object) -> Any:
    """Return the variable itself, of what may be its values as replicas hold them."""
    return source.variable if isinstance(source, Spread) else source


def convert_form(value: object, given: object, wanted: object) -> Any:
    """Return a variable's value, as one or as replicas hold it, in the other of these forms where that is wanted.

    Bodies for elements of different structure differ in it: a remainder that does not divide is computed alike by all.
    """
    if isinstance(given, Spread) and not isinstance(wanted, Spread):
        return given.merge(value)
    if isinstance(wanted, Spread) and not isinstance(given, Spread):
        return wanted.spread(value)
    return value


# Where a loop or branch stands in a program: its number in the part around it, and so on.
Path = tuple[int, ...]


class Region(keras.StatelessScope):
    """Hands out and collects variables' values while one region of a program is traced.

    Args:
        parent: The region in whose trace this one's trace is nested, or None for a whole program.
        path: Where the region stands in the program, the same in every trace of it; by default counted.
    """

    # Whether nothing is traced in it, and input is taken as outside of programs.
    runs_in_python = False

    def __init__(self, parent: "Region | None" = None, path: "Path | None" = None) -> None:
        # Keras 3.15 initialises variables that were created in its outermost stateless scope when that ends. This
        # one ends inside `jax.make_jaxpr`, where initial values would be tracers: `initialize_pending` does it
        # later. Losses that layers add are kept by the scope; unless it collects them, Keras drops them.
        super().__init__(collect_losses=True, initialize_variables=False)
        self.parent = parent
        self._num_parts = 0
        self._num_peeks = 0
        self.path: Path = path if path is not None else parent.next_path() if parent is not None else ()
        self.trace: Any = None
        # Keyed by `id`: variables of Keras compare element by element with `==`.
        self.reads: dict[int, keras.Variable] = {}
        self.writes: dict[int, keras.Variable] = {}
        self.in_agreement: set[int] = set()
        self.spreads: dict[int, Spread] = {}
        self.inner_losses: list[Any] = []
        # Whether parties meet in a collective in it, which all of them have to come to.
        self.meets = False
        # What the party holds of variables whose assignments are combined, by the variables' ids.
        self._shares: dict[int, Spread] = {}
        self._values: dict[int, Any] = {}
        self._listeners: object = None

    def __enter__(self) -> "Region":
        self._listeners = storage.read_listeners()
        # A variable may be read for the first time inside a transformation in this region (`jax.grad`, say). It is
        # lifted in the region's own trace even then: a tracer of the inner one would be gone at its end.
        self.trace = current_trace()
        super().__enter__()
        TRACING.set(TRACING.get() + 1)
        return self

    def __exit__(self, *exc_info: object) -> None:
        TRACING.set(TRACING.get() - 1)
        super().__exit__(*exc_info)

    def get_current_value(self, variable: keras.Variable) -> Any:
        """Return the value of `variable` at this point of the region, as a tracer of this region or an outer one.

        Of a :class:`Spread` it is all parties' values.
        """
        key = id(variable)
        if isinstance(variable, Spread):
            return self._values[key] if key in self._values else self._spread(variable)
        if key in self._shares and id(self._shares[key]) in self.writes:
            self._combine(self._shares[key])
        if key in self.spreads:
            # Merged in this region's trace, not in that of whoever reads it: the latter may be over before
            # the value is.
            with jax_core.set_current_trace(self.trace):
                return self.spreads[key].merge(self._values[id(self.spreads[key])])
        if key not in self._values:
            self.reads[key] = variable
            self._values[key] = self.lift(variable)
        value = self._values[key]
        # Told of every read, not only of the first: a tape may have begun in between.
        storage.notify(variable, value)
        return value

    def add_update(self, update: tuple[keras.Variable, Any]) -> None:
        """Record an assignment made inside this region."""
        variable, value = update
        share = variable if isinstance(variable, Spread) and variable.is_share else self.share_of(variable)
        if share is not None and (share is variable or not _AGREES.get()):
            self._hold(share, value)
            return
        self._let_go(id(variable))
        if isinstance(variable, Spread) and id(variable) not in self._values:
            # This region carries one value, and gets the parties' merged.
            variable, value = variable.variable, variable.merge(value)
        elif id(variable) in self.spreads:
            # The region carries the parties' values: what is assigned outside of them is assigned to each.
            variable, value = self.spreads[id(variable)], self.spreads[id(variable)].spread(value)
        # Before anything is recorded: a refused assignment leaves the region as it was.
        _check_belongs(self, variable, value)
        self.writes[id(variable)] = variable
        self._values[id(variable)] = value
        # The last assignment decides: an earlier one that was equal everywhere is overwritten.
        (self.in_agreement.add if _AGREES.get() else self.in_agreement.discard)(id(variable))

    def forget(self, variables: Iterable[keras.Variable]) -> None:
        """Have assignments of variables in this region count as not made."""
        for variable in variables:
            if self.writes.pop(id(variable), None) is not None:
                del self._values[id(variable)]
                self.in_agreement.discard(id(variable))
                if isinstance(variable, Spread):
                    self._shares.pop(id(variable.variable), None)

    def adopt(self, spread: Spread) -> None:
        """Have this region carry a variable's value as the parties hold it."""
        if id(spread) in self._values:
            return
        key = id(spread.variable)
        if key in self.writes:
            # Assigned in this region, for all parties.
            with jax_core.set_current_trace(self.trace):
                self._values[id(spread)] = spread.spread(self._values[key])
            del self.writes[key]
            self.writes[id(spread)] = spread
        else:
            self._values[id(spread)] = self.lift(spread)
        self.spreads[key] = spread

    def _spread(self, spread: Spread) -> Any:
        if spread.is_share and id(spread.variable) not in self._values:
            self._shares[id(spread.variable)] = spread
            self._values[id(spread)] = self.lift(spread)
            return self._values[id(spread)]
        if spread.is_kept:
            self.adopt(spread)
            return self._values[id(spread)]
        value = self.get_current_value(spread.variable)
        with jax_core.set_current_trace(self.trace):
            return spread.spread(value)

    def find_known_parts(self) -> "list[Spread] | None":
        """Return what parties keep of variables that the program uses, as far as earlier traces have found out.

        None where the function that is traced can't be traced anew.
        """
        return None if self.parent is None else self.parent.find_known_parts()

    @property
    def gathers(self) -> bool:
        """Whether values of variables are gathered here of the parts that devices have of them."""
        return self.parent is not None and self.parent.gathers

    def keep_watch(self, numbers: object, bound: object) -> bool:
        """Return whether the mark of traced numbers with a range is made behind this region's trace, which drops it."""
        return False

    def find_conversion(self, variable: keras.Variable) -> Any:
        """Return the smaller dtype in which a variable is read now, where it is to be gathered in that."""
        # A tape that began in here follows the value that is converted. What reads it for a region of its own, such as
        # a loop's, has it whatever it is read as.
        is_followed = storage.read_listeners() != self._listeners
        if (
            is_followed
            or variable_of(variable) is not variable
            or not self.gathers
            or current_region() is not self
        ):
            return None
        dtype = find_autocast(variable)
        return dtype if dtype and np.dtype(dtype).itemsize < np.dtype(variable._dtype).itemsize else None

    def convert_again(self, value: object, converted: object) -> Any:
        """Return a value converted before it is gathered; `converted`, which is that, where it is not of parts."""
        return converted if self.parent is None else self.parent.convert_again(value, converted)

    def gather_again(self, value: object, behind: PyTree) -> Any:
        """Return a value, gathered anew behind another one if it was gathered of parts, so that it need not be kept."""
        return value if self.parent is None else self.parent.gather_again(value, behind)

    def note_reduced(self, value: object, rest: object, part: object) -> None:
        """Note of a party's gradient that it is the sum of one that is reduced in parts already, and of a rest.

        Args:
            value: The gradient, whole and the party's own.
            rest: What is not reduced of it; None for nothing.
            part: This device's part of the sum over all parties of the other summand.
        """
        if self.parent is not None:
            self.parent.note_reduced(value, rest, part)

    def find_gathering(self, variable: keras.Variable) -> Gathering | None:
        """Return what gathers a variable's value of the parts that devices have of it, in the trace that calls it.

        None where its value is at hand: devices have no parts of it, or it was assigned.
        """
        is_other = self.parent is None or variable_of(variable) is not variable or id(variable) in self.writes
        return None if is_other else self.parent.find_gathering(variable)  # type: ignore[union-attr]

    def find_sharding(self, variable: keras.Variable) -> jax.sharding.Sharding | None:
        """Return how a variable's value is divided among devices where this region computes; None if it is not."""
        return None if self.parent is None else self.parent.find_sharding(variable)

    def is_equal(self, variable: keras.Variable) -> bool:
        """Return whether a variable's value is known to be equal on all replicas, as far as this region can tell."""
        return id(variable) not in self.writes or id(variable) in self.in_agreement

    def share_of(self, variable: keras.Variable) -> Spread | None:
        """Return what a party holds of a variable whose assignments are combined, if one computes here."""
        return None if self.parent is None else self.parent.share_of(variable)

    def agree(self, value: object) -> Any:
        """Return a number or boolean on which control flow depends, as all parties have it."""
        return value if self.parent is None else self.parent.agree(value)

    def gather(self, value: PyTree) -> Any:
        """Return arrays of all parties, stacked on a new leading dimension."""
        return (
            jax.tree.map(lambda own: own[None], value) if self.parent is None else self.parent.gather(value)
        )

    def note_meeting(self) -> None:
        """Note that the parties meet in this region, and so in all that it stands in."""
        region: Region | None = self
        while region is not None:
            region.meets = True
            region = region.parent

    def _hold(self, share: Spread, value: object) -> None:
        """Record what the party holds of a variable from now on, until somebody looks at it."""
        _check_belongs(self, share.variable, value)
        share.check(value)
        key = id(share.variable)
        for found in (self.writes, self._values):
            found.pop(key, None)
        self.in_agreement.discard(key)
        self._shares[key] = share
        self.writes[id(share)] = share
        self._values[id(share)] = value

    def _let_go(self, key: int) -> None:
        """Forget what the party holds of a variable that has one value from now on."""
        share = self._shares.pop(key, None)
        if share is not None:
            self.writes.pop(id(share), None)
            self._values.pop(id(share), None)

    def _combine(self, share: Spread) -> None:
        """Have a variable that is looked at have the value of what the parties hold."""
        key = id(share.variable)
        with jax_core.set_current_trace(self.trace):
            value = share.merge(self._values[id(share)])
        self._let_go(key)
        self.writes[key] = share.variable
        self._values[key] = value
        self.in_agreement.add(key)
        self.note_meeting()

    def take_over(self, variable: keras.Variable, value: object, *inner: "Region") -> None:
        """Record an assignment that regions inside this one have made (a loop's body, a condition's branches)."""
        # A branch that does not write the variable has nothing to agree on.
        writers = [region for region in inner if id(variable) in region.writes]
        agreed = bool(writers) and all(id(variable) in region.in_agreement for region in writers)
        with equal_on_all_replicas() if agreed else contextlib.nullcontext():
            self.add_update((variable, value))

    def lift(self, variable: keras.Variable) -> Any:
        """Return the value that `variable` has when this region begins. Each kind of region does it its own way."""
        raise NotImplementedError

    def final_value(self, variable: keras.Variable) -> Any:
        """Return the value that `variable` has when this region ends."""
        return self._values[id(variable)]

    def next_element(self, stream: object) -> Any:
        """Return the next element of a stream of input that was handed to the program."""
        regions.refuse_element(stream)

    def refuse_loop(self, stream: object) -> NoReturn:
        """Raise why a loop in this region can't take elements of a stream."""
        # What `next(iterator)` itself raises here.
        self.next_element(stream)
        raise errors.TracingError(
            "next(iterator) was called in a loop inside a function that is being differentiated. Expected: the loop "
            f"around the differentiated function. Received: iterator={shown(stream)}. Take the elements first."
        )

    def next_optional(self, stream: object) -> tuple[Any, Any]:
        """Return whether there is a next element, and the element."""
        self.next_element(stream)
        raise AssertionError  # The line before it raises, here and in all regions that can't take input.

    def iterate(self, stream: object) -> Any:
        """Return what `iter(stream)` gives while this region is traced."""
        return regions.Untraceable(stream)

    def next_path(self) -> "Path":
        """Return the path of the next part of this region."""
        self._num_parts += 1
        return (*self.path, self._num_parts)

    def is_first_party(self) -> Any:
        """Return whether what is traced runs for the first of several parties: a traced boolean, or True for one."""
        return True if self.parent is None else self.parent.is_first_party()

    @property
    def program(self) -> "ProgramRegion":
        """The region of the whole program."""
        region: Region = self
        while region.parent is not None:
            region = region.parent
        if not isinstance(region, ProgramRegion):
            raise errors.TracingError("Input can be taken inside of a compiled function only.")
        return region

    def settle(self, variable: keras.Variable) -> None:
        """Have a variable that was made elsewhere lie where the strategy that computes here would have made it."""
        if self.parent is not None:
            self.parent.settle(variable)

    def find_argument(self, value: object) -> Any:
        """Return the array that a traced value is in the call that is traced for, if it is one of its arguments."""
        return value if self.parent is None else self.parent.find_argument(value)

    def peek(self, stream: Any, skip: int, count: int, *, up_to: bool = False) -> list[tuple[Any, int]]:
        """Return `stream.peek_runs`, or with `up_to` `stream.peek_up_to`, while this region is traced.

        What reads the data is no part of the program. When a program is traced once more while it runs, for elements of
        another structure, the streams are somewhere else; it then sees what the first trace has seen.
        """
        self._num_peeks += 1
        # Peeks are numbered: a second trace asks the same questions in the same order.
        key = (self.path, self._num_peeks)
        seen = self.program.seen
        if key not in seen:
            # Reading data may run NumPy and JAX, whose results must be values and no tracers.
            with outside_scopes():
                seen[key] = (stream.peek_up_to if up_to else stream.peek_runs)(skip, count)
        return seen[key]


class TraceAgainError(BaseException):
    """Ends the trace of a function that has met variables of which parties keep values, for it to be traced with them.

    No `except Exception` of a program holds it.

    Args:
        kept: The parties' values of these variables.
    """

    def __init__(self, kept: Sequence[Spread]) -> None:
        super().__init__()
        self.kept = list(kept)


def current_region() -> Region | None:
    """Return the innermost region that is being traced on this thread, looking through scopes of Keras' own."""
    scope = get_stateless_scope()
    # `Layer.stateless_call` of Keras enters a scope of its own.
    while scope is not None and not isinstance(scope, Region):
        scope = scope.original_scope
    return scope


def share_of(variable: keras.Variable) -> Spread | None:
    """Return what the party that is being traced holds of a variable whose assignments are combined, or None."""
    region = current_region()
    return None if region is None or _AGREES.get() else region.share_of(variable)


def find_held(variable: keras.Variable) -> Any:
    """Return what an addition to a variable begins with: its value, or what the party that is traced holds of it."""
    share, region = share_of(variable), current_region()
    return variable.value if share is None or region is None else region.get_current_value(share)  # type: ignore[arg-type]


def executing_eagerly() -> bool:
    """Return whether the caller computes values at once: False while a compiled function or replica traces it."""
    return current_region() is None


@contextlib.contextmanager
def outside_scopes() -> Iterator[None]:
    """Run a block for real, as if no region and no JAX trace were active (creating variables, say)."""
    with outside_stateless_scope(), jax.ensure_compile_time_eval():
        yield


def note_created(variable: keras.Variable) -> None:
    """Tell the program that is being traced that it created a variable."""
    region = current_region()
    while region is not None:
        if isinstance(region, ProgramRegion):
            region.created.append(variable)
        region = region.parent


def initialize(variable: keras.Variable) -> None:
    """Give a variable that was created while tracing its initial value, now and for real."""
    with outside_scopes():
        # Keras 3.15 raises here inside a stateless scope.
        variable._deferred_initialize()
    _forget_uninitialized({id(variable)})


def initialize_pending() -> None:
    """Initialise every variable that was created while tracing and has no value yet.

    One whose initializer raises is forgotten: programs that have nothing to do with it would raise again.
    """
    failure: Exception | None = None
    for variable in find_uninitialized_variables():
        if storage.has_value(variable):
            continue
        try:
            initialize(variable)
        except Exception as error:
            _forget_uninitialized({id(variable)})
            failure = failure or error
    if failure is not None:
        raise failure


def _forget_uninitialized(keys: set[int]) -> None:
    set_uninitialized_variables([v for v in find_uninitialized_variables() if id(v) not in keys])


def concrete_value(variable: keras.Variable) -> jax.Array:
    """Return the variable's value, initialised if it was not yet."""
    return concrete_values([variable])[0]


def concrete_values(variables: Sequence[keras.Variable]) -> list[jax.Array]:
    """Return the values of variables; those that have none yet are initialised."""
    values = storage.read_all(variables)
    for position, value in enumerate(values):
        if value is None:
            initialize(variables[position])
            values[position] = storage.read(variables[position])
    return values


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StreamFeed:
    """Input that a program takes from a stream when it is called.

    Attributes:
        stream: The stream that was traced with; a later call may put another of the same signature in its place.
        structure: An element, with `jax.ShapeDtypeStruct` leaves (without the leading dimension of a block).
        skip: How many elements the program has taken from this stream before this feed.
        count: How many elements it takes.
        block: Whether they are stacked on a new leading dimension (a loop's input) or one bare element.
        count_argument: The index of the dynamic argument that gives the count of a call, where the loop's length is
            an argument: then any count up to the traced one can be served.
        per_count: How many elements it takes for each of that count.
        pinned: The index of a dynamic argument and the value that it has to have, where the program was traced for
            exactly that.
        behind: How many loops that the host drives come before it. What they take is known only when they have run.
        is_optional: Whether there may be no element: then the first leaf says whether there is one.
    """

    stream: Any
    structure: Any
    skip: int
    count: int
    block: bool
    count_argument: int | None = None
    per_count: int = 1
    pinned: tuple[int, int] | None = None
    behind: int = 0
    is_optional: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class FeedLeaf:
    """One array of a stream's feed, as the source of an input of a program."""

    feed: StreamFeed
    index: int

    def spec(self, placement: jax.sharding.NamedSharding) -> jax.ShapeDtypeStruct:
        """Return its type.

        Args:
            placement: Where it is, unless the structure of the elements says where they are.
        """
        leaf = jax.tree.leaves(self.feed.structure)[self.index]
        sharding = getattr(leaf, "sharding", None) or placement
        shape = leaf.shape
        if self.feed.block:
            # Elements come first.
            parts = jax.sharding.PartitionSpec(None, *sharding.spec)
            shape, sharding = (self.feed.count, *shape), jax.sharding.NamedSharding(sharding.mesh, parts)
        return jax.ShapeDtypeStruct(shape, leaf.dtype, sharding=sharding)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class HostValue:
    """An input of a program whose value is looked up whenever the program is dispatched, by the thread that does it.

    Attributes:
        name: Its name; a program has one of each.
        shape: The value's shape.
        dtype: Its dtype.
        read: Returns the value, a NumPy array of that shape and dtype.
        fits: Returns whether a program that was traced with it still does what it should; else it is traced anew.
    """

    name: str
    shape: tuple[int, ...]
    dtype: Any
    read: Callable[[], np.ndarray]
    fits: Callable[[], bool]


# Where arrays lie, in their order; None for wherever they are.
Places = Sequence[jax.sharding.Sharding | None]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class HandedOn:
    """Arrays that a program gives to whoever runs it, besides its results.

    Attributes:
        purpose: What they are for, as whoever builds the program knows it.
        arrays: The arrays.
    """

    purpose: Any
    arrays: list[Any]


class ProgramRegion(Region):
    """The region of a whole compiled function: variables and streams become inputs of the program.

    Args:
        known: The concrete values of the function's dynamic arguments, in order, for loops whose length is one.

    Attributes:
        iterators: Python's iterators that the function made while it was traced, by id.
        seen: What streams have shown while the function was traced.
        loops: The loops that the host drives, by path.
        passes: The passes over datasets that they make, by path.
        structures: The structures of elements that loops were traced for, by path; shared by a program's traces.
        hints: Structures of elements to trace a loop for, besides the first one, by path.
        move: Has the strategy whose replicas compute here compute on other devices, for a trace that is not run; None
            where none can.
        notes: What other packages note about the program while it is traced, by the name of a host value.
        handed_on: What the program gives besides its results.
        afterwards: What is done on the host after each run.
        kept: What parties keep of variables that they use, as far as earlier traces have found out.
        builder: Makes the program of what was traced, where it is not to be run here as it is:
            ``builder(closed, region, outputs, name)``.
        divide: Says where arrays lie that are no variables, of which devices have parts:
            ``divide(arguments, types of results) -> (places of arguments, places of results)``, in the order of their
            leaves; None where devices have no parts.
        adopt_variable: Has a variable that was made elsewhere be divided, where devices are to have parts of it.
        argument_places: What it has said of the arguments.
        result_places: What it has said of the results.
    """

    def __init__(self, known: Sequence[Any] = ()) -> None:
        super().__init__()
        self.inputs: list[Any] = []
        self.created: list[keras.Variable] = []
        self.feeds: list[StreamFeed] = []
        self.known = list(known)
        self.iterators: dict[int, Any] = {}
        self.seen: dict[tuple[Path, int], list[tuple[Any, int]]] = {}
        self.loops: dict[Path, Any] = {}
        self.passes: dict[Path, Any] = {}
        self.structures: dict[Path, list[Any]] = {}
        self.hints: dict[Path, list[Any]] = {}
        self.num_driven = 0
        self.arguments: dict[int, int] = {}
        self.placement: jax.sharding.Sharding | None = None
        self.storage: jax.sharding.Sharding | None = None
        self.move: Move | None = None
        self._taken: dict[int, int] = {}
        self._host_values: dict[str, Any] = {}
        self.notes: dict[str, Any] = {}
        self.handed_on: list[HandedOn] = []
        # What `_afterwards` notes: it needs regions itself.
        self.afterwards: list[Any] = []
        self.kept: list[Spread] = []
        self.builder: Callable[..., Any] | None = None
        self.divide: Callable[[PyTree, PyTree], tuple[Places, Places]] | None = None
        self.adopt_variable: Callable[[keras.Variable], None] | None = None
        self.argument_places: Places = ()
        self.result_places: Places = ()

    @property
    def num_handed_on(self) -> int:
        """How many arrays the program gives besides its results."""
        return sum(len(part.arrays) for part in self.handed_on)

    def host_value(self, name: str, make: Callable[[], HostValue]) -> Any:
        """Return the tracer of an input whose value is looked up whenever the program is dispatched.

        Args:
            name: The input's name.
            make: Makes it, where the program has none of this name yet.
        """
        if name not in self._host_values:
            source = make()
            self._host_values[name] = self.new_input(source, source.shape, source.dtype)
        return self._host_values[name]

    def argument_index(self, tracer: object) -> int | None:
        """Return which dynamic argument of the function `tracer` is, if it is one unchanged."""
        return self.arguments.get(id(tracer))

    def settle(self, variable: keras.Variable) -> None:
        if self.adopt_variable is not None:
            self.adopt_variable(variable)

    def find_argument(self, value: object) -> Any:
        index = self.argument_index(value)
        return value if index is None else self.known[index]

    def count_taken(self, stream: object) -> int:
        """Return how many elements of `stream` the program takes before the point that is being traced."""
        return self._taken.get(id(stream), 0)

    def next_element(self, stream: object) -> Any:
        ((structure, _),) = self.peek(stream, self.count_taken(stream), 1)
        return self.feed(stream, structure, count=1, block=False)

    def next_optional(self, stream: object) -> tuple[Any, Any]:
        structure = optional_structure(self, stream, self.count_taken(stream))
        present, value = self.feed(stream, (OPTIONAL, structure), count=1, block=False, is_optional=True)
        return present, value

    def feed(
        self,
        stream: object,
        structure: PyTree,
        *,
        count: int,
        block: bool,
        count_argument: int | None = None,
        per_count: int = 1,
        pinned: tuple[int, int] | None = None,
        is_optional: bool = False,
    ) -> Any:
        """Take `count` elements of `structure` from `stream` on every call of the program.

        Returns:
            An element with tracers for leaves; with `block`, each has a leading dimension of size `count`.
        """
        entry = StreamFeed(
            stream=stream,
            structure=structure,
            skip=self.count_taken(stream),
            count=count,
            block=block,
            count_argument=count_argument,
            per_count=per_count,
            pinned=pinned,
            behind=self.num_driven,
            is_optional=is_optional,
        )
        self.feeds.append(entry)
        self.note_taken(stream, count)
        leaves, treedef = jax.tree.flatten(structure)
        # One array for all elements of a loop: the body slices it, so that the program's size does not depend on
        # the number of iterations.
        lead = (count,) if block else ()
        tracers = [
            self.new_input(FeedLeaf(entry, index), (*lead, *leaf.shape), leaf.dtype)
            for index, leaf in enumerate(leaves)
        ]
        return jax.tree.unflatten(treedef, tracers)

    def close_passes(self) -> None:
        """End the passes over datasets that were begun to see what the elements look like."""
        for made in self.passes.values():
            made.close()

    def note_taken(self, stream: object, count: int) -> None:
        """Count elements that the program takes."""
        self._taken[id(stream)] = self.count_taken(stream) + count

    def detach(self, streams: Sequence[Any]) -> list[Any]:
        """Put something else in the place of streams that were passed as arguments: the program outlives them.

        Returns:
            What stands for each of `streams` in the feeds from now on.
        """
        # Objects of their own instead of None: several streams have to stay distinct.
        stand_ins = [object() for _ in streams]
        places = {id(stream): stand_in for stream, stand_in in zip(streams, stand_ins, strict=True)}
        feeds = {
            id(feed): dataclasses.replace(feed, stream=places.get(id(feed.stream), feed.stream))
            for feed in self.feeds
        }
        self.feeds = [feeds[id(feed)] for feed in self.feeds]
        # Loops and passes refer to streams as well; a stream left behind in them would live as long as the
        # program.
        for loop in self.loops.values():
            loop.replace_streams(places)
        for made in self.passes.values():
            made.source = places.get(id(made.source), made.source)
        for later in self.afterwards:
            later.detach(places)
        self.inputs = [
            FeedLeaf(feeds[id(source.feed)], source.index) if isinstance(source, FeedLeaf) else source
            for source in self.inputs
        ]
        return stand_ins

    def new_input(self, source: object, shape: Sequence[int], dtype: DTypeLike) -> Any:
        """Return a tracer of this region's trace for a value that `source` stands for."""
        with jax_core.set_current_trace(self.trace):
            tracer = jaxprs.input_p.bind(
                index=len(self.inputs), aval=jax.core.ShapedArray(tuple(shape), dtype)
            )
        self.inputs.append(source)
        return tracer

    def find_known_parts(self) -> "list[Spread] | None":
        return self.kept

    def find_sharding(self, variable: keras.Variable) -> jax.sharding.Sharding | None:
        if isinstance(variable, Spread):
            return None
        sharding = storage.sharding_in(variable, self.placement)
        return None if sharding is self.placement else sharding

    def combine_kept(self) -> None:
        """Give variables whose parties' own values have changed the value that everybody else sees."""
        for spread in [each for each in self.writes.values() if isinstance(each, Spread) and each.is_kept]:
            variable = spread.variable
            self._values[id(variable)] = spread.merge(self._values[id(spread)])
            self.writes[id(variable)] = variable

    def lift(self, variable: keras.Variable) -> Any:
        if not storage.has_value(variable):
            self.created.append(variable)
            initialize(variable)
        self.settle(variable)
        spec = storage.spec_of(variable)
        return self.new_input(variable, spec.shape, spec.dtype)


# The type of the leaf that says whether an optional element is there.
OPTIONAL = jax.ShapeDtypeStruct((), np.dtype(bool))


def optional_structure(region: Region, stream: object, skip: int) -> Any:
    """Return the structure of an element that may be missing."""
    # Where nothing is left behind `skip`, an element before it shows what they look like.
    found = region.peek(stream, skip, 1, up_to=True) or region.peek(stream, 0, 1, up_to=True)
    return found[0][0] if found else read_declared_structure(stream)


def read_declared_structure(stream: Any) -> Any:
    """Return the structure that a stream or dataset declares, for want of an element; sizes that vary become 1."""

    def describe(spec: PyTree) -> Any:
        # Of what is made of several arrays, each of them.
        if hasattr(spec, "part_specs"):
            return spec.of_parts([describe(part) for part in spec.part_specs])
        if spec.shape is None or np.dtype(spec.dtype).kind not in "biufcV":
            regions.refuse_unknown(spec)
        # 1 is as good as any size: an element that does come later is compared with it, and traced anew if it
        # differs.
        shape = tuple(1 if size is None else int(size) for size in spec.shape)
        return jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(spec.dtype))

    with outside_scopes():
        return jax.tree.map(describe, stream.element_spec)


def _check_belongs(region: Region, variable: keras.Variable, value: object) -> None:
    """Refuse a value from a trace inside this region's: it does not exist once that trace is over."""
    if not isinstance(value, jax.core.Tracer):
        return
    scope: Region | None = region
    while scope is not None:
        # `_trace` is private to JAX (0.10): nothing public says which trace a tracer belongs to.
        if value._trace is scope.trace:
            return
        scope = scope.parent
    raise errors.TracingError(
        f"Variable {shown(variable.path)} was assigned inside a JAX transformation (jax.lax.scan, jax.lax.cond, "
        "jax.jit, "
        "jax.grad, ...) that was itself called inside a compiled function; its new value can't leave that "
        f"transformation. Received: value={value}. Use `for _ in stratax.range(n)` for loops and "
        "`stratax.value_and_grad` or `stratax.GradientTape` for gradients, or return the value and assign it outside."
    )
