"""The scope of a graph: where it is built, and where its calls are made with values (graph layer)."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import keras

from stratax.base.recording import recording_with
from stratax.base.surroundings import Surroundings
from stratax.base.typing import PyTree, TensorLike
from stratax.core import Variable, regions
from stratax.core.state import creating_by, is_made_now, last_name
from stratax.seams import keras as keras_seam
from stratax.tensorflow.graph._building import Building
from stratax.tensorflow.graph._gradients import GraphDerivatives
from stratax.tensorflow.graph._nodes import GraphOperation, GraphTensor, Position
from stratax.tensorflow.graph._recording import Recording
from stratax.tensorflow.graph._variables import (
    GraphVariable,
    InGraph,
    InitializedGraphVariable,
    LayerVariable,
    assign_first,
)
from stratax.tensorflow.v1 import ModelScope, ModelState, Operation, current, entering
from stratax.tensorflow.v1.parts import (
    Derivatives,
    GraphCollections,
    InitializedVariable,
    TensorNames,
    TraceFeatures,
    TraceValues,
    is_local,
)
from stratax.tensorflow.v1.scopes import GRAPH

# What an evaluation has of its own.
_OWN = (
    "values",
    "names",
    "collections",
    "features",
    "derivatives",
    "variable_scope",
    "scope_counts",
    "evaluation",
    "_operations",
    "_controls",
    "_in_effect",
    "_always",
    "_is_making",
    "_around",
    "_used",
    "_shared",
)


class GraphValues(TraceValues):
    """What is known of a graph's tensors: which operations each is behind."""

    def operations_behind(self, tensor: object) -> list[Any]:
        return [tensor.op] if isinstance(tensor, GraphTensor) else []

    def value_now(self, value: object) -> Any:
        return value


class GraphNames(TensorNames):
    """The names of a graph's operations."""

    @contextlib.contextmanager
    def below(self, path: str) -> Iterator[None]:
        # A variable scope makes a new scope of names, below the one around it.
        with keras_seam.at_path(path.split("/")), self.scope(path.rpartition("/")[2]):
            yield

    def of(self, tensor: PyTree) -> str:
        return tensor.name.removesuffix(":0")  # type: ignore[no-any-return]


class AddedCollections(GraphCollections):
    """The collections of a graph during a call: what that adds is kept apart.

    Args:
        graph: Those of the graph.
        names: The call's names.
        variables_of: Gives the variables in a collection.
    """

    def __init__(
        self, graph: GraphCollections, names: TensorNames, variables_of: Callable[[str], list[Any]]
    ) -> None:
        super().__init__(names, variables_of, Operation)
        self._graph = graph
        self._added: list[tuple[str, Any]] = []

    def add(self, key: str, value: object) -> None:
        super().add(key, value)
        self._added.append((key, value))

    def get(self, key: str, scope: str | None = None) -> list[Any]:
        return [*self._graph.get(key, scope), *super().get(key, scope)]

    def list_added(self) -> list[tuple[str, Any]]:
        """Return what was added, by the names of collections."""
        return list(self._added)


class _Update:
    """Makes an operation of an update, when the graph is computed.

    Args:
        update: The update.
        name: The operation's name.
        value: What it is worth as a tensor.
    """

    is_composite = True

    def __init__(
        self, update: Callable[[], object], name: str | None, value: Callable[[], Any] | None
    ) -> None:
        self._update = update
        self._value = value
        self.__name__ = name or "Update"

    def __call__(self) -> Operation:
        return current().operation(self._update, name=self.__name__, value=self._value)


