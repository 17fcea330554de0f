"""`tf.variable_scope` and `tf.get_variable`: variables by name, shared where a scope says so (v1 layer)."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.core import cpu
from stratax.seams import keras as seam
from stratax.tensorflow.v1._current import current, current_or_none
from stratax.tensorflow.v1._variable_defaults import VariableScope
from stratax.tensorflow.v1._variables import ModelVariable, is_local
from stratax.tensorflow.v1.scopes import Scope

_LOCAL_VARIABLES, _REGULARIZATION_LOSSES = "local_variables", "regularization_losses"


def get_variable_scope() -> VariableScope:
    """Return the variable scope that is entered."""
    return current().variable_scope


@contextlib.contextmanager
def variable_scope(
    name_or_scope: object,
    default_name: str | None = None,
    values: object = None,
    initializer: object = None,
    regularizer: object = None,
    caching_device: object = None,
    partitioner: object = None,
    custom_getter: Callable[..., Any] | None = None,
    reuse: object = None,
    dtype: object = None,
    use_resource: object = None,
    constraint: object = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Enter a scope of names for variables, as `tf.variable_scope`.

    Args:
        name_or_scope: The name, below that of the scope around it; or a scope, to enter again; None for a unique name
            made of `default_name`.
        default_name: See there.
        values: Ignored.
        initializer: For variables without one of their own.
        regularizer: Likewise.
        caching_device: Ignored.
        partitioner: Ignored: a strategy places variables.
        custom_getter: Called instead of `get_variable`, with it as first argument.
        reuse: True: variables must be there already; `tf.AUTO_REUSE`: may be; None or False: as around it.
        dtype: For variables without one of their own.
        use_resource: Ignored.
        constraint: For variables without one of their own.
        auxiliary_name_scope: Ignored.

    Yields:
        The scope.

    Raises:
        BadArgumentError: If neither a name nor a default name is given.
    """
    scope = current()
    around = scope.variable_scope
    settings: dict[str, Any] = {
        "initializer": initializer,
        "regularizer": regularizer,
        "dtype": dtype,
        "custom_getter": custom_getter,
        "constraint": constraint,
    }
    if isinstance(name_or_scope, VariableScope):
        # Entered by object, a scope has its own name and settings, wherever it is entered.
        entered = VariableScope(name_or_scope.name, name_or_scope, reuse=reuse, **settings)
    else:
        name = name_or_scope if isinstance(name_or_scope, str) else _free_name(default_name, reuse)
        entered = VariableScope(around.full_name(name), around, reuse=reuse, **settings)
    scope.variable_scope = entered
    try:
        with (
            _count(scope, entered.name, isinstance(name_or_scope, VariableScope)),
            # In TensorFlow, too, a variable scope names tensors.
            scope.names.below(entered.name),
        ):
            yield entered
    finally:
        scope.variable_scope = around


def _free_name(default_name: str | None, reuse: object) -> str:
    """Return a name like the default one that no variable scope has that was entered inside the one around."""
    if not default_name:
        raise errors.BadArgumentError(
            "variable_scope needs a name. Received: name_or_scope=None, default_name=None. Pass one of them."
        )
    if reuse:
        raise errors.BadArgumentError(
            "reuse=True cannot be used without a name_or_scope: a new name has nothing to share. Received: "
            f"default_name={shown(default_name)}, reuse={shown(reuse)}."
        )
    scope = current()
    name, number = default_name, 0
    # By full names: inside of another scope the name may be free.
    while scope.scope_counts[scope.variable_scope.full_name(name)]:
        number += 1
        name = f"{default_name}_{number}"
    return name


@contextlib.contextmanager
def _count(scope: Scope, path: str, is_again: bool) -> Iterator[None]:
    """Count that a variable scope is entered, as TensorFlow does.

    Entered by name again, a scope begins to count anew what is entered inside of it, so that layers without names get
    the names that they had the first time, and share variables. Entered as an object, it goes on, and after the
    block is as if it had not been entered.
    """
    scope.scope_counts[path] += 1
    before = scope.scope_counts.copy()
    try:
        yield
    finally:
        # While a graph is built, each call leaves new ones.
        counts = scope.scope_counts
        if is_again:
            counts.clear()
            counts.update(before)
        else:
            for inner in [each for each in counts if each.startswith(f"{path}/")]:
                del counts[inner]


