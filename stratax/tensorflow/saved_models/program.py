"""Functions of a file, divided into what the host computes and what is compiled (saved_models layer).

Text, parsing, tables of text and what has sizes that depend on values is the host's, with all that it needs and that is
not heavy. What needs neither is compiled as one function; what is left, behind it, is the host's again.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from stratax.base.recording import RECORDER
from stratax.base.shown import shown
from stratax.base.tracing import is_traced, is_tracing
from stratax.core import Function
from stratax.errors import DataLossError, UnimplementedError
from stratax.tensorflow.saved_models.graph import FileGraph, FileNode, Output, order_of
from stratax.tensorflow.saved_models.operations import Value, table
from stratax.tensorflow.saved_models.run import GraphRun
from stratax.tensorflow.saved_models.state import State

_PARAMETERS = ("Placeholder", "_Arg")
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
# More nodes than any model has: functions that call one another twice each would be without end.
_MOST_NODES = 1 << 20
_MOST_DEPTH = 200
# What is asked for again wherever it is needed.
_SOURCES = (
    "Const",
    "VarHandleOp",
    "Variable",
    "VariableV2",
    "HashTable",
    "HashTableV2",
    "MutableHashTable",
    "MutableHashTableV2",
)
# What says sizes, which a program knows of what it computes.
_SIZES = ("Shape", "ShapeN", "Size", "Rank", "TensorListLength", "VariableShape")
# Programs of one function for sizes that are known when they are traced.
_MOST_PROGRAMS = 64


class FileProgram:
    """A function of a file, or outputs of a graph.

    Attributes:
        name: What errors call it.
        variables: Those that it reads or changes.

    Args:
        name: Its name.
        state: What functions of the file share.
        graph: Its nodes.
        parameters: The outputs that stand for its arguments.
        captured: Values of other outputs.
        results: What it gives.
        effects: The nodes that run besides.

    Raises:
        DataLossError: The file is damaged.
        UnimplementedError: An operation is not known.
    """

    def __init__(
        self,
        name: str,
        state: State,
        graph: FileGraph,
        parameters: Sequence[Output],
        captured: Mapping[Output, Any],
        results: Sequence[Output],
        effects: Sequence[str] = (),
    ) -> None:
        self.name = name
        self._state = state
        self._captured = dict(captured)
        self._parameters = list(parameters)
        self._graph, resolve = _inline(graph, state)
        self._results = [resolve(each) for each in results]
        known = {each for each, _ in (*self._parameters, *self._captured)}
        ends = [*(each for each, _ in self._results), *_all_effects(self._graph, effects)]
        self._order = order_of(self._graph, ends, known)
        check(self._graph, self._order, state, name)
        unfed = [node for node in self._order if node.op in _PARAMETERS]
        if unfed:
            raise DataLossError(f"The function {shown(name)} is damaged: nothing feeds the node {unfed[0]}.")
        self._stages = _Stages(
            self._graph, self._order, state, set(self._parameters), set(self._captured), self._results
        )
        self._functions: dict[Any, Function] = {}

    @property
    def is_for_host(self) -> bool:
        """Whether the host computes anything."""
        return bool(self._stages.before or self._stages.after)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return its results.

        Args:
            values: Its arguments.
        """
        if RECORDER.get() is not None or not all(map(_is_concrete, values)) or is_tracing():
            known = {**self._captured, **dict(zip(self._parameters, values, strict=True))}
            return GraphRun(self._state, is_host=False).follow(self._graph, self._order, known, self._results)
        return self.finish(*self.compute(self.prepare(values)))

    def on_host(self, values: Sequence[Any] = ()) -> list[Any]:
        """Return its results, all of it computed on the host: what makes tables and gives variables their values."""
        known = {**self._captured, **dict(zip(self._parameters, values, strict=True))}
        return GraphRun(self._state, is_host=True).follow(self._graph, self._order, known, self._results)

    def prepare(self, values: Sequence[Any]) -> dict[Output, Any]:
        """Do the host's part before the program; return all that is known then."""
        known = {**self._captured, **dict(zip(self._parameters, values, strict=True))}
        if self._stages.before:
            held = {key: _on_host(value) for key, value in known.items()}
            GraphRun(self._state, is_host=True).follow(self._graph, self._stages.before, held, ())
            # What the program takes stays where it is.
            known = {**held, **known}
        return known

    def compute(self, known: dict[Output, Any]) -> tuple[dict[Output, Any], Sequence[Any]]:
        """Do what is compiled; return what is known, and its results."""
        stages = self._stages
        if not stages.program:
            return known, ()
        dynamic, static = [], {}
        for each in stages.takes:
            if each not in known:
                raise DataLossError(f"The function {shown(self.name)} is damaged: nothing gives {each}.")
            if each in stages.static or not _is_array(known[each]):
                static[each] = known[each]
            else:
                dynamic.append(each)
        function = self._function(tuple(dynamic), static)
        return known, function(*(_as_operand(known[each]) for each in dynamic))

    def _function(self, dynamic: tuple[Output, ...], static: dict[Output, Any]) -> Function:
        key = dynamic, tuple((each, _key(value)) for each, value in static.items())
        if key not in self._functions:
            if len(self._functions) >= _MOST_PROGRAMS:
                self._functions.pop(next(iter(self._functions)))
            state, graph, stages = self._state, self._graph, self._stages

            def run(*arrays: Any) -> list[Any]:
                values = {**static, **dict(zip(dynamic, arrays, strict=True))}
                return GraphRun(state, is_host=False).follow(graph, stages.program, values, stages.gives)

            self._functions[key] = Function(run, autograph=False, traces_before_warning=0)
        return self._functions[key]

    def finish(self, known: dict[Output, Any], results: Sequence[Any]) -> list[Any]:
        """Do the host's part behind the program; return the results."""
        stages = self._stages
        known.update(zip(stages.gives, results, strict=True) if stages.program else ())
        if stages.after:
            held = {key: _on_host(value) for key, value in known.items()}
            GraphRun(self._state, is_host=True).follow(self._graph, stages.after, held, ())
            known = {**held, **known}
        missing = [each for each in self._results if each not in known]
        if missing:
            raise DataLossError(
                f"The function {shown(self.name)} is damaged: nothing gives {shown(missing[0][0])}."
            )
        return [known[each] for each in self._results]


