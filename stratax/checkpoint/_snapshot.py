"""The state of a program, copied to the host (checkpoint layer)."""

import hashlib
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax.base.threads import Threads
from stratax.checkpoint import _graph, _store
from stratax.core import regions, storage

# A cache line, so that threads that copy neighbours don't write into the same one.
_ALIGNMENT = 64
# Copying is limited by memory, which a few threads keep busy.
_THREADS = 4


def values(graph: _graph.ObjectGraph) -> dict[str, jax.Array]:
    """Return the values of variables, where they are.

    Args:
        graph: Which variables.

    Raises:
        BadArgumentError: If an array of a tree is gone: a function that was given it has used its memory.
    """
    variables = list(graph.variables.values())
    # Values and not tracers, also where an outer function is being traced.
    # Of one state, where other tasks change them meanwhile.
    with regions.outside_scopes(), storage.one_state(variables):
        found = regions.concrete_values(variables)
    gone = [
        key_path
        for key_path, value in zip(graph.variables, found, strict=True)
        if isinstance(value, jax.Array) and value.is_deleted()
    ]
    if gone:
        raise errors.BadArgumentError(
            "Arrays of a checkpoint are gone: a function has used their memory for its results (donate_argnums). "
            "Expected: attributes of the checkpoint that are set to the newest arrays before it is saved. Received: "
            f"{', '.join(gone[:3])}."
        )
    return dict(zip(graph.variables, found, strict=True))


def find_shared(arrays: Mapping[str, jax.Array]) -> set[str]:
    """Return the key paths of values of which no process has all: each saves its own parts."""
    return {
        key_path
        for key_path, array in arrays.items()
        # A replicated array is whole on each device, though others hold it as well.
        if not (array.is_fully_addressable or array.is_fully_replicated)
    }


def take(graph: _graph.ObjectGraph, arrays: Mapping[str, jax.Array]) -> _store.Contents:
    """Copy the values of variables to the host: what the program does afterwards does not change the copy.

    Args:
        graph: The variables.
        arrays: Their values.
    """
    held = {
        key_path: storage.detach(array) if storage.is_divided(array) else array
        for key_path, array in arrays.items()
    }
    for array in held.values():
        # All transfers begin before the first is waited for.
        array.copy_to_host_async()
    return _store.Contents(
        arrays=_copies(held),
        names={key_path: variable.path for key_path, variable in graph.variables.items()},
        aliases=dict(graph.aliases),
        inputs={},
        random=None,
    )


def _copies(arrays: Mapping[str, jax.Array]) -> dict[str, np.ndarray | storage.HostParts]:
    """Return copies of arrays on the host, several at once; one allocation is quicker than many."""
    pieces = {
        (key_path, index): part
        for key_path, array in arrays.items()
        for index, part in _parts_of(array).items()
    }
    views = {where: np.asarray(part) for where, part in pieces.items()}
    # Copied: the views of arrays on CPUs are the arrays' own memory, which the next step overwrites.
    shared = {where: view for where, view in views.items() if _is_on_host(pieces[where])}
    ends = np.cumsum([0, *(-(-view.nbytes // _ALIGNMENT) * _ALIGNMENT for view in shared.values())])
    buffer = np.empty(ends[-1], np.uint8)
    copies = {
        where: buffer[start : start + view.nbytes].view(view.dtype).reshape(view.shape)
        for (where, view), start in zip(shared.items(), ends[:-1], strict=True)
    }
    with Threads(_THREADS, "stratax-copy") as pool:
        list(pool.map(np.copyto, copies.values(), shared.values()))
    copies = {**views, **copies}
    return {key_path: _join(key_path, array, copies) for key_path, array in arrays.items()}


def _parts_of(array: jax.Array) -> dict[storage.Bounds | None, jax.Array]:
    """Return what is copied of an array: the parts that this process saves, or all of it."""
    if not storage.is_divided(array):
        return {None: array}
    return dict(storage.own_parts(array).items())


def _join(
    key_path: str, array: jax.Array, copies: Mapping[Any, np.ndarray]
) -> np.ndarray | storage.HostParts:
    if not storage.is_divided(array):
        return copies[key_path, None]
    return storage.HostParts(
        array.shape,
        array.dtype,
        array.sharding.shard_shape(array.shape),
        {index: copies[key_path, index] for index in storage.own_parts(array)},
    )


def _is_on_host(array: jax.Array) -> bool:
    """Return whether NumPy sees the array's own memory, which the next step may use again."""
    return all(device.platform == "cpu" for device in array.devices())


def signature(graph: _graph.ObjectGraph) -> str:
    """Return a digest of what is saved: key paths, shapes and dtypes of variables, key paths of iterators."""
    lines = [
        f"{key_path} {tuple(variable.shape)} {variable._dtype}"
        for key_path, variable in graph.variables.items()
    ]
    # In the order of the walk, which is the same in all tasks that built the same objects.
    return hashlib.sha256("\n".join([*lines, *graph.inputs]).encode()).hexdigest()


def positions(graph: _graph.ObjectGraph) -> dict[str, dict[str, Any]]:
    """Return the positions of this process's input."""
    return {key_path: iterator.get_state() for key_path, iterator in graph.inputs.items()}
