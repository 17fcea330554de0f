"""Sessions: where a graph's variables have values, and its tensors are computed (graph layer)."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree, TensorLike
from stratax.core import storage
from stratax.summary.forms import SummaryRecord
from stratax.tensorflow.graph._graph import (
    SESSION,
    Graph,
    enter_program_graph,
    find_default,
    find_program_graph,
)
from stratax.tensorflow.graph._layers import is_of_model
from stratax.tensorflow.graph._nodes import GraphOperation, GraphTensor
from stratax.tensorflow.graph._plan import Plan, as_fed
from stratax.tensorflow.graph._variables import GraphVariable, InGraph, LayerVariable
from stratax.tensorflow.v1.parts import HoldsValues, ModelGraph, leaving_graph
from stratax.tensorflow.v1.programs import find_program, only_configures, read_program

Rebuild = Callable[[list[Any]], Any]


class BaseSession(HoldsValues):
    """What sessions have in common.

    Args:
        target: Ignored: a session computes in this process.
        graph: The graph; by default the one that is the default now.
        config: Ignored.

    Attributes:
        graph: The graph.
        iterators: The iterators of datasets, by their handles.
        resources: What queues and readers have in it.
    """

    def __init__(self, target: str = "", graph: ModelGraph | None = None, config: object = None) -> None:
        if graph is not None and not isinstance(graph, ModelGraph):
            raise errors.BadTypeError(f"graph must be a tf.Graph. Received: graph={shown(graph)}.")
        # What `tf.get_default_graph` gives where there is none stands for the program's.
        self.graph = graph if isinstance(graph, Graph) else _begin_graph()
        self.sess_str = target
        self.config = config
        self._is_closed = False
        # The ids of the variables that have a value here.
        self._initialized: set[int] = set()
        self._values: dict[int, tuple[GraphVariable, Any]] = {}
        # How far what each plan needs is known to be there.
        self._checked: set[int] = set()
        # The iterators of datasets, by their handles.
        self.iterators: dict[bytes, Any] = {}
        # What queues and readers have here.
        self.resources: dict[Any, Any] = {}

    @property
    def is_closed(self) -> bool:
        """Whether it can run nothing any more."""
        return self._is_closed

    def close(self) -> None:
        """End the session; its variables' values are gone."""
        self._is_closed = True

    def run(
        self,
        fetches: PyTree,
        feed_dict: Mapping[Any, Any] | None = None,
        options: object = None,
        run_metadata: object = None,
    ) -> Any:
        """Compute tensors and run operations.

        Args:
            fetches: A tensor, an operation, a variable or a name of one, or a structure of them.
            feed_dict: Values for placeholders and other tensors.
            options: Ignored.
            run_metadata: Ignored.

        Returns:
            What was fetched, as NumPy's, in its structure; None for operations.

        Raises:
            BadArgumentError: If a placeholder is not fed, or a value does not fit.
            BadTypeError: If something is fetched that is not in the graph.
            FailedPreconditionError: If a variable has no value yet.
            OutOfRangeError: If an iterator has no more elements.
        """
        if self._is_closed:
            raise _ClosedError("Attempted to use a closed Session.")
        with self.graph.lock:
            elements: list[Any] = []
            rebuild = self._open(fetches, elements)
            fed = [(self._find_fed(key), value) for key, value in (feed_dict or {}).items()]
            plan = self._find_plan(elements, [tensor for tensor, _ in fed])
            values = [as_fed(tensor, value) for tensor, value in fed]
            feed = dict(zip((tensor for tensor, _ in fed), values, strict=True))
            results = self._compute(plan, values, feed)
        return rebuild(results)

    def _find_plan(self, elements: list[Any], fed: list[GraphTensor]) -> Plan:
        plans = self.graph.plans
        key = (tuple(map(id, elements)), tuple(map(id, fed)))
        plan = plans.get(key)
        if plan is None:
            plan = plans[key] = Plan(self.graph.scope, elements, fed)
        return plan  # type: ignore[no-any-return]

    def _compute(self, plan: Plan, values: list[Any], feed: Mapping[Any, Any]) -> list[Any]:
        for begin in plan.begins:
            begin(self, feed)
        self.graph.enter_session(self)
        if id(plan) not in self._checked:
            self._check_initialized(plan)
        with leaving_graph():
            for call in plan.sources:
                values.extend(call.source(self, feed))
            if plan.sources:
                # One that has waited has let other sessions run.
                self.graph.enter_session(self)
            found = plan(values)
            results = [_as_result(value) for value in found]
        self._initialized.update(map(id, plan.writes))
        return results

    def _check_initialized(self, plan: Plan) -> None:
        for variable in plan.needs:
            if id(variable) not in self._initialized and not isinstance(variable, LayerVariable):
                raise errors.FailedPreconditionError(
                    f"Attempting to use uninitialized value {variable.path}. Run "
                    "tf.global_variables_initializer() (of local variables, tf.local_variables_initializer()), or "
                    "restore it, before it is used."
                )
        self._checked.add(id(plan))

    def is_initialized(self, variable: GraphVariable) -> bool:
        """Return whether a variable has a value."""
        return id(variable) in self._initialized

    def give(self, values: Mapping[GraphVariable, Any]) -> None:
        """Give variables values."""
        with self.graph.lock:
            self.graph.enter_session(self)
            with leaving_graph():
                for variable, value in values.items():
                    keras.Variable.assign(variable, np.asarray(value, np.dtype(variable._dtype)))
            self._initialized.update(map(id, values))

    @contextlib.contextmanager
    def holding(self, variables: Iterable[keras.Variable]) -> Iterator[None]:
        """Have variables have their values of this session in a block, which gives them values."""
        given = list(variables)
        with self.graph.lock, leaving_graph():
            self.graph.enter_session(self)
            yield
            self._initialized.update(map(id, given))

    def leave(self) -> None:
        """Take the values of the graph's variables away from them: another session's come."""
        own = [variable for variable in self.graph.variables() if id(variable) in self._initialized]
        self._values = {
            id(variable): (variable, np.array(value))
            for variable, value in zip(own, storage.read_all(own), strict=True)
        }

    def come_back(self) -> None:
        """Have the graph's variables have this session's values."""
        with leaving_graph():
            for variable, value in self._values.values():
                keras.Variable.assign(variable, value)
        self._values = {}

    def _open(self, fetches: PyTree, elements: list[Any]) -> Rebuild:
        """Collect what is fetched; return what makes its structure of values."""
        if isinstance(fetches, Mapping):
            parts = {key: self._open(value, elements) for key, value in fetches.items()}
            if type(fetches) is dict:
                return lambda values: {key: part(values) for key, part in parts.items()}
            return lambda values: type(fetches)((key, part(values)) for key, part in parts.items())  # type: ignore[call-arg]
        if isinstance(fetches, tuple) and hasattr(fetches, "_fields"):
            rows = [self._open(each, elements) for each in fetches]
            return lambda values: type(fetches)(*(part(values) for part in rows))
        if isinstance(fetches, list | tuple):
            rows = [self._open(each, elements) for each in fetches]
            make = tuple if isinstance(fetches, tuple) else list
            return lambda values: make(part(values) for part in rows)
        if isinstance(fetches, np.ndarray | np.generic | jax.Array) and not isinstance(fetches, str):
            # A constant that was computed before there was a graph.
            constant = np.asarray(fetches)[()]
            return lambda values: constant
        if fetches is None and find_default() is None:
            # What initializes variables outside of graphs, where they have values as soon as they are made.
            return lambda values: None
        index = len(elements)
        elements.append(self._find_fetch(fetches))
        return lambda values: values[index]

    def _find_fetch(self, fetch: PyTree) -> Any:
        if isinstance(fetch, str):
            fetch = self.graph.as_graph_element(fetch)
        if is_of_model(fetch):
            fetch = self.graph.scope.building.give(fetch)
        if isinstance(fetch, GraphTensor | GraphOperation | InGraph):
            if fetch.graph is not self.graph:
                raise errors.BadArgumentError(
                    f"Fetch argument {shown(fetch)} cannot be interpreted as a Tensor. ({shown(fetch)} is not an "
                    "element of this graph.) Pass the graph to the session: tf.Session(graph=graph)."
                )
            return fetch
        raise errors.BadTypeError(
            f"Fetch argument {shown(fetch)} has invalid type {type(fetch)}, must be a string or Tensor. (Can not "
            f"convert a {type(fetch).__name__} into a Tensor or Operation.) Fetch what is in the graph."
        )

    def _find_fed(self, key: PyTree) -> GraphTensor:
        found = self.graph.as_graph_element(key) if isinstance(key, str) else key
        if is_of_model(found):
            found = self.graph.scope.building.give(found)
        if isinstance(found, GraphTensor):
            return found
        raise errors.BadTypeError(
            f"Cannot interpret feed_dict key as Tensor: {shown(key)}. Feed placeholders, or other tensors of the "
            "graph; a variable gets a value by variable.load(value, session)."
        )

    def partial_run_setup(self, fetches: object, feeds: object = None) -> NoReturn:
        """Refuse to run a part of a graph.

        Raises:
            UnimplementedError: Always.
        """
        raise errors.UnimplementedError(
            "partial_run is not supported: what a run computes is one compiled program, which can't wait for further "
            "feeds. GraphCall session.run for each part, and feed the second with the results of the first."
        )

    partial_run = partial_run_setup

    def make_callable(
        self, fetches: Any, feed_list: list[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Return a function that runs fetches with values for certain tensors.

        Args:
            fetches: As for `run`.
            feed_list: The tensors whose values the function takes.
            accept_options: Ignored.
        """
        tensors = list(feed_list or ())

        def call(*values: PyTree, **_: object) -> Any:
            return self.run(fetches, dict(zip(tensors, values, strict=True)))

        return call

    def list_devices(self) -> list[Any]:
        """Return the devices of this process."""
        return list(jax.devices())


def _begin_graph() -> Graph:
    """Return the graph of a session that is given none: the default one, which the program goes on to build."""
    frame = find_program()
    if find_default() is None and frame is not None and only_configures(read_program(frame)):
        return find_program_graph()
    return enter_program_graph()


class _ClosedError(errors.StrataxError, RuntimeError):
    """A session was used that is closed."""


def _as_result(value: TensorLike) -> Any:
    if isinstance(value, SummaryRecord):
        return value.to_proto().SerializeToString()
    # Numbers of NumPy's for scalars, as TensorFlow gives them.
    return None if value is None else np.asarray(value)[()]


class Session(BaseSession):
    """Computes a graph, as `tf.Session`.

    Each set of fetches and fed tensors becomes one compiled program for each set of shapes. Variables have values once
    the session has run their initializers; another session of the same graph has values of its own.

    Args:
        target: Ignored: a session computes in this process.
        graph: The graph; by default the one that is the default now.
        config: Ignored.

    Attributes:
        graph: The graph.

    Example:
        >>> import stratax.tf.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     x = tf.placeholder(tf.float32, [None])
        ...     print(session.run(2 * x, {x: [1, 2]}))
        [2. 4.]
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: object = None) -> None:
        super().__init__(target, graph, config)
        self._entered: list[Any] = []

    def as_default(self) -> Any:
        """Enter a block in which it is the default session."""
        return SESSION.holding(self)

    def __enter__(self) -> "Session":
        surroundings = self.graph.surroundings() | SESSION.holding(self)
        surroundings.__enter__()
        self._entered.append(surroundings)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._entered.pop().__exit__(*exc_info)
        if not self._entered:
            self.close()

    def reset(self, *args: object, **kwargs: object) -> None:
        """Do nothing: there are no containers of other processes."""


class InteractiveSession(BaseSession):
    """A session that is the default one from now on, as `tf.InteractiveSession`.

    Args:
        target: As for `Session`.
        graph: Likewise.
        config: Likewise.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: object = None) -> None:
        super().__init__(target, graph, config)
        self._surroundings = SESSION.holding(self)
        if graph is not None or find_default() is not None:
            self._surroundings = self.graph.surroundings() | self._surroundings
        self._surroundings.__enter__()

    def as_default(self) -> Any:
        """Enter a block in which it is the default session."""
        return SESSION.holding(self)

    def close(self) -> None:
        """End the session; the default one is what it was before."""
        super().close()
        self._surroundings.__exit__()


def get_default_session() -> Any:
    """Return the session that is entered; None if none is."""
    return SESSION.get()
