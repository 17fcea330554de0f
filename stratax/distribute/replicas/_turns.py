"""Replicas that run one after another in Python, with values that can be looked at (distribute layer).

Each replica is a thread, and one thread runs at a time: as far as its next collective or its end, then the next one has
its turn. When all have come to a collective, it is computed for real, over the replicas' devices.

JAX's operations come to a trace of the replica's own (`ReplicaTrace`), which has them computed at once; those over the
axis of the replicas wait there for the others. So no code of a replica differs from that of a compiled one. All compute
on the first replica's device, as each operation would be compiled for every device that it runs on.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.extend.core import jaxprs_in_params, set_current_trace
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratax import errors
from stratax.base.shown import shown
from stratax.base.surroundings import hand_over
from stratax.core import jaxprs, regions
from stratax.distribute.replicas._exchange import TakesTurns
from stratax.distribute.replicas._replica_parts import ReplicaParts, belongs_to_replicas, ensure_parts
from stratax.distribute.replicas._replica_region import PostponedUpdate, ReplicaRegion
from stratax.distribute.replicas._values import (
    REPLICA_AXES,
    PerReplica,
    count_replicas,
    find_first_devices,
    map_over_replicas,
)
from stratax.seams.jax import core, outside_axes

_JIT = ("jit", "pjit")


class _EndedError(BaseException):
    """Ends the thread of a replica because another one has failed; no `except Exception` of a program holds it."""


class ReplicaTurns:
    """Lets replicas run one at a time, and brings them together in their collectives.

    Args:
        mesh: The mesh of the replicas, all of this process.
        compiled: Keeps what collectives were compiled to, from one run to the next.
    """

    def __init__(self, mesh: Mesh, compiled: dict[Any, Any]) -> None:
        self._mesh = mesh
        self._compiled = compiled
        self._devices = find_first_devices(mesh)
        self._changed = threading.Condition()
        self._turn = 0
        self._ended: set[int] = set()
        self._failure: BaseException | None = None
        # What each replica has asked for, by the number of the collective, and what came of it.
        self._asked: list[list[tuple[Any, Sequence[Any], dict[str, Any]]]] = [[] for _ in self._devices]
        self._results: list[list[Any]] = []

    def run(self, replica: Callable[[int], Any]) -> list[Any]:
        """Call a function for each replica, with its number, and return what each call returned.

        The first replica runs in this thread, the others in threads that have the same around them.
        """
        found: list[Any] = [None] * len(self._devices)

        def work(index: int) -> None:
            try:
                self._wait(index)
                with self._enter(index):
                    found[index] = replica(index)
            except BaseException as error:
                self._fail(error)
            finally:
                self._end(index)

        in_thread = hand_over(work)
        threads = [
            threading.Thread(target=in_thread, args=(index,), name=f"replica {index}", daemon=True)
            for index in range(1, len(self._devices))
        ]
        for thread in threads:
            thread.start()
        work(0)
        for thread in threads:
            thread.join()
        if self._failure is not None:
            raise self._failure
        return found

    def coordinates(self, index: int) -> dict[str, int]:
        """Return where a replica is on the axes of the mesh."""
        where = np.unravel_index(index, self._mesh.devices.shape)
        return dict(zip(self._mesh.axis_names, map(int, where), strict=True))

    @contextlib.contextmanager
    def _enter(self, index: int) -> Iterator[None]:
        """Have a block compute as a replica does."""
        trace = ReplicaTrace(regions.current_trace(), self, index, self._devices[0])
        with jax.default_device(self._devices[0]), set_current_trace(trace):
            yield

    def _wait(self, index: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._turn == index or self._failure is not None)
            if self._failure is not None:
                raise _EndedError

    def _pass_on(self, index: int) -> None:
        with self._changed:
            others = [(index + step) % len(self._devices) for step in range(1, len(self._devices) + 1)]
            self._turn = next((other for other in others if other not in self._ended), index)
            self._changed.notify_all()

    def _end(self, index: int) -> None:
        self._ended.add(index)
        self._pass_on(index)

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            if self._failure is None and not isinstance(error, _EndedError):
                self._failure = error
            self._changed.notify_all()

    def exchange(self, index: int, primitive: object, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Return what a collective gives a replica, after all others have come to it.

        Raises:
            StrategyError: The others have come to their end, or to another collective.
        """
        number = len(self._asked[index])
        self._asked[index].append((primitive, args, params))
        self._pass_on(index)
        self._wait(index)
        # The turns go round: all others have run to their next collective, or to their end.
        if len(self._results) == number:
            self._results.append(self._compute(number))
        return self._results[number][index]

    def _compute(self, number: int) -> list[Any]:
        asked = [calls[number] if number < len(calls) else None for calls in self._asked]
        kinds = {None if call is None else _kind(*call) for call in asked}
        if len(kinds) > 1:
            names = [None if call is None else str(call[0]) for call in asked]
            raise errors.StrategyError(
                "The replicas do not come to the same collectives with values of the same shapes and dtypes. Expected: "
                "each replica calls all_reduce, apply_gradients and their like alike, in one order. Received, replica "
                f"by replica: {shown(names)}. Don't let values of a replica decide about collectives."
            )
        primitive, _, params = asked[0]  # type: ignore[misc]
        columns = zip(*(call[1] for call in asked if call is not None), strict=True)
        spread = PartitionSpec(REPLICA_AXES)
        sharding = NamedSharding(self._mesh, spread)

        def body(*values: Any) -> list[Any]:
            results = primitive.bind(*(value[0] for value in values), **params)
            return [jnp.asarray(result)[None] for result in _list_results(primitive, results)]

        # As `strategy.run` computes it, on the devices and by the algorithm of the strategy.
        key = (self._mesh, next(iter(kinds)))
        if key not in self._compiled:
            self._compiled[key] = jax.jit(map_over_replicas(body, self._mesh, spread, spread))
        with regions.outside_scopes(), outside_axes():
            results = self._compiled[key](*(self._stack(column, sharding) for column in columns))
            per_replica = [
                [jax.device_put(_shard_on(array, device), self._devices[0])[0] for array in results]
                for device in self._devices
            ]
        return [found if primitive.multiple_results else found[0] for found in per_replica]

    def _stack(self, values: Sequence[Any], sharding: NamedSharding) -> jax.Array:
        shards = [
            jax.device_put(jnp.asarray(value)[None], device)
            for value, device in zip(values, self._devices, strict=True)
        ]
        return jax.make_array_from_single_device_arrays((len(shards), *shards[0].shape[1:]), sharding, shards)


