"""What a variable scope says: how names begin, and what `get_variable` takes by default (v1 layer)."""

import enum
import functools
from collections.abc import Callable
from typing import Any

import keras

from stratax.tensorflow.v1._trace import current_trace


class _Reuse(enum.Enum):
    """What `reuse` may be besides True, False and None."""

    AUTO_REUSE = "auto_reuse"


AUTO_REUSE = _Reuse.AUTO_REUSE

# Of a model's outermost scope.
_DEFAULTS: dict[str, Any] = {
    "reuse": None,
    "initializer": None,
    "regularizer": None,
    "dtype": "float32",
    "custom_getter": None,
    "constraint": None,
}


class VariableScope:
    """What `tf.variable_scope` enters: the beginning of names, and what `get_variable` takes by default.

    Args:
        name: Its full name.
        parent: What it inherits defaults from.
        reuse: Whether variables must be there already; `AUTO_REUSE`: may be; None: as the parent.
        initializer: For variables without one of their own.
        regularizer: Likewise.
        dtype: Likewise.
        custom_getter: Called instead of `get_variable`, with it as first argument.
        constraint: For variables without one of their own.

    Attributes:
        name: Its full name.
    """

    def __init__(
        self,
        name: str,
        parent: "VariableScope | None" = None,
        *,
        reuse: object = None,
        initializer: object = None,
        regularizer: object = None,
        dtype: object = None,
        custom_getter: Callable[..., Any] | None = None,
        constraint: object = None,
    ) -> None:
        self.name = name
        around = _DEFAULTS if parent is None else vars(parent)
        # What is shared in a scope is shared in those inside it: False is the same as None.
        self.reuse: object = reuse or around["reuse"]
        self.initializer: object = around["initializer"] if initializer is None else initializer
        self.regularizer: Any = around["regularizer"] if regularizer is None else regularizer
        self.constraint: Any = around["constraint"] if constraint is None else constraint
        self.dtype: object = around["dtype"] if dtype is None else dtype
        self.custom_getter: Callable[..., Any] | None = (
            around["custom_getter"]
            if custom_getter is None
            else _inside(custom_getter, around["custom_getter"])
        )

    @property
    def original_name_scope(self) -> str:
        """The name with a slash behind it, for `tf.name_scope`."""
        return f"{self.name}/" if self.name else ""

    def reuse_variables(self) -> None:
        """Have variables from here on be those that are there already."""
        self.reuse = True

    def set_initializer(self, initializer: object) -> None:
        """Set what gives first values to variables without an initializer of their own."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: object) -> None:
        """Set the regularizer of variables without one of their own."""
        self.regularizer = regularizer

    def full_name(self, name: str) -> str:
        """Return the full name of a variable."""
        return f"{self.name}/{name}" if self.name else name

    def trainable_variables(self) -> list[keras.Variable]:
        """Return the trained variables whose names begin with this scope's."""
        return current_trace().collections.get("trainable_variables", self.original_name_scope)

    def global_variables(self) -> list[keras.Variable]:
        """Return the variables whose names begin with this scope's."""
        return current_trace().collections.get("variables", self.original_name_scope)


def _inside(getter: Callable[..., Any], outer: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return a getter that calls one, which gets the outer scope's as what it may call."""
    if outer is None:
        return getter
    return lambda plain, *args, **kwargs: getter(functools.partial(outer, plain), *args, **kwargs)
