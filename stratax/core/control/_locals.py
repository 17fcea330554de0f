"""The local variables of a traced block: what they hold before and after it, taken apart (core layer).

A block (the body of a loop, a branch) is a function without arguments that assigns locals of the function around it.
To trace it, the locals' values are taken apart into arrays, which the compiled program carries, and the rest (strings,
objects, the structure around arrays), which has to be the same on every path.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import TensorLike


class Undefined:
    """The value of a local that has none.

    Args:
        name: The local.
        reason: Why it has none, where there is more to say.
    """

    __slots__ = ("name", "reason")

    def __init__(self, name: str, reason: str = "") -> None:
        self.name = name
        self.reason = reason

    def read(self) -> Any:
        """Raise the error that reading the local gives in Python."""
        message = f"Local variable {shown(self.name)} is used before it has a value. {self.reason}"
        raise UnboundLocalError(message.rstrip())

    def __repr__(self) -> str:
        return f"<{self.name} without a value>"


class NoneOnEntry(Undefined):
    """Stands for a local that is None before a loop; finds out whether the loop's body looks at it."""

    __slots__ = ("was_read",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.was_read = False

    def read(self) -> None:
        self.was_read = True


class UndefinedReturnValue:
    """The result of a function that has not returned yet."""

    def __repr__(self) -> str:
        return "None (no return statement was reached)"


@jax.tree_util.register_pytree_node_class
class PartialReturn:
    """The result of a function that has returned on some paths; zeros on the others."""

    def __init__(self, value: object) -> None:
        self.value = value

    def tree_flatten(self) -> tuple[tuple[Any], None]:
        return (self.value,), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Sequence[Any]) -> "PartialReturn":
        return cls(children[0])


def is_unset(value: object) -> bool:
    """Return whether a local or the function's result has no value."""
    return isinstance(value, (Undefined, UndefinedReturnValue))


def load(value: object) -> Any:
    """Read a local, or raise if it has no value."""
    return value.read() if isinstance(value, Undefined) else value


def is_array(leaf: object) -> bool:
    """Return whether a compiled program can carry `leaf`: an array or a number."""
    if isinstance(leaf, np.ndarray):
        # Objects, bytes and text, which devices don't have.
        return leaf.dtype.kind not in "OSU"
    # Python's numbers, too: one that a loop changes has to be carried.
    return isinstance(leaf, (jax.Array, np.number, np.bool_, bool, int, float, complex))


def read_variables(values: Sequence[Any], before: Sequence[Any]) -> list[Any]:
    """Read the variables that a block has assigned to locals: what leaves a block are arrays.

    Args:
        values: The locals after the block.
        before: The locals before it; a variable that a local held already stays one.

    Returns:
        The locals, with values in the places of variables. Where there are none, the very same objects.
    """
    # A local that is the variable itself means the variable, whose value the region carries.
    kept = {id(leaf) for leaf in jax.tree.leaves(list(before)) if isinstance(leaf, keras.Variable)}

    def is_new(leaf: object) -> bool:
        return isinstance(leaf, keras.Variable) and id(leaf) not in kept

    return [
        jax.tree.map(lambda leaf: leaf.value if is_new(leaf) else leaf, value)
        if any(is_new(leaf) for leaf in jax.tree.leaves(value))
        else value
        for value in values
    ]


def is_weak(leaf: object) -> bool:
    """Return whether a number takes the dtype of what it meets, as Python's do."""
    # NumPy's scalars are of Python's classes (`np.float64` is a `float`), and strong.
    is_number = isinstance(leaf, (int, float, complex)) and not isinstance(leaf, (bool, np.generic))
    return is_number or bool(getattr(leaf, "weak_type", False))


@dataclasses.dataclass(frozen=True, slots=True)
class Leaf:
    """One array in a local: its name in messages, and its type."""

    path: str
    shape: tuple[int, ...]
    dtype: Any

    def __str__(self) -> str:
        return (
            f"{jnp.dtype(self.dtype).name if not _is_extended(self.dtype) else self.dtype}{list(self.shape)}"
        )


def describe(path: str, value: object) -> Leaf:
    """Return the type of an array or number."""
    aval = jax.typeof(value)
    return Leaf(path, tuple(aval.shape), aval.dtype)


