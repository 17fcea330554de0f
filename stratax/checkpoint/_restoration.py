"""Giving live variables the values of a checkpoint, now or when they exist (checkpoint layer)."""

import itertools
import logging
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jax
import keras
import numpy as np

from stratax import errors
from stratax.checkpoint import _graph, _keras_hooks, _store, _together
from stratax.core import _arrivals, _capture, _placement

_logger = logging.getLogger("stratax")
_LISTED = 12
OPTIONAL = frozenset({"save_counter", "preemption_run_calls"})
"""What a checkpoint may have or not, because Stratax itself puts it there."""


class Restoration:
    """A checkpoint that is restored into what is below an object.

    Args:
        root: The object.
        index: The checkpoint.
    """

    def __init__(self, root: Any, index: _store.Index) -> None:
        self._root = root
        self._index = index
        self._given: dict[int, Any] = {}
        self._left: set[str] = {*index.shapes, *index.inputs}
        self._kept: dict[str, np.ndarray] = {}
        self._notice = _Notice()
        weakref.finalize(self, self._notice.warn)

    @property
    def left(self) -> list[str]:
        """The ways of the saved values that nothing has taken yet."""
        return sorted(self._left - OPTIONAL)

    @property
    def num_given(self) -> int:
        """How many variables and iterators have got their value."""
        return len(self._given)

    def start(self, *, partial: bool) -> None:
        """Gives everything that exists its value, or nothing if it does not match.

        Args:
            partial: Whether variables and values may be left over.

        Raises:
            RestoreError: If a variable has no value, a value can have no variable, or they are not alike.
        """
        graph = _graph.find(self._root)
        if not partial:
            self._check_complete(graph)
        self._give(graph)
        if self._left:
            # The files may be gone when these are wanted.
            self._kept = _store.read_arrays(self._index, self._left & self._index.shapes.keys())
            _keras_hooks.install()
            _arrivals.wait(self)
        self._note()

    def settle(self) -> bool:
        """Gives what has come to exist since its value; whether no value is left."""
        if self._left:
            self._give(_graph.find(self._root))
            self._note()
        return not self._left

    def unmatched(self) -> list[str]:
        """The ways of live variables and iterators that have no value in the checkpoint."""
        graph = _graph.find(self._root)
        return sorted(way for way, _, key in self._pairs(graph) if key is None and way not in OPTIONAL)

    def expect_partial(self) -> None:
        """Says nothing of values that are left at the end."""
        self._notice.is_silent = True

    def forget(self) -> None:
        """Gives no more values: another checkpoint is restored."""
        _arrivals.forget(self)
        self._notice.warn()

    def _pairs(self, graph: _graph.Graph) -> Iterator[tuple[str, Any, str | None]]:
        for way, thing in itertools.chain(graph.variables.items(), graph.inputs.items()):
            yield way, thing, self._key_of(way, graph)

    def _key_of(self, way: str, graph: _graph.Graph) -> str | None:
        for candidate in _candidates(way, graph.aliases):
            key = _resolved(candidate, self._index.aliases)
            if key in self._index.shapes or key in self._index.inputs:
                return key
        return None

    def _give(self, graph: _graph.Graph) -> None:
        pairs = [
            (way, thing, key)
            for way, thing, key in self._pairs(graph)
            if key and id(thing) not in self._given
        ]
        variables = {key: thing for way, thing, key in pairs if isinstance(thing, keras.Variable)}
        inputs = {key: thing for way, thing, key in pairs if not isinstance(thing, keras.Variable)}
        self._check_alike(pairs)
        values = {key: self._kept[key] for key in variables if key in self._kept}
        values |= _store.read_arrays(self._index, variables.keys() - values.keys())
        for key, iterator in inputs.items():
            iterator.set_state(self._position(key))
        for key, variable in variables.items():
            _set(variable, values[key])
        self._given |= {id(thing): thing for _, thing, _ in pairs}
        self._left -= {*variables, *inputs}
        self._kept = {key: value for key, value in self._kept.items() if key in self._left}

    def _position(self, key: str) -> dict[str, Any]:
        states = self._index.inputs[key]
        if len(states) == 1:
            return states[0]
        if len(states) == _together.num_processes():
            return states[_together.process_index()]
        raise errors.DataError(
            f"The input {key!r} was read by {len(states)} tasks, each at a position of its own, which says nothing of "
            f"what {_together.num_processes()} tasks are to read. Restore with as many tasks, or distribute a dataset "
            "that every task reads whole (arrays in memory), whose position is the same for any number. "
            f" Received: path={str(self._index.folder)!r}."
        )

    def _check_alike(self, pairs: Iterable[tuple[str, Any, str]]) -> None:
        wrong = [found for way, thing, key in pairs if (found := self._difference(way, thing, key))]
        if wrong:
            raise errors.RestoreError(
                "Variables and their saved values are not alike; nothing was restored. Expected: the shapes and dtypes "
                f"of the model that was saved. Received: {_listing(wrong)} in {str(self._index.folder)!r}."
            )

    def _difference(self, way: str, thing: Any, key: str) -> str:
        is_variable = isinstance(thing, keras.Variable)
        if is_variable != (key in self._index.shapes):
            return (
                f"{way} is {'a variable' if is_variable else 'an iterator'}, the value is of the other kind"
            )
        if not is_variable:
            return ""
        expected = (tuple(thing.shape), keras.backend.standardize_dtype(thing._dtype))
        saved = (self._index.shapes[key], self._index.dtypes[key])
        return "" if expected == saved else f"{way} is {_spec(expected)}, its value is {_spec(saved)}"

    def _check_complete(self, graph: _graph.Graph) -> None:
        pairs = list(self._pairs(graph))
        without_value = [way for way, _, key in pairs if key is None and way not in OPTIONAL]
        taken = {key for _, _, key in pairs}
        orphans = [key for key in self.left if key not in taken and self._can_not_come(key, graph)]
        if not without_value and not orphans:
            return
        raise errors.RestoreError(
            "The checkpoint and the objects do not match, by their structure (not by their names); nothing was "
            f"restored. Expected: the objects that were saved. Received: variables without a value: "
            f"{_listing(without_value)}; values without a variable: {_listing(orphans)}; in "
            f"{str(self._index.folder)!r}. To restore what matches, pass "
            "options=stratax.train.CheckpointOptions(expect_partial=True)."
        )

    def _can_not_come(self, key: str, graph: _graph.Graph) -> bool:
        """Whether a value is of a layer or an optimizer that is built, without such a variable."""
        complete = {_resolved(way, self._index.aliases) for way in graph.complete}
        own = key.partition(_graph.SLOT)[0].split("/")
        above = ["/".join(own[:count]) for count in range(len(own), -1, -1)]
        owner = next((way for way in above if way in self._known(graph)), None)
        if owner is None or owner not in complete:
            return False
        rest = key[len(owner) :].lstrip("/")
        return not rest.startswith("optimizer/")

    def _known(self, graph: _graph.Graph) -> set[str]:
        """The ways, as they were saved, of the things that are there: what is below a thing that is not, is not."""
        ways: set[str] = set()
        for way in [*graph.variables, *graph.inputs, *graph.complete, *graph.owners]:
            ways.add(_resolved(way, self._index.aliases))
        return ways

    def _note(self) -> None:
        self._notice.text = ""
        if self.left:
            self._notice.text = (
                f"Of the checkpoint {str(self._index.folder)!r}, no variable has taken {_listing(self.left)}. Check it "
                "with status.assert_consumed(), or call status.expect_partial() if that is as it should be."
            )


