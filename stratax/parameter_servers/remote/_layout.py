"""Where variables are: which server keeps which rows of them (distribute layer)."""

import dataclasses
import math
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import jax
import keras
import numpy as np

from stratax.base.shown import shown
from stratax.base.surroundings import Slot, Surroundings
from stratax.errors import StrategyError
from stratax.parameter_servers.remote._partitioners import num_shards_of

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class ServerShard:
    """Some rows of a variable, or all of it, on a server.

    Attributes:
        server: The server's number.
        name: What the server knows it by.
        start: The first row; 0 for a variable without rows.
        stop: The row behind the last one; None for all that there is.
    """

    server: int
    name: str
    start: int = 0
    stop: int | None = None

    @property
    def rows(self) -> slice:
        """Which rows they are."""
        return slice(self.start, self.stop)

    def of(self, array: Any) -> Any:
        """Return the shard's part of an array with the variable's shape."""
        return array if self.stop is None else array[self.start : self.stop]

    def numbers_of(self, rows: np.ndarray) -> np.ndarray:
        """Return which of some rows of the variable are in the shard, counted from its first one.

        Args:
            rows: The numbers of the rows, in order.
        """
        if self.stop is None:
            return rows
        first, last = np.searchsorted(rows, (self.start, self.stop))
        return rows[first:last] - rows.dtype.type(self.start)

    def shape_of(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the part of an array of a shape."""
        return shape if self.stop is None else (self.stop - self.start, *shape[1:])


@dataclasses.dataclass(frozen=True, slots=True)
class ServerLayout:
    """Where a variable is.

    Attributes:
        name: The variable's name in the cluster.
        shards: Its shards, which together have each row once, in order.
        copies: Copies of a scalar that every server's updates need, one for each server; `shards` has the one that is
            read.
    """

    name: str
    shards: tuple[ServerShard, ...]
    copies: tuple[ServerShard, ...] = ()

    @property
    def all(self) -> tuple[ServerShard, ...]:
        """Everything that an assignment changes."""
        return self.copies or self.shards

    def on(self, server: int) -> list[ServerShard]:
        """Return what a server has of the variable."""
        return [shard for shard in self.all if shard.server == server]

    def is_like(self, other: "ServerLayout") -> bool:
        """Return whether the same rows of another variable are on the same servers."""
        return [(shard.server, shard.rows) for shard in self.shards] == [
            (shard.server, shard.rows) for shard in other.shards
        ]


class ByVariable(Generic[T]):
    """What belongs to variables, for as long as they live: variables compare element by element, and are no keys."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[weakref.ref[keras.Variable], T]] = {}

    def get(self, variable: keras.Variable) -> T | None:
        """Return what belongs to a variable, if anything does."""
        entry = self._found.get(id(variable))
        return None if entry is None else entry[1]

    def put(self, variable: keras.Variable, value: T) -> None:
        """Say what belongs to a variable from now on."""
        key = id(variable)
        # Another variable may get the place in memory of one that is gone.
        reference = weakref.ref(variable, lambda gone: self._forget(key, gone))
        self._found[key] = reference, value

    def _forget(self, key: int, gone: object) -> None:
        entry = self._found.get(key)
        if entry is not None and entry[0] is gone:
            del self._found[key]


_NEIGHBOUR: Slot[keras.Variable | None] = Slot("neighbour of new variables", None)
# What variables lie beside that had no place yet when that was said.
_neighbours: ByVariable[weakref.ref[keras.Variable]] = ByVariable()


def beside(variable: keras.Variable) -> Surroundings:
    """Have variables that are created in a block lie where another one does: an optimizer's slots beside its variable.

    Args:
        variable: The other one.
    """
    return _NEIGHBOUR.holding(variable)


def make_beside(variable: keras.Variable, make: Callable[[], Any]) -> Any:
    """Return a variable that lies where another one does, also if it gets its value, and its place, later.

    Args:
        variable: The other one.
        make: Makes the variable.
    """
    with beside(variable):
        made = make()
    _neighbours.put(made, weakref.ref(variable))
    return made


class Layouts:
    """Decides where each new variable goes: to the server that has the fewest bytes so far, or beside another variable.

    All tasks that create the same variables in the same order decide alike.

    Args:
        num_servers: How many servers there are.
        partitioner: Says into how many shards a variable is divided; None: into one.
    """

    def __init__(self, num_servers: int, partitioner: object = None) -> None:
        self._num_servers = num_servers
        self._partitioner = partitioner
        self._num_bytes = [0] * num_servers
        self._layouts: ByVariable[ServerLayout] = ByVariable()
        self._names: dict[str, int] = {}

    def of(self, variable: keras.Variable) -> ServerLayout:
        """Return where a variable is that has been given a place."""
        layout = self._layouts.get(variable)
        if layout is None:
            raise not_on_servers(variable.path)
        return layout

    def put(self, variable: keras.Variable, layout: ServerLayout) -> None:
        """Say where a variable is from now on."""
        self._layouts.put(variable, layout)

    def place(self, variable: keras.Variable) -> ServerLayout:
        """Decide where a variable goes, and remember it."""
        layout = self._layouts.get(variable)
        if layout is None:
            name = self._unique(variable.path)
            neighbour = _NEIGHBOUR.get()
            if neighbour is None and (reference := _neighbours.get(variable)) is not None:
                neighbour = reference()
            known = None if neighbour is None else self._layouts.get(neighbour)
            if _is_copied(variable):
                layout = self._lay_out_copies(name)
            elif known is not None and neighbour is not None:
                layout = self._next_to(name, variable, neighbour, known)
            else:
                layout = self._divide(name, variable)
            self._layouts.put(variable, layout)
            for shard in layout.all:
                shape = shard.shape_of(tuple(variable.shape))
                self._num_bytes[shard.server] += math.prod(shape) * _dtype_of(variable).itemsize
        return layout

    def _unique(self, path: str) -> str:
        number = self._names.get(path, 0)
        self._names[path] = number + 1
        return f"{path}#{number}" if number else path

    def _lay_out_copies(self, name: str) -> ServerLayout:
        copies = tuple(ServerShard(server, name) for server in range(self._num_servers))
        return ServerLayout(name, copies[:1], copies)

    def _next_to(
        self, name: str, variable: keras.Variable, neighbour: keras.Variable, known: ServerLayout
    ) -> ServerLayout:
        if tuple(variable.shape) == tuple(neighbour.shape):
            shards = tuple(
                dataclasses.replace(shard, name=_shard_name(name, index, len(known.shards)))
                for index, shard in enumerate(known.shards)
            )
            return ServerLayout(name, shards)
        # Of another shape, Adafactor's means over rows for instance: whole, with the first shard.
        return ServerLayout(name, (ServerShard(known.shards[0].server, name),))

    def _divide(self, name: str, variable: keras.Variable) -> ServerLayout:
        shape = tuple(variable.shape)
        count = 1 if self._partitioner is None else num_shards_of(self._partitioner, shape, variable.dtype)
        loads = list(self._num_bytes)
        if count == 1:
            return ServerLayout(name, (ServerShard(loads.index(min(loads)), name),))
        # As TensorFlow divides: the first ones have a row more where it does not come out even.
        each, more = divmod(shape[0], count)
        stops = np.cumsum([each + (index < more) for index in range(count)]).tolist()
        row_bytes = math.prod(shape[1:]) * _dtype_of(variable).itemsize
        shards: list[ServerShard] = []
        for index, (start, stop) in enumerate(zip([0, *stops], stops, strict=False)):
            # Each server gets one before any gets a second: all servers work at a variable at the same time.
            turn = {shard.server for shard in shards[index - index % self._num_servers :]}
            free = [server for server in range(self._num_servers) if server not in turn]
            server = min(free, key=loads.__getitem__)
            loads[server] += (stop - start) * row_bytes
            shards.append(ServerShard(server, _shard_name(name, index, count), start, stop))
        return ServerLayout(name, tuple(shards))


def _shard_name(name: str, index: int, count: int) -> str:
    return name if count == 1 else f"{name}/part_{index}"


def _is_copied(variable: keras.Variable) -> bool:
    """Return whether each server's updates may need a variable: numbers of an optimizer, such as its learning rate.

    What replicas add up, such as a metric's count, no update needs.
    """
    return not tuple(variable.shape) and variable.aggregation != "sum"


def _dtype_of(variable: keras.Variable) -> np.dtype:
    return np.dtype(jax.dtypes.canonicalize_dtype(variable.dtype))


def not_on_servers(path: str) -> StrategyError:
    """Return the error of a variable that servers would have to change, and don't keep.

    Args:
        path: The variable's path.
    """
    return StrategyError(
        f"Parameter servers don't keep the variable {shown(path)}, which a step of a ParameterServerStrategy changes. "
        "Expected: variables that steps change, and models, optimizers and metrics, are made inside `with "
        "strategy.scope():`. What others change in the meantime would be lost otherwise."
    )
