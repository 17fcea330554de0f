"""TensorFlow's checkpoints made into those of Stratax: which value is which variable's (checkpoint layer).

A value finds its variable by what the user says, by its place among the objects, or by its name, in this order. What
is not the same in both is left out and reported, never guessed.
"""

import collections
import dataclasses
import functools
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax._shown import shown
from stratax.checkpoint import _folder, _graph, _restoration, _store, _tensorflow
from stratax.checkpoint._tensorflow_objects import Objects, is_seed

MATCHED, MISSING, UNEXPECTED, DIFFERENT, KEPT = "matched", "missing", "unexpected", "different", "kept"
STATUSES = (MATCHED, KEPT, DIFFERENT, MISSING, UNEXPECTED)
_ENDING = "/.ATTRIBUTES/VARIABLE_VALUE"
_COUNTER = "save_counter"
_COPIES = "_all_variables/"
# How TensorFlow 1's optimizers, and Keras 2's in an Estimator, name what they keep for a variable, behind its name.
# TensorFlow 1's `Momentum` is not here: it has no learning rate in it, and Keras' has.
_SLOT_NAMES = {
    "accumulated_delta_vars": ("Adadelta_1", "accum_var"),
    "accumulated_grads": ("Adadelta", "accum_grad"),
    "accumulators": ("Adagrad", "Ftrl", "accumulator"),
    "linears": ("Ftrl_1", "linear"),
    "m": ("m",),
    "momentums": ("Adam", "m", "momentum"),
    "u": ("v",),
    "velocities": ("Adam_1", "RMSProp", "v", "rms"),
    "velocity_hats": ("vhat",),
}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Row:
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
    rows: list[Row]
    contents: _store.Contents

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
    place = _folder.located(path)
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
    if found := _tensorflow.listed(place):
        return _tensorflow.Bundle(found[-1])
    raise _no_source(place)


def _no_source(place: pathlib.Path) -> errors.StrataxError:
    if place.is_file():
        return errors.DataLossError(
            "This is no checkpoint of TensorFlow, or one that was cut off. Expected: the path that Saver.save or "
            f"Checkpoint.save returned, without '.index' or '.data-...'. Received: {shown(os.fspath(place))}.",
            filename=os.fspath(place),
        )
    if _folder.checkpoint_exists(place) or (place.is_dir() and _folder.complete_checkpoints(place)):
        return errors.BadArgumentError(
            f"This is a checkpoint of Stratax, which needs no conversion. Received: {shown(os.fspath(place))}."
        )
    what = "a folder without a file 'checkpoint' that names one" if place.is_dir() else "nothing of this name"
    near = (
        sorted(path.name.removesuffix(".index") for path in place.glob("*.index")) if place.is_dir() else []
    )
    there = f" In it there are: {', '.join(near[:5])}." if near else ""
    return errors.FileMissingError(
        "There is no checkpoint of TensorFlow. Expected: its path, such as model.ckpt-10 for model.ckpt-10.index, a "
        f"folder of checkpoints, or a SavedModel. Received: {shown(os.fspath(place))}: {what}.{there}"
    )


def convert(
    source: _tensorflow.Bundle, target: _store.Contents | None, names: Mapping[str, str] | None = None
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
    _store.write(_folder.absolute(path), report.contents)


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
        self._by_name = _unique(names_by_key) | {key: key for key in self._keys}
        self._renamed = self._resolved(names)

    def _own_name(self, key: str) -> str:
        return self._source.names.get(key, key)

    def _resolved(self, names: Mapping[str, str]) -> dict[str, str]:
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
        return self._report(rows, arrays, names, {})

    def _place(self, key: str) -> tuple[str | None, str]:
        """Return a value's key where there is no target, and why it is this."""
        if key in self._renamed:
            return self._renamed[key], "as asked"
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

    def values_of(self, target: _store.Contents) -> Report:
        """Give the variables of a target their values."""
        matches = _Matches(self._source, self._objects, self._by_name, self._renamed, target).found
        rows, arrays = [], {}
        fresh = _fresh_optimizers(target, matches)
        for here, own in target.arrays.items():
            key, why = matches.get(here, (None, ""))
            if key is None:
                reason = _reason_to_keep(here, target.names.get(here, here), fresh)
                if reason is not None:
                    arrays[here] = own
                rows.append(
                    Row(
                        status=MISSING if reason is None else KEPT,
                        here=here,
                        shape=own.shape,
                        dtype=own.dtype.name,
                        here_shape=own.shape,
                        here_dtype=own.dtype.name,
                        why=reason or "the checkpoint has no such value",
                    )
                )
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

    def _like(self, key: str, own: np.ndarray) -> np.ndarray | str:
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
        self, status: str, key: str, *, here: str | None = None, like: np.ndarray | None = None, **others: Any
    ) -> Row:
        if like is not None:
            others |= {"here_shape": like.shape, "here_dtype": like.dtype.name}
        return Row(
            status=status,
            name=self._own_name(key).removesuffix(_ENDING),
            key=key,
            here=here,
            shape=self._source.shapes[key],
            dtype=_dtype_name(self._source.dtypes[key]),
            **others,
        )

    def _report(
        self, rows: list[Row], arrays: dict[str, np.ndarray], names: dict[str, str], aliases: dict[str, str]
    ) -> Report:
        contents = _store.Contents(
            arrays=arrays,
            names={key: names.get(key, key) for key in arrays},
            aliases=aliases,
            inputs={},
            random=None,
        )
        return Report(source=self._source.path, rows=rows, contents=contents)


