"""Rows of large variables that a step looks up, and how they are pulled (distribute layer).

A step that uses a variable only by looking up rows computes with a small array of these rows instead: in *row space*.
Which rows they are, a program computes from the step's other inputs before the step itself runs.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stratax.parameter_servers.remote._layout import ServerShard
from stratax.parameter_servers.remote._pull import Puller

_NO_ROWS = np.zeros(0, np.int32)


@dataclasses.dataclass(frozen=True, slots=True)
class RowSpace:
    """Rows that a step looks up together.

    Attributes:
        ids: Which of the arrays of row numbers that are computed before the step it has.
        size: How many rows there is room for: as many as there are numbers.
        num_rows: How many rows the whole variable has.
    """

    ids: tuple[int, ...]
    size: int
    num_rows: int

    def compact(self, found: Sequence[Any]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the rows, each once, in order, and where among them those of each array are.

        Args:
            found: What was computed: arrays of row numbers, in which the number of rows stands for none.
        """
        arrays = [np.asarray(found[index]) for index in self.ids]
        numbers = np.concatenate([_NO_ROWS, *arrays])
        # Sorted with their places in one number: several times as quick as `np.unique` with NumPy 2.4.
        keys = (numbers.astype(np.int64) << 32) | np.arange(len(numbers))
        keys.sort()
        ordered, order = (keys >> 32).astype(np.int32), keys & 0xFFFFFFFF
        is_first = np.ones(len(ordered), bool)
        np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
        place_of = np.cumsum(is_first, dtype=np.int32) - np.int32(1)
        # What is no row is behind the last one that there is room for.
        place_of[np.searchsorted(ordered, self.num_rows) :] = self.size
        places = np.empty_like(place_of)
        places[order] = place_of
        rows = ordered[is_first]
        stops = np.cumsum([len(array) for array in arrays])
        return rows[: np.searchsorted(rows, self.num_rows)], np.split(places, stops[:-1]) if arrays else []


@dataclasses.dataclass(frozen=True, slots=True)
class RowTable:
    """A variable of which a step is given the rows that it looks up.

    Attributes:
        shards: Where it is.
        space: Which of the step's row spaces has its rows.
        row: The shape of a row.
        dtype: Its dtype's name.
    """

    shards: tuple[ServerShard, ...]
    space: int
    row: tuple[int, ...]
    dtype: str


@dataclasses.dataclass(frozen=True, slots=True)
class Lookups:
    """What a step looks up by rows.

    Attributes:
        spaces: Its row spaces.
        needed: Which of its inputs and arguments row numbers follow from.
    """

    spaces: tuple[RowSpace, ...] = ()
    needed: tuple[int, ...] = ()


def pull_inputs(
    puller: Puller,
    inputs: list[Any],
    arguments: Sequence[Any],
    variables: Mapping[int, tuple[ServerShard, ...]],
    tables: Mapping[int, RowTable],
    lookups: Lookups,
    find: Callable[..., Sequence[Any]] | None,
) -> list[np.ndarray]:
    """Pull what a step needs of servers, in one round trip if row numbers follow from no variable there.

    Args:
        puller: Asks the servers.
        inputs: The step's inputs. Those that are pulled are put in their places, and where looked-up rows are among the
            pulled ones comes behind all of them.
        arguments: Its arguments.
        variables: The inputs that are variables, pulled as a whole.
        tables: Those of which rows are pulled.
        lookups: What is looked up.
        find: Gives arrays of row numbers, of what they follow from; None where nothing is looked up.

    Returns:
        The rows of each row space.
    """
    first = {place: variables[place] for place in lookups.needed if place in variables}
    if first:
        for place, value in zip(first, puller.pull(list(first.values())), strict=True):
            inputs[place] = value
    given = [*inputs, *arguments]
    found = [] if find is None else find(*[given[index] for index in lookups.needed])
    compacted = [space.compact(found) for space in lookups.spaces]
    rest = {place: shards for place, shards in variables.items() if place not in first}
    values, pieces = puller.pull_with_rows(
        list(rest.values()), [(table.shards, compacted[table.space][0]) for table in tables.values()]
    )
    for place, value in zip(rest, values, strict=True):
        inputs[place] = value
    for (place, table), parts in zip(tables.items(), pieces, strict=True):
        inputs[place] = _fill(parts, lookups.spaces[table.space].size, table)
    inputs += [places for _, own in compacted for places in own]
    return [rows for rows, _ in compacted]


def _fill(parts: Sequence[np.ndarray], size: int, table: RowTable) -> np.ndarray:
    """Return rows one behind another, with zeros where there is room for more."""
    value = np.empty((size, *table.row), np.dtype(table.dtype))
    position = 0
    for part in parts:
        value[position : position + len(part)] = part
        position += len(part)
    value[position:] = 0
    return value