class GraphScope(ModelScope):
    """The model scope of a graph: of all its calls, when they are added and when they are made.

    Args:
        graph: The graph.

    Attributes:
        evaluation: What makes calls with values; None while the graph is built.
        building: The recorder that adds to the graph.
    """

    def __init__(self, graph: PyTree) -> None:
        super().__init__(ModelState(), GRAPH)
        self.graph = graph
        self.evaluation: Recording | None = None
        self.building = Building(self)
        self.values = GraphValues()
        self.names = GraphNames()
        self.collections = GraphCollections(self.names, self._variables_in, Operation)
        self.derivatives: Any = GraphDerivatives(self.building)
        self._unset: list[tuple[InGraph, Any]] = []

    # Where things are.

    def position(self) -> Position:
        """Return what is around a call that is made now."""
        return Position(
            self.variable_scope,
            self.scope_counts.copy(),
            dict(self._used),
            dict(self._shared),
            self.names.copy(),
        )

    def go_to(self, position: Position) -> None:
        """Have around what was around a call."""
        self.variable_scope = position.variable_scope
        self.scope_counts = position.scope_counts.copy()
        self._used, self._shared = dict(position.used), dict(position.shared)
        self.names = position.names.copy()
        graph = self.graph.scope_collections
        self.collections: Any = AddedCollections(graph, self.names, lambda key: [])

    def keep_variables(self, position: Position) -> None:
        """Have variables be there that a call has made."""
        for own, made in ((self._used, position.used), (self._shared, position.shared)):
            own.update({name: variable for name, variable in made.items() if name not in own})

    def go_on_from(self, position: Position) -> None:
        """Build the graph further from what is around behind a call."""
        self.scope_counts = position.scope_counts
        self._used.update(position.used)
        self._shared.update(position.shared)
        self.names.count_like(position.names)

    def surroundings(self) -> Surroundings:
        """Return what has functions of `tf` add to the graph."""
        return entering(self) | recording_with(self.building) | creating_by(self)

    @contextlib.contextmanager
    def evaluating(
        self, evaluation: Recording, watched: Sequence[Any] = (), *, differentiates: bool = False
    ) -> Iterator[None]:
        """Have calls be made with values in a block.

        Args:
            evaluation: What makes them.
            watched: What is fed, of which gradients may be asked for.
            differentiates: Whether gradients are.
        """
        before = {name: getattr(self, name) for name in _OWN}
        self.evaluation = evaluation
        self.values = TraceValues()
        self.features = TraceFeatures(self.values)
        followed = ModelState()
        followed.derivatives = self.state.derivatives if differentiates else 0
        self.derivatives = Derivatives(followed, self.values)
        self._operations, self._controls, self._always = [], [], []
        self._in_effect, self._is_making = frozenset(), False
        self._around = regions.current_region()
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(self._surroundings() | recording_with(evaluation))
                stack.enter_context(self.derivatives.record(watched))
                yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def _find_generator(self) -> keras.random.SeedGenerator:
        return self.graph.find_generator()  # type: ignore[no-any-return]

    def operations_behind_end(self) -> list[Operation]:
        """Return the operations that run at the end of a call, whatever is run."""
        return list(self._always)

    def make_operation(self, operation: Operation, done: set[int]) -> None:
        """Run an operation and all that it depends on, each once.

        Args:
            operation: The operation.
            done: The places of those that have run.
        """
        if operation.order in done:
            return
        done.add(operation.order)
        for each in operation.control_inputs:
            self.make_operation(each, done)
        before, self._is_making = self._is_making, True
        try:
            with self.derivatives.not_recorded():
                operation.make()
        finally:
            self._is_making = before
        self._in_effect |= {operation.order}

    # Variables.

    def give(self, cls: type, kwargs: dict[str, Any]) -> keras.Variable:
        name = self._full_name
        is_own = issubclass(cls, Variable)
        if is_made_now() or (name is None and not is_own and "autocast" not in kwargs):
            # What Keras counts and draws with belongs to no graph; layers alone say whether to cast.
            return object.__new__(cls)
        if name is None and not is_own:
            own = "/".join([*keras_seam.current_path(), last_name(kwargs["name"])])
            layer_variable: Any = object.__new__(LayerVariable)
            layer_variable.__dict__.update(_stratax_full_name=self._free_name(own), _stratax_graph=self.graph)
            return layer_variable
        if name is None:
            name = self.names.unique(str(kwargs.get("name") or "Variable").removesuffix(":0"))
        if is_local(kwargs.get("collections")):
            self.state.local.add(name)
        found = self.state.variables.get(name)
        if found is not None:
            self._used[name] = found
            return found
        made_class = InitializedGraphVariable if issubclass(cls, InitializedVariable) else GraphVariable
        made: Any = object.__new__(made_class if is_own else cls)
        made.__dict__.update(_stratax_full_name=name, _stratax_graph=self.graph)
        return made

    def note_made(self, variable: keras.Variable) -> None:
        super().note_made(variable)
        if isinstance(variable, InGraph):
            self.names.take(variable.path)
            self._unset.append((variable, variable.first))
            if self.evaluation is None:
                self.add_initializers()

    def add_initializers(self) -> None:
        """Add the operations that give new variables their first values."""
        unset, self._unset = self._unset, []
        for variable, first in unset:
            with self.depending_on(None):
                made = self.building.add_operation(
                    assign_first, (variable, first), f"{variable.path}/Assign", writes=variable
                )
            variable.begin_by(made)

    # Operations.

    def operation(
        self,
        update: Callable[[], object] | None,
        *,
        name: str | None = None,
        inputs: Iterable[Operation] = (),
        value: Callable[[], Any] | None = None,
    ) -> Any:
        if self.evaluation is not None:
            return super().operation(update, name=name, inputs=inputs, value=value)
        if update is not None:
            with self.depending_on(list(inputs)):
                return self.building.add(_Update(update, name, value), (), {})
        return self.building.add_group(name or "NoOp", [*inputs, *self._controlling()])

    @property
    def is_running(self) -> bool:
        return self.evaluation is not None and super().is_running

    def initializer(self, variables: Iterable[keras.Variable], name: str) -> Any:
        """Return the operation that gives variables their first values."""
        made = [variable.initializer for variable in variables if isinstance(variable, InGraph)]
        return self.operation(None, name=name, inputs=made)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return what a function of tensors gives, which knows nothing of graphs."""
        return self.building.add(function, args, {}) if self.evaluation is None else function(*args)

    @contextlib.contextmanager
    def depending_on(self, operations: list[Operation] | None) -> Iterator[None]:
        if self.evaluation is not None:
            with super().depending_on(operations):
                yield
            return
        before = self._controls
        self._controls = [] if operations is None else [*before, operations]
        try:
            yield
        finally:
            self._controls = before

    def controlling(self) -> tuple[GraphOperation, ...]:
        """Return the operations of the control dependencies that are entered."""
        return tuple(dict.fromkeys(self._controlling()))  # type: ignore[arg-type]

    def operations(self) -> list[Any]:
        return self.graph.operations if self.evaluation is None else super().operations()

    def longest_of(self, lengths: TensorLike) -> int | None:
        return None

    def give_seed(self, seed: int | None) -> None:
        """Have random numbers follow from a seed."""
        self.seed = seed

    def is_known(self, value: object) -> bool:
        """Return whether a value is that of a constant."""
        return not isinstance(value, jax.core.Tracer)
