"""Giving live variables the values of a checkpoint, now or when they exist (checkpoint layer)."""

import dataclasses
import itertools
import logging
import weakref
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import _graph, _keras_hooks, _store, _together
from stratax.core import host, regions, storage

_logger = logging.getLogger("stratax")
_LISTED = 12
# What a checkpoint may have or not, because Stratax itself puts it there.
OPTIONAL = frozenset({"save_counter", "preemption_run_calls"})

# A key path, the variable or iterator there, and the key of its value in the checkpoint; None where it has none.
_Pair = tuple[str, Any, str | None]


class Restoration:
    """A checkpoint that is restored into what is below an object.

    Args:
        root: The object.
        index: The checkpoint.
        slots: Whether the slots of optimizers are given their values.
    """

    def __init__(self, root: _graph.Trackable, index: _store.Index, *, slots: bool = True) -> None:
        if not slots:
            shapes = {key: shape for key, shape in index.shapes.items() if _graph.SLOT not in key}
            index = dataclasses.replace(index, shapes=shapes)
        self._root = root
        self._index = index
        self._slots = slots
        # By id, with the objects, whose ids are theirs as long as they live.
        self._given: dict[int, Any] = {}
        self._left: set[str] = {*index.shapes, *index.inputs}
        self._kept: dict[str, np.ndarray | storage.HostParts] = {}
        self._notice = _Notice()
        # Of an object of its own: a finalizer that held this one would keep it alive.
        weakref.finalize(self, self._notice.warn)

    @property
    def left(self) -> list[str]:
        """The key paths of the saved values that nothing has taken yet."""
        return sorted(self._left - OPTIONAL)

    @property
    def num_given(self) -> int:
        """How many variables and iterators have got their value."""
        return len(self._given)

    @property
    def random(self) -> list[dict[str, Any]] | None:
        """The states of the random generators, which the caller of the restoration sets."""
        return self._index.random

    def start(self, *, partial: bool) -> None:
        """Give everything that exists its value, or nothing if it does not match.

        Args:
            partial: Whether variables and values may be left over.

        Raises:
            RestoreError: If a variable has no value, a value can have no variable, or they are not alike.
        """
        graph = _graph.find(self._root)
        pairs = list(self._pairs(graph))
        if not partial:
            self._check_complete(graph, pairs)
        # All of it before anything is given: the files may be gone when the rest is wanted, or replaced meanwhile.
        # Of what devices have in parts only these. What nobody has yet is kept whole.
        parts = self._find_parts({key: thing for _, thing, key in pairs if key})
        self._kept = _store.read_arrays(self._index, self._index.shapes, parts)
        self._give(pairs)
        if self._left:
            _keras_hooks.install()
            # Before this one waits: two restorations must not give the same variable different values.
            self._take_over()
            host.wait(self)
        self._note()

    def settle(self) -> bool:
        """Give what has come to exist since its value; return whether no value is left."""
        # Found anew: what has come to exist is known only by walking the objects.
        if self._left:
            self._give(self._pairs(_graph.find(self._root)))
            self._note()
        return not self._left

    def find_unmatched(self) -> list[str]:
        """Return the key paths of live variables and iterators that have no value in the checkpoint."""
        graph = _graph.find(self._root)
        return sorted(self._without_value(self._pairs(graph)))

    def _without_value(self, pairs: Iterable[_Pair]) -> list[str]:
        key_paths = (key_path for key_path, _, key in pairs if key is None and key_path not in OPTIONAL)
        return [key_path for key_path in key_paths if self._slots or _graph.SLOT not in key_path]

    def expect_partial(self) -> None:
        """Say nothing of values that are left at the end."""
        self._notice.is_silent = True

    def _take_over(self) -> None:
        """Forget what earlier restorations keep for the same things: it would be replaced as soon as it is given."""
        for other in host.waiting():
            if isinstance(other, Restoration) and self._replaces(other):
                other.forget()

    def _replaces(self, other: "Restoration") -> bool:
        held, theirs = self._root.children(), other._root.children()
        return (
            # Only one that waits for nothing else: its other values would be lost.
            other._left <= self._left
            and other._root.merged() is self._root.merged()
            and all(held.get(name) is thing for name, thing in theirs.items() if name not in OPTIONAL)
        )

    def forget(self) -> None:
        """Give no more values: another checkpoint is restored."""
        host.forget(self)
        self._notice.warn()

    def _pairs(self, graph: _graph.ObjectGraph) -> Iterator[_Pair]:
        others = by_first(graph.aliases)
        for key_path, thing in itertools.chain(graph.variables.items(), graph.inputs.items()):
            yield key_path, thing, self._key_of(key_path, others)

    def _key_of(self, key_path: str, others: Mapping[str, Sequence[str]]) -> str | None:
        # The first path to an object may be another in this program than in the one that saved.
        for candidate in candidates(key_path, others):
            key = _resolve(candidate, self._index.aliases)
            if key in self._index.shapes or key in self._index.inputs:
                return key
        return None

    def _give(self, found: Iterable[_Pair]) -> None:
        pairs = [
            (key_path, thing, key) for key_path, thing, key in found if key and id(thing) not in self._given
        ]
        variables = {key: thing for key_path, thing, key in pairs if isinstance(thing, keras.Variable)}
        inputs = {key: thing for key_path, thing, key in pairs if not isinstance(thing, keras.Variable)}
        # Everything is checked before anything is given.
        self._check_alike(pairs)
        values = {key: self._kept[key] for key in variables if key in self._kept}
        # What was given already may be wanted again, by a variable that has taken another's place.
        again = {key: thing for key, thing in variables.items() if key not in values}
        values |= _store.read_arrays(self._index, again, self._find_parts(again))
        # Input first, which can fail; assigning a checked value can't.
        for key, iterator in inputs.items():
            iterator.set_state(self._position(key))
        self._given |= {id(thing): thing for _, thing, _ in pairs}
        self._left -= {*variables, *inputs}
        # Values that are in use need not stay in memory.
        self._kept = {key: value for key, value in self._kept.items() if key in self._left}
        _set(list(variables.values()), [values.pop(key) for key in variables])

    def _find_parts(self, things: Mapping[str, Any]) -> dict[str, Sequence[storage.Bounds]]:
        """Return where the parts lie that this process has of variables, by their keys; whole ones are left out."""
        found: dict[str, Sequence[storage.Bounds]] = {}
        for key, thing in things.items():
            value = storage.find_divided(thing) if isinstance(thing, keras.Variable) else None
            # Of another shape it is refused when all have been looked at.
            if value is not None and self._index.shapes.get(key) == value.shape:
                found[key] = storage.find_own_indices(value.sharding, value.shape)
        return found

    def _position(self, key: str) -> dict[str, Any]:
        states = self._index.inputs[key]
        if all(state.get("readers") == 1 for state in states):
            # All tasks read the same, so they go on from one place: they may have noted different ones.
            return states[0]
        if (state := _together.own(states)) is not None:
            return state
        raise errors.DataError(
            f"The input {shown(key)} was read by {len(states)} tasks, each at a position of its own, which says "
            "nothing of "
            f"what {_together.num_processes()} tasks are to read. Restore with as many tasks, or distribute a dataset "
            "that every task reads whole (arrays in memory), whose position is the same for any number. "
            f"Received: path={shown(str(self._index.folder))}."
        )

    def _check_alike(self, pairs: Iterable[tuple[str, Any, str]]) -> None:
        wrong = [found for key_path, thing, key in pairs if (found := self._difference(key_path, thing, key))]
        if wrong:
            raise errors.RestoreError(
                "Variables and their saved values are not alike; nothing was restored. Expected: the shapes and dtypes "
                f"of the model that was saved. Received: {listing(wrong)} in {shown(str(self._index.folder))}."
            )

    def _difference(self, key_path: str, thing: Any, key: str) -> str:
        is_variable = isinstance(thing, keras.Variable)
        if is_variable != (key in self._index.shapes):
            return f"{key_path} is {'a variable' if is_variable else 'an iterator'}, the value is of the other kind"
        if not is_variable:
            return ""
        # On a device int64 is int32, unless JAX is told otherwise.
        dtype = jax.dtypes.canonicalize_dtype(_store.dtype_of(keras.backend.standardize_dtype(thing._dtype)))
        expected = (tuple(thing.shape), dtype.name)
        saved = (self._index.shapes[key], self._index.dtypes[key])
        return "" if expected == saved else f"{key_path} is {_spec(expected)}, its value is {_spec(saved)}"

    def _check_complete(self, graph: _graph.ObjectGraph, pairs: Sequence[_Pair]) -> None:
        without_value = self._without_value(pairs)
        taken = {key for _, _, key in pairs}
        there = self._resolve_all(
            itertools.chain(graph.variables, graph.inputs, graph.complete, graph.owners)
        )
        complete = self._resolve_all(graph.complete)
        orphans = [key for key in self.left if key not in taken and _can_not_come(key, there, complete)]
        if not without_value and not orphans:
            return
        raise errors.RestoreError(
            "The checkpoint and the objects do not match, by their structure (not by their names); nothing was "
            f"restored. Expected: the objects that were saved. Received: variables without a value: "
            f"{listing(without_value)}; values without a variable: {listing(orphans)}; in "
            f"{shown(str(self._index.folder))}. To restore what matches, pass "
            "options=stratax.train.CheckpointOptions(expect_partial=True)."
        )

    def _resolve_all(self, key_paths: Iterable[str]) -> set[str]:
        """Return key paths as they were saved."""
        return {_resolve(key_path, self._index.aliases) for key_path in key_paths}

    def _note(self) -> None:
        self._notice.text = ""
        if self.left:
            self._notice.text = (
                f"Of the checkpoint {str(self._index.folder)!r}, no variable has taken {listing(self.left)}. Check it "
                "with status.assert_consumed(), or call status.expect_partial() if that is as it should be."
            )


