"""Values of the host from before a step until after it, as numbers of their rows (ops layer)."""

import itertools
import threading
from typing import Any

import numpy as np

# Rows have numbers of 32 bits.
_MOST_ROWS = 2**30


class Kept:
    """The values of a feature on the host, from before a step until after it.

    In the step each row is a number; so it follows its example wherever that is computed.

    Args:
        name: The feature.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        # By the number of their first row, in the order in which they were put in.
        self._blocks: dict[int, np.ndarray] = {}
        self._next = 0

    def put(self, batch: dict[str, Any]) -> dict[str, np.ndarray]:
        """Keep the values of a batch; return the numbers of its rows."""
        values = np.asarray(batch[self._name])
        with self._lock:
            # Numbers begin anew before int32 ends.
            if self._next + len(values) > _MOST_ROWS:
                self._next = 0
            start = self._next
            self._next += len(values)
            self._blocks[start] = values
        return {"rows": np.arange(start, start + len(values), dtype=np.int32)}

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return the values of rows, which are in the order of batches; forget those of the batches before."""
        with self._lock:
            starts = np.sort(np.fromiter(self._blocks, np.int64))
            # The block that begins last at or before each row.
            of_block = starts[np.searchsorted(starts, rows, "right") - 1]
            parts = [
                self._blocks[start][rows[of_block == start] - start]
                for start in dict.fromkeys(of_block.tolist())
            ]
            # Steps end in the order in which they began, so that older blocks are no longer asked for.
            for start in list(itertools.takewhile(lambda start: start != of_block[0], self._blocks)):
                del self._blocks[start]
        return np.concatenate(parts)
