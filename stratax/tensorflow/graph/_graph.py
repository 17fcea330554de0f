"""`tf.Graph`: named operations, the default graph, and what is asked of it by name (graph layer)."""

import collections
import contextlib
import itertools
import random
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.surroundings import Slot, Surroundings
from stratax.base.typing import PyTree
from stratax.core.state import make_generator
from stratax.data.dataset import ONE_SHOT
from stratax.seams import keras as keras_seam
from stratax.tensorflow.graph._graph_def import make_graph_def
from stratax.tensorflow.graph._iterators import GraphIterators
from stratax.tensorflow.graph._nodes import GraphOperation, GraphTensor
from stratax.tensorflow.graph._scope import GraphScope
from stratax.tensorflow.v1 import control_dependencies
from stratax.tensorflow.v1.parts import ModelGraph as ModelGraph
from stratax.tensorflow.v1.parts import reset_default_graph as reset_collections

_MAX_SEED = 2**31 - 1

# The session that is entered on this thread.
SESSION: Slot[Any] = Slot("session", None)


class _Around(Surroundings):
    """What makes a graph the default one, in which Keras counts layers.

    Args:
        values: The values, by the keys of slots.
        names: How many layers there are, by their automatic names.
    """

    __slots__ = ("_counting", "_names")

    def __init__(self, values: Mapping[str, Any], names: collections.defaultdict[str, int]) -> None:
        super().__init__(values)
        self._names = names

    def __enter__(self) -> None:
        super().__enter__()
        self._counting = keras_seam.counting_names(self._names)
        self._counting.__enter__()

    def __exit__(self, *exc_info: object) -> None:
        self._counting.__exit__(None, None, None)
        super().__exit__(*exc_info)

    def __or__(self, other: Surroundings) -> "_Around":
        return _Around({**self._values, **other._values}, self._names)


class Graph(ModelGraph):
    """A graph of named operations, as `tf.Graph` in TensorFlow 1.

    In the block of `as_default`, functions of `tf` add operations to it; a session computes them.

    Attributes:
        scope: What has functions of `tf` add to it.
        operations: Its operations, in the order in which they were added.
        plans: What sessions have computed, by fetches and feeds.
        lock: Held while a session computes.
        finalized: Whether nothing can be added any more.

    Example:
        >>> import stratax.tf.compat.v1 as tf
        >>> with tf.Graph().as_default() as graph:
        ...     doubled = tf.multiply(tf.placeholder(tf.float32, [None, 3], name="x"), 2.0, name="doubled")
        >>> doubled.name, doubled.shape.as_list()
        ('doubled:0', [None, 3])
    """

    def __init__(self) -> None:
        scope = GraphScope(self)
        super().__init__(scope)
        self.scope = scope
        self.scope_collections = scope.collections
        self.operations: list[GraphOperation] = []
        self.plans: dict[Any, Any] = {}
        self.lock = threading.RLock()
        self._numbers = itertools.count()
        self._session: Any = None
        self._iterators = GraphIterators(scope.building)
        self._generator: keras.random.SeedGenerator | None = None
        # How many layers of Keras it has, by their automatic names.
        self._layer_names = collections.defaultdict[str, int](int)
        self.finalized = False

    def count(self) -> int:
        """Return the number of what is added next.

        Raises:
            TracingError: If the graph is finalized.
        """
        if self.finalized:
            raise errors.TracingError("Graph is finalized and cannot be modified. Add operations before.")
        return next(self._numbers)

    @property
    def has_tensors(self) -> bool:
        return True

    @property
    def building_function(self) -> bool:
        return False

    @property
    def version(self) -> int:
        """How many operations there are."""
        return len(self.operations)

    def finalize(self) -> None:
        """Have nothing be added any more."""
        self.finalized = True

    def unfinalize(self) -> None:
        """Have further operations be added."""
        self.finalized = False

    def surroundings(self) -> Surroundings:
        """Return what makes it the default graph of a thread."""
        values = self.scope.surroundings() | _GRAPH.holding(self) | ONE_SHOT.holding(self._iterators)
        return _Around({}, self._layer_names) | values

    @contextlib.contextmanager
    def as_default(self) -> Iterator["Graph"]:
        """Enter a block in which functions of `tf` add to it."""
        with self.surroundings():
            yield self

    @contextlib.contextmanager
    def device(self, device_name_or_function: object) -> Iterator[None]:
        """Enter a block, as `tf.device`: a strategy places what is computed."""
        yield

    def control_dependencies(self, control_inputs: PyTree) -> Any:
        """Enter a block whose operations run behind others, as `tf.control_dependencies`."""
        return control_dependencies(control_inputs)

    def variables(self) -> list[Any]:
        """Return all its variables."""
        return list(self.scope.state.variables.values())

    def find_generator(self) -> keras.random.SeedGenerator:
        """Return what its random functions draw from."""
        if self._generator is None:
            seed = self.scope.seed
            self._generator = make_generator(random.randint(1, _MAX_SEED) if seed is None else seed)
        return self._generator

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """Return it as a `GraphDef`, which TensorBoard shows.

        Args:
            from_version: Ignored: it has all operations.
            add_shapes: Ignored: shapes are always there.
        """
        return make_graph_def(self)

    def get_operations(self) -> list[Any]:
        """Return its operations."""
        return [*self.operations]

    def get_operation_by_name(self, name: str) -> Any:
        """Return the operation of a name.

        Raises:
            UnknownNameError: If there is none.
        """
        for operation in self.operations:
            if operation.name == name:
                return operation
        for variable in self.variables():
            if variable.path == name:
                return variable.op
        raise errors.UnknownNameError(
            f"The name {shown(name)} refers to an Operation not in the graph. Expected: one of "
            f"{shown([operation.name for operation in self.operations])}."
        )

    def get_tensor_by_name(self, name: str) -> Any:
        """Return the tensor of a name, such as `"softmax:0"`; of a variable's name, the variable.

        Raises:
            BadArgumentError: If it has no colon.
            UnknownNameError: If there is none.
        """
        path, colon, place = name.rpartition(":")
        if not colon or not place.isdigit():
            raise errors.BadArgumentError(
                f"The name {shown(name)} looks like an (invalid) Operation name, not a Tensor. Tensor names must be of "
                'the form "<op_name>:<output_index>".'
            )
        for operation in self.operations:
            if operation.name == path and int(place) < len(operation.outputs):
                return operation.outputs[int(place)]
        for variable in self.variables():
            if variable.path == path.removesuffix("/Read/ReadVariableOp"):
                return variable
        raise errors.UnknownNameError(
            f"The name {shown(name)} refers to a Tensor which does not exist. The operation, {path!r}, does not exist "
            f"in the graph. Expected: one of {shown([each.name for each in self.operations if each.outputs])}."
        )

    def find_consumers(self, tensor: GraphTensor) -> list[GraphOperation]:
        """Return the operations that compute with a tensor."""
        return [
            operation for operation in self.operations if any(each is tensor for each in operation.inputs)
        ]

    def find_session(self, given: PyTree, what: str) -> Any:
        """Return the session to compute something in: the one that is given, else the one that is entered."""
        return _find_session(given, self, what)

    def enter_session(self, session: PyTree) -> None:
        """Have its variables have the values of a session."""
        if self._session is session:
            return
        if self._session is not None:
            self._session.leave()
        self._session = session
        session.come_back()

    def is_feedable(self, tensor: object) -> bool:
        """Return True: every tensor can be fed."""
        return True

    def is_fetchable(self, tensor_or_op: object) -> bool:
        """Return True: everything can be fetched."""
        return True


