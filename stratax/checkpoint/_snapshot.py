"""The state of a program, copied to the host (checkpoint layer)."""

import hashlib
from typing import Any

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
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
        BadArgumentError: If one is divided among processes.
    """
    variables = list(graph.variables.values())
    # Values and not tracers, also where an outer function is being traced.
    # Of one state, where other tasks change them meanwhile.
    with regions.outside_scopes(), storage.one_state(variables):
        found = regions.concrete_values(variables)
    for key_path, variable, value in zip(graph.variables, variables, found, strict=True):
        _check_whole(key_path, variable, value)
    return dict(zip(graph.variables, found, strict=True))


def take(graph: _graph.ObjectGraph, arrays: dict[str, jax.Array]) -> _store.Contents:
    """Copy the values of variables to the host: what the program does afterwards does not change the copy.

    Args:
        graph: The variables.
        arrays: Their values.
    """
    for array in arrays.values():
        # All transfers begin before the first is waited for.
        array.copy_to_host_async()
    return _store.Contents(
        arrays=_copies(arrays),
        names={key_path: variable.path for key_path, variable in graph.variables.items()},
        aliases=dict(graph.aliases),
        inputs={},
        random=None,
    )


def _copies(arrays: dict[str, jax.Array]) -> dict[str, np.ndarray]:
    """Return copies of arrays on the host, several at once; one allocation is quicker than many."""
    views = {key_path: np.asarray(array) for key_path, array in arrays.items()}
    # Copied: the views of arrays on CPUs are the arrays' own memory, which the next step overwrites.
    shared = {key_path: view for key_path, view in views.items() if _is_on_host(arrays[key_path])}
    ends = np.cumsum([0, *(-(-view.nbytes // _ALIGNMENT) * _ALIGNMENT for view in shared.values())])
    buffer = np.empty(ends[-1], np.uint8)
    copies = {
        key_path: buffer[start : start + view.nbytes].view(view.dtype).reshape(view.shape)
        for (key_path, view), start in zip(shared.items(), ends[:-1], strict=True)
    }
    with Threads(_THREADS, "stratax-copy") as pool:
        list(pool.map(np.copyto, copies.values(), shared.values()))
    return {**views, **copies}


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


def _check_whole(key_path: str, variable: keras.Variable, value: jax.Array) -> None:
    # A replicated array is whole on each device, though others hold it as well.
    if value.is_fully_addressable or value.is_fully_replicated:
        return
    raise errors.BadArgumentError(
        "A variable whose value is divided among processes can't be saved: none of them has all of it. Expected: "
        f"a variable that every process has a copy of. Received: {key_path}={shown(variable)} with sharding "
        f"{value.sharding}."
    )
