"""`tf.train.init_from_checkpoint`: variables that begin with the values of a checkpoint (v1 layer)."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.checkpoint import load_checkpoint
from stratax.tensorflow.checkpoints.values import NamedValues
from stratax.tensorflow.v1._current import current
from stratax.tensorflow.v1.scopes import Scope

_FIX = "Leave these variables out of assignment_map, or name others in the checkpoint."


def init_from_checkpoint(
    ckpt_dir_or_file: str | os.PathLike[str],
    assignment_map: Mapping[str, Any] | Iterable[tuple[str, Any]],
) -> None:
    """Have variables of a model begin with the values of a checkpoint, as `tf.train.init_from_checkpoint`.

    Called in a `model_fn`, or in a function of a `Scaffold`, behind the variables. It counts where a training begins:
    an Estimator that has a checkpoint of its own goes on from that, and this function does nothing.

    Args:
        ckpt_dir_or_file: A checkpoint, also one of TensorFlow's, or a folder whose latest is meant.
        assignment_map: From names in the checkpoint to a variable, its name, or a scope: ``{"old/": "new/"}`` is all
            variables below `new/`, and ``"/"`` is the root. A dict, or pairs. A name in the checkpoint is a key, or the
            name that the variable had in its program.

    Raises:
        ModelScopeError: If it is called outside of a `model_fn`.
        BadArgumentError: If the model has no such variable, or the map is none of these.
        RestoreError: If the checkpoint lacks a value, or it has another shape.
        FileMissingError: If there is no checkpoint.
    """
    scope = current()
    # What is restored from a checkpoint of its own has other values in a moment.
    if not scope.state.begins:
        return
    values = NamedValues(load_checkpoint(ckpt_dir_or_file), ckpt_dir_or_file, _FIX)
    pairs = assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map
    found = [pair for name, target in sorted(pairs, key=_name) for pair in _pairs(scope, name, target)]
    begin_with(scope, values, found)


def begin_with(scope: Scope, values: NamedValues, pairs: Iterable[tuple[str, keras.Variable]]) -> None:
    """Give variables their values now, each pair of name and variable once in all traces.

    Args:
        scope: The trace.
        values: The checkpoint.
        pairs: Pairs of a name in the checkpoint and a variable.

    Raises:
        RestoreError: If the checkpoint lacks a value, or it has another shape.
    """
    # A function is traced twice to be built, and variables that follow others are made in the first trace.
    by_path = values.path
    fresh = [pair for pair in pairs if (by_path, pair[0], pair[1].path) not in scope.state.begun]
    # One name may be several variables'.
    while fresh:
        # Reversed, so that of several variables of one name the first is taken.
        first = dict(reversed(fresh))
        values.assign(first)
        for variable in first.values():
            scope.state.given.pop(variable.path, None)
        scope.state.begun.update((by_path, name, variable.path) for name, variable in first.items())
        fresh = [(name, variable) for name, variable in fresh if first[name] is not variable]


def model_variables(scope: Scope) -> dict[str, keras.Variable]:
    """Return the variables that have values in checkpoints of others: all but metrics' sums and generators' states."""
    return {
        variable.path: variable
        for variable in scope.global_variables()
        if variable.aggregation != "sum" and not is_seed(variable.path)
    }


def is_seed(name: str) -> bool:
    """Return whether a variable is the state of a generator, of a dropout layer for instance."""
    return name.rpartition("/")[2].startswith("seed_generator_state")


def _name(pair: tuple[str, Any]) -> str:
    return pair[0]


def _pairs(scope: Scope, name: str, target: TensorLike) -> Iterator[tuple[str, keras.Variable]]:
    if isinstance(target, list | tuple) and len(target) == 1:
        # TensorFlow takes the list of a variable's parts, of which there is one here.
        target = target[0]
    if isinstance(target, keras.Variable):
        yield name, target
    elif not isinstance(target, str):
        raise errors.BadArgumentError(
            "A value of assignment_map must be a variable, the name of one, or a scope such as 'new/'. Received: "
            f"{shown(name)}: {shown(target)}. Variables have no parts here, as a strategy places them whole: pass the "
            "variable itself."
        )
    else:
        yield from _by_name(model_variables(scope), name, target)


def _by_name(
    variables: Mapping[str, keras.Variable], name: str, target: str
) -> Iterator[tuple[str, keras.Variable]]:
    if (path := target.removesuffix(":0")) in variables:
        yield name, variables[path]
        return
    # "/" is the scope of all names.
    begin = "" if target == "/" else target
    found = [path for path in variables if path.startswith(begin)]
    if not found or (begin and not begin.endswith("/")):
        raise errors.BadArgumentError(
            "assignment_map names a variable or a scope that the model does not have. Expected: one of "
            f"{shown(sorted(variables))}, or a scope that ends in '/'. Received: {shown(name)}: {shown(target)}. Call "
            "init_from_checkpoint behind the layers."
        )
    if not name.endswith("/"):
        raise errors.BadArgumentError(
            f"A scope is given the values of a scope. Expected: 'other_scope/': 'scope/'. Received: {shown(name)}: "
            f"{shown(target)}."
        )
    old = "" if name == "/" else name
    for path in sorted(found):
        yield f"{old}{path.removeprefix(begin)}", variables[path]
