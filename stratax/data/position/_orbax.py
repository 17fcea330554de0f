"""An iterator's place as part of an Orbax checkpoint, without importing Orbax (data layer)."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from stratax.base.shown import shown
from stratax.errors import DataError, FileMissingError


def _file_name() -> str:
    """One file for each process: each reads its own part of the data."""
    # Without importing JAX: a data pipeline alone may run without it, and then there is one process.
    jax = sys.modules.get("jax")
    number, count = (jax.process_index(), jax.process_count()) if jax is not None else (0, 1)
    return f"process_{number}-of-{count}.json"


async def write_place(directory: Any, state: dict[str, Any]) -> None:
    """Write a state where Orbax wants it, which may be a folder that is still being made.

    Args:
        directory: Orbax' `PathAwaitingCreation`.
        state: What JSON can hold.
    """
    path = os.path.join(os.fspath(await directory.await_creation()), _file_name())
    await asyncio.to_thread(_write_whole, path, json.dumps(state))


def _write_whole(path: str, text: str) -> None:
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    # A reader never sees half a file, whenever the process ends.
    os.replace(f"{path}.new", path)


async def read_place(directory: Any, use: Callable[[Any], None]) -> None:
    """Read what :func:`write_place` wrote.

    Args:
        directory: The folder.
        use: Called with the state.

    Raises:
        FileMissingError: This process has no state there.
        DataError: The file is not JSON.
    """
    use(await asyncio.to_thread(_read, os.path.join(os.fspath(directory), _file_name())))


def _read(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError as e:
        raise FileMissingError(
            "The checkpoint has no place of the iterator for this process. Expected: a file that as many processes "
            f"as there are now have written. Received: {shown(path)}. Restore with the number of processes that saved."
        ) from e
    except ValueError as e:
        raise DataError(
            f"The place of the iterator in the checkpoint is damaged. Expected: JSON. Received: {shown(path)} ({e}). "
            "Restore an earlier checkpoint."
        ) from e
