"""TensorFlow's checkpoints made into those of Stratax: which value is which variable's (checkpoint layer).

A value finds its variable by what the user says, by its place among the objects, or by its name, in this order. What
is not the same in both is left out and reported, never guessed.
"""

import collections
import dataclasses
import os
import pathlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import saving
from stratax.core.storage import HostParts
from stratax.tensorflow.checkpoints import _tensorflow
from stratax.tensorflow.checkpoints._matches import AS_ASKED, Matches, unique
from stratax.tensorflow.checkpoints._tensorflow_objects import Objects, is_seed

MATCHED, MISSING, UNEXPECTED, DIFFERENT, KEPT = "matched", "missing", "unexpected", "different", "kept"
STATUSES = (MATCHED, KEPT, DIFFERENT, MISSING, UNEXPECTED)
_ENDING = "/.ATTRIBUTES/VARIABLE_VALUE"
_COUNTER = "save_counter"
_COPIES = "_all_variables/"
# How many checkpoints a message names.
_NAMED = 5
# What the names of the files of a checkpoint end in.
_PART = re.compile(r"\.(index|meta|data-\d{5}-of-\d{5})$")

# Of variables that devices have in parts, these.
_Array = np.ndarray | HostParts


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ConversionRow:
    """What became of a value, or of a variable.

    Attributes:
        status: One of `STATUSES`.
        name: Its name in TensorFlow's checkpoint; None where it has no such value.
        key: Its key there; None likewise.
        here: Its key here; None where there is no such variable.
        shape: The value's shape, or the variable's where there is no value.
        dtype: Its dtype, likewise.
        here_shape: The variable's shape; None where there is none.
        here_dtype: Its dtype, likewise.
        why: How it was matched, or why it was not.
    """

    status: str
    name: str | None = None
    key: str | None = None
    here: str | None = None
    shape: tuple[int, ...]
    dtype: str
    here_shape: tuple[int, ...] | None = None
    here_dtype: str | None = None
    why: str


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What a conversion found.

    Attributes:
        source: TensorFlow's checkpoint.
        rows: Its values, and the variables that have none.
        contents: What the checkpoint of Stratax holds.
    """

    source: str
    rows: list[ConversionRow]
    contents: saving.Contents

    @property
    def totals(self) -> dict[str, int]:
        """How many rows have each status."""
        counts = collections.Counter(row.status for row in self.rows)
        return {status: counts[status] for status in STATUSES}

    @property
    def is_complete(self) -> bool:
        """Whether every variable has its value."""
        return not (self.totals[MISSING] or self.totals[DIFFERENT])


def source_of(path: str | os.PathLike[str]) -> _tensorflow.Bundle:
    """Open what is to be converted.

    Args:
        path: A checkpoint of TensorFlow, a folder whose latest is meant, or a SavedModel's folder.

    Raises:
        FileMissingError: If there is none.
        DataLossError: If it is damaged.
        FileAccessError: If it may not be read.
    """
    place = saving.locate(path)
    # One of the files of a checkpoint stands for it.
    whole = place.with_name(_PART.sub("", place.name))
    if whole != place and place.is_file() and _tensorflow.is_written_by_tensorflow(whole):
        place = whole
    if (place / "saved_model.pb").is_file() or (place / "saved_model.pbtxt").is_file():
        place = place / "variables" / "variables"
        if not _tensorflow.is_written_by_tensorflow(place):
            raise errors.FileMissingError(
                f"The SavedModel has no variables. Received: {shown(os.fspath(path))}, without the file "
                "variables/variables.index."
            )
        return _tensorflow.Bundle(place)
    if _tensorflow.is_written_by_tensorflow(place):
        return _tensorflow.Bundle(place)
    if found := _tensorflow.list_checkpoints(place):
        return _tensorflow.Bundle(found[-1])
    raise _no_source(place)


def _no_source(place: pathlib.Path) -> errors.StrataxError:
    if place.is_file():
        return errors.DataLossError(
            "This is no checkpoint of TensorFlow, or one that was cut off. Expected: the path that Saver.save or "
            f"Checkpoint.save returned, without '.index' or '.data-...'. Received: {shown(os.fspath(place))}.",
            filename=os.fspath(place),
        )
    if saving.checkpoint_exists(place) or (place.is_dir() and saving.complete_checkpoints(place)):
        return errors.BadArgumentError(
            f"This is a checkpoint of Stratax, which needs no conversion. Received: {shown(os.fspath(place))}."
        )
    what = "a folder without a file 'checkpoint' that names one" if place.is_dir() else "nothing of this name"
    folder = place if place.is_dir() else place.parent
    near = sorted(path.name.removesuffix(".index") for path in folder.glob("*.index"))
    there = f" There are: {', '.join(near[:_NAMED])}." if near else ""
    return errors.FileMissingError(
        "There is no checkpoint of TensorFlow. Expected: its path, such as model.ckpt-10 for model.ckpt-10.index, a "
        f"folder of checkpoints, or a SavedModel. Received: {shown(os.fspath(place))}: {what}.{there}"
    )


def convert(
    source: _tensorflow.Bundle, target: saving.Contents | None, names: Mapping[str, str] | None = None
) -> Report:
    """Find the value of each variable.

    Args:
        source: TensorFlow's checkpoint.
        target: The variables, with the values that they have now; None takes all values as they are, by the names or
            the places of their variables.
        names: New names of values, or of scopes, which end in a slash, by their old ones.

    Raises:
        BadArgumentError: If a name in `names` is not there.
        DataLossError: If the checkpoint is damaged.
    """
    conversion = _Conversion(source, names or {})
    return conversion.all_values() if target is None else conversion.values_of(target)


def write(path: str | os.PathLike[str], report: Report) -> None:
    """Write what a conversion gives, whole or not at all.

    Args:
        path: The checkpoint's path.
        report: The conversion.

    Raises:
        CheckpointError: If it can't be written.
    """
    saving.write(saving.absolute(path), report.contents)


class _Conversion:
    def __init__(self, source: _tensorflow.Bundle, names: Mapping[str, str]) -> None:
        self._source = source
        self._objects = Objects(source.nodes) if source.nodes else None
        self._key_paths: dict[str, str] = {}
        if self._objects is not None:
            self._key_paths = {
                self._objects.key(number) or "": path for number, path in self._objects.key_paths().items()
            }
        # What Keras 3 exports has a second copy of everything.
        has_copies = any(key.startswith("variables/") for key in source.shapes)
        self._keys = [key for key in source.shapes if not (has_copies and key.startswith(_COPIES))]
        # A name that several have is nobody's.
        names_by_key = {key: self._own_name(key) for key in self._keys}
        self._by_name = unique(names_by_key) | {key: key for key in self._keys}
        # The keys that each of the names is asked for.
        self._asked: dict[str, list[str]] = {}
        self._renamed = self._resolve(names)

    def _own_name(self, key: str) -> str:
        return self._source.names.get(key, key)

    def _resolve(self, names: Mapping[str, str]) -> dict[str, str]:
        """Return the new names that were asked for, by key."""
        found: dict[str, str] = {}
        for old, new in names.items():
            if old.endswith("/") != new.endswith("/"):
                raise errors.BadArgumentError(
                    "A scope is given the name of a scope. Expected: old/=new/ or old=new, with '/' as the root. "
                    f"Received: {shown(f'{old}={new}')}."
                )
            fitting = {
                key: target for key in self._keys if (target := self._new_name(key, old, new)) is not None
            }
            if not fitting:
                raise errors.BadArgumentError(
                    f"The checkpoint has no such name, of a value or a scope. Received: {shown(old)}. Expected: one of "
                    f"{shown(sorted(map(self._own_name, self._keys)))}."
                )
            self._asked[f"{old}={new}"] = list(fitting)
            # An exact name counts more than a scope, and a longer scope more than a shorter.
            found = {**fitting, **found} if old.endswith("/") else {**found, **fitting}
        return found

    def _new_name(self, key: str, old: str, new: str) -> str | None:
        own = {self._own_name(key), key, key.removesuffix(_ENDING), self._key_paths.get(key, key)}
        if not old.endswith("/"):
            return new if old in own else None
        before, after = ("" if each == "/" else each for each in (old, new))
        return next((after + each[len(before) :] for each in sorted(own) if each.startswith(before)), None)

    def all_values(self) -> Report:
        """Take all values."""
        rows, arrays, names = [], {}, {}
        used: dict[str, str] = {}
        for key in self._keys:
            here, why = self._place(key)
            if here is None:
                rows.append(self._row(UNEXPECTED, key, why="it is no variable of a model or an optimizer"))
            elif here in used:
                raise errors.BadArgumentError(
                    f"Two values get the same name. Received: {shown(here)} for {shown(used[here])} and {shown(key)}."
                )
            elif (reason := self._refusal(key)) is not None:
                rows.append(self._row(UNEXPECTED, key, why=reason))
            else:
                used[here] = key
                arrays[here] = _as_here(self._source.read(key))
                names[here] = self._own_name(key)
                array = arrays[here]
                rows.append(
                    self._row(
                        MATCHED, key, here=here, here_shape=array.shape, here_dtype=array.dtype.name, why=why
                    )
                )
        if not arrays:
            raise errors.BadArgumentError(
                "The checkpoint has no value that a variable could hold. Expected: one of a model, an optimizer or a "
                f"Saver. Received: {shown(self._source.path)}, with {len(self._keys)} others."
            )
        return self._report(rows, arrays, names, {})

    def _place(self, key: str) -> tuple[str | None, str]:
        """Return a value's key where there is no target, and why it is this."""
        if key in self._renamed:
            return self._renamed[key], AS_ASKED
        if self._objects is None:
            return key, "by name"
        if key in self._key_paths:
            return self._key_paths[key], "by structure"
        name = self._own_name(key)
        # What Keras 3 exports has no structure.
        is_named = key.startswith("variables/") and self._by_name.get(name) == key
        return (name if is_named else None), "by name"

    def _refusal(self, key: str) -> str | None:
        if self._source.dtypes[key] == np.dtype(object):
            return "it is text, or of a dtype that no variable has"
        return None

    def values_of(self, target: saving.Contents) -> Report:
        """Give the variables of a target their values."""
        found = Matches(self._source, self._objects, self._by_name, self._renamed, target)
        matches = found.found
        self._check_asked({key for key, why in matches.values() if why == AS_ASKED})
        rows: list[ConversionRow] = []
        arrays: dict[str, _Array] = {}
        fresh = _fresh_optimizers(target, matches) - found.other_optimizers
        for here, own in target.arrays.items():
            key, why = matches.get(here, (None, ""))
            if key is None:
                status, why = _reason(here, target.names.get(here, here), fresh, found.other_optimizers)
                if status == KEPT:
                    arrays[here] = own
                size: dict[str, Any] = {"shape": own.shape, "here_shape": own.shape}
                kind: dict[str, Any] = {"dtype": own.dtype.name, "here_dtype": own.dtype.name}
                rows.append(ConversionRow(status=status, here=here, why=why, **size, **kind))
                continue
            made = self._like(key, own)
            if isinstance(made, str):
                rows.append(self._row(DIFFERENT, key, here=here, like=own, why=made))
            else:
                arrays[here] = made
                rows.append(self._row(MATCHED, key, here=here, like=own, why=why))
        used = {key for key, _ in matches.values()}
        names, counter = dict(target.names), f"{_COUNTER}{_ENDING}"
        if _COUNTER not in target.arrays and counter in self._source.shapes:
            # So that further checkpoints are counted on.
            arrays[_COUNTER] = _as_here(self._source.read(counter))
            names[_COUNTER] = _COUNTER
            used.add(counter)
            rows.append(self._row(MATCHED, counter, here=_COUNTER, like=arrays[_COUNTER], why="by structure"))
        rows.extend(
            self._row(UNEXPECTED, key, why="no variable is its") for key in self._keys if key not in used
        )
        return self._report(rows, arrays, names, target.aliases)

    def _check_asked(self, given: set[str]) -> None:
        for asked, keys in self._asked.items():
            if not given.intersection(keys):
                raise errors.BadArgumentError(
                    "There is no variable of the name that a value was to have. Expected: the name of a variable, or "
                    f"its key, as the report lists them. Received: {shown(asked)}."
                )

    def _like(self, key: str, own: _Array) -> np.ndarray | str:
        """Return a value as a variable holds it; a reason if it can't."""
        shape, dtype = self._source.shapes[key], self._source.dtypes[key]
        if shape != own.shape:
            return f"its shape is {list(shape)}, the variable's {list(own.shape)}"
        is_whole = dtype.kind in "iub" and own.dtype.kind in "iub"
        if is_whole or (_is_float(dtype) and _is_float(own.dtype)) or dtype.kind == own.dtype.kind == "c":
            made = _cast(self._source.read(key), own.dtype)
            if made is not None:
                return made
        return f"its dtype is {_dtype_name(dtype)}, the variable's {own.dtype.name}, which can't hold it"

    def _row(
        self, status: str, key: str, *, here: str | None = None, like: _Array | None = None, **others: Any
    ) -> ConversionRow:
        if like is not None:
            others |= {"here_shape": like.shape, "here_dtype": like.dtype.name}
        return ConversionRow(
            status=status,
            name=self._own_name(key).removesuffix(_ENDING),
            key=key,
            here=here,
            shape=self._source.shapes[key],
            dtype=_dtype_name(self._source.dtypes[key]),
            **others,
        )

    def _report(
        self,
        rows: list[ConversionRow],
        arrays: Mapping[str, _Array],
        names: dict[str, str],
        aliases: dict[str, str],
    ) -> Report:
        contents = saving.Contents(
            arrays=arrays,
            names={key: names.get(key, key) for key in arrays},
            aliases=aliases,
            inputs={},
            random=None,
        )
        return Report(source=self._source.path, rows=rows, contents=contents)