class _Stages:
    """Which nodes are computed where.

    Attributes:
        before: The host's, before the program.
        program: Those that are compiled.
        after: The host's, behind it.
        takes: What the program takes from before.
        static: What of that it has to know when it is traced.
        gives: What it gives.
    """

    def __init__(
        self,
        graph: FileGraph,
        order: Sequence[FileNode],
        state: State,
        parameters: set[Output],
        captured: set[Output],
        results: Sequence[Output],
    ) -> None:
        kinds = _Kinds(state)
        is_source = {node.name: node.op in _SOURCES for node in order}
        heavy: set[str] = set()
        early: set[str] = set()
        late: set[str] = set()
        needs = {node.name: _needs(graph, node) for node in order}
        for node in order:
            above = needs[node.name]
            if kinds.is_heavy(node) or not heavy.isdisjoint(above):
                heavy.add(node.name)
            is_host = kinds.is_host(node) and not is_source[node.name]
            # What puts together what the host took apart.
            is_host = is_host or (node.op in _WITH_PARTS and not early.isdisjoint(above))
            if not late.isdisjoint(above) or (is_host and node.name in heavy):
                late.add(node.name)
            elif is_host:
                early.add(node.name)
        for node in reversed(order):
            if node.name in early:
                early.update(each for each in needs[node.name] if each in needs and not is_source[each])
        sources = [node for node in order if is_source[node.name]]
        compiled = [
            node
            for node in order
            if node.name not in early and node.name not in late and not is_source[node.name]
        ]
        if all(node.op in _TRIVIAL for node in compiled) and (early or late):
            # Nothing is left that is worth a program.
            early.update(node.name for node in compiled)
            compiled = []
        text = {node.name for node in sources if node.has_text}
        own = {node.name for node in compiled} | {node.name for node in sources}
        self.before = [node for node in order if node.name in early or is_source[node.name]] if early else []
        self.program = (
            [node for node in order if node.name in own and node.name not in text] if compiled else []
        )
        computed = {node.name for node in compiled}
        within = {node.name for node in self.program}
        read = [(node, number, each) for node in compiled for number, each in enumerate(_reads(graph, node))]
        wanted = {each: None for _, _, each in read if each[0] not in within}
        self.takes = list(wanted)
        self.static = self._find_static(graph, compiled, set(self.takes))
        self.after = [node for node in order if node.name in late or is_source[node.name]] if late else []
        outside = [each for node in order if node.name in late for each in _reads(graph, node)]
        at_end = [*outside, *results]
        self.gives = list(dict.fromkeys(each for each in at_end if each[0] in computed)) if compiled else []
        if not self.before and not self.after:
            # Results that are constants of a graph.
            self.gives = list(
                dict.fromkeys([*self.gives, *(each for each in results if is_source.get(each[0]))])
            )
            self.program = self.program or (sources if self.gives else [])
        elif any(is_source.get(each[0]) for each in results):
            self.after = self.after or sources

    @staticmethod
    def _find_static(graph: FileGraph, compiled: Sequence[FileNode], takes: set[Output]) -> set[Output]:
        """Return what of the program's inputs says sizes or axes."""
        known: set[Output] = set()
        for node in reversed(compiled):
            operation = table()[node.op]
            inputs = node.inputs
            places: Iterable[int] = operation.static
            if any((node.name, number) in known for number in range(4)) and node.op not in _SIZES:
                places = range(len(inputs))
            known.update(inputs[place] for place in places if place < len(inputs))
        return known & takes