def variable_op_scope(
    values: object, name_or_scope: object, default_name: str | None = None, **others: Any
) -> AbstractContextManager[VariableScope]:
    """Enter a scope of names for variables, as `variable_scope`, whose older name this is.

    Args:
        values: Ignored.
        name_or_scope: As for `variable_scope`.
        default_name: Likewise.
        **others: Likewise.
    """
    return variable_scope(name_or_scope, default_name, values, **others)


class name_scope(contextlib.ContextDecorator):
    """Enter a scope of names for tensors and summaries, as `tf.name_scope`. Variables of `get_variable` don't see it.

    Outside of a `model_fn` it is a scope of Keras' names: summaries and the paths of variables begin with it. It may be
    entered again.

    Args:
        name: The name; one that ends in a slash is entered as it is, whatever is around it.
        default_name: The name where `name` is None.
        values: Ignored.

    Raises:
        BadArgumentError: If neither is a string.

    Example:
        >>> import stratax.tf as tf
        >>> with tf.name_scope("outer"), tf.name_scope("inner") as name:
        ...     print(name)
        outer/inner/
    """

    def __init__(self, name: str | None, default_name: str | None = None, values: object = None) -> None:
        chosen = default_name if name is None else name
        if not isinstance(chosen, str) and chosen is not None:
            raise errors.BadArgumentError(
                f"The name of a name scope must be a string. Received: {shown(name)}."
            )
        self._name = chosen or ""
        # A stack, as one object may be entered within itself.
        self._entered: list[contextlib.ExitStack] = []

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    def __enter__(self) -> str:
        """Enter the scope; returns its full name, with a slash behind it."""
        stack = contextlib.ExitStack()
        scope = current_or_none()
        if scope is not None:
            full = stack.enter_context(scope.names.scope(self._name))
        else:
            # A name with a slash at its end is a whole one, and none leads out of all scopes.
            around = [] if not self._name or self._name.endswith("/") else seam.current_path()
            parts = [*around, *filter(None, self._name.split("/"))]
            stack.enter_context(seam.at_path(parts))
            full = "/".join([*parts, ""])
        self._entered.append(stack)
        return full

    def __exit__(self, *_: object) -> None:
        """Leave the scope."""
        self._entered.pop().close()


def get_variable(
    name: str,
    shape: object = None,
    dtype: object = None,
    initializer: object = None,
    regularizer: object = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    caching_device: object = None,
    partitioner: object = None,
    validate_shape: bool = True,
    use_resource: object = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: object = None,
    synchronization: object = None,
    aggregation: object = "none",
) -> Any:
    """Return the variable of a name, made on first use, as `tf.get_variable`.

    Args:
        name: Its name, below that of the variable scope.
        shape: Its shape; left out where `initializer` is an array.
        dtype: Its dtype.
        initializer: A function of a shape and a dtype, or an array; by default that of the scope, or Glorot's uniform
            (zeros for integers).
        regularizer: A function of the variable that gives a loss, which is added to the collection
            ``"regularization_losses"``.
        trainable: Whether optimizers see it.
        collections: More collections that it is added to.
        caching_device: Ignored.
        partitioner: Ignored: a strategy places variables.
        validate_shape: Ignored: shapes are known.
        use_resource: Ignored.
        custom_getter: Called instead, with this function as first argument.
        constraint: A function of the value, applied after each update of an optimizer.
        synchronization: When replicas' different values become one: `"on_read"`, or else where they are assigned.
        aggregation: How they do.

    Raises:
        BadArgumentError: If the variable is there already and the scope does not share, or the other way round, or
            has another shape.
    """
    scope = current()
    around = scope.variable_scope
    # A getter gets all arguments by name, as in TensorFlow, and calls the plain one with what it makes of them.
    getter = custom_getter or around.custom_getter
    arguments: dict[str, Any] = {
        "shape": shape,
        "dtype": dtype,
        "initializer": initializer,
        "regularizer": regularizer,
        "trainable": trainable,
        "collections": collections,
        "constraint": constraint,
        "aggregation": aggregation,
        "synchronization": synchronization,
    }
    if getter is not None:
        return getter(_plain_getter, around.full_name(name), **arguments)
    return _plain_getter(around.full_name(name), **arguments)


