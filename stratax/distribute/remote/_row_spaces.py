"""Rows of large variables that a step looks up, and how they are pulled (distribute layer).

A step that uses a variable only by looking up rows computes with a small array of these rows instead: in *row space*.
Which rows they are, a program computes from the step's other inputs before the step itself runs.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from stratax.distribute.remote._layout import Shard
from stratax.distribute.remote._pull import Puller


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

    def rows_of(self, found: Sequence[np.ndarray]) -> np.ndarray:
        """Return the rows, each once, in order; numbers of no row are left out.

        Args:
            found: What was computed: arrays of row numbers.
        """
        numbers = np.unique(np.concatenate([np.asarray(found[index]) for index in self.ids] or [_NO_ROWS]))
        return numbers[: np.searchsorted(numbers, self.num_rows)]

    def padded(self, rows: np.ndarray) -> np.ndarray:
        """Return rows as a step is given them: as many as there is room for, of which the last are none."""
        return np.concatenate([rows, np.full(self.size - len(rows), self.num_rows, np.int32)])


_NO_ROWS = np.zeros(0, np.int32)


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """A variable of which a step is given the rows that it looks up.

    Attributes:
        shards: Where it is.
        space: Which of the step's row spaces has its rows.
        row: The shape of a row.
        dtype: Its dtype's name.
    """

    shards: tuple[Shard, ...]
    space: int
    row: tuple[int, ...]
    dtype: str


def pull_rows(
    puller: Puller, spaces: Sequence[RowSpace], tables: Sequence[Table], found: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Pull the rows that a step looks up.

    Args:
        puller: Asks the servers.
        spaces: The step's row spaces.
        tables: The variables.
        found: What was computed before the step: arrays of row numbers.

    Returns:
        For each space its rows; and for each variable an array of these, filled up with zeros.
    """
    rows = [space.rows_of(found) for space in spaces]
    parts = iter(puller.pull_rows([(table.shards, rows[table.space]) for table in tables]))
    values = []
    for table in tables:
        value = np.zeros((spaces[table.space].size, *table.row), np.dtype(_dtype_of(table.dtype)))
        position = 0
        for part in next(parts):
            value[position : position + len(part)] = part
            position += len(part)
        values.append(value)
    return rows, values


def _dtype_of(name: str) -> np.dtype:
    # `ml_dtypes` adds names to NumPy's when it is imported, as JAX does.
    return np.dtype(name)