# The graph that functions of `tf` add to on this thread; None where they compute.
_GRAPH: Slot[Graph | None] = Slot("graph", None)
# That of the program, once it uses graphs.
_OF_PROGRAM: list[Graph] = []
# What was entered for it, the last one last.
_ENTERED: list[Surroundings] = []


def find_default() -> Graph | None:
    """Return the graph that functions of `tf` add to now; None where they compute."""
    return _GRAPH.get()


def enter_program_graph() -> Graph:
    """Return the default graph; where there is none, functions of `tf` add to a new one from now on, on this thread."""
    found = find_program_graph()
    if _GRAPH.get() is None:
        _enter(found)
    return found


def find_program_graph() -> Graph:
    """Return the default graph; where there is none, the program's, which functions of `tf` do not add to yet."""
    found = _GRAPH.get()
    if found is not None:
        return found
    if not _OF_PROGRAM:
        _OF_PROGRAM.append(Graph())
    return _OF_PROGRAM[0]


def _enter(graph: Graph) -> None:
    _ENTERED.append(graph.surroundings())
    _ENTERED[-1].__enter__()


def leave_program_graph() -> None:
    """Have functions of `tf` compute again, on this thread, where they added to the program's graph."""
    while _ENTERED:
        _ENTERED.pop().__exit__(None, None, None)
    _OF_PROGRAM.clear()


def reset_default_graph() -> None:
    """Have a new graph be the default one, as `tf.reset_default_graph`.

    Where functions of `tf` compute, what was added to collections is forgotten.

    Raises:
        BadArgumentError: In the block of a graph.
    """
    reset_collections()
    found = _GRAPH.get()
    if found is None:
        return
    if not _OF_PROGRAM or found is not _OF_PROGRAM[0]:
        raise errors.BadArgumentError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the nesting "
            "and create a new graph."
        )
    _OF_PROGRAM[0] = Graph()
    _enter(_OF_PROGRAM[0])


def _find_session(given: PyTree, graph: object, what: str) -> Any:
    """Return the session to compute something in.

    Args:
        given: The session that was given; None for the one that is entered.
        graph: The graph that is computed.
        what: What is to be computed, for the error.

    Raises:
        BadArgumentError: If there is none, or its graph is another one.
    """
    session = given or SESSION.get()
    if session is None:
        raise errors.BadArgumentError(
            f"Cannot evaluate {what}: No default session is registered. Use `with sess.as_default()` or pass an "
            "explicit session to `eval(session=sess)`."
        )
    if session.graph is not graph:
        raise errors.BadArgumentError(
            f"Cannot use the default session to evaluate {what}: its graph is different from the session's graph. Pass "
            "an explicit session to `eval(session=sess)`."
        )
    return session