def _is_extended(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jax.dtypes.extended))


def label(name: str, path: Sequence[Any] = ()) -> str:
    """Return how a message names a local, or the function's result, or a part of it."""
    text = "the value returned" if name.startswith("retval_") else f"local variable {name!r}"
    return f"{text} (at {jax.tree_util.keystr(tuple(path))})" if path else text


@dataclasses.dataclass(slots=True)
class PackedLocal:
    """One local's value: its leaves and the structure around them.

    Attributes:
        name: The local.
        leaves: Arrays, numbers and other objects, in order.
        paths: How messages name the leaves.
        treedef: The structure.
    """

    name: str
    leaves: list[Any]
    paths: list[str]
    treedef: Any

    @property
    def arrays(self) -> list[int]:
        """The positions of the leaves that a program can carry."""
        return [position for position, leaf in enumerate(self.leaves) if is_array(leaf)]

    def unpack(self, replaced: dict[int, Any]) -> Any:
        """Return the value, with other leaves at some positions."""
        leaves = [replaced.get(position, leaf) for position, leaf in enumerate(self.leaves)]
        return jax.tree.unflatten(self.treedef, leaves)


def pack(name: str, value: object) -> PackedLocal:
    """Take a local's value apart."""
    flat, treedef = jax.tree_util.tree_flatten_with_path(value)
    return PackedLocal(name, [leaf for _, leaf in flat], [label(name, path) for path, _ in flat], treedef)


def same_constant(left: TensorLike, right: TensorLike) -> bool:
    """Return whether two objects that no program can carry may be taken for one."""
    if left is right:
        return True
    try:
        return type(left) is type(right) and bool(left == right)
    except Exception:  # Comparing is the object's own code; what it can't compare is not the same.
        return False


def cast(value: Any, dtype: Any) -> Any:
    """Return `value` as an array of exactly this dtype."""
    # Keys of random numbers have no other dtype to convert to.
    if _is_extended(dtype):
        return value
    return jax.lax.convert_element_type(value, jnp.dtype(dtype))


def zeros(leaf: Leaf) -> Any:
    """Return what a local holds where it was not assigned."""
    if _is_extended(leaf.dtype):
        return jax.random.wrap_key_data(
            jnp.zeros(
                (*leaf.shape, *jax.eval_shape(jax.random.key_data, jax.random.key(0)).shape), jnp.uint32
            )
        )
    return jnp.zeros(leaf.shape, leaf.dtype)


def common_dtype(path: str, left: TensorLike, right: TensorLike, where: str, fix: str) -> Any:
    """Return the dtype that both values of a local fit in, where two paths of a program meet.

    Args:
        path: The local, for the message.
        left: Its value on one path.
        right: Its value on the other.
        where: What the paths are, for the message.
        fix: What to do, for the message.

    Returns:
        The dtype. Python numbers take the other's dtype where it can hold them.

    Raises:
        TracingError: If shapes differ, or dtypes that are not just Python's.
    """
    one, other = describe(path, left), describe(path, right)
    if one.shape == other.shape:
        if one.dtype == other.dtype:
            return one.dtype
        if is_weak(left) or is_weak(right):
            # Joined must be what the strong one has already: an array never changes its dtype silently.
            joined = jnp.result_type(left, right)
            fits = {True: [], False: [one.dtype]}[is_weak(left)] + {True: [], False: [other.dtype]}[
                is_weak(right)
            ]
            if all(dtype == joined for dtype in fits):
                return joined
    raise errors.TracingError(
        f"The shape or dtype of {path} differs {where}. A compiled program needs one of each. Expected: {one}. "
        f"Received: {other}. {fix}"
    )


def as_predicate(condition: object, statement: str) -> Any:
    """Return a condition as a boolean scalar array.

    Raises:
        TracingError: If it has more than one element.
    """
    condition = jnp.asarray(condition)
    if condition.size != 1:
        raise errors.TracingError(
            f"The condition of `{statement}` has more than one element. Expected: a scalar array. "
            f"Received: {describe('', condition)}. Reduce it with `keras.ops.all` or `keras.ops.any`, or use "
            "`keras.ops.where` to choose element by element."
        )
    condition = condition.reshape(())
    return condition if condition.dtype == bool else condition != 0
