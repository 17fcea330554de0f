"""Iterators of datasets in a graph: each run of a session takes the next element (graph layer)."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax.base.recording import RECORDER
from stratax.base.typing import DTypeLike, PyTree, TensorLike
from stratax.data import Dataset, DatasetIterator
from stratax.data.elements import DType, TensorShape
from stratax.data.plan import one_of_many
from stratax.distribute.input import DistributedDataset
from stratax.distribute.replicas import PerReplica, is_per_replica
from stratax.tensorflow.graph._building import Building
from stratax.tensorflow.graph._evaluation import find_symbols, is_leaf
from stratax.tensorflow.graph._nodes import GraphOperation, GraphTensor
from stratax.tensorflow.v1.parts import leaving_graph

# As many rows as a dataset has of what is not known, when its elements are looked at.
_ROWS = 4


class GraphDataset:
    """A dataset of tensors of a graph, which is made when a session initializes its iterator.

    It has the methods of a `Dataset`, each of which gives another one.

    Args:
        building: Adds to the graph.
        function: Makes the dataset.
        args: What it takes: tensors among it.
        kwargs: Likewise, by name.
    """

    def __init__(
        self, building: Building, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._building = building
        self._function = function
        self._given = args, kwargs

    def make_initializable_iterator(self, shared_name: str | None = None) -> "GraphIterator":
        """Return an iterator, which a session initializes by its `initializer`."""
        return GraphIterator(self._building, self)

    @property
    def element_spec(self) -> Any:
        """What its elements are like."""

        def stand_in(tensor: GraphTensor) -> np.ndarray:
            sizes = [] if tensor.shape.rank is None else tensor.shape.as_list()
            return np.ones([_ROWS if size is None else size for size in sizes], np.dtype(tensor.dtype))

        return self.make(stand_in).element_spec

    def tensors(self) -> list[GraphTensor]:
        """Return the tensors that it is made of."""
        own = [each for each in find_symbols(self._given) if isinstance(each, GraphTensor)]
        inner = [
            tensor
            for each in jax.tree.leaves(self._given, is_leaf=_is_part)
            if isinstance(each, GraphDataset)
            for tensor in each.tensors()
        ]
        return [*own, *inner]

    def make(self, value_of: Callable[[GraphTensor], Any]) -> Any:
        """Return the dataset, of tensors' values."""

        def find(leaf: PyTree) -> Any:
            if isinstance(leaf, GraphDataset):
                return leaf.make(value_of)
            if not isinstance(leaf, GraphTensor):
                return leaf
            value = value_of(leaf)
            # Sizes of batches and buffers are whole numbers of Python.
            return int(value) if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iu" else value

        args, kwargs = jax.tree.map(find, self._given, is_leaf=_is_part)
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        method = getattr(Dataset, name)
        if not callable(method):
            raise AttributeError(name)
        return lambda *args, **kwargs: GraphDataset(self._building, method, (self, *args), kwargs)


def _is_part(value: object) -> bool:
    return is_leaf(value) or isinstance(value, GraphDataset)