class _Notice:
    """What is said of values that nothing took, at the end."""

    def __init__(self) -> None:
        self.text = ""
        self.is_silent = False

    def warn(self) -> None:
        """Says it, once."""
        if self.text and not self.is_silent:
            _logger.warning("%s", self.text)
        self.text = ""


def _candidates(way: str, aliases: Mapping[str, str]) -> Iterator[str]:
    """A way, and the others that lead to the same."""
    before, slot, after = way.partition(_graph.SLOT)
    if slot:
        for first in _candidates(before, aliases):
            yield from (f"{first}{slot}{second}" for second in _candidates(after, aliases))
        return
    yield way
    for alias, first in aliases.items():
        if way == first or way.startswith(f"{first}/") or not first:
            yield f"{alias}/{way[len(first) :].lstrip('/')}".rstrip("/")


def _resolved(way: str, aliases: Mapping[str, str]) -> str:
    """The first way to what `way` leads to, in what was saved."""
    before, slot, after = way.partition(_graph.SLOT)
    if slot:
        return f"{_resolved(before, aliases)}{slot}{_resolved(after, aliases)}"
    found = ""
    for part in way.split("/"):
        found = f"{found}/{part}" if found else part
        found = aliases.get(found, found)
    return found


def _set(variable: keras.Variable, value: np.ndarray) -> None:
    """Gives a variable a value, where its array is now; also while a program is traced."""
    with _capture.outside_scopes():
        if variable._value is None:
            _capture.initialize(variable)
        old = variable._value
        variable._value = _placement.place(value, old.sharding) if _is_placed(old) else jax.device_put(value)


def _is_placed(array: Any) -> bool:
    return not array.is_fully_addressable or len(array.devices()) > 1 or bool(array.committed)


def _spec(spec: tuple[tuple[int, ...], str]) -> str:
    return f"{spec[1]}{list(spec[0])}"


def _listing(texts: list[str]) -> str:
    shown = ", ".join(texts[:_LISTED])
    return (shown or "none") + (f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else "")
