"""Graphs and functions of a file as nodes that refer to one another (saved_models layer)."""

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stratax.base.bounds import check_bytes
from stratax.base.shown import shown
from stratax.errors import DataLossError
from stratax.io import TYPES_BY_NUMBER, list_values
from stratax.tensorflow.saved_models.messages import Message

# The name of a node, and the number of one of its outputs.
Output = tuple[str, int]
_STRING = np.dtype(object)
# Numbers of `DataType`: a variable of TensorFlow 1 has its dtype's with 100 added.
_OF_REFERENCES = 100
_OF_TEXT = 7
# A few bytes can stand for an array that is one value over and over.
_MOST_EXPANDED_BYTES = 1 << 30


@dataclasses.dataclass(frozen=True, slots=True)
class NamedFunction:
    """What an attribute says of a function.

    Attributes:
        name: Its name in the library.
    """

    name: str


class FileNode:
    """An operation of a graph.

    Attributes:
        name: Its name.
        op: The registered name of the operation.
        inputs: What it takes: nodes' names with the numbers of their outputs.
        controls: The nodes that have to run before.

    Args:
        name: Its name.
        op: The operation.
        inputs: What it takes.
        controls: What runs before.
        attributes: Its attributes as messages, by name.
    """

    __slots__ = ("_attributes", "_decoded", "controls", "inputs", "name", "op")

    def __init__(
        self,
        name: str,
        op: str,
        inputs: tuple[Output, ...],
        controls: tuple[str, ...],
        attributes: Mapping[str, Any],
    ) -> None:
        self.name = name
        self.op = op
        self.inputs = inputs
        self.controls = controls
        self._attributes = attributes
        self._decoded: dict[str, Any] = {}

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute; `default` where the file has none."""
        if name not in self._decoded:
            # A look at a map of protobuf by `[]` would add what is not there.
            if name not in self._attributes:
                return default
            self._decoded[name] = _decode(self._attributes[name], f"{self.name!r} ({self.op})")
        return self._decoded[name]

    def __getitem__(self, name: str) -> Any:
        found = self.get(name)
        if found is None:
            raise DataLossError(
                f"The node {shown(self.name)} ({self.op}) has no attribute {shown(name)}, or none that can be read."
            )
        return found

    def text(self, name: str, default: str = "") -> str:
        """Return an attribute that is text."""
        found = self.get(name, default)
        return found.decode(errors="replace") if isinstance(found, bytes) else str(found)

    @property
    def has_text(self) -> bool:
        """Whether a dtype among its attributes is that of text."""
        for name in self._attributes:
            message = self._attributes[name]
            kind = message.WhichOneof("kind")
            if (kind == "type" and message.type % _OF_REFERENCES == _OF_TEXT) or (
                kind == "list" and _OF_TEXT in message.list.type
            ):
                return True
        return False

    def at(self, prefix: str, inputs: tuple[Output, ...], controls: tuple[str, ...]) -> "FileNode":
        """Return the same operation under a longer name, with other inputs."""
        return FileNode(prefix + self.name, self.op, inputs, controls, self._attributes)

    def functions(self) -> Iterator[str]:
        """Yield the names of the functions that attributes refer to."""
        for name in self._attributes:
            message = self._attributes[name]
            if message.WhichOneof("kind") == "func":
                yield message.func.name
            elif message.WhichOneof("kind") == "list":
                yield from (each.name for each in message.list.func)

    def __repr__(self) -> str:
        return f"{self.name!r} ({self.op})"


class FileGraph:
    """Nodes by name: a graph of its own, or the body of a function.

    Attributes:
        name: The function's name; empty for a graph.
        nodes: The nodes, in the file's order.
        parameters: The names of the function's arguments, which are nodes `_Arg`.
        results: What the function gives, in order.
        effects: The nodes that run whenever the function does.

    Args:
        name: The function's name.
        nodes: The nodes.
        parameters: The function's arguments.
        results: What it gives.
        effects: What runs in any case.

    Raises:
        DataLossError: A decision has no condition.
    """

    def __init__(
        self,
        name: str,
        nodes: Mapping[str, FileNode],
        parameters: Sequence[str] = (),
        results: Sequence[Output] = (),
        effects: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.nodes = nodes
        self.parameters = tuple(parameters)
        self.results = tuple(results)
        self.effects = tuple(effects)
        self._orders: dict[tuple[tuple[str, ...], frozenset[str]], list[FileNode]] = {}
        for node in nodes.values():
            # Who goes through a graph looks at the condition before the node is computed.
            if node.op in ("Switch", "RefSwitch") and len(node.inputs) != 2:
                raise DataLossError(f"{node} of the file is damaged: it takes a value and a condition.")

    def order(self, targets: Sequence[str], known: frozenset[str]) -> list[FileNode]:
        """Return the nodes that have to run for some: see :func:`order_of`."""
        key = tuple(targets), known
        if key not in self._orders:
            self._orders[key] = order_of(self, targets, known)
        return self._orders[key]

    @functools.cached_property
    def has_decisions(self) -> bool:
        """Whether there are decisions as TensorFlow 1 makes them."""
        return any(node.op in ("Switch", "RefSwitch") for node in self.nodes.values())

    def node(self, name: str) -> FileNode:
        """Return a node.

        Raises:
            DataLossError: There is none of that name.
        """
        if name not in self.nodes:
            raise DataLossError(f"{self} is damaged: it has no node {shown(name)}.")
        return self.nodes[name]

    @functools.cached_property
    def frames(self) -> dict[str, "LoopFrame"]:
        """The loops of TensorFlow 1, by the names of their nodes `Exit`."""
        return _find_frames(self)

    def __str__(self) -> str:
        return f"The function {shown(self.name)}" if self.name else "The graph"


@dataclasses.dataclass(frozen=True, slots=True)
class LoopFrame:
    """A loop of TensorFlow 1: nodes between `Enter` and `Exit`.

    Attributes:
        name: Its name.
        constants: The nodes `Enter` of what stays the same.
        variables: The nodes `Merge` of the loop's variables.
        first: Their first values.
        next: What they become.
        switches: Their nodes `Switch`; None of a variable that has none.
        exits: Their nodes `Exit`.
        condition: Whether it goes on.
    """

    name: str
    constants: tuple[str, ...]
    variables: tuple[str, ...]
    first: tuple[Output, ...]
    next: tuple[Output, ...]
    switches: tuple[str | None, ...]
    exits: tuple[str | None, ...]
    condition: Output


def graph_of(message: Message) -> FileGraph:
    """Return the graph of a `GraphDef`, without its functions.

    Raises:
        DataLossError: It is damaged.
    """
    nodes: dict[str, FileNode] = {}
    for each in message.node:
        inputs, controls = _inputs(each, _graph_output)
        nodes[each.name] = FileNode(each.name, each.op, inputs, controls, each.attr)
    return FileGraph("", nodes)


def function_of(message: Message, offset: "Offset") -> FileGraph:
    """Return the body of a `FunctionDef`.

    Args:
        message: The function.
        offset: Gives the number of an operation's first output of a name.

    Raises:
        DataLossError: It is damaged.
    """
    signature = message.signature
    nodes = {each.name: FileNode(each.name, "_Arg", (), (), {}) for each in signature.input_arg}
    by_name = {each.name: each for each in message.node_def}
    made: dict[str, FileNode] = {}

    def output(text: str) -> Output:
        name, _, rest = text.partition(":")
        if not rest:
            return name, 0
        argument, _, index = rest.partition(":")
        if name not in by_name:
            raise DataLossError(
                f"The function {shown(signature.name)} is damaged: it has no node {shown(name)}."
            )
        if name not in made:
            each = by_name[name]
            made[name] = FileNode(name, each.op, (), (), each.attr)
        return name, offset(made[name], argument) + _number(index, text)

    for each in message.node_def:
        inputs, controls = _inputs(each, output)
        nodes[each.name] = FileNode(each.name, each.op, inputs, controls, each.attr)
    missing = [each.name for each in signature.output_arg if each.name not in message.ret]
    if missing:
        raise DataLossError(
            f"The function {shown(signature.name)} is damaged: nothing gives {shown(missing[0])}."
        )
    return FileGraph(
        signature.name,
        nodes,
        [each.name for each in signature.input_arg],
        [output(message.ret[each.name]) for each in signature.output_arg],
        [message.control_ret[key] for key in sorted(message.control_ret)],
    )


# Returns the number of the first output of a node that has a name in the registered operation.
Offset = Any


def tensor_name(text: str) -> Output:
    """Return the output that a tensor's name says, such as ``"dense/Relu:0"``."""
    return _graph_output(text)