class GraphIterator:
    """An iterator of a graph, as `tf.data.Iterator` in TensorFlow 1.

    Args:
        building: Adds to the graph.
        dataset: The dataset; None for an iterator that gets one by an initializer or a handle.
        spec: What its elements are like; by default as those of `dataset`.
        is_one_shot: Whether it begins by itself.
        handle: A tensor whose value says which iterator's elements it gives.
    """

    _numbers = itertools.count()

    def __init__(
        self,
        building: Building,
        dataset: Any = None,
        spec: Any = None,
        *,
        is_one_shot: bool = False,
        handle: GraphTensor | None = None,
    ) -> None:
        self._building = building
        self._dataset = dataset
        self._is_one_shot = is_one_shot
        self._handle = handle
        if spec is None:
            # What is fed may be no whole batch, as TensorFlow has it.
            with one_of_many():
                spec = dataset.element_spec
        self._spec = spec
        self._name = f"iterator {next(GraphIterator._numbers)}".encode()
        self._initializer: GraphOperation | None = None

    @property
    def element_spec(self) -> Any:
        """What its elements are like."""
        return self._spec

    @property
    def output_types(self) -> Any:
        """The dtypes of its elements, in their structure."""
        return jax.tree.map(lambda spec: DType(spec.dtype), self._spec, is_leaf=_is_spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes of its elements, in their structure."""
        return jax.tree.map(lambda spec: spec.shape, self._spec, is_leaf=_is_spec)

    @property
    def initializer(self) -> GraphOperation:
        """The operation that has it begin.

        Raises:
            BadArgumentError: If it begins by itself, or has no dataset.
        """
        if self._dataset is None or self._is_one_shot:
            raise errors.BadArgumentError(
                "Iterator does not have an initializer. Expected: one of make_initializable_iterator; for one of "
                "from_structure use make_initializer(dataset)."
            )
        if self._initializer is None:
            self._initializer = self.make_initializer(self._dataset)
        return self._initializer

    def initialize(self) -> GraphOperation:
        """Return the operation that has it begin, as iterators of a strategy's datasets do."""
        return self.initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> GraphOperation:
        """Return the operation that has it begin with a dataset.

        Args:
            dataset: The dataset.
            name: The operation's name.
        """

        def begin(session: Any, feed: Mapping[Any, Any]) -> None:
            made = dataset
            if isinstance(dataset, GraphDataset):
                tensors = dataset.tensors()
                values = dict(zip(map(id, tensors), session.run(tensors, feed), strict=True))
                with leaving_graph():
                    made = dataset.make(lambda tensor: values[id(tensor)])
            with leaving_graph():
                session.iterators[self._name] = iter(made)

        made = self._building.add_group(name or "make_initializer", [])
        made.begins = begin
        return made

    def string_handle(self, name: str | None = None) -> Any:
        """Return a tensor that stands for it, to be fed where `from_string_handle` asks for one."""

        def give(session: Any, feed: Mapping[Any, Any]) -> list[Any]:
            self._begin_once(session)
            return [np.array(self._name, object)]

        (made,) = self._building.add_source(
            [(TensorShape([]), np.dtype(object))],
            name or "string_handle",
            "IteratorToStringHandle",
            source=give,
        )
        return made

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element, as tensors: each run of a session that computes one of them takes it.

        Args:
            name: The operation's name.
        """
        specs, structure = jax.tree.flatten(self._spec, is_leaf=_is_spec)
        if isinstance(self._dataset, DistributedDataset):
            return self._next_of_replicas(specs, structure, name)
        tensors = self._building.add_source(
            [(each.shape, each.dtype) for each in specs],
            name or "IteratorGetNext",
            "IteratorGetNext",
            source=self._take,
        )
        return jax.tree.unflatten(structure, tensors)

    def _next_of_replicas(self, specs: list[Any], structure: Any, name: str | None) -> Any:
        """Return the next element, with a `PerReplica` for each component."""
        count = self._dataset.strategy.num_replicas_in_sync
        shapes = [TensorShape([None, *each.shape[1:]]) for each in specs]
        if count > 1:
            shapes = [TensorShape([count, *each]) for each in shapes]
        tensors: list[Any] = self._building.add_source(
            [(shape, each.dtype) for shape, each in zip(shapes, specs, strict=True)],
            name or "IteratorGetNext",
            "IteratorGetNext",
            source=self._take,
        )
        if count > 1:
            tensors = [PerReplica.tree_unflatten(False, [each]) for each in tensors]
        return jax.tree.unflatten(structure, tensors)

    def _begin_once(self, session: Any) -> None:
        if self._is_one_shot and self._name not in session.iterators:
            with leaving_graph():
                session.iterators[self._name] = iter(self._dataset)

    def _take(self, session: Any, feed: Mapping[Any, Any]) -> list[Any]:
        name = self._name
        if self._handle is not None:
            given = {id(tensor): value for tensor, value in feed.items()}
            if id(self._handle) not in given:
                raise errors.BadArgumentError(
                    f"You must feed a value for placeholder tensor '{self._handle.op.name}' with dtype string: the "
                    "handle of an iterator, of session.run(iterator.string_handle())."
                )
            name = np.asarray(given[id(self._handle)], object).item()
        self._begin_once(session)
        iterator = session.iterators.get(name)
        if iterator is None:
            raise errors.FailedPreconditionError(
                "GetNext() failed because the iterator has not been initialized. Ensure that you have run the "
                "initializer operation for this iterator before getting the next element."
            )
        with leaving_graph():
            try:
                element = next(iterator)
            except StopIteration:
                raise errors.OutOfRangeError("End of sequence") from None
        leaves = jax.tree.leaves(element)
        parts = jax.tree.leaves(element, is_leaf=is_per_replica)
        if any(
            is_per_replica(each) and not (isinstance(each, PerReplica) and not each.solo) for each in parts
        ):
            raise errors.UnimplementedError(
                "A batch that a session takes divides among the replicas. Received: a remainder, or parts of several "
                "shapes. Use batch(..., drop_remainder=True) with a multiple of the number of replicas."
            )
        return [np.asarray(leaf) for leaf in leaves]


class GraphIterators:
    """Makes the iterators of a graph.

    Args:
        building: Adds to the graph.
    """

    def __init__(self, building: Building) -> None:
        self._building = building
        building.make_dataset = GraphDataset

    def __call__(self, dataset: Any) -> GraphIterator:
        """Return an iterator that begins by itself."""
        return GraphIterator(self._building, dataset, is_one_shot=True)

    def initializable(self, dataset: Any) -> GraphIterator:
        """Return an iterator that begins when a session runs its initializer."""
        return GraphIterator(self._building, dataset)


class _Spec:
    """The type of a part of elements."""

    def __init__(self, shape: TensorLike, dtype: DTypeLike) -> None:
        self.shape: Any = shape if isinstance(shape, TensorShape) else TensorShape(shape)  # type: ignore[arg-type]
        self.dtype = dtype


def _is_spec(value: object) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _find_specs(types: PyTree, shapes: PyTree) -> Any:
    if isinstance(types, dict):
        return {
            key: _find_specs(each, None if shapes is None else shapes[key]) for key, each in types.items()
        }
    if isinstance(types, tuple):
        return tuple(_find_specs(each, None if shapes is None else shapes[i]) for i, each in enumerate(types))
    return _Spec(None if shapes is None else shapes, types)


class _IteratorType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, DatasetIterator | GraphIterator)


class Iterator(metaclass=_IteratorType):
    """What iterators are, as `tf.data.Iterator`: those of datasets, and those of a graph."""

    @staticmethod
    def from_structure(
        output_types: PyTree,
        output_shapes: PyTree = None,
        shared_name: str | None = None,
        output_classes: object = None,
    ) -> GraphIterator:
        """Return an iterator of the graph that is built, which begins with any dataset of such elements.

        Args:
            output_types: The elements' dtypes.
            output_shapes: Their shapes; None if they are not known.
            shared_name: Ignored.
            output_classes: Ignored.

        Raises:
            ModelScopeError: If no graph is built.
        """
        return GraphIterator(_find_building(), spec=_find_specs(output_types, output_shapes))

    @staticmethod
    def from_string_handle(
        string_handle: GraphTensor,
        output_types: PyTree,
        output_shapes: PyTree = None,
        output_classes: object = None,
    ) -> GraphIterator:
        """Return what gives the elements of the iterator whose handle is fed.

        Args:
            string_handle: The placeholder that is fed with a handle.
            output_types: The elements' dtypes.
            output_shapes: Their shapes; None if they are not known.
            output_classes: Ignored.

        Raises:
            ModelScopeError: If no graph is built.
        """
        spec = _find_specs(output_types, output_shapes)
        return GraphIterator(_find_building(), spec=spec, handle=string_handle)


def _find_building() -> Building:
    recorder = RECORDER.get()
    if not isinstance(recorder, Building):
        raise errors.ModelScopeError(
            "An iterator without a dataset is for a tf.Graph, which a session runs. Elsewhere use `iter(dataset)`."
        )
    return recorder