class _Matches:
    """Which value is which variable's."""

    def __init__(
        self,
        source: _tensorflow.Bundle,
        objects: Objects | None,
        by_name: Mapping[str, str],
        renamed: Mapping[str, str],
        target: _store.Contents,
    ) -> None:
        self._source = source
        self._objects = objects
        self._by_name = by_name
        self._target = target
        self._others = _restoration.by_first(target.aliases)
        self.found: dict[str, tuple[str, str]] = {}
        self._used: set[str] = set()
        self._add_renamed(renamed)
        if objects is not None:
            self._add_by_structure(objects)
        self._add_by_name(renamed)
        self._add_slots_by_name()

    def _add(self, here: str, key: str, why: str) -> None:
        if here not in self.found and key not in self._used:
            self.found[here] = (key, why)
            self._used.add(key)

    def _add_renamed(self, renamed: Mapping[str, str]) -> None:
        names = _unique({key: self._target.names.get(key, key) for key in self._target.arrays})
        for key, new in renamed.items():
            if (here := new if new in self._target.arrays else names.get(new)) is not None:
                self._add(here, key, "as asked")

    def _add_by_name(self, renamed: Mapping[str, str]) -> None:
        names = _unique({key: self._target.names.get(key, key) for key in self._target.arrays})
        for name, here in [*names.items(), *((key, key) for key in self._target.arrays)]:
            key = self._by_name.get(name)
            # What was renamed has its old name no more.
            if key is not None and key not in renamed:
                self._add(here, key, "by name")

    def _add_by_structure(self, objects: Objects) -> None:
        plain = [here for here in self._target.arrays if _graph.SLOT not in here]
        places = {here: number for here in plain if (number := self._place(objects, here)) is not None}
        for optimizer, trained in self._trained().items():
            places |= self._places_of_trained(objects, optimizer, trained, places)
        for here, number in places.items():
            self._add_number(objects, here, number)
        for optimizer, trained in self._trained().items():
            owner = self._place(objects, optimizer, is_variable=False)
            for here in self._target.arrays:
                before, slot, variable = here.partition(_graph.SLOT)
                place, _, name = before.rpartition("/")
                if slot and place == optimizer and owner is not None and variable in places:
                    position = trained.index(variable) if variable in trained else None
                    number = objects.slot(owner, name, places[variable], position)
                    if number is not None:
                        self._add_number(objects, here, number)

    def _add_number(self, objects: Objects, here: str, number: int) -> None:
        key = objects.key(number)
        if key is not None and key in self._source.shapes:
            self._add(here, key, "by structure")

    def _trained(self) -> dict[str, list[str]]:
        """Return the variables that each optimizer keeps something for, in its order."""
        found: dict[str, dict[str, None]] = {}
        for here in self._target.arrays:
            before, slot, variable = here.partition(_graph.SLOT)
            if slot:
                found.setdefault(before.rpartition("/")[0], {})[variable] = None
        return {optimizer: list(variables) for optimizer, variables in found.items()}

    def _places_of_trained(
        self, objects: Objects, optimizer: str, trained: Sequence[str], places: Mapping[str, int]
    ) -> dict[str, int]:
        """Return the variables that TensorFlow's checkpoint reaches by the list of an optimizer alone."""
        owner = self._place(objects, optimizer, is_variable=False)
        numbers = [] if owner is None else objects.trained(owner)
        # Both lists have to be of the same variables, as far as these are known otherwise.
        pairs = dict(zip(trained, numbers, strict=False))
        if len(numbers) != len(trained) or any(
            places.get(here, each) != each for here, each in pairs.items()
        ):
            return {}
        return pairs

    def _place(self, objects: Objects, key_path: str, *, is_variable: bool = True) -> int | None:
        for candidate in _restoration.candidates(key_path, self._others):
            parts = candidate.split("/")
            starts = [(0, parts)]
            # Where TensorFlow's root is the model itself, or calls it otherwise.
            if parts[0] in self._starts:
                starts.append((self._starts[parts[0]], parts[1:]))
            for start, rest in starts:
                number = self._walk(objects, start, rest, candidate)
                if number is not None and (objects.key(number) is not None) == is_variable:
                    return number
        return None

    @functools.cached_property
    def _starts(self) -> dict[str, int]:
        """Where what is not a part of TensorFlow's root begins, by its name here."""
        objects = self._objects
        if objects is None:
            return {}
        found = {}
        for first in dict.fromkeys(here.split("/")[0] for here in self._target.arrays):
            if first in objects.attributes(0):
                continue
            keys = [
                here
                for here in self._target.arrays
                if here.startswith(f"{first}/") and _graph.SLOT not in here
            ]
            counts = {
                start: sum(self._fits(objects, start, here) for here in keys)
                for start in dict.fromkeys([0, *objects.attributes(0).values()])
            }
            best = max(counts.values(), default=0)
            # Two that fit as well are not told apart.
            if best and list(counts.values()).count(best) == 1:
                found[first] = next(start for start, count in counts.items() if count == best)
        return found

    def _fits(self, objects: Objects, start: int, here: str) -> bool:
        number = self._walk(objects, start, here.split("/")[1:], here)
        key = None if number is None else objects.key(number)
        return key is not None and self._source.shapes.get(key) == self._target.arrays[here].shape

    def _walk(self, objects: Objects, start: int, parts: Sequence[str], key_path: str) -> int | None:
        number: int | None = start
        index = 0
        before = key_path.split("/")[: -len(parts)] if parts else []
        while number is not None and index < len(parts):
            part = parts[index]
            following = parts[index + 1] if index + 1 < len(parts) else ""
            if part == "layers" and following.isdigit() and objects.layers(number) is not None:
                number = self._layer(
                    objects, number, "/".join([*before, *parts[: index + 1]]), int(following)
                )
                index += 2
            else:
                number = objects.part(number, _unescaped(part))
                index += 1
        return number

    def _layer(self, objects: Objects, model: int, prefix: str, index: int) -> int | None:
        here, there = self._weighted(prefix), objects.weighted_layers(model)
        # As Keras 2 did: layers without variables may be others, such as those that were made of operations.
        if len(here) == len(there):
            return there[here.index(index)] if index in here else None
        layers = objects.layers(model) or []
        return layers[index] if index < len(layers) else None

    def _weighted(self, prefix: str) -> list[int]:
        numbers = set()
        for here in self._target.arrays:
            if here.startswith(f"{prefix}/") and not is_seed(self._target.names.get(here, here)):
                numbers.add(int(here[len(prefix) + 1 :].partition("/")[0]))
        return sorted(numbers)

    def _add_slots_by_name(self) -> None:
        names = {key: name for name, key in self._by_name.items() if name != key} or {}
        for here in self._target.arrays:
            before, slot, variable = here.partition(_graph.SLOT)
            if slot and variable in self.found:
                own = names.get(self.found[variable][0], self.found[variable][0])
                kinds = _SLOT_NAMES.get(before.rpartition("/")[2], ())
                if (key := self._slot_by_name(own, kinds)) is not None:
                    self._add(here, key, "by name")
        for here in self._target.arrays:
            if here.endswith("optimizer/iterations"):
                steps = [key for name, key in self._by_name.items() if name.endswith("/iter")]
                for key in [*steps[:1], *filter(None, [self._by_name.get("global_step")])]:
                    self._add(here, key, "by name")

    def _slot_by_name(self, variable: str, kinds: Iterable[str]) -> str | None:
        for kind in kinds:
            name = f"{variable}/{kind}"
            # Keras 2 in an Estimator puts the optimizer's name in front.
            longer = [each for each in self._by_name if each.endswith(f"/{name}")]
            found = [name] if name in self._by_name else longer
            # The older RMSprop's momentum has the learning rate in it, and that of Keras 3 has not.
            is_rms = kind == "momentum" and any(each.endswith(f"{variable}/rms") for each in self._by_name)
            if len(found) == 1 and not is_rms:
                return self._by_name[found[0]]
        return None


