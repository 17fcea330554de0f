"""Going through a graph: each node's operation is called with what the nodes before it gave (saved_models layer)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.core.autograph import do_not_convert
from stratax.core.functions import choose
from stratax.errors import BadArgumentError, DataLossError, StrataxError, UnimplementedError
from stratax.tensorflow.saved_models import loops
from stratax.tensorflow.saved_models._resources_operations import Table, VariableHandle
from stratax.tensorflow.saved_models.graph import FileGraph, FileNode, Output
from stratax.tensorflow.saved_models.operations import Value, library, table
from stratax.tensorflow.saved_models.state import State

# What a decision of TensorFlow 1 leaves on the way that is not taken.
DEAD: Any = type("Dead", (), {"__repr__": lambda self: "DEAD"})()
# The numbers of the outputs of decisions.
_FALSE, _TRUE = 0, 1
# What operations raise for operands that do not fit.
_OF_OPERANDS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    RecursionError,
    TypeError,
    UnicodeError,
    ValueError,
)


class GraphRun:
    """One way through a graph.

    Attributes:
        state: The variables and tables of the graph.
        is_host: Whether it computes on the host, with NumPy's arrays.

    Args:
        state: The variables and tables.
        is_host: Whether it computes on the host.
    """

    def __init__(self, state: State, *, is_host: bool) -> None:
        self.state = state
        self.is_host = is_host
        # By node: the decisions that its value depends on, each with the way that was taken.
        self._ways: dict[tuple[int, str], frozenset[tuple[Output, int]]] = {}
        self._graph: FileGraph | None = None
        self._values: dict[Output, Any] = {}

    def evaluate(
        self,
        graph: FileGraph,
        known: Mapping[Output, Any],
        targets: Sequence[Output],
        effects: Sequence[str] = (),
    ) -> list[Any]:
        """Return the values of some outputs of a graph.

        Args:
            graph: The graph.
            known: Values of outputs that are known before, by which their nodes are not run.
            targets: The outputs.
            effects: Nodes that run besides.
        """
        order = graph.order([*(name for name, _ in targets), *effects], frozenset(name for name, _ in known))
        return self.follow(graph, order, dict(known), targets)

    def evaluate_all(self, graph: FileGraph, known: Mapping[Output, Value], name: str) -> list[Value]:
        """Return all outputs of a node of a graph.

        Args:
            graph: The graph.
            known: Values of outputs that are known before.
            name: The node's name.
        """
        values = dict(known)
        order = graph.order([name], frozenset(each for each, _ in known))
        self.follow(graph, order, values, ())
        found: list[Value] = []
        while (name, len(found)) in values:
            found.append(values[name, len(found)])
        return found

    def follow(
        self,
        graph: FileGraph,
        order: Sequence[FileNode],
        values: dict[Output, Any],
        targets: Sequence[Output],
    ) -> list[Any]:
        """Run nodes in an order; return the values of some outputs.

        Args:
            graph: The graph.
            order: Its nodes, each behind those that it takes.
            values: Values that are known, to which those of the nodes are added.
            targets: The outputs.

        Raises:
            DataLossError: A node has no such output.
        """
        before = self._graph, self._values
        self._graph, self._values = graph, values
        try:
            for node in order:
                self._step(node, values)
        finally:
            self._graph, self._values = before
        return [_value(values, each, graph) for each in targets]

    def _step(self, node: FileNode, values: dict[Output, Any]) -> None:
        operands = () if node.op in _LEAVING else tuple(_value(values, each, node) for each in node.inputs)
        if self._graph is not None and self._graph.has_decisions and self._is_dead(node, operands, values):
            for number in range(_MOST_DEAD):
                values[node.name, number] = DEAD
            return
        operation = table().get(node.op)
        if operation is None:
            raise DataLossError(
                f"{node} of the file is damaged: it has no value, and {shown(node.op)} computes none."
            )
        if not node.op.startswith(_TAKES_REFERENCES):
            operands = tuple(map(self._without_reference, operands))
        # Sizes and axes that come of constants stay known while a program is traced.
        is_known = (
            not self.is_host
            and not operation.is_stateful
            and all(map(_is_known, operands))
            and bool(operands)
        )
        try:
            if is_known and not any(node.functions()):
                with jax.ensure_compile_time_eval():
                    made = operation.call(self, node, *operands)
            else:
                made = operation.call(self, node, *operands)
        except StrataxError as error:
            error.add_note(f"This is the node {node} of a file that TensorFlow wrote.")
            raise
        except _OF_OPERANDS as error:
            # What decides how a trace goes on is not about this node.
            if type(error).__module__.startswith("stratax"):
                raise
            raise BadArgumentError(
                f"The node {node} of the file can't be computed: {type(error).__name__}: {str(error)[:500]}. Received: "
                f"{', '.join(map(_describe, operands))[:500] or 'nothing'}."
            ) from error
        if isinstance(made, tuple):
            for number, each in enumerate(made):
                values[node.name, number] = self._as_value(each, is_known)
        else:
            values[node.name, 0] = self._as_value(made, is_known)

    def _as_value(self, value: Value, is_known: bool) -> Any:
        if (
            (self.is_host or is_known)
            and isinstance(value, jax.Array)
            and not isinstance(value, jax.core.Tracer)
        ):
            return np.asarray(value)
        return _as_text(value) if isinstance(value, bytes | str) else value

    def _without_reference(self, value: Value) -> Any:
        return self.read(value) if isinstance(value, VariableHandle) and value.is_reference else value

    def _is_dead(self, node: FileNode, operands: tuple[Any, ...], values: Mapping[Output, Any]) -> bool:
        ways = self._ways
        place = id(self._graph)
        found: set[tuple[Output, int]] = set()
        for name, number in node.inputs:
            found |= ways.get((place, name), frozenset())
            source = self._graph.nodes.get(name) if self._graph is not None else None
            if source is not None and source.op in _SWITCHES:
                found.add((source.inputs[1], number))
        for name in node.controls:
            found |= ways.get((place, name), frozenset())
        ways[place, node.name] = frozenset(found)
        if node.op in _MERGES:
            return all(each is DEAD for each in operands)
        return any(each is DEAD for each in operands) or any(
            values.get((name, 0)) is DEAD for name in node.controls
        )

    # What operations ask for.

    def variable(self, node: FileNode, *, is_reference: bool = False) -> VariableHandle:
        """Return where the variable of a node is."""
        return self.state.variable(node, is_reference=is_reference)

    def table(self, node: FileNode) -> Table:
        """Return the table of a node."""
        return self.state.table(node)

    def read(self, handle: Value) -> Any:
        """Return the value of a variable."""
        value = _variable(handle).read()
        return np.asarray(value) if self.is_host and not is_traced(value) else value

    def assign(self, handle: Value, value: Value) -> tuple[()]:
        """Give a variable a value."""
        _variable(handle).assign(value)
        return ()

    def asset(self, path: Any) -> str:
        """Return the path of a file that operations read."""
        return self.state.asset(path)

    def restore(self, names: Value, slices: Value, dtypes: Any) -> tuple[Any, ...]:
        """Return arrays of the file's variables."""
        return self.state.restore(names, slices, dtypes)

    def call(self, name: str, operands: Sequence[Any]) -> Any:
        """Return what a function gives."""
        function = self.state.function(name)
        if len(operands) != len(function.parameters):
            raise DataLossError(
                f"{function} is called with {len(operands)} values, and takes {len(function.parameters)}."
            )
        known = {(each, 0): value for each, value in zip(function.parameters, operands, strict=True)}
        return tuple(self.evaluate(function, known, function.results, function.effects))

    def choose(self, node: FileNode, condition: Value, operands: Sequence[Any]) -> Any:
        """Call one of two functions."""
        names = node["then_branch"].name, node["else_branch"].name
        if not is_traced(condition):
            return self.call(names[0] if _truth(condition) else names[1], operands)
        condition = condition if condition.dtype == bool else condition != 0
        return self._choose(condition, *(lambda name=name: self.call(name, operands) for name in names))

    def _choose(self, condition: Value, if_true: Callable[[], Any], if_false: Callable[[], Any]) -> Any:
        packed = []

        def arrays(function: Callable[[], Any]) -> Callable[[], Any]:
            def call() -> Any:
                flat, pack = loops.flatten(function())
                packed.append(pack)
                return tuple(flat)

            return do_not_convert(call)

        made = choose(condition, arrays(if_true), arrays(if_false))
        return tuple(packed[0](list(made)))

    def choose_case(self, node: FileNode, index: Value, operands: Sequence[Any]) -> Any:
        """Call one of several functions, by its number; the last one for any other number."""
        names = [each.name for each in node["branches"]]
        if not is_traced(index):
            number = int(index)
            return self.call(names[number if 0 <= number < len(names) else -1], operands)
        made: Callable[[], Any] = lambda: self.call(names[-1], operands)  # noqa: E731
        for number in reversed(range(len(names) - 1)):
            made = self._nest(index == number, names[number], operands, made)
        return made()

    def _nest(
        self, condition: Value, name: str, operands: Sequence[Any], otherwise: Callable[[], Any]
    ) -> Callable[[], Any]:
        return lambda: self._choose(condition, lambda: self.call(name, operands), otherwise)

    def repeat(self, node: FileNode, operands: Sequence[Any]) -> Any:
        """Call a function again and again."""
        condition, body = self.state.function(node["cond"].name), self.state.function(node["body"].name)
        for function in (condition, body):
            if len(function.parameters) != len(operands) or not function.results:
                raise DataLossError(f"{function} does not fit the loop {node}.")
        if len(body.results) != len(operands):
            raise DataLossError(
                f"{body} gives {len(body.results)} values for the loop {node} of {len(operands)}."
            )
        loop = loops.Loop(
            str(node),
            loops.Part(
                condition,
                [(each, 0) for each in condition.parameters],
                condition.results[:1],
                condition.effects,
            ),
            loops.Part(body, [(each, 0) for each in body.parameters], body.results, body.effects),
        )
        return tuple(loop.run(self, list(operands)))

    # Decisions and loops of TensorFlow 1.

    def switch(self, node: FileNode, value: Value, condition: Value) -> tuple[Any, Any]:
        """Return a value on the way that a condition says."""
        if is_traced(condition):
            return value, value
        return (DEAD, value) if _truth(condition) else (value, DEAD)

    def merge(self, node: FileNode, values: Sequence[Any]) -> tuple[Any, Any]:
        """Return the value of the way that was taken."""
        alive = [number for number, each in enumerate(values) if each is not DEAD]
        if len(alive) == 1:
            return values[alive[0]], np.int32(alive[0])
        place = id(self._graph)
        if len(values) == 2 and self._graph is not None:
            sides = []
            for name, number in node.inputs:
                ways = set(self._ways.get((place, name), frozenset()))
                source = self._graph.nodes[name]
                if source.op in _SWITCHES:
                    ways.add((source.inputs[1], number))
                sides.append(ways)
            for condition, way in sides[0]:
                if (condition, 1 - way) in sides[1]:
                    decided = _value(self._values, condition, node)
                    true, false = values if way == _TRUE else values[::-1]
                    both = {(condition, _TRUE), (condition, _FALSE)}
                    self._ways[place, node.name] = frozenset((sides[0] | sides[1]) - both)
                    xp = library(decided)
                    return xp.where(decided, true, false), xp.where(decided, way == _FALSE, way == _TRUE)
        raise UnimplementedError(
            f"The node {node} of the file merges ways that no condition of the graph divides. Expected: a condition or "
            "loop as tf.cond and tf.while_loop make it."
        )

    def leave(self, node: FileNode) -> Any:
        """Return a variable's last value behind a loop."""
        graph = self._graph
        if graph is None or node.name not in graph.frames:
            raise UnimplementedError(
                f"The loop that ends at the node {node} is none that tf.while_loop makes."
            )
        frame = graph.frames[node.name]
        outside = {
            (each, 0): _value(self._values, graph.node(each).inputs[0], node) for each in frame.constants
        }
        merged = [(each, 0) for each in frame.variables]
        inside = [
            (merge, 0) if switch is None else (switch, 1)
            for merge, switch in zip(frame.variables, frame.switches, strict=True)
        ]
        loop = loops.Loop(
            str(node),
            loops.Part(graph, merged, [frame.condition], (), outside),
            # Nodes of the body may hang on the condition's by control inputs.
            loops.Part(graph, inside, frame.next, (), outside, also=merged),
        )
        last = loop.run(self, [_value(self._values, each, node) for each in frame.first])
        # All ends of the loop at once, so that it runs once.
        found = None
        for end, value in zip(frame.exits, last, strict=True):
            if end is not None:
                self._values[end, 0] = value
                found = value if end == node.name else found
        return found


