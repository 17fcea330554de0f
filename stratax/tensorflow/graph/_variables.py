"""Variables of a graph, which have values in sessions (graph layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.recording import RECORDER
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, PyTree, TensorLike
from stratax.core import known, regions, state
from stratax.data.elements import TensorShape
from stratax.tensorflow.graph._building import Building
from stratax.tensorflow.graph._nodes import GraphOperation, GraphTensor, add_operators
from stratax.tensorflow.v1 import current
from stratax.tensorflow.v1.parts import InitializedVariable, ModelVariable


def _zeros(shape: Sequence[int], dtype: object = None) -> Any:
    return np.zeros(shape, dtype)


class InGraph:
    """What variables of a graph have besides, whoever has made them.

    Attributes:
        first: What its first value is made of: an array, a tensor, or a function of a shape and a dtype.
    """

    is_of_graph = True
    first: Any
    path: str
    _shape: tuple[int, ...]
    _dtype: str

    @property
    def initializer(self) -> Any:
        """The operation that gives it its first value."""
        return self.__dict__["_initializer_operation"]

    def begin_by(self, initializer: GraphOperation) -> None:
        """Have an operation be the one that gives it its first value."""
        self.__dict__["_initializer_operation"] = initializer

    @property
    def initial_value(self) -> Any:
        """The tensor of its first value."""
        return self.first_tensor()

    def first_tensor(self) -> Any:
        """Return its first value as a tensor."""
        if isinstance(self.first, GraphTensor):
            return self.first
        return current().call(_first_value, self)

    def read_value(self) -> Any:
        """Return its value as a tensor."""
        return current().call(read_value, self)

    def get_shape(self) -> TensorShape:
        """Return the shape of its value."""
        return TensorShape(tuple(self._shape))

    def eval(self, session: PyTree = None) -> Any:
        """Return its value in a session.

        Args:
            session: The session; by default the one that is entered.
        """
        return self.owner.find_session(session, f"variable {self.path!r}").run(self)

    @property
    def owner(self) -> Any:
        """The graph that it belongs to."""
        return self.__dict__["_stratax_graph"]

    @property
    def graph(self) -> Any:
        """The graph that it belongs to."""
        return self.owner

    def load(self, value: object, session: PyTree = None) -> None:
        """Give it a value in a session.

        Args:
            value: An array of its shape.
            session: The session; by default the one that is entered.
        """
        self.owner.find_session(session, f"variable {self.path!r}").give({self: value})


@add_operators
class GraphVariable(InGraph, ModelVariable):
    """A variable of a graph, as `tf.Variable` in TensorFlow 1: a session gives it a value when it runs its initializer.

    Args:
        initial_value: An array, a number, a nested list, a tensor of the graph, or a function that gives one.
        trainable: Whether optimizers see it.
        collections: More collections that it is added to.
        validate_shape: Must be true: shapes are known.
        name: Its name.
        dtype: Its dtype; by default that of the initial value.
        aggregation: See `ModelVariable`.
        synchronization: Likewise.
        constraint: A function of the value, applied after each update of an optimizer.
        **others: TensorFlow's other arguments, which have no meaning here.
    """

    def __init__(
        self,
        initial_value: TensorLike = None,
        trainable: bool | None = True,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: object = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        aggregation: object = "none",
        synchronization: object = None,
        constraint: Callable[..., Any] | None = None,
        **others: object,
    ) -> None:
        del caching_device, others
        scope = current()
        for key in collections or ():
            if key not in ("variables", "trainable_variables"):
                scope.collections.add(key, self)
        if state.is_made(self):
            return
        first = initial_value() if callable(initial_value) else initial_value
        if isinstance(first, InGraph):
            first = first.first_tensor()
        if isinstance(first, jax.core.Tracer):
            first = _find_constant(first, name)
        kind = dtype if dtype is not None else _dtype_of(first)
        shape = first.shape if isinstance(first, GraphTensor) else TensorShape(np.shape(first))
        if shape.rank is None or not shape.is_fully_defined():
            raise errors.BadArgumentError(
                f"initial_value must have a shape specified. Received: initial_value={shown(first)}, of shape {shape}. "
                "Variables have one shape here."
            )
        self._begin(
            first if isinstance(first, GraphTensor) else np.asarray(first, np.dtype(kind)),
            shape=tuple(shape),
            dtype=keras.backend.standardize_dtype(kind),
            trainable=trainable is not False,
            name=None if name is None else name.rpartition("/")[2],
            aggregation=_word(aggregation, "none"),
            synchronization=_word(synchronization, "auto"),
        )
        self.constraint = constraint

    def _begin(self, first: TensorLike, **arguments: Any) -> None:
        # Before Keras notes that it was made.
        self.__dict__["first"] = first
        with regions.outside_scopes():
            keras.Variable.__init__(self, _zeros, autocast=False, **arguments)

    @property
    def value(self) -> Any:
        """Its value: a tensor of the graph, while that is built."""
        recorder = RECORDER.get()
        if isinstance(recorder, Building):
            return recorder.compute(read_value, (self,), "Read/ReadVariableOp")
        return keras.Variable.value.fget(self)

    def __iter__(self) -> Any:
        raise errors.BadTypeError("'Variable' object is not iterable.")


class InitializedGraphVariable(GraphVariable, InitializedVariable):
    """One whose first value an initializer gives, when a session runs it."""

    def __init__(self, **arguments: Any) -> None:
        if state.is_made(self):
            return
        self._begin(arguments.pop("initializer"), **arguments)


@add_operators
class LayerVariable(InGraph, keras.Variable):
    """A variable of a layer of Keras that a graph has: it has a value from the beginning, which an initializer renews.

    Args:
        initializer: Gives the first value.
        **arguments: Those of Keras' variables.
    """

    def __init__(self, initializer: Any, **arguments: Any) -> None:
        # Before Keras notes that it was made.
        self.__dict__["first"] = initializer
        super().__init__(initializer, **arguments)


def read_value(variable: keras.Variable) -> Any:
    """Return a variable's value, as a tensor of its own."""
    return jax.numpy.array(variable.value, copy=True)


