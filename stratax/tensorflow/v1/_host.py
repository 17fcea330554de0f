"""What a model computes on the host: before its step, of strings, and after it, of the step's numbers (v1 layer).

Strings never enter a compiled step. In a `model_fn` a feature of strings is a :class:`HostTensor`, which knows its name
only. What is computed of it (ids of a vocabulary, hashes) is a function that is registered while the `model_fn` is
traced (:class:`HostInputs`), runs on the host on each batch before the step, and whose results are further inputs of
the step. What strings are made of the step's results (labels of classes) is a :class:`HostResult`.
"""

import collections
import functools
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data.elements import TensorShape
from stratax.tensorflow.ops.calls import labels, naming
from stratax.tensorflow.ops.calls.kept import Kept
from stratax.tensorflow.ops.calls.on_host import is_symbol, not_known
from stratax.tensorflow.v1 import _names
from stratax.tensorflow.v1._trace import current_trace_or_none

Batch = Mapping[str, Any]
# From features by name to arrays by part.
Compute = Callable[[dict[str, Any]], Mapping[str, np.ndarray]]


class HostTensor(labels.TextSymbol):
    """A feature that stays on the host while a `model_fn` is traced: strings, or a SparseTensor.

    Args:
        name: The name by which the batch has it.
        shape: Its shape, if it has one in this trace.
        dtype: Its dtype: `object` for strings.

    Attributes:
        name: Its name.
        shape: Its shape, or None.
        dtype: Its dtype.
    """

    def __init__(self, name: str, shape: Sequence[int] | None, dtype: DTypeLike | None = object) -> None:
        self.name = name
        self.shape = None if shape is None else TensorShape(shape)
        self.dtype = np.dtype(dtype)

    @property
    def ndim(self) -> int | None:
        """The number of its dimensions, or None."""
        return None if self.shape is None else len(self.shape)

    def get_shape(self) -> TensorShape:
        """Return its shape, which may be unknown."""
        return TensorShape(self.shape)

    @property
    def op(self) -> Any:
        """Its operation, of which programs read the name."""
        return naming.operation_of(self)

    @property
    def graph(self) -> Any:
        """The graph of the `model_fn`."""
        return self.op.graph

    def apply(self, name: str, function: Callable[..., Any], operands: list[Any]) -> Any:
        """Return what a function of arrays makes of it and others: see :class:`TextSymbol`."""
        return _apply(function, operands, name)

    def __repr__(self) -> str:
        return f"<HostTensor {self.name!r} shape={self.shape} dtype={self.dtype}>"

    __hash__ = object.__hash__

    def _refuse(self, *others: object) -> NoReturn:
        del others
        raise errors.BadTypeError(
            "The values of strings and sparse features are not known in a model_fn: they stay on the host, a compiled "
            "step computes with numbers. Expected: use in feature columns (tf.feature_column), tf.lookup or "
            f"tf.strings, or conversion to numbers in the input_fn's dataset.map. Received: {shown(self)}."
        )


# Those of two operands have a reflected one, too.
# Python looks operators up in the class, so that each has to be set there.
_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
_OTHERS = (
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "getitem",
    "neg",
    "pos",
    "invert",
    "abs",
    "bool",
    "int",
    "float",
    "index",
)
_CONVERSIONS = ("len", "iter", "contains", "array", "jax_array")

for _name in (*_BINARY, *(f"r{name}" for name in _BINARY), *_OTHERS, *_CONVERSIONS):
    setattr(HostTensor, f"__{_name}__", HostTensor._refuse)


class ByRow:
    """A function on the host whose results for an example depend on that example alone.

    So it may get the examples of several batches in one call.

    Args:
        function: From the features by name to arrays, as :meth:`HostInputs.register` takes it.
    """

    def __init__(self, function: Compute) -> None:
        self._function = function

    def __call__(self, features: dict[str, Any]) -> Mapping[str, np.ndarray]:
        return self._function(features)


