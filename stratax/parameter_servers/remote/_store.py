"""`ServerStore`: the values of variables, on parameter servers (distribute layer)."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax.base.surroundings import Slot
from stratax.core.storage import VariableStore
from stratax.parameter_servers.remote._layout import Layouts, ServerLayout, ServerShard
from stratax.parameter_servers.remote._pull import Puller
from stratax.parameter_servers.remote._push import requests_of
from stratax.parameter_servers.remote._servers import Request, Servers, by_server, new_step

# A variable of more bytes is initialised where it will be.
_MOST_BYTES_MADE_HERE = 1 << 20
# The marks whose states a thread's reads give, by store; of others, what is there now.
_MARKS: Slot[Mapping["ServerStore", str]] = Slot("marks of stores", {})


class ServerStore(VariableStore):
    """Keeps variables on parameter servers, by shards.

    What has not changed since it was last asked for does not travel again.

    Args:
        servers: The servers.
        layouts: Where each variable is.
        max_staleness: How many others may change variables between a step's pull and its push; None for any number.
    """

    def __init__(self, servers: Servers, layouts: Layouts, max_staleness: int | None = None) -> None:
        self.servers = servers
        self.max_staleness = max_staleness
        self.layouts = layouts
        self.puller = Puller(servers)

    def create(self, variable: keras.Variable, value: object) -> None:
        layout = self.layouts.place(variable)
        array = np.asarray(value)
        self._ask_for_each(
            layout.all,
            lambda shards: Request(
                {"op": "create", "names": [shard.name for shard in shards]},
                [shard.of(array) for shard in shards],
            ),
        )

    def initialize(self, variable: keras.Variable, make: Callable[[], Any]) -> None:
        dtype = np.dtype(jax.dtypes.canonicalize_dtype(variable.dtype))
        shape = tuple(variable.shape)
        if int(np.prod(shape)) * dtype.itemsize <= _MOST_BYTES_MADE_HERE:
            self.create(variable, make())
            return
        layout = self.layouts.place(variable)
        programs = {shard: _export(make, shard, shape, dtype) for shard in layout.all}
        if None in programs.values():
            # An initialiser in NumPy, for instance.
            self.create(variable, make())
            return
        for shard, program in programs.items():
            self.servers.ask(
                {
                    shard.server: Request(
                        {"op": "make", "name": shard.name}, [np.frombuffer(program or b"", np.uint8)]
                    )
                }
            )

    @contextlib.contextmanager
    def one_state(self) -> Iterator[None]:
        marks = _MARKS.get()
        if self in marks:
            yield
            return
        with self.servers.mark_state() as mark, _MARKS.holding({**marks, self: mark}):
            yield

    def read(self, variables: Sequence[keras.Variable]) -> list[jax.Array]:
        mark = _MARKS.get().get(self)
        with jax.ensure_compile_time_eval():
            if mark is not None:
                return self.puller.read_marked([self.layouts.of(v).shards for v in variables], mark)
            # A copy: whoever reads may have the memory reused.
            return [value.copy() for value in self.pull(variables)]

    def pull(self, variables: Sequence[keras.Variable]) -> list[jax.Array]:
        """Return the values of variables, as they are now, as arrays that are not to be changed."""
        return self.puller.pull([self.layouts.of(variable).shards for variable in variables])

    def write(self, variables: Sequence[keras.Variable], values: Sequence[Any]) -> None:
        self.servers.ask(requests_of(new_step(), {}, self.parts_of(variables, values)))

    def parts_of(
        self, variables: Sequence[keras.Variable], values: Sequence[Any]
    ) -> list[tuple[ServerShard, np.ndarray]]:
        """Return what each shard of variables is assigned for new values of them."""
        parts = []
        for variable, value in zip(variables, values, strict=True):
            array = np.asarray(value, jax.dtypes.canonicalize_dtype(variable.dtype))
            parts += [(shard, shard.of(array)) for shard in self.layouts.of(variable).all]
        return parts

    def move(self, variable: keras.Variable, server: int) -> None:
        """Keep all of a variable on one server from now on; every task that defines the same updates does the same.

        Args:
            variable: The variable.
            server: The server's number.
        """
        (value,) = self.pull([variable])
        layout = self.layouts.of(variable)
        self.layouts.put(variable, ServerLayout(layout.name, (ServerShard(server, f"{layout.name}/whole"),)))
        # The first task that does it moves the value; to the others there is a variable of the name already.
        self.create(variable, value)

    def _ask_for_each(
        self, shards: Sequence[ServerShard], request: Callable[[list[ServerShard]], Request]
    ) -> None:
        grouped = by_server((shard.server, shard) for shard in shards)
        self.servers.ask({server: request(own) for server, own in grouped.items()})


def _export(
    make: Callable[[], Any], shard: ServerShard, shape: tuple[int, ...], dtype: np.dtype
) -> bytes | None:
    """Return a program that makes a shard's first value; None where its initialiser can't be traced."""

    def part() -> Any:
        return shard.of(jax.numpy.asarray(make(), dtype).reshape(shape))

    try:
        return bytes(jax.export.export(jax.jit(part), platforms=("cpu",))().serialize())
    except (jax.errors.JAXTypeError, TypeError, ValueError):
        return None