class _Notice:
    """What is said of values that nothing took, at the end."""

    def __init__(self) -> None:
        self.text = ""
        self.is_silent = False

    def warn(self) -> None:
        """Warn once of what the checkpoint has no value for."""
        if self.text and not self.is_silent:
            _logger.warning("%s", self.text)
        self.text = ""


def _can_not_come(key: str, there: Container[str], complete: Container[str]) -> bool:
    """Return whether a value is of a layer or an optimizer that is built, without such a variable.

    Args:
        key: The value's key path.
        there: The key paths of what is there.
        complete: Those of it that will not get more variables.
    """
    owner = next(
        (key_path for key_path in _upwards(key.partition(_graph.SLOT)[0]) if key_path in there), None
    )
    # Something that is not built, or not there, may still get the variable.
    if owner is None or owner not in complete:
        return False
    rest = key[len(owner) :].lstrip("/")
    # A built model may be compiled later.
    return not rest.startswith("optimizer/")


def _upwards(key_path: str) -> Iterator[str]:
    """Return a key path and those of the objects that hold it, up to the root."""
    parts = key_path.split("/")
    return ("/".join(parts[:count]) for count in range(len(parts), -1, -1))


def by_first(aliases: Mapping[str, str]) -> dict[str, list[str]]:
    """Group the further key paths of an object by its first."""
    found: dict[str, list[str]] = {}
    for alias, first in aliases.items():
        found.setdefault(first, []).append(alias)
    return found