class HostInputs:
    """The functions that run on the host before each step of a model, in one mode.

    The first trace of the `model_fn` registers them. Before every dispatch whoever drives the step calls :meth:`apply`
    with the batch, and hands its results to the trace as further inputs.
    """

    def __init__(self) -> None:
        # By key: the function, and the names of the features that it reads.
        self._functions: dict[str, tuple[Compute, tuple[str, ...]]] = {}
        # By key and part: what an array of varying size is filled up with.
        self._fills: dict[str, dict[str, float]] = {}
        # By feature, and the number of the result that it is.
        self._kept: dict[tuple[str, int], Kept] = {}
        # By name: what makes the strings, and of which features.
        self._strings: dict[str, tuple[Callable[[dict[str, Any]], np.ndarray], tuple[str, ...]]] = {}

    def __bool__(self) -> bool:
        return bool(self._functions)

    @property
    def names(self) -> frozenset[str]:
        """The names of the features that the functions read."""
        return frozenset(name for _, names in self._functions.values() for name in names)

    def register(
        self, key: str, function: Compute, names: Iterable[str], fills: Mapping[str, float] | None = None
    ) -> None:
        """Have a function run before each step.

        Args:
            key: By which every trace finds its results; a key that is there already keeps its function.
            function: From the features by name, as they are on the host, to NumPy arrays of numbers, whose first
                dimension is the batch's.
            names: The features that it takes.
            fills: With what those of its results are filled up, by name, whose second dimension differs between
                batches.
        """
        # Each trace of the model asks for the same: what the first one has registered stays.
        self._functions.setdefault(key, (function, tuple(names)))
        self._fills.setdefault(key, dict(fills or {}))

    def fill(self, key: str, part: str) -> float | None:
        """Return what a function's result is filled up with; None if its shape is always the same."""
        return self._fills[key].get(part)

    def kept(self, name: str, number: int) -> Kept:
        """Return what keeps the values of a feature until the step after it is over, one for each of its results."""
        return self._kept.setdefault((name, number), Kept(name))

    def apply(self, batch: Batch, keys: Iterable[str] | None = None) -> dict[str, dict[str, np.ndarray]]:
        """Return what the functions make of a batch, by key.

        Args:
            batch: The features by name, on the host.
            keys: Which functions; all by default.

        Raises:
            BadArgumentError: A feature is missing.
        """
        # What is made of strings once is there for all functions.
        # Strings are added below; the batch itself stays as it was.
        known = dict(batch)
        return {key: self._compute(key, known) for key in (self._functions if keys is None else keys)}

    def divided(self, names: Collection[str]) -> tuple[list[str], list[str]]:
        """Return the keys of the functions that may get several batches in one call, and those of the others.

        Args:
            names: The features that can be joined.
        """
        # A function of the whole batch, such as one with a user's normalizer, must see one batch at a time.
        by_row = [
            key
            for key, (function, read) in self._functions.items()
            if isinstance(function, ByRow) and all(name in names for name in read)
        ]
        return by_row, [key for key in self._functions if key not in by_row]

    def compute(self, key: str, batch: Batch) -> dict[str, np.ndarray]:
        """Return what one function makes of a batch."""
        return self._compute(key, dict(batch))

    def _compute(self, key: str, known: dict[str, Any]) -> dict[str, np.ndarray]:
        function, names = self._functions[key]
        return dict(function(self._values(names, known)))

    def _values(self, names: tuple[str, ...], known: dict[str, Any]) -> dict[str, Any]:
        """Return features by name, and strings that are made of them, which are noted."""
        for name in names:
            # Made where they are wanted for the first time: of strings, which may be made of others again.
            if name not in known and name in self._strings:
                function, sources = self._strings[name]
                known[name] = function(self._values(sources, known))
        missing = [name for name in names if name not in known]
        if missing:
            raise errors.BadArgumentError(
                f"A batch lacks features that the model_fn computes with. Expected: {shown(list(names))}. Received: "
                f"{shown(sorted(known))}. Let the input_fn give the same features in every batch."
            )
        return {name: known[name] for name in names}

    def register_strings(
        self, name: str, function: Callable[[dict[str, Any]], np.ndarray], sources: Iterable[str]
    ) -> None:
        """Have strings be made of features, where a function asks for them.

        Args:
            name: Their name, like that of a feature.
            function: From the features by name to an array of strings.
            sources: The features that it takes.
        """
        self._strings.setdefault(name, (function, tuple(sources)))


