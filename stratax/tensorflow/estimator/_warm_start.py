"""Warm starting: a new training begins with the values of another model's checkpoint (estimator layer)."""

import collections
import itertools
import logging
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import load_checkpoint
from stratax.core import regions
from stratax.tensorflow.checkpoints.values import NamedValues, give
from stratax.tensorflow.feature_column import vocabularies
from stratax.tensorflow.v1 import current
from stratax.tensorflow.v1.scopes import Scope
from stratax.tensorflow.v1.starting import begin_with, model_variables

_logger = logging.getLogger("stratax")
_FIX = (
    "Leave variables out with vars_to_warm_start, name them in var_name_to_prev_var_name, or say in a VocabInfo how "
    "their rows follow."
)


class VocabInfo(
    collections.namedtuple(
        "VocabInfo",
        [
            "new_vocab",
            "new_vocab_size",
            "num_oov_buckets",
            "old_vocab",
            "old_vocab_size",
            "backup_initializer",
            "axis",
        ],
    )
):
    """Says how the rows or columns of a variable follow from two vocabularies, as `tf.estimator.VocabInfo`.

    Args:
        new_vocab: The file of the new vocabulary, an entry in each line.
        new_vocab_size: How many of its entries are used.
        num_oov_buckets: How many rows (or columns) behind them are for others.
        old_vocab: The file of the vocabulary of the checkpoint.
        old_vocab_size: How many of its entries were used; -1 for all.
        backup_initializer: Gives the values of entries that the old vocabulary does not have, and of the others: a
            function of a shape. By default they are zero.
        axis: 0 if rows stand for entries, 1 if columns do.

    Raises:
        BadArgumentError: If a number is out of range.
        BadTypeError: If `backup_initializer` is no function.
    """

    __slots__ = ()

    def __new__(
        cls,
        new_vocab: str | os.PathLike[str],
        new_vocab_size: int,
        num_oov_buckets: int,
        old_vocab: str | os.PathLike[str],
        old_vocab_size: int = -1,
        backup_initializer: object = None,
        axis: int = 0,
    ) -> "VocabInfo":
        """Check the fields and make it."""
        if axis not in (0, 1):
            raise errors.BadArgumentError(
                f"The only supported values for the axis argument are 0 and 1. Received: axis={shown(axis)}."
            )
        if not new_vocab_size or new_vocab_size < 0 or num_oov_buckets < 0:
            raise errors.BadArgumentError(
                "new_vocab_size must be positive, and num_oov_buckets not negative. Received: "
                f"new_vocab_size={shown(new_vocab_size)}, num_oov_buckets={shown(num_oov_buckets)}."
            )
        if backup_initializer is not None and not callable(backup_initializer):
            raise errors.BadTypeError(
                "backup_initializer must be a function of a shape. Received: "
                f"backup_initializer={shown(backup_initializer)}."
            )
        return super().__new__(
            cls,
            new_vocab,
            new_vocab_size,
            num_oov_buckets,
            old_vocab,
            old_vocab_size,
            backup_initializer,
            axis,
        )


class WarmStartSettings(
    collections.namedtuple(
        "WarmStartSettings",
        [
            "ckpt_to_initialize_from",
            "vars_to_warm_start",
            "var_name_to_vocab_info",
            "var_name_to_prev_var_name",
        ],
    )
):
    """Says which variables begin with which values of a checkpoint, as `tf.estimator.WarmStartSettings`.

    Args:
        ckpt_to_initialize_from: The checkpoint, also one of TensorFlow's, or a folder whose latest is meant.
        vars_to_warm_start: A regular expression that the beginnings of names of trained variables match; a list of
            them for all variables; or a list of variables; None for those in `var_name_to_vocab_info` only.
        var_name_to_vocab_info: :class:`VocabInfo` by name of the variable.
        var_name_to_prev_var_name: The names in the checkpoint, where they differ, by name of the variable.

    Raises:
        BadArgumentError: If there is no checkpoint.
    """

    __slots__ = ()

    def __new__(
        cls,
        ckpt_to_initialize_from: str | os.PathLike[str],
        vars_to_warm_start: object = ".*",
        var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
        var_name_to_prev_var_name: Mapping[str, str] | None = None,
    ) -> "WarmStartSettings":
        """Check the fields and make it."""
        if not ckpt_to_initialize_from:
            raise errors.BadArgumentError(
                "ckpt_to_initialize_from MUST be set in WarmStartSettings. Received: "
                f"ckpt_to_initialize_from={shown(ckpt_to_initialize_from)}."
            )
        return super().__new__(
            cls,
            ckpt_to_initialize_from,
            vars_to_warm_start,
            dict(var_name_to_vocab_info or {}),
            dict(var_name_to_prev_var_name or {}),
        )


