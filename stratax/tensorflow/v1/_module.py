"""`tf.Module`: an object with variables, which finds them and those of its parts (v1 layer)."""

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import jax
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint.named import Trackable
from stratax.core.storage import HostState
from stratax.seams.keras import BaseOptimizer
from stratax.tensorflow.v1._variable_scope import name_scope

_Method = TypeVar("_Method", bound=Callable[..., Any])
# TensorFlow's: `MyModule2D` becomes `my_module2_d`.
_HUMPS = re.compile(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))")
# What a checkpoint saves beside variables and modules.
_SAVED = (
    keras.Variable,
    keras.layers.Layer,
    keras.metrics.Metric,
    BaseOptimizer,
    keras.random.SeedGenerator,
    HostState,
    Trackable,
)


class Module(Trackable):
    """An object whose attributes hold variables and other modules, as `tf.Module`.

    Variables and modules are found in its attributes, and in lists, tuples and dicts there. A `Checkpoint` saves them,
    and what Keras objects it has, by the attributes' names.

    Args:
        name: Its name, an identifier of Python; by default that of its class, as `my_module`.

    Raises:
        BadArgumentError: If the name is none.

    Example:
        >>> import stratax.tf as tf
        >>> class Scale(tf.Module):
        ...     def __init__(self, by, name=None):
        ...         super().__init__(name=name)
        ...         self.by = tf.Variable(by)
        ...     def __call__(self, x):
        ...         return x * self.by
        >>> scale = Scale(2.0)
        >>> scale.name, len(scale.trainable_variables), float(scale(3.0))
        ('scale', 1, 6.0)
    """

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not (isinstance(name, str) and name.isidentifier()):
            raise errors.BadArgumentError(
                f"The name of a module must be an identifier of Python. Received: name={shown(name)}. Use letters, "
                "digits and underscores."
            )
        self._name = name or _HUMPS.sub(r"_\1", type(self).__name__).lower()
        # Entered once to learn its full name, by which methods enter it again.
        with name_scope(self._name) as full:
            self._name_scope = name_scope(full)

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def name_scope(self) -> name_scope:
        """The name scope of the module, below that in which it was made."""
        return self._name_scope

    @property
    def variables(self) -> tuple[keras.Variable, ...]:
        """The variables, in the order of the attributes' names, then those of its modules."""
        return tuple(self._find_parts(lambda leaf: isinstance(leaf, keras.Variable)))

    @property
    def trainable_variables(self) -> tuple[keras.Variable, ...]:
        """Those of the variables that are trained."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def non_trainable_variables(self) -> tuple[keras.Variable, ...]:
        """The other variables."""
        return tuple(variable for variable in self.variables if not variable.trainable)

    @property
    def submodules(self) -> tuple["Module", ...]:
        """The modules in its attributes, and those in theirs."""
        return tuple(self._find_parts(lambda leaf: isinstance(leaf, Module)))

    @classmethod
    def with_name_scope(cls, method: _Method) -> _Method:
        """Return a method that enters the name scope of its module."""

        @functools.wraps(method)
        def in_scope(self: "Module", *args: object, **kwargs: object) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return in_scope  # type: ignore[return-value]

    def merged(self) -> Any:
        return None

    def children(self) -> Mapping[str, Any]:
        """Return what a checkpoint saves, by the attributes' names."""
        found = {name: _find_saved(value) for name, value in vars(self).items()}
        return {name: value for name, value in found.items() if value is not None}

    def _find_parts(self, wanted: Callable[[Any], bool]) -> Iterator[Any]:
        """Yield what is wanted of this module's attributes, then of its modules', each once."""
        seen: set[int] = {id(self)}
        waiting: list[Module] = [self]
        # Depth first: all that is below a module comes before what is below the next.
        while waiting:
            module = waiting.pop(0)
            inner: list[Module] = []
            for leaf in module._leaves():
                if id(leaf) in seen:
                    continue
                seen.add(id(leaf))
                if wanted(leaf):
                    yield leaf
                if isinstance(leaf, Module):
                    inner.append(leaf)
            waiting = inner + waiting

    def _leaves(self) -> Iterator[Any]:
        for name in sorted(vars(self)):
            value = vars(self)[name]
            if isinstance(value, keras.layers.Layer):
                yield from value.variables
            else:
                # Lists of Keras' own count as lists; what is no structure comes back as it is.
                plain = list(value) if isinstance(value, list) else value
                yield from jax.tree.leaves(plain, is_leaf=lambda part: isinstance(part, Module))


def _find_saved(value: object) -> Any:
    """Return a value, or of a structure those of its parts, that a checkpoint saves; None if there is nothing."""
    if isinstance(value, _SAVED):
        return value
    if isinstance(value, Mapping):
        parts = {str(name): _find_saved(part) for name, part in value.items()}
    elif isinstance(value, list | tuple):
        parts = {str(index): _find_saved(part) for index, part in enumerate(value)}
    else:
        return None
    # Structures without anything to save are left out, as what is nothing to save is.
    return {name: part for name, part in parts.items() if part is not None} or None