_LEAVING = ("Exit", "RefExit")
_SWITCHES = ("Switch", "RefSwitch")
_MERGES = ("Merge", "RefMerge")
# Outputs of a node on a way that was not taken, at most.
_MOST_DEAD = 16
_TAKES_REFERENCES = (
    "Assign",
    "IsVariableInitialized",
    "VarIsInitialized",
    "ReadVariable",
    "Resource",
    "VariableShape",
    "Apply",
    "ScatterAdd",
    "ScatterSub",
    "ScatterUpdate",
)


def _value(values: Mapping[Output, Any], output: Output, where: object) -> Any:
    try:
        return values[output]
    except KeyError:
        raise DataLossError(
            f"{where} of the file is damaged: {shown(output[0])} has no output {output[1]}."
        ) from None


def _is_known(value: Value) -> bool:
    return isinstance(value, np.ndarray | np.generic | bool | int | float)


def _variable(handle: Value) -> VariableHandle:
    if not isinstance(handle, VariableHandle):
        raise DataLossError(f"Something is read as a variable that is none: {shown(handle)}.")
    return handle


def _truth(condition: Value) -> bool:
    if isinstance(condition, np.ndarray) and condition.dtype == object:
        return bool(condition.item())
    return bool(np.asarray(condition))


def _as_text(value: Value) -> np.ndarray:
    made = np.empty((), object)
    made[()] = value.encode() if isinstance(value, str) else value
    return made


def _describe(value: Value) -> str:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    return shown(value) if shape is None else f"{dtype} of shape {tuple(shape)}"