_WITH_PARTS = ("DynamicStitch", "ParallelDynamicStitch")
# Nodes that are not worth a program of their own.
_TRIVIAL = (
    "Identity",
    "IdentityN",
    "NoOp",
    "Cast",
    "Reshape",
    "Shape",
    "ExpandDims",
    "Squeeze",
    "Pack",
    "StridedSlice",
)


class _Kinds:
    """What nodes do, those of functions by what is in them."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._of_functions: dict[str, tuple[bool, bool]] = {}

    def is_host(self, node: FileNode) -> bool:
        """Return whether the host computes a node."""
        return (
            table()[node.op].is_host or node.has_text or any(self._of(each)[0] for each in node.functions())
        )

    def is_heavy(self, node: FileNode) -> bool:
        """Return whether a node is left to the device."""
        return table()[node.op].is_heavy or any(self._of(each)[1] for each in node.functions())

    def _of(self, name: str) -> tuple[bool, bool]:
        if name not in self._of_functions:
            # Functions that call themselves were refused.
            nodes = [
                each
                for each in self._state.function(name).nodes.values()
                if each.op != "_Arg" and each.op in table()
            ]
            is_host = any(self.is_host(each) for each in nodes if each.op not in ("Const", "Assert"))
            self._of_functions[name] = is_host, any(map(self.is_heavy, nodes))
        return self._of_functions[name]


def _needs(graph: FileGraph, node: FileNode) -> list[str]:
    return [each for each, _ in _reads(graph, node)] + list(node.controls)


def _reads(graph: FileGraph, node: FileNode) -> list[Output]:
    frame = graph.frames.get(node.name)
    if frame is None:
        return list(node.inputs)
    return [*frame.first, *(graph.node(each).inputs[0] for each in frame.constants)]


def check(graph: FileGraph, order: Iterable[FileNode], state: State, name: str) -> None:
    """Look whether all operations of nodes are known, and those of the functions that they call.

    Raises:
        DataLossError: Functions call themselves.
        UnimplementedError: One is not known.
    """
    operations = table()
    checked: set[str] = set()

    def look(nodes: Iterable[FileNode], where: str, path: tuple[str, ...]) -> None:
        for node in nodes:
            if node.op not in operations and node.op not in _PARAMETERS:
                raise UnimplementedError(
                    f"The operation {node.op} is not known here. It stands at the node {shown(node.name)} of {where} "
                    "in a file that TensorFlow wrote. Expected: one of the "
                    f"{len(operations)} that are. Write the model in Python, and load its weights with "
                    "tf.train.Checkpoint, or leave the operation out of what is saved."
                )
            for each in node.functions():
                if each in path or len(path) > _MOST_DEPTH:
                    raise DataLossError(f"The file is damaged: the function {shown(each)} calls itself.")
                if each not in checked:
                    function = state.function(each)
                    ends = [*(name for name, _ in function.results), *function.effects]
                    look(order_of(function, ends, ()), f"the function {shown(each)}", (*path, each))
                    checked.add(each)

    look(_with_loops(graph, order), f"the function {shown(name)}", ())


def _with_loops(graph: FileGraph, order: Iterable[FileNode]) -> Iterable[FileNode]:
    """Return nodes, and for those of loops' ends all that the loops are made of."""
    found = {node.name: node for node in order}
    waiting = [node.name for node in order if node.name in graph.frames]
    while waiting:
        frame = graph.frames[waiting.pop()]
        outside = {
            *frame.constants,
            *(each for each in frame.variables),
            *(each for each in frame.switches if each),
        }
        targets = [frame.condition[0], *(name for name, _ in frame.next)]
        for node in order_of(graph, targets, outside):
            if node.name not in found:
                found[node.name] = node
                if node.name in graph.frames:
                    waiting.append(node.name)
    return list(found.values())