def candidates(key_path: str, others: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a key path and the others that lead to the same object."""
    before, slot, after = key_path.partition(_graph.SLOT)
    if slot:
        # A slot has two paths, the optimizer's and the variable's; each may have others.
        for first in candidates(before, others):
            yield from (f"{first}{slot}{second}" for second in candidates(after, others))
        return
    yield key_path
    for first in _upwards(key_path):
        for alias in others.get(first, ()):
            yield f"{alias}/{key_path[len(first) :].lstrip('/')}".rstrip("/")


def _resolve(key_path: str, aliases: Mapping[str, str]) -> str:
    """Return the first saved key path of what `key_path` leads to."""
    before, slot, after = key_path.partition(_graph.SLOT)
    if slot:
        return f"{_resolve(before, aliases)}{slot}{_resolve(after, aliases)}"
    found = ""
    for part in key_path.split("/"):
        found = f"{found}/{part}" if found else part
        # Resolved part by part, as an alias may lead to an object above.
        found = aliases.get(found, found)
    return found


def _set(variables: Sequence[keras.Variable], values: list[Any]) -> None:
    """Give variables values, where their arrays are now; also while a program is traced.

    The values are taken out of the list: what devices have, the host need not have any longer.
    """
    whole: list[keras.Variable] = []
    arrays: list[np.ndarray] = []
    # The variables themselves, not what a region carries of them.
    with regions.outside_scopes():
        for position, variable in enumerate(variables):
            value, values[position] = values[position], None
            if not storage.has_value(variable):
                regions.initialize(variable)
            if isinstance(value, storage.HostParts):
                storage.overwrite_parts(variable, value)
            else:
                whole.append(variable)
                arrays.append(value)
        storage.overwrite_all(whole, arrays)


def _spec(spec: tuple[tuple[int, ...], str]) -> str:
    return f"{spec[1]}{list(spec[0])}"


def listing(texts: list[str]) -> str:
    """Return the first few of some texts, and how many more there are."""
    shown = ", ".join(texts[:_LISTED])
    return (shown or "none") + (f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else "")
