"""Strings that come again and again: what columns make of each is computed once (feature_column layer)."""

import threading
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

# A feature with more different strings, such as names of users, would fill memory, and few of them come again.
_MOST_KEPT = 2**16
_FIRST_ROOM = 64


class Codes:
    """Numbers the different strings of a feature in the order in which they come.

    Args:
        most: After so many it begins anew.
    """

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._strings = _Strings()

    def of(self, array: np.ndarray) -> "Coded":
        """Return the codes of an array of strings.

        Args:
            array: Of dtype `object`, of any shape.
        """
        values = array.reshape(-1).tolist()
        # Preparing threads of several inputs may be here.
        with self._lock:
            # Begun anew: arrays that were coded before keep the old strings.
            if len(self._strings) > self._most:
                self._strings = _Strings()
            strings = self._strings
            codes = np.fromiter(map(strings.__getitem__, values), np.intp, len(values))
        return Coded(strings, codes.reshape(array.shape), self._lock)


class Coded:
    """An array of strings as codes.

    Args:
        strings: The strings that have them.
        codes: The codes.
        lock: Held while more is noted of the strings.
    """

    def __init__(self, strings: "_Strings", codes: np.ndarray, lock: threading.Lock) -> None:
        self._strings = strings
        self._codes = codes
        self._lock = lock

    def map_strings(self, key: Hashable, compute: Callable[[list[Any]], np.ndarray]) -> np.ndarray:
        """Return what a function makes of each string, in the shape of the array.

        Args:
            key: What the function is known by.
            compute: From different strings to an array with one number for each. Called with those that are new.
        """
        with self._lock:
            table = self._strings.table(key, compute)
        # Outside of the lock: tables only grow behind the codes that this array has.
        found: np.ndarray = table.take(self._codes)
        return found


class _Strings(dict[Any, int]):
    """Strings with their codes, and tables of what was made of them, by code."""

    def __init__(self) -> None:
        super().__init__()
        self._listed: list[Any] = []
        # By what makes them, with how many numbers have been made.
        self._tables: dict[Hashable, tuple[np.ndarray, int]] = {}

    def __missing__(self, string: object) -> int:
        # Called by `dict` for what it does not have, so that known strings never leave C.
        code = self[string] = len(self._listed)
        self._listed.append(string)
        return code

    def table(self, key: Hashable, compute: Callable[[list[Any]], np.ndarray]) -> np.ndarray:
        """Return the numbers of all strings, and make those that are missing."""
        table, count = self._tables.get(key, (None, 0))
        total = len(self._listed)
        if table is None or count < total:
            made = compute(self._listed[count:])
            if table is None or len(table) < total:
                # Twice the room each time: as many copies as doublings. Older arrays stay as they are for whoever reads
                # them.
                room = np.zeros(max(_FIRST_ROOM, 2 * total), made.dtype)
                if table is not None:
                    room[:count] = table[:count]
                table = room
            table[count:total] = made
            self._tables[key] = table, total
        return table