class HostTrace:
    """What one trace of a `model_fn` takes from the host.

    Args:
        inputs: The functions of all traces.
        placeholders: The features that are arrays, by name, as this trace has them: functions may read them on the
            host, too.
        given: What :meth:`HostInputs.apply` gave, as arrays of this trace; None in the first trace.
        example: A batch, by name, of which the first trace learns shapes.

    Attributes:
        requested: What :meth:`request` gave in this trace to those who want to share it, by what it is.
    """

    def __init__(
        self,
        inputs: HostInputs,
        placeholders: Mapping[str, Any],
        given: Mapping[str, Mapping[str, Any]] | None = None,
        example: Batch | None = None,
    ) -> None:
        self._inputs = inputs
        self._placeholders = dict(placeholders)
        self._given = given
        self._example = example
        # Begun anew in each trace, so that equal calls get equal keys.
        self._keys = _names.UniqueNames()
        self._num_kept: collections.Counter[str] = collections.Counter()
        self.requested: dict[Hashable, Callable[[], dict[str, Any]]] = {}

    def name_of(self, value: object) -> str | None:
        """Return the name under which a batch on the host has a value of this trace; None for what was computed."""
        if isinstance(value, HostTensor):
            return value.name
        # By identity: what was computed of a feature has another value on the host, or none.
        return next((name for name, each in self._placeholders.items() if each is value), None)

    def example_of(self, value: object) -> Any:
        """Return what a value is in the batch of which the first trace learns shapes; None where that is not known."""
        name = self.name_of(value)
        return None if name is None or self._example is None else self._example.get(name)

    def input(
        self, function: Compute, names: Sequence[str], key: str, fills: Mapping[str, float] | None = None
    ) -> dict[str, Any]:
        """Return a function's results as arrays of this trace; see :meth:`request`."""
        return self.request(function, names, key, fills)()

    def request(
        self, function: Compute, names: Sequence[str], key: str, fills: Mapping[str, float] | None = None
    ) -> Callable[[], dict[str, Any]]:
        """Ask for a function's results; return what gives them as arrays of this trace, however often it is called.

        Args:
            function: See :meth:`HostInputs.register`.
            names: The features that it takes.
            key: What the results are called, made unique: traces ask for the same in the same order.
            fills: See :meth:`HostInputs.register`.

        Raises:
            ModelScopeError: The first trace did not ask for it.
        """
        # By the order of the calls, which is the same in every trace.
        key = self._keys.unique(key)
        if self._given is None:
            self._inputs.register(key, function, names, fills)
            # What functions of JAX compute in it has values, although the model_fn is being traced.
            with jax.ensure_compile_time_eval():
                made = self._inputs.compute(key, {} if self._example is None else self._example)
            # Placeholders are made at each call, since a tensor belongs to the block in which it was made.
            return lambda: {part: self._placeholder(array) for part, array in made.items()}
        if key not in self._given:
            raise errors.ModelScopeError(
                f"A model_fn asked for {shown(key)} of the host that it did not ask for when the model was built. "
                f"Expected: one of {shown(sorted(self._given))}. Use the same feature columns for every batch."
            )
        return functools.partial(dict, self._given[key])

    def strings(
        self,
        function: Callable[[dict[str, Any]], np.ndarray],
        names: Sequence[str],
        shape: Sequence[int],
        key: str,
    ) -> HostTensor:
        """Return what a function makes of features as one more feature that stays on the host.

        Args:
            function: From the features by name to an array of strings.
            names: The features that it takes.
            shape: The shape of the result in this trace.
            key: What the result is called, made unique.
        """
        name = self._keys.unique(f"{key}:")
        self._inputs.register_strings(name, function, names)
        return HostTensor(name, shape)

    def keep(self, name: str) -> "HostResult":
        """Return a feature of strings as a result of the step.

        Args:
            name: The feature.
        """
        kept = self._inputs.kept(name, self._num_kept[name])
        self._num_kept[name] += 1
        return HostResult(kept.take, self.input(kept.put, [name], f"kept/{name}")["rows"])

    def _placeholder(self, array: np.ndarray) -> Any:
        """Return the array as one that depends on the features, so that nothing takes it for a constant."""
        made = jnp.asarray(array)
        for value in self._placeholders.values():
            if isinstance(value, jax.core.Tracer):
                return jax.lax.optimization_barrier((made, value))[0]
        return made