def _inline(graph: FileGraph, state: State) -> tuple[FileGraph, Any]:
    """Return a graph with the nodes of the functions that it calls, and what gives an output's place in it."""
    if not any(node.op in _CALLS for node in graph.nodes.values()):
        return graph, lambda output: output
    nodes: list[FileNode] = []
    outputs: dict[Output, Output] = {}
    controls: dict[str, tuple[str, ...]] = {}

    def add(of: FileGraph, prefix: str, before: tuple[str, ...], path: tuple[str, ...]) -> None:
        for node in of.nodes.values():
            if prefix and node.op == "_Arg":
                continue
            inputs = tuple((prefix + name, number) for name, number in node.inputs)
            own = tuple(prefix + name for name in node.controls)
            operation = table().get(node.op)
            if before and operation is not None and (operation.is_stateful or node.op in ("Assert",)):
                own = (*own, *before)
            if node.op not in _CALLS:
                nodes.append(node.at(prefix, inputs, own))
                if len(nodes) > _MOST_NODES:
                    raise DataLossError(
                        f"{graph} has more than {_MOST_NODES} nodes with those of its functions."
                    )
                continue
            name = node["f"].name
            if name in path or len(path) > _MOST_DEPTH:
                raise DataLossError(f"The file is damaged: the function {shown(name)} calls itself.")
            function, inner = state.function(name), f"{prefix}{node.name}/"
            if len(function.parameters) != len(inputs):
                raise DataLossError(
                    f"{function} is called with {len(inputs)} values, and takes {len(function.parameters)}."
                )
            outputs.update(
                {(inner + each, 0): value for each, value in zip(function.parameters, inputs, strict=True)}
            )
            outputs.update(
                {
                    (prefix + node.name, number): (inner + each, part)
                    for number, (each, part) in enumerate(function.results)
                }
            )
            controls[prefix + node.name] = (
                *(inner + each for each in function.effects),
                *(inner + each for each, _ in function.results),
            )
            controls.update({inner + each: () for each in function.parameters})
            add(function, inner, (*before, *own), (*path, name))

    add(graph, "", (), ())

    def resolve(output: Output) -> Output:
        for _ in range(2 * _MOST_DEPTH):
            if output not in outputs:
                return output
            output = outputs[output]
        raise DataLossError(f"{graph} is damaged: {output} leads nowhere.")

    def all_of(name: str, depth: int = 0) -> Iterable[str]:
        if name not in controls:
            yield name
        elif depth < _MOST_DEPTH:
            for each in controls[name]:
                yield from all_of(each, depth + 1)

    made = {
        node.name: node.at(
            "",
            tuple(map(resolve, node.inputs)),
            tuple(dict.fromkeys(each for name in node.controls for each in all_of(name))),
        )
        for node in nodes
    }
    inlined = _Inlined(
        graph.name, made, graph.parameters, [resolve(each) for each in graph.results], graph.effects
    )
    inlined.all_of = all_of
    return inlined, resolve


class _Inlined(FileGraph):
    """A graph with the nodes of the functions that it calls.

    Attributes:
        all_of: Gives the nodes that stand for one of the graph before.
    """

    all_of: Any


def _all_effects(graph: FileGraph, effects: Sequence[str]) -> list[str]:
    if not isinstance(graph, _Inlined):
        return list(effects)
    return list(dict.fromkeys(each for name in effects for each in graph.all_of(name)))


def _is_concrete(value: Value) -> bool:
    # A Keras tensor, what stands for text in an export, a tensor of a session's graph: known later.
    return isinstance(value, np.ndarray | np.generic | jax.Array | bool | int | float) and not is_traced(
        value
    )


def _is_array(value: Value) -> bool:
    if isinstance(value, np.ndarray) and value.dtype == object:
        return False
    return isinstance(value, np.ndarray | np.generic | jax.Array | bool | int | float)


def _as_operand(value: Value) -> Any:
    return np.asarray(value) if isinstance(value, np.generic | bool | int | float) else value


def _on_host(value: Value) -> Any:
    return np.asarray(value) if isinstance(value, jax.Array) and not is_traced(value) else value


def _key(value: Value) -> Any:
    if isinstance(value, np.ndarray | np.generic | jax.Array) and not (
        isinstance(value, np.ndarray) and value.dtype == object
    ):
        array = np.asarray(value)
        return array.dtype.str, array.shape, array.tobytes()
    if isinstance(value, np.ndarray):
        return value.shape, tuple(value.reshape(-1).tolist())
    return id(value)
