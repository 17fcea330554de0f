"""Variables as `tf.contrib.framework` makes and finds them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import load_checkpoint
from stratax.tensorflow import v1
from stratax.tensorflow.contrib._arg_scope import add_arg_scope
from stratax.tensorflow.contrib._collected import Collections, collect_variables, collections_of

_Variables = Sequence[keras.Variable] | Mapping[str, keras.Variable]


@add_arg_scope
def variable(
    name: str,
    shape: object = None,
    dtype: object = None,
    initializer: object = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = True,
    collections: Collections = None,
    caching_device: object = None,
    device: object = None,
    partitioner: object = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: object = None,
    synchronization: object = None,
    aggregation: object = "none",
) -> Any:
    """Return the variable of a name, as `tf.contrib.framework.variable`; arguments as in `tf.get_variable`."""
    return v1.get_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        trainable,
        collections_of(collections, name),
        custom_getter=custom_getter,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@add_arg_scope
def model_variable(
    name: str,
    shape: Any = None,
    dtype: Any = "float32",
    initializer: Any = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = True,
    collections: Collections = None,
    **others: Any,
) -> Any:
    """Return the variable of a name, which is in the collection ``"model_variables"``, too, as `variable`."""
    made = variable(name, shape, dtype, initializer, regularizer, trainable, collections, **others)
    collect_variables({name: made}, None)
    return made


def add_model_variable(var: keras.Variable) -> None:
    """Add a variable to the collection ``"model_variables"``."""
    collect_variables({"": var}, None)


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = "variables"
) -> list[keras.Variable]:
    """Return variables, as `tf.contrib.framework.get_variables`.

    Args:
        scope: The scope, or the beginning of their names; None for all.
        suffix: The last part of their names; None for all.
        collection: Where they are looked for.
    """
    begin = getattr(scope, "name", scope)
    found = v1.current().collections.get(collection, begin)
    if suffix is None:
        return found
    end = re.compile(f"(.*/)?{re.escape(suffix.removesuffix(':0'))}")
    return [each for each in found if end.fullmatch(each.path)]


def get_model_variables(scope: object = None, suffix: str | None = None) -> list[keras.Variable]:
    """Return the variables of layers, as `get_variables`."""
    return get_variables(scope, suffix, "model_variables")


def get_local_variables(scope: object = None, suffix: str | None = None) -> list[keras.Variable]:
    """Return local variables, as `get_variables`."""
    return get_variables(scope, suffix, "local_variables")


def get_trainable_variables(scope: object = None, suffix: str | None = None) -> list[keras.Variable]:
    """Return variables that are trained, as `get_variables`."""
    return get_variables(scope, suffix, "trainable_variables")


def get_variables_by_suffix(suffix: str, scope: object = None) -> list[keras.Variable]:
    """Return the variables whose names end in `suffix`."""
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: object = None) -> list[keras.Variable]:
    """Return the variables of a name in any scope."""
    return get_variables(scope, given_name)


def get_unique_variable(var_op_name: str) -> keras.Variable:
    """Return the variable of a full name.

    Raises:
        BadArgumentError: If there is none.
    """
    found = [each for each in get_variables() if each.path == var_op_name]
    if not found:
        raise errors.BadArgumentError(f"Couldn't find variable {shown(var_op_name)}.")
    return found[0]


def get_variable_full_name(var: keras.Variable) -> str:
    """Return the name of a variable without its output's number."""
    return var.path


def get_variables_to_restore(
    include: Sequence[str] | None = None, exclude: Sequence[str] | None = None
) -> list[keras.Variable]:
    """Return the variables of scopes but for those of others, as `tf.contrib.framework.get_variables_to_restore`.

    Args:
        include: Beginnings of names; None for all variables.
        exclude: Beginnings of names that are left out.
    """
    found = (
        get_variables() if include is None else [each for begin in include for each in get_variables(begin)]
    )
    left_out = {id(each) for begin in exclude or () for each in get_variables(begin)}
    return [each for each in found if id(each) not in left_out]


def filter_variables(
    var_list: Iterable[keras.Variable],
    include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[keras.Variable]:
    """Return the variables whose names regular expressions find.

    Args:
        var_list: Variables.
        include_patterns: One of these must be found; None for all.
        exclude_patterns: None of these may be found.
        reg_search: Whether a match may stand anywhere, and not at the beginning alone.
    """
    find = re.search if reg_search else re.match

    def matches(patterns: Sequence[str], each: keras.Variable) -> bool:
        return any(find(pattern, each.path) for pattern in patterns)

    return [
        each
        for each in var_list
        if (include_patterns is None or matches(include_patterns, each))
        and not matches(exclude_patterns or (), each)
    ]


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> tuple[v1.Operation, dict[str, Any]]:
    """Return an operation that assigns values to variables by their names, and an empty dict of what it is fed."""
    return (
        v1.group(
            *(
                v1.assign(get_unique_variable(name), np.asarray(each))
                for name, each in var_names_to_values.items()
            )
        ),
        {},
    )


def assign_from_checkpoint(
    model_path: Any, var_list: _Variables, ignore_missing_vars: bool = False
) -> tuple[v1.Operation, dict[str, Any]]:
    """Return an operation that gives variables the values of a checkpoint, and an empty dict of what it is fed.

    Args:
        model_path: The checkpoint.
        var_list: The variables; a dict of names in the checkpoint for others than theirs.
        ignore_missing_vars: Whether to leave variables that it doesn't have as they are.
    """
    reader = load_checkpoint(model_path)
    pairs = _pairs(reader, var_list, ignore_missing_vars)
    return v1.group(*(v1.assign(each, reader.get_tensor(name)) for name, each in pairs)), {}


def assign_from_checkpoint_fn(
    model_path: Any, var_list: _Variables, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], None]:
    """Return the `init_fn` of a Scaffold that gives variables the values of a checkpoint where a training begins.

    Args:
        model_path: The checkpoint.
        var_list: As in `assign_from_checkpoint`.
        ignore_missing_vars: Likewise.
        reshape_variables: Refused: shapes must be equal.
    """
    if reshape_variables:
        raise errors.BadArgumentError(
            "A variable takes a value of its own shape. Received: reshape_variables=True."
        )
    pairs = _pairs(load_checkpoint(model_path), var_list, ignore_missing_vars)
    v1.train.init_from_checkpoint(model_path, pairs)

    def init_fn(session: object) -> None:
        """Do nothing: the variables have begun with these values."""

    return init_fn


def _pairs(reader: Any, var_list: _Variables, ignore_missing_vars: bool) -> list[tuple[str, keras.Variable]]:
    named = dict(var_list) if isinstance(var_list, Mapping) else {each.path: each for each in var_list}
    if not named:
        raise errors.BadArgumentError("var_list cannot be empty.")
    if ignore_missing_vars:
        named = {name: each for name, each in named.items() if reader.has_tensor(name)}
    return list(named.items())