class ReplicaTrace(core.Trace):
    """Computes what a replica binds, at once and on its device; collectives with the other replicas.

    Args:
        parent: The trace that was current before.
        turns: Where replicas meet.
        index: The replica's number.
        device: Where it computes.
    """

    def __init__(self, parent: Any, turns: ReplicaTurns, index: int, device: jax.Device) -> None:
        super().__init__()
        # What needs lower types is decided by the parent.
        self.requires_low = False
        self.parent = parent
        self._turns = turns
        self._index = index
        self._device = device

    def stage_value(self, val: Any) -> Any:
        return self.parent.stage_value(val)

    def cur_qdd(self, x: object) -> Any:
        with set_current_trace(self.parent):
            return core.cur_qdd(x)

    def process_primitive(self, primitive: Any, args: Sequence[Any], params: dict[str, Any], /) -> Any:
        if _names_replicas(params):
            # While JAX binds a primitive no trace is current, from 0.11 on.
            with set_current_trace(self.parent):
                if primitive.name == "axis_index":
                    return jnp.int32(self._turns.coordinates(self._index)[params["axis_name"]])
                return self._turns.exchange(self._index, primitive, args, params)
        inner = _exchanging_part(primitive, args, params)
        if inner is not None:
            closed, operands = inner
            with set_current_trace(self):
                return core.jaxpr_as_fun(closed)(*operands)
        with set_current_trace(self.parent):
            here = [self._here(arg) for arg in args]
        return primitive.bind_with_trace(self.parent, here, [core.typeof(arg) for arg in here], params)

    def _here(self, value: object) -> Any:
        """Return a value on the device that computes: variables are on those of all replicas."""
        if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer):
            return value
        if not value.committed or value.devices() == {self._device}:
            return value
        if value.is_fully_replicated and self._device in value.devices():
            return _shard_on(value, self._device)
        return jax.device_put(value, self._device)

    def process_call(self, primitive: Any, f: Any, args: Sequence[Any], params: dict[str, Any], /) -> Any:
        with set_current_trace(self):
            return f.call_wrapped(*args)

    def process_shard_map(self, primitive: Any, fun: object, args: Sequence[Any], **params: object) -> Any:
        with set_current_trace(self.parent):
            return primitive.bind(*args, subfuns=(fun,), **params)

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: object, args: Sequence[Any], /, **params: object
    ) -> Any:
        with set_current_trace(self):
            return fun.call_wrapped(*args)

    def process_custom_vjp_call(
        self, primitive: object, fun: Any, fwd: object, bwd: object, args: Sequence[Any], /, **params: object
    ) -> Any:
        with set_current_trace(self):
            return fun.call_wrapped(*args)