def _fresh_optimizers(target: _store.Contents, matches: Mapping[str, Any]) -> set[str]:
    """Return the optimizers of which the checkpoint has nothing."""
    owners: dict[str, bool] = {}
    for here in target.arrays:
        before, slot, _ = here.partition(_graph.SLOT)
        owner = before.rpartition("/")[0]
        if slot or (here.endswith("/iterations") and f"{owner}/learning_rate" in target.arrays):
            owners[owner] = owners.get(owner, False) or here in matches
    return {owner for owner, is_there in owners.items() if not is_there}


def _reason_to_keep(here: str, name: str, fresh: Iterable[str]) -> str | None:
    if is_seed(name):
        return "a random generator, which TensorFlow does not save"
    if any(here.startswith(f"{owner}/") for owner in fresh):
        return "the checkpoint has no such optimizer: as new"
    if here.endswith("optimizer/learning_rate"):
        return "the checkpoint has no learning rate"
    return "counted anew" if here in _restoration.OPTIONAL else None


def _unique(names: Mapping[str, str]) -> dict[str, str]:
    counts = collections.Counter(names.values())
    return {name: key for key, name in names.items() if counts[name] == 1}


def _unescaped(name: str) -> str:
    return name.replace("%40", "@").replace("%2F", "/").replace("%25", "%")


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