def check_settings(warm_start_from: object) -> WarmStartSettings | None:
    """Return what an Estimator's `warm_start_from` says.

    Raises:
        BadTypeError: If it is neither a path nor settings.
    """
    if warm_start_from is None or isinstance(warm_start_from, WarmStartSettings):
        return warm_start_from
    if isinstance(warm_start_from, str | bytes | os.PathLike):
        path = os.fsdecode(warm_start_from)
        # TensorFlow's SavedModel keeps a checkpoint in a folder of its own.
        saved = os.path.join(path, "variables", "variables")
        return WarmStartSettings(saved if os.path.exists(f"{saved}.index") else path)
    raise errors.BadTypeError(
        "warm_start_from must be a path or a WarmStartSettings. Received: "
        f"warm_start_from={shown(warm_start_from)}."
    )


def warm_start(
    ckpt_to_initialize_from: str | os.PathLike[str],
    vars_to_warm_start: object = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Have variables of a model begin with the values of a checkpoint, as `tf.train.warm_start`.

    Called in a `model_fn`, behind the variables. An Estimator that has a checkpoint of its own goes on from that, and
    this function does nothing.

    Args:
        ckpt_to_initialize_from: As of :class:`WarmStartSettings`, as the others.
        vars_to_warm_start: Likewise.
        var_name_to_vocab_info: Likewise.
        var_name_to_prev_var_name: Likewise.

    Raises:
        ModelScopeError: If it is called outside of a `model_fn`.
        BadArgumentError: If no variable matches, or a name is of none.
        RestoreError: If the checkpoint lacks a value, or it has another shape and there is no vocabulary for it.
        FileMissingError: If there is no checkpoint, or no file of a vocabulary.
    """
    settings = WarmStartSettings(
        ckpt_to_initialize_from, vars_to_warm_start, var_name_to_vocab_info, var_name_to_prev_var_name
    )
    scope = current()
    if scope.state.begins:
        warm_start_model(scope, settings)


def warm_start_model(scope: Scope, settings: WarmStartSettings) -> None:
    """Give a model's variables the values that settings say.

    Args:
        scope: The trace that the model was built in.
        settings: The settings.
    """
    path, chosen = settings.ckpt_to_initialize_from, settings.vars_to_warm_start
    _logger.info("Warm-starting from: %s", path)
    variables = _choose(scope, chosen)
    _check_names("var_name_to_vocab_info", settings.var_name_to_vocab_info, variables)
    _check_names("var_name_to_prev_var_name", settings.var_name_to_prev_var_name, variables)
    values = NamedValues(load_checkpoint(path), path, _FIX)
    with_vocabulary = {
        name: each for name, each in variables.items() if name in settings.var_name_to_vocab_info
    }
    others = {} if chosen is None else {n: each for n, each in variables.items() if n not in with_vocabulary}
    previous = settings.var_name_to_prev_var_name
    begin_with(scope, values, [(previous.get(name, name), each) for name, each in others.items()])
    for name, variable in with_vocabulary.items():
        info = settings.var_name_to_vocab_info[name]
        made = remap(values, previous.get(name, name), variable, info)
        # At once for what begins with the variable's value; what an initializer draws is agreed on later.
        give(variable, made)
        scope.state.given[name] = made
    _logger.info("Warm-started %d variables.", len(with_vocabulary) + len(others))


def _choose(scope: Scope, chosen: object) -> dict[str, keras.Variable]:
    """Return the variables by name that `vars_to_warm_start` means."""
    every = model_variables(scope)
    trained = {name: variable for name, variable in every.items() if variable.trainable}
    if chosen is None:
        return trained
    if isinstance(chosen, str):
        return _matching(trained, chosen, "trained variables")
    if isinstance(chosen, Sequence) and all(isinstance(each, str) for each in chosen):
        found: dict[str, keras.Variable] = {}
        for pattern in chosen:
            found |= _matching(every, pattern, "variables")
        return found
    if isinstance(chosen, Sequence) and all(isinstance(each, keras.Variable) for each in chosen):
        return {variable.path: variable for variable in chosen}
    raise errors.BadArgumentError(
        "vars_to_warm_start must be a regular expression, a list of them, a list of variables, or None. Received: "
        f"vars_to_warm_start={shown(chosen)}."
    )


def _matching(variables: Mapping[str, keras.Variable], pattern: str, what: str) -> dict[str, keras.Variable]:
    try:
        # As TensorFlow's collections match, whose variables have names with an output's number.
        found = {name: each for name, each in variables.items() if re.match(pattern, f"{name}:0")}
    except re.error as error:
        raise errors.BadArgumentError(
            f"vars_to_warm_start must be a regular expression. Received: {shown(pattern)}, of which Python says: "
            f"{error}."
        ) from error
    if not found:
        raise errors.BadArgumentError(
            f"vars_to_warm_start matches none of the model's {what}, so nothing would be warm-started. Expected: a "
            f"regular expression for beginnings of {shown(sorted(variables))}. Received: {shown(pattern)}."
        )
    return found


def _check_names(argument: str, given: Mapping[str, Any], variables: Mapping[str, Any]) -> None:
    unused = sorted(set(given) - set(variables))
    if unused:
        raise errors.BadArgumentError(
            f"{argument} has names of variables that are not warm-started. Expected: some of "
            f"{shown(sorted(variables))}. Received: {shown(unused)}. Perhaps they are misspelled, or "
            "vars_to_warm_start leaves them out."
        )


def remap(values: NamedValues, name: str, variable: keras.Variable, info: VocabInfo) -> np.ndarray:
    """Return a variable's value, of rows or columns that a checkpoint has for another vocabulary.

    As in TensorFlow, what is missing is drawn as one column, and filled in row by row.

    Args:
        values: The checkpoint.
        name: The variable's name there.
        variable: The variable.
        info: The vocabularies.

    Raises:
        RestoreError: If the checkpoint lacks the value, or shapes do not fit the vocabularies.
        BadArgumentError: If a file has too few entries.
    """
    if name not in values:
        raise errors.RestoreError(
            f"The checkpoint {shown(values.path)} has no value for {variable.path}. Expected: one of "
            f"{shown(values.names)}. Received: {name}. Name it in var_name_to_prev_var_name."
        )
    shape, old = tuple(variable.shape), values.value(name)
    size, num_others = info.new_vocab_size, info.num_oov_buckets
    places = _places(info)
    _check_shapes(values, name, variable, old, info)
    if old.ndim == 2 and info.axis == 1:
        rows, columns = np.arange(shape[0]), places
    else:
        rows, columns = places, np.arange(old.shape[1] if old.ndim == 2 else 1)
    if places.size and places.max() >= old.shape[info.axis]:
        raise errors.RestoreError(
            f"The old vocabulary of {variable.path} has more entries than the checkpoint {shown(values.path)} has for "
            f"them. Expected: at most {old.shape[info.axis]}. Received: {shown(os.fspath(info.old_vocab))}. Pass the "
            "file that the checkpoint was trained with, or old_vocab_size."
        )
    table = old.reshape(old.shape[0], -1)
    made = np.zeros((len(rows), len(columns)), table.dtype)
    known = (rows >= 0)[:, None] & (columns >= 0)
    made[known] = table[np.maximum(rows, 0)[:, None], np.maximum(columns, 0)][known]
    # Also where nothing is missing, as in TensorFlow: an initializer with a state goes on alike.
    made[~known] = _draw(info, ((~known).sum(), 1), made.dtype)[:, 0]
    if num_others and info.axis == 0:
        made = np.concatenate([made, _draw(info, (num_others, made.shape[1]), made.dtype)])
    elif num_others:
        made = np.concatenate([made, _draw(info, (shape[0], num_others), made.dtype)], axis=1)
    _logger.debug("Warm-starting %s with %d of %d entries known.", variable.path, (places >= 0).sum(), size)
    return values.convert(name, made, variable)


def _check_shapes(
    values: NamedValues, name: str, variable: keras.Variable, old: np.ndarray, info: VocabInfo
) -> None:
    shape, axis = tuple(variable.shape), info.axis
    wanted = info.new_vocab_size + info.num_oov_buckets
    if old.ndim not in (1, 2) or len(shape) != old.ndim or axis >= old.ndim:
        raise errors.RestoreError(
            f"{variable.path} has the shape {shape} and {name} in the checkpoint {shown(values.path)} the shape "
            f"{old.shape}. Expected: matrices, or vectors with axis=0. Received: axis={axis}."
        )
    if shape[axis] != wanted:
        raise errors.RestoreError(
            f"{variable.path} has the shape {shape}, which does not fit its VocabInfo. Expected: {wanted} in dimension "
            f"{axis}, the new_vocab_size {info.new_vocab_size} and {info.num_oov_buckets} for others. Pass the sizes "
            "that the variable is made with."
        )
    if old.ndim == 2 and shape[1 - axis] != old.shape[1 - axis]:
        raise errors.RestoreError(
            f"{variable.path} has the shape {shape} and {name} in the checkpoint {shown(values.path)} the shape "
            f"{old.shape}. Expected: as many in dimension {1 - axis}, which the vocabularies are not of."
        )


def _places(info: VocabInfo) -> np.ndarray:
    """Return for each new entry where it is in the old vocabulary; -1 where it is not."""
    new = _entries("new_vocab", info.new_vocab, info.new_vocab_size)
    old = _entries("old_vocab", info.old_vocab, info.old_vocab_size)
    found = {entry: place for place, entry in enumerate(old)}
    if len(found) < len(old):
        (entry, times), *_ = collections.Counter(old).most_common(1)
        raise errors.BadArgumentError(
            f"The old vocabulary has an entry more than once. Received: {shown(entry)}, {times} times in "
            f"{shown(os.fspath(info.old_vocab))}. Leave repeated entries out."
        )
    return np.array([found.get(entry, -1) for entry in new], np.int64)


def _entries(argument: str, path: str | os.PathLike[str], size: int) -> list[bytes]:
    every = vocabularies.read_entries(os.fspath(path), None)
    found = list(every if size < 0 else itertools.islice(every, size))
    if len(found) < size:
        raise errors.BadArgumentError(
            f"The file of {argument} is too short. Expected: {size} lines, as {argument}_size says. Received: "
            f"{len(found)} in {shown(os.fspath(path))}."
        )
    return found


def _draw(info: VocabInfo, shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    if info.backup_initializer is None:
        return np.zeros(shape, dtype)
    with regions.outside_scopes():
        return np.asarray(info.backup_initializer(shape)).astype(dtype)