class TurnRegion(ReplicaRegion, TakesTurns):
    """The region of a replica that runs in Python: its variables have values.

    Args:
        mesh: The replicas' devices.
        index: The replica's number.
        keeps_copies: Whether each replica has a copy of a variable, which may become its own.
    """

    runs_in_python = True

    def __init__(self, mesh: Mesh, index: int, *, keeps_copies: bool) -> None:
        super().__init__(_Values(), mesh)
        self.num_replicas, self.axes = count_replicas(mesh), mesh.shape
        self._index = index
        self._keeps_copies = keeps_copies and self.num_replicas > 1

    def own_values(self) -> list[tuple[ReplicaParts, Any]]:
        """Return what this replica has assigned to variables with parts."""
        return [
            (kept, self.final_value(kept.variable)) for key, kept in self.kept.items() if key in self.writes
        ]

    def _own_part(self, kept: ReplicaParts) -> Any:
        # For all replicas, and not on this one's device.
        with set_current_trace(self.trace.parent):
            return PerReplica(kept._value).values[self._index]

    def _note_own(self, variable: object) -> None:
        if not self._keeps_copies:
            super()._note_own(variable)
        elif belongs_to_replicas(variable):
            self.kept[id(variable)] = ensure_parts(variable, self._mesh)

    def postpone(self, update: PostponedUpdate) -> None:
        # Each replica makes it with the same arrays, and sees its effect at once.
        update.make_here()

    def spec_of(self, variable: keras.Variable) -> None:
        return None

    @property
    def gathers(self) -> bool:
        return False

    def find_gathering(self, variable: keras.Variable) -> None:
        return None

    def _value_around(self, variable: keras.Variable) -> Any:
        # Arrays have values, and are brought to the device that computes.
        return self.parent.get_current_value(variable)


class _Values(regions.Region):
    """The region around the replicas, where variables have the values that they have outside."""

    def lift(self, variable: object) -> Any:
        return regions.concrete_values([variable])[0]


def _names_replicas(params: dict[str, Any]) -> bool:
    """Return whether the parameters of a primitive name an axis of the replicas."""
    found: list[Any] = []
    for name in ("axes", "axis_name"):
        axes = params.get(name, ())
        found.extend(axes if isinstance(axes, tuple | list) else (axes,))
    return any(isinstance(axis, str) and axis in REPLICA_AXES for axis in found)


def _exchanging_part(
    primitive: Any, args: Sequence[Any], params: dict[str, Any]
) -> tuple[Any, Sequence[Any]] | None:
    """Return the jaxpr in a primitive that has collectives, and its operands; None if none has."""
    if not any(jaxprs.contains(part, _is_exchange) for part in jaxprs_in_params(params)):
        return None
    if primitive.name in _JIT:
        return params["jaxpr"], args
    if primitive.name == "cond":
        branches = params["branches"]
        return branches[min(max(int(args[0]), 0), len(branches) - 1)], args[1:]
    raise errors.StrategyError(
        f"A collective of the replicas stands in JAX' `{primitive.name}`, which does not run in Python. Expected: "
        "loops of Python, or tf.config.run_functions_eagerly(False)."
    )


def _is_exchange(equation: Any) -> bool:
    return _names_replicas(equation.params)


def _kind(primitive: object, args: Sequence[Any], params: dict[str, Any]) -> tuple[Any, ...]:
    """Return what has to be alike of all replicas in a collective."""
    return (
        primitive,
        str(params),
        tuple((jnp.shape(arg), jnp.result_type(arg).name) for arg in args),
    )


def _list_results(primitive: Any, results: Any) -> list[Any]:
    return list(results) if primitive.multiple_results else [results]


def _shard_on(array: jax.Array, device: jax.Device) -> jax.Array:
    return next(shard.data for shard in array.addressable_shards if shard.device == device)