def get_local_variable(
    name: str, shape: object = None, dtype: object = None, initializer: object = None, **others: Any
) -> Any:
    """Return a variable that is not trained, in the collection of local ones, as `tf.get_local_variable`.

    Args:
        name: Its name.
        shape: Its shape.
        dtype: Its dtype.
        initializer: Gives its first value.
        **others: Those of `get_variable`.
    """
    collections = [*(others.pop("collections", None) or ()), _LOCAL_VARIABLES]
    others["trainable"] = False
    return get_variable(
        name, shape, dtype, initializer, collections=list(dict.fromkeys(collections)), **others
    )


def _plain_getter(
    full: str,
    shape: TensorLike | None = None,
    dtype: object = None,
    initializer: object = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    constraint: object = None,
    aggregation: object = "none",
    synchronization: object = None,
    **others: object,
) -> Any:
    del others
    scope = current()
    around = scope.variable_scope
    if scope.is_used(full):
        if not around.reuse:
            raise errors.BadArgumentError(
                f"Variable {full} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in "
                "VarScope?"
            )
        found = scope.variable(full)
        if shape is not None and _sizes(shape) != tuple(found.shape):
            raise errors.BadArgumentError(
                f"Trying to share variable {full}, but specified shape {_sizes(shape)} and found shape "
                f"{tuple(found.shape)}."
            )
        return found
    # AUTO_REUSE makes what is not there.
    if around.reuse is True:
        raise errors.BadArgumentError(
            f"Variable {full} does not exist, or was not created with tf.get_variable(). Did you mean to set "
            "reuse=tf.AUTO_REUSE in VarScope?"
        )
    # The scope's dtype is a default, which an initializer that is an array overrides with its own below.
    kind = keras.backend.standardize_dtype(dtype if dtype is not None else around.dtype)
    initializer = initializer if initializer is not None else around.initializer
    with scope.sharing(full, is_local=is_local(collections)):
        if initializer is not None and not callable(initializer):
            if shape is not None:
                raise errors.BadArgumentError(
                    "If initializer is a constant, do not specify shape. Received: "
                    f"name={shown(full)}, shape={shown(shape)}."
                )
            own_dtype = dtype if dtype is not None else None
            made: Any = ModelVariable(
                initializer,
                trainable is not False,
                name=full,
                dtype=own_dtype,
                aggregation=aggregation,
                synchronization=synchronization,
            )
        else:
            if shape is None:
                raise errors.BadArgumentError(
                    f"Shape of a new variable ({full}) must be fully defined, but instead was None."
                )
            made = ModelVariable.of_initializer(
                _first_values(initializer, kind),
                _sizes(shape),
                kind,
                trainable=trainable is not False,
                aggregation=_word(aggregation, "none"),
                synchronization=_word(synchronization, "auto"),
                name=full.rpartition("/")[2],
            )
    made.constraint = constraint if constraint is not None else around.constraint
    # In these two every variable is, by what it is.
    for key in collections or ():
        if key not in ("variables", "trainable_variables"):
            scope.collections.add(key, made)
    regularizer = regularizer if regularizer is not None else around.regularizer
    if regularizer is not None:
        # May be None: `no_regularizer` keeps the scope's away.
        loss = scope.call(regularizer, made.value)
        if loss is not None:
            scope.collections.add(_REGULARIZATION_LOSSES, loss)
    return made


def _sizes(shape: TensorLike) -> tuple[int, ...]:
    if hasattr(shape, "as_list"):
        shape = shape.as_list()
    return tuple(int(size) for size in (shape if isinstance(shape, list | tuple) else np.atleast_1d(shape)))


def _first_values(initializer: Any, dtype: str) -> Callable[..., Any]:
    """Return a function of a shape and a dtype."""
    if initializer is None:
        # TensorFlow's default for numbers that are not floating point.
        return keras.initializers.get("glorot_uniform" if "float" in dtype else "zeros")
    made = initializer() if isinstance(initializer, type) else initializer
    if isinstance(made, keras.initializers.Initializer):
        made = cpu.fill_on_host(made)

    def values(shape: Sequence[int], dtype: object = None) -> Any:
        # Initializers of Keras take a dtype, a program's own function may not.
        try:
            given = made(shape, dtype=dtype)
        except TypeError:
            given = made(shape)
        # What it has computed in the program is wanted as a value now.
        return given if not isinstance(given, jax.core.Tracer) else current().values.value_now(given)

    return values


def _word(option: object, default: str) -> str:
    """Return the word of an option given as a string, as a member of an enumeration, or not at all."""
    return str(getattr(option, "name", option) or default).lower()