def _first_value(variable: Any) -> Any:
    first = variable.first
    if callable(first) or isinstance(first, str):
        first = keras.initializers.get(first) if isinstance(first, str) else first
        first = first(tuple(variable._shape), dtype=variable._dtype)
    return jax.numpy.asarray(first, np.dtype(variable._dtype))


def assign_first(variable: Any, first: TensorLike) -> Any:
    """Return the operation that gives a variable its first value.

    Args:
        variable: The variable.
        first: The value; as the variable has it, where that is no tensor.
    """
    value = _first_value(variable) if variable.first is first else first
    value = jax.numpy.asarray(value, np.dtype(variable._dtype))
    return current().operation(lambda: keras.Variable.assign(variable, value), name="Assign")


def _find_constant(value: TensorLike, name: str | None) -> Any:
    try:
        return np.asarray(known.constant_of(value))
    except LookupError:
        raise errors.BadArgumentError(
            "A variable that a layer or a branch makes begins with a constant or what an initializer gives. Received: "
            f"initial_value={value}, name={shown(name)}."
        ) from None


def _dtype_of(value: TensorLike) -> Any:
    if hasattr(value, "dtype"):
        return jax.dtypes.canonicalize_dtype(np.dtype(value.dtype))
    kind = np.asarray(value).dtype
    # NumPy's defaults for Python's numbers have 64 bits, TensorFlow's have 32.
    return {"f": np.dtype("float32"), "i": np.dtype("int32")}.get(kind.kind, kind)


def _word(option: Any, default: str) -> str:
    return str(getattr(option, "name", option) or default).lower()