class HostResult(labels.TextSymbol):
    """What NumPy makes of a step's results after it: the labels of classes, for instance.

    It is a pytree: a step that returns it returns its tensors, and outside of the step :meth:`value` computes it.

    Args:
        function: From NumPy arrays to an array, whose first dimension is the batch's.
        tensors: Tensors of the step, or other results of this kind.

    Attributes:
        function: The function.
        tensors: The tensors.
        dtype: `object`: strings.
    """

    dtype = np.dtype(object)

    def __init__(self, function: Callable[..., np.ndarray], *tensors: object) -> None:
        self.function = function
        self.tensors = tensors

    def apply(self, name: str, function: Callable[..., Any], operands: list[Any]) -> Any:
        """Return what a function of arrays makes of it and others: see :class:`TextSymbol`."""
        return _apply(function, operands, name)

    def value(self) -> np.ndarray:
        """Return the result, computed of the tensors' values.

        Raises:
            ModelScopeError: If the step is still being traced.
        """
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(self.tensors)):
            raise errors.ModelScopeError(
                "Strings that are made of a step's results are known after the step only. Expected: use as a "
                f"prediction. Received: {shown(self)} in a model_fn. Return it in EstimatorSpec.predictions."
            )
        values = [each.value() if isinstance(each, HostResult) else np.asarray(each) for each in self.tensors]
        return np.asarray(self.function(*values))

    def __repr__(self) -> str:
        return f"<HostResult of {shown(self.tensors)}>"


# Tensors go through a step as its results do; the function is part of the structure.
jax.tree_util.register_pytree_node(
    HostResult,
    lambda result: (result.tensors, result.function),
    lambda function, tensors: HostResult(function, *tensors),
)


def _apply(function: Callable[..., Any], operands: list[Any], name: str) -> Any:
    trace = current_trace_or_none()
    if trace is None:
        raise not_known(name, next(each for each in operands if is_symbol(each)))
    return trace.features.apply(function, operands, name)


def after_step(function: Callable[..., np.ndarray], *tensors: object) -> HostResult:
    """Have NumPy compute something of a step's results, on the host, after the step.

    Args:
        function: From NumPy arrays to an array, such as one of strings. The first dimension stays the batch's.
        tensors: Tensors of the step.

    Returns:
        What stands for the result in the step: it can be a prediction, nothing is computed with it.
    """
    return HostResult(function, *tensors)


def values_after_step(results: object) -> Any:
    """Return a step's results with each :class:`HostResult` in them computed.

    Args:
        results: A nested structure of arrays, as a step has returned it.
    """
    return jax.tree.map(
        lambda each: each.value() if isinstance(each, HostResult) else each,
        results,
        is_leaf=lambda each: isinstance(each, HostResult),
    )