def _fresh_optimizers(target: saving.Contents, matches: Mapping[str, Any]) -> set[str]:
    """Return the optimizers of which the checkpoint has nothing."""
    owners: dict[str, bool] = {}
    for here in target.arrays:
        before, slot, _ = here.partition(saving.SLOT)
        owner = before.rpartition("/")[0]
        if slot or (here.endswith("/iterations") and f"{owner}/learning_rate" in target.arrays):
            owners[owner] = owners.get(owner, False) or here in matches
    return {owner for owner, is_there in owners.items() if not is_there}


def _reason(here: str, name: str, fresh: Iterable[str], other: Iterable[str]) -> tuple[str, str]:
    """Return the status of a variable without a value, and why it is this."""
    if is_seed(name):
        return KEPT, "a random generator, which TensorFlow does not save"
    if any(here.startswith(f"{optimizer}/") for optimizer in other):
        return MISSING, "the checkpoint's optimizer is of another kind"
    if any(here.startswith(f"{optimizer}/") for optimizer in fresh):
        return KEPT, "the checkpoint has no such optimizer: as new"
    if here.endswith("optimizer/learning_rate"):
        return KEPT, "the checkpoint has no learning rate"
    if here in saving.OPTIONAL:
        return KEPT, "counted anew"
    return MISSING, "the checkpoint has no such value"


def _as_here(value: np.ndarray) -> np.ndarray:
    """Return a value with the dtype that a variable has here, where that loses nothing but digits."""
    made = _cast(value, np.dtype(jax.dtypes.canonicalize_dtype(value.dtype)))
    return value if made is None else made


def _cast(value: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """Return a value with another dtype; None if that changes whole numbers, or loses a number's size."""
    with np.errstate(over="ignore"):
        made = value.astype(dtype)
    if dtype.kind in "iub":
        return made if np.array_equal(made, value) else None
    return None if np.any(np.isfinite(value) & ~np.isfinite(made)) else made


def _is_float(dtype: np.dtype) -> bool:
    # The floats that NumPy does not have are of the kind V.
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def _dtype_name(dtype: np.dtype) -> str:
    return "string" if dtype == np.dtype(object) else dtype.name
