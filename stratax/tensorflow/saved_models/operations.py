"""The table of TensorFlow's operations by their registered names (saved_models layer).

An operation is a function of `(run, node, *operands)`: `run` is what goes through the graph, `node` has the attributes.
Modules of the room add theirs when they are imported; whoever needs the table takes it from `table`.
"""

import dataclasses
import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from stratax.tensorflow.saved_models.graph import FileNode

# What goes from node to node: an array, a list of arrays, where a variable is, a table.
Value: TypeAlias = Any


class OperationContext(Protocol):
    """What goes through a graph, for the operations that ask it for more than their operands.

    Attributes:
        is_host: Whether it computes on the host, with NumPy's arrays.
    """

    is_host: bool

    def variable(self, node: FileNode, *, is_reference: bool = False) -> Value:
        """Return where the variable of a node is."""

    def table(self, node: FileNode) -> Value:
        """Return the table of a node."""

    def read(self, handle: Value) -> Value:
        """Return the value of a variable."""

    def assign(self, handle: Value, value: Value) -> tuple[()]:
        """Give a variable a value."""

    def asset(self, path: object) -> str:
        """Return the path of a file that operations read."""

    def restore(self, names: Value, slices: Value, dtypes: Sequence[np.dtype]) -> tuple[Value, ...]:
        """Return arrays of the file's variables."""

    def call(self, name: str, operands: Sequence[Value]) -> Value:
        """Return what a function gives."""

    def choose(self, node: FileNode, condition: Value, operands: Sequence[Value]) -> Value:
        """Call one of two functions."""

    def choose_case(self, node: FileNode, index: Value, operands: Sequence[Value]) -> Value:
        """Call one of several functions."""

    def repeat(self, node: FileNode, operands: Sequence[Value]) -> Value:
        """Call a function again and again."""

    def switch(self, node: FileNode, value: Value, condition: Value) -> tuple[Value, Value]:
        """Return a value on the way that a condition says."""

    def merge(self, node: FileNode, values: Sequence[Value]) -> tuple[Value, Value]:
        """Return the value of the way that was taken."""

    def leave(self, node: FileNode) -> Value:
        """Return a variable's last value behind a loop."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class KnownOperation:
    """What a registered name does.

    Attributes:
        call: Returns its output, or a tuple of outputs where there are several.
        outputs: The outputs' names, if there are several; `name*attribute` for as many as an attribute says.
        is_host: Whether it computes on the host only: with text, or results whose sizes depend on values.
        is_heavy: Whether it is never computed on the host beside such.
        static: The operands of which a program has to know the values: axes and sizes.
        is_stateful: Whether it reads or changes what others change.
    """

    call: Callable[..., Any]
    outputs: tuple[str, ...] = ()
    is_host: bool = False
    is_heavy: bool = False
    static: tuple[int, ...] = ()
    is_stateful: bool = False


_TABLE: dict[str, KnownOperation] = {}
# Each defines operations when it is imported.
_MODULES = ("arrays", "control", "layers", "lists", "math", "resources", "sparse", "text", "training")


def define(
    names: str,
    call: Callable[..., Any],
    *,
    outputs: str = "",
    host: bool = False,
    heavy: bool = False,
    static: tuple[int, ...] = (),
    stateful: bool = False,
) -> None:
    """Add operations to the table.

    Args:
        names: Their registered names, with blanks between them.
        call: What they do.
        outputs: The names of their outputs, if there are several.
        host: Whether they compute on the host only.
        heavy: Whether they are left to the device.
        static: The operands of which a program has to know the values.
        stateful: Whether they read or change what others change.
    """
    operation = KnownOperation(
        call=call,
        outputs=tuple(outputs.split()),
        is_host=host,
        is_heavy=heavy,
        static=static,
        is_stateful=stateful,
    )
    for name in names.split():
        _TABLE[name] = operation


def plain(names: str, function: Callable[..., Any], **options: Any) -> None:
    """Add operations that are functions of their operands alone."""
    define(names, lambda run, node, *operands: function(*operands), **options)


@functools.cache
def table() -> Mapping[str, KnownOperation]:
    """Return the whole table."""
    for name in _MODULES:
        importlib.import_module(f"stratax.tensorflow.saved_models._{name}_operations")
    return _TABLE


def first_output(node: FileNode, argument: str) -> int:
    """Return the number of the first output of a node that has a name in the registered operation."""
    operation = table().get(node.op)
    number = 0
    for each in () if operation is None else operation.outputs:
        name, _, attribute = each.partition("*")
        if name == argument:
            return number
        number += _count(node.get(attribute, 0)) if attribute else 1
    # Of one name; a node of an unknown operation is refused before anything runs.
    return 0


def _count(value: Value) -> int:
    return len(value) if isinstance(value, list) else int(value)


def library(*operands: Value) -> Any:
    """Return the module whose functions compute with operands: NumPy's for its arrays, else JAX'."""
    return jnp if any(isinstance(each, jax.Array) for each in operands) else np


def as_numbers(value: Value) -> list[int]:
    """Return an operand that says axes or sizes as a list; sizes may be JAX' symbols.

    Raises:
        TypeError: It is known only when the program runs.
    """
    if isinstance(value, jax.core.Tracer):
        return [_number_of(each) for each in value] if value.ndim else [_number_of(value)]
    return np.reshape(np.asarray(value), [-1]).tolist()


def _number_of(value: Value) -> int:
    return int(value)


def as_number(value: Value) -> Any:
    """Return an operand that says one axis or size: see :func:`as_numbers`."""
    return as_numbers(value)[0]
