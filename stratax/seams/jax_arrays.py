"""What arrays of JAX are given beside what they have, and how (seams layer).

Only what `stratax.tf` installs for programs that import it goes through here. JAX documents no way to add methods to
its arrays; this uses its own:

- Values are of the class `ArrayImpl`, to which JAX itself sets its methods one by one.
- Tracers look for what they don't have in the type of their value, `ShapedArray`, where `aval_method` and
  `aval_property` mark what is called with the tracer.
- Operators of values are methods of that class, too; tracers call those of `ShapedArray` with one underscore.
- `is_top_level` tells whether what is computed now is traced, which JAX has no public question for.
- `shape` is a property of both classes. It gives a tuple, and so does what takes its place.
"""

from collections.abc import Callable, Mapping
from typing import Any

from jax import tree_util
from jax._src import core, dtypes, source_info_util
from jax._src.array import ArrayImpl

__all__ = [
    "ArrayImpl",
    "give_attributes",
    "give_conversion",
    "give_dtypes_to_tracers",
    "give_operators",
    "give_shapes",
    "is_top_level",
]

is_top_level = core.trace_ctx.is_top_level


def give_attributes(to_arrays: Mapping[str, Any], to_tracers: Mapping[str, Any]) -> None:
    """Give JAX' arrays methods and properties that they do not have.

    Args:
        to_arrays: Those of arrays with values, by name: functions of `self`, or properties.
        to_tracers: Those of arrays that stand for values while a function is traced.
    """
    for name, attribute in to_arrays.items():
        setattr(ArrayImpl, name, attribute)
    for name, attribute in to_tracers.items():
        is_property = isinstance(attribute, property)
        setattr(
            core.ShapedArray,
            name,
            core.aval_property(attribute.fget) if is_property else core.aval_method(attribute),
        )


def take_mark(name: str) -> None:
    """Let programs set an attribute of JAX' arrays to a boolean, which has no meaning and is False again.

    Args:
        name: The attribute's.
    """
    owners: list[Any] = [ArrayImpl, core.Tracer]
    for owner in owners:
        setattr(owner, name, property(lambda self: False, lambda self, value: None))


def give_conversion(kind: type, convert: Callable[[Any], Any]) -> None:
    """Say what JAX' functions compute with if they are given a value of a class.

    Args:
        kind: The class, which may be one of NumPy arrays.
        convert: Takes a value of it and returns an array of JAX.
    """
    dtypes.register_canonicalize_value_handler(kind, convert)


def give_operators(operators: Mapping[str, Callable[[Any], Any]], file: str) -> None:
    """Have JAX' arrays compute otherwise with operators.

    Args:
        operators: By their names without underscores, functions that get what JAX computes and return what takes its
            place.
        file: Where these are defined. An operation comes from the line that has the operator, not from there.
    """
    source_info_util.register_exclusion(file)
    for name, made_of in operators.items():
        setattr(ArrayImpl, f"__{name}__", made_of(getattr(ArrayImpl, f"__{name}__")))
        setattr(core.ShapedArray, f"_{name}", staticmethod(made_of(getattr(core.ShapedArray, f"_{name}"))))


def give_shapes(kind: type[tuple[Any, ...]]) -> None:
    """Have JAX' arrays give their shapes as tuples of a class of its own.

    Args:
        kind: The class; JAX' trees take it apart as they do tuples.
    """
    new: Callable[..., Any] = tuple.__new__

    def shape_of(self: Any) -> Any:
        shape = self.aval.shape
        return new(kind, shape) if type(shape) is tuple else shape

    owners: list[Any] = [ArrayImpl, core.Tracer]
    for owner in owners:
        owner.shape = property(shape_of, doc="The shape of the array.")
    tree_util.register_pytree_node(kind, lambda shape: (tuple(shape), None), lambda _, sizes: tuple(sizes))


def give_dtypes_to_tracers(made_of: Callable[[Any], Any]) -> None:
    """Have arrays that stand for values while a function is traced give other dtypes.

    Args:
        made_of: Called with JAX' dtype by the property, which has been asked for it; returns what takes its place.
    """
    owner: Any = core.Tracer
    owner.dtype = property(lambda self: made_of(self.aval.dtype), doc="The dtype of the array.")