def _graph_output(text: str) -> Output:
    name, _, index = text.partition(":")
    return name, _number(index, text) if index else 0


def _number(text: str, name: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise DataLossError(f"This names no output of a node: {shown(name)}.")
    return int(text)


def _inputs(message: Message, output: Any) -> tuple[tuple[Output, ...], tuple[str, ...]]:
    inputs, controls = [], []
    for text in message.input:
        if text.startswith("^"):
            controls.append(text[1:])
        else:
            inputs.append(output(text))
    return tuple(inputs), tuple(controls)


def _find_frames(graph: FileGraph) -> dict[str, LoopFrame]:
    of_op: dict[str, list[FileNode]] = {}
    for node in graph.nodes.values():
        of_op.setdefault(node.op.removeprefix("Ref"), []).append(node)
    if "Exit" not in of_op:
        return {}
    enters = {node.name: node for node in of_op.get("Enter", ())}
    frames: dict[str, tuple[list[str], list[tuple[FileNode, FileNode]]]] = {}
    for enter in enters.values():
        constants, _ = frames.setdefault(enter.text("frame_name"), ([], []))
        if enter.get("is_constant"):
            constants.append(enter.name)
    for merge in of_op.get("Merge", ()):
        sources = [graph.node(name) for name, _ in merge.inputs]
        if len(sources) == 2 and sources[0].name in enters and sources[1].op.endswith("NextIteration"):
            frames[enters[sources[0].name].text("frame_name")][1].append((merge, sources[1]))
    switches: dict[str, FileNode] = {}
    for switch in of_op.get("Switch", ()):
        # Of a loop's variable: its condition decides, not another one that looks at the variable.
        if len(switch.inputs) == 2 and graph.node(switch.inputs[1][0]).op == "LoopCond":
            switches.setdefault(switch.inputs[0][0], switch)
    exits = {node.inputs[0][0]: node for node in of_op["Exit"] if node.inputs}
    found: dict[str, LoopFrame] = {}
    for name, (constants, merges) in frames.items():
        conditions = {switches[merge.name].inputs[1][0] for merge, _ in merges if merge.name in switches}
        if len(conditions) != 1 or not all(after.inputs for _, after in merges):
            continue
        own = [switches.get(merge.name) for merge, _ in merges]
        ends = [None if switch is None else exits.get(switch.name) for switch in own]
        frame = LoopFrame(
            name,
            tuple(constants),
            tuple(merge.name for merge, _ in merges),
            tuple(enters[merge.inputs[0][0]].inputs[0] for merge, _ in merges),
            tuple(after.inputs[0] for _, after in merges),
            tuple(None if switch is None else switch.name for switch in own),
            tuple(None if end is None else end.name for end in ends),
            graph.node(conditions.pop()).inputs[0],
        )
        found.update({end.name: frame for end in ends if end is not None})
    return found


def order_of(graph: FileGraph, targets: Iterable[str], known: Iterable[str]) -> list[FileNode]:
    """Return the nodes that have to run for some, each behind what it takes.

    Args:
        graph: The graph.
        targets: The names of nodes.
        known: The names of nodes that have run, or need not.

    Raises:
        DataLossError: Nodes wait for one another.
    """
    done = set(known)
    entered: set[str] = set()
    order: list[FileNode] = []
    waiting = [(name, False) for name in reversed(list(targets))]
    while waiting:
        name, is_behind = waiting.pop()
        if name in done:
            continue
        node = graph.node(name)
        if is_behind:
            done.add(name)
            order.append(node)
            continue
        if name in entered:
            raise DataLossError(f"{graph} is damaged: {node} waits for itself.")
        entered.add(name)
        waiting.append((name, True))
        waiting.extend((each, False) for each in reversed(needs_of(graph, node)) if each not in done)
    return order


def needs_of(graph: FileGraph, node: FileNode) -> list[str]:
    """Return the nodes that run before one: of a loop's end, those that the loop begins with."""
    frame = graph.frames.get(node.name)
    if frame is None:
        return [*(name for name, _ in node.inputs), *node.controls]
    outside = [graph.node(each).inputs[0][0] for each in frame.constants]
    return [*(name for name, _ in frame.first), *outside, *node.controls]


def _decode(message: Message, where: str) -> Any:
    kind = message.WhichOneof("kind")
    if kind is None:
        return None
    value = getattr(message, kind)
    if kind == "list":
        for field, decode in _LISTS.items():
            if values := getattr(value, field):
                return [decode(each, where) for each in values]
        return []
    return _LISTS[kind](value, where) if kind in _LISTS else None


def dtype_of(number: int, where: str) -> Any:
    """Return NumPy's dtype of a number of `DataType`; None of what is no array (resources, variants)."""
    number -= _OF_REFERENCES if number > _OF_REFERENCES else 0
    kind = TYPES_BY_NUMBER.get(number)
    if kind is None and number not in (0, 11, 12, 13, 15, 16, 20, 21):
        raise DataLossError(f"{where} has the dtype {number}, which is none of those that are known.")
    return None if kind is None else kind.dtype


def shape_of(message: Message) -> tuple[int | None, ...] | None:
    """Return the sizes of a shape; None for those that are not known, or for all."""
    if message.unknown_rank:
        return None
    return tuple(None if dim.size < 0 else dim.size for dim in message.dim)


def array_of(message: Message, where: str) -> np.ndarray:
    """Return the array of a `TensorProto`.

    Raises:
        DataLossError: Its parts do not agree, or it is too large for what is there.
    """
    kind = TYPES_BY_NUMBER.get(message.dtype)
    shape = shape_of(message.tensor_shape)
    if kind is None or shape is None or None in shape:
        raise DataLossError(f"The constant of {where} has no dtype or shape that can be read.")
    sizes = [size for size in shape if size is not None]
    count, dtype = math.prod(sizes), kind.dtype
    if message.tensor_content and dtype != _STRING:
        if len(message.tensor_content) != count * dtype.itemsize:
            raise DataLossError(
                f"The constant of {where} has {len(message.tensor_content)} bytes, expected {count} values of "
                f"{dtype.itemsize}."
            )
        made = np.frombuffer(message.tensor_content, dtype.newbyteorder("<")).astype(dtype)
        return made.reshape(sizes)
    values = list_values(message, kind)
    if len(values) < count:
        if count * dtype.itemsize > _MOST_EXPANDED_BYTES:
            raise DataLossError(f"The constant of {where} has {len(values)} values of {count}.")
        check_bytes("Reading a constant", (count,), dtype.itemsize)
        last = values[-1] if len(values) else (b"" if dtype == _STRING else 0)
        filled = np.full(count, last, dtype)
        filled[: len(values)] = values
        values = filled
    return values[:count].reshape(sizes)


_LISTS: dict[str, Any] = {
    "s": lambda value, where: value,
    "i": lambda value, where: int(value),
    "f": lambda value, where: float(value),
    "b": lambda value, where: bool(value),
    "type": dtype_of,
    "shape": lambda value, where: shape_of(value),
    "tensor": array_of,
    "func": lambda value, where: NamedFunction(value.name),
}
