"""What a program of TensorFlow 1 asks of its graph and session, and what it may not ask here (v1 layer)."""

import contextlib
import random
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from stratax import errors
from stratax.base.recording import RECORDER
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.core import print as print_when_run
from stratax.core.regions import executing_eagerly
from stratax.tensorflow.ops.arrays import arrays
from stratax.tensorflow.ops.calls.dtypes import as_dtype
from stratax.tensorflow.ops.random import random as random_ops
from stratax.tensorflow.v1._current import current_or_none, readable
from stratax.tensorflow.v1._default import DEFAULT, DefaultGraph
from stratax.tensorflow.v1.scopes import Scope


class ModelGraph:
    """What stands for TensorFlow's graph: `tf.get_default_graph()` returns it.

    Args:
        scope: The trace of a `model_fn`, or what there is outside of one.
    """

    def __init__(self, scope: Scope | DefaultGraph) -> None:
        self._scope = scope

    @property
    def has_tensors(self) -> bool:
        """Whether it is that of a `model_fn`, in which something is computed."""
        return not isinstance(self._scope, DefaultGraph)

    def name_of(self, tensor: TensorLike) -> str:
        """Return the name of a tensor of a `model_fn`, which it gets if it has none."""
        return self._scope.names.of(tensor)

    @property
    def seed(self) -> int | None:
        """The seed of a `model_fn`, of `tf.set_random_seed` or its `RunConfig`; None outside, as in TensorFlow 2."""
        return self._scope.seed

    @property
    def building_function(self) -> bool:
        """Whether a compiled function is being traced."""
        return not executing_eagerly()

    def as_default(self) -> AbstractContextManager["ModelGraph"]:
        """Enter a block in which it is the default graph, as it is."""
        return contextlib.nullcontext(self)

    def finalize(self) -> None:
        """Do nothing: what is added later can't do harm."""

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """Return what is in a collection, as `tf.get_collection`."""
        return self._scope.collections.get(name, scope)

    def get_collection_ref(self, name: str) -> list[Any]:
        """Return the list that a collection is, as `tf.get_collection_ref`."""
        return self._scope.collections.ref(name)

    def add_to_collection(self, name: str, value: object) -> None:
        """Add to a collection, as `tf.add_to_collection`."""
        self._scope.collections.add(name, value)

    def add_to_collections(self, names: Sequence[str], value: object) -> None:
        """Add to several collections, to each once."""
        for name in dict.fromkeys(names):
            self._scope.collections.add(name, value)

    def name_scope(self, name: str) -> AbstractContextManager[str]:
        """Enter a scope of names for tensors, as `tf.name_scope`."""
        return self._scope.names.scope(name)

    def unique_name(self, name: str) -> str:
        """Return a name that no other operation has."""
        return self._scope.names.unique(name)

    def get_tensor_by_name(self, name: str) -> Any:
        """Return the tensor, or variable, of a name.

        Args:
            name: Such as `"softmax"` or `"softmax:0"`.

        Raises:
            UnknownNameError: If there is none.
        """
        # Names are kept without the number of a first output.
        found, tensors = name.removesuffix(":0"), self._scope.names.tensors()
        variables = {variable.path: variable for variable in self._scope.collections.get("variables")}
        for known in (tensors, variables):
            if found in known:
                return known[found]
        raise errors.UnknownNameError(
            f"The name {shown(name)} refers to a Tensor which does not exist. Expected: one of "
            f"{shown([*tensors, *variables])}. Name a tensor with tf.identity(tensor, name=...)."
        )

    def get_operation_by_name(self, name: str) -> Any:
        """Return the operation of a name: a tensor's, a variable's, or one that runs.

        Args:
            name: Its name.

        Raises:
            UnknownNameError: If there is none.
        """
        for operation in self.get_operations():
            if operation.name == name:
                return operation
        raise errors.UnknownNameError(
            f"The name {shown(name)} refers to an Operation not in the graph. Expected: one of "
            f"{shown([operation.name for operation in self.get_operations()])}."
        )

    def get_operations(self) -> list[Any]:
        """Return the operations: of variables, of tensors that have names, and those that run."""
        of_tensors = {
            (operation := TensorOperation(self, tensor)).name: operation
            # Several tensors may be outputs of one operation: by name it is there once.
            for tensor in self._scope.names.tensors().values()
        }
        of_variables = [variable.op for variable in self._scope.collections.get("variables")]
        return [*of_variables, *of_tensors.values(), *self._scope.operations()]

    def as_graph_element(self, obj: object, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """Return the tensor or operation of a name, or what is one already, as `tf.Graph.as_graph_element`.

        Args:
            obj: A name, a tensor, a variable or an operation.
            allow_tensor: Whether a name may be a tensor's.
            allow_operation: Whether a name may be an operation's.
        """
        if not isinstance(obj, str):
            return obj
        # A name with a colon is that of a tensor, an operation's has none.
        if allow_tensor and (":" in obj or not allow_operation):
            return self.get_tensor_by_name(obj)
        return self.get_operation_by_name(obj)

    def get_all_collection_keys(self) -> list[str]:
        """Return the names of the collections in which there is something."""
        return self._scope.collections.keys()


class TensorOperation:
    """The operation that a tensor is the result of, of which programs read the name: a tensor's `op`.

    Args:
        graph: The graph.
        tensor: The tensor.

    Attributes:
        graph: The graph.
        outputs: The tensor, alone.
    """

    def __init__(self, graph: ModelGraph, tensor: object) -> None:
        self.graph = graph
        self.outputs = [tensor]

    @property
    def name(self) -> str:
        """Its name, such as `"softmax"`."""
        return self.name_of(self.outputs[0]).partition(":")[0]

    @property
    def device(self) -> str:
        """An empty text: a strategy places what is computed."""
        return ""

    def name_of(self, tensor: TensorLike) -> str:
        """Return the name of the tensor, such as `"softmax:0"`."""
        name = self.graph.name_of(tensor)
        return name if ":" in name else f"{name}:0"

    def __eq__(self, other: object) -> bool:
        # Made anew whenever it is asked for: two are one if they have one tensor.
        return isinstance(other, TensorOperation) and self.outputs[0] is other.outputs[0]

    def __hash__(self) -> int:
        return id(self.outputs[0])

    def __repr__(self) -> str:
        return f"<operation {self.name!r}>"


def operation_of(tensor: TensorLike) -> TensorOperation | None:
    """Return the operation of a tensor of a `model_fn`; None where there is none."""
    graph = get_default_graph()
    return TensorOperation(graph, tensor) if graph.has_tensors else None


class ConfigProto:
    """Settings of TensorFlow's sessions, which have no meaning here: any are accepted.

    Args:
        **settings: Their values.
    """

    def __init__(self, **settings: object) -> None:
        vars(self).update(settings)

    def __getattr__(self, name: str) -> Any:
        # What `copy` and `pickle` look for is no setting.
        if name.startswith("_"):
            raise AttributeError(name)
        # A group of settings, such as `config.gpu_options.allow_growth = True`.
        vars(self)[name] = ConfigProto()
        return vars(self)[name]

    def __repr__(self) -> str:
        return f"ConfigProto({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class OptimizerOptions(ConfigProto):
    """Settings of TensorFlow's own optimization of graphs, which have no meaning here: XLA compiles every program."""

    L1, L0 = 0, -1
    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2


class RunOptions(ConfigProto):
    """Options of a session's run, which have no meaning here."""

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3


class RunMetadata(ConfigProto):
    """What TensorFlow tells of a session's run, of which there is nothing here: `jax.profiler.trace` measures."""

    @property
    def step_stats(self) -> "RunMetadata":
        """Statistics of each device, of which there are none."""
        return self


def get_default_graph() -> ModelGraph:
    """Return what stands for the graph: of a `model_fn`, or the one outside, in which nothing is computed."""
    scope = readable()
    scope.graph = scope.graph or ModelGraph(scope)
    return scope.graph


def reset_default_graph() -> None:
    """Forget what was added to collections outside of a `model_fn`, as `tf.compat.v1.reset_default_graph`."""
    DEFAULT.reset()


def no_regularizer(_: object) -> None:
    """Regularize nothing: what keeps the variable scope's regularizer away from a variable."""


def set_random_seed(seed: int) -> None:
    """Set the seed that random numbers follow from, as `tf.set_random_seed`.

    In a `model_fn` it decides the first values of variables that are made after it; dropout and random functions follow
    `RunConfig(tf_random_seed=...)` and what was set before.

    Args:
        seed: A number.
    """
    scope = current_or_none()
    if scope is None:
        random_ops.set_seed(seed)
    else:
        scope.seed = seed
        # Initializers that are made from here on take their seeds of Python's generator.
        random.seed(seed)


def Print(
    input_: object,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Print tensors each time that the program runs, as `tf.Print`.

    Args:
        input_: What it returns.
        data: The tensors.
        message: Printed in front of them.
        first_n: Ignored: it prints every time.
        summarize: How many elements of each end of a dimension are shown: 3 if None; -1 for all.
        name: By which hooks find the result.
    """
    print_when_run(*([] if message is None else [message]), *data, summarize=summarize)
    return arrays.identity(input_, name=name)


def placeholder(dtype: DTypeLike, shape: TensorLike | None = None, name: str | None = None) -> Any:
    """Return what stands for an input of an export, as `tf.compat.v1.placeholder` in a serving input function.

    Args:
        dtype: Its dtype.
        shape: Its sizes, of which some may be None; None for a vector of text, such as serialized examples.
        name: Its name.

    Returns:
        An array of the program that is exported, of numbers; for text what functions of `tf` compute with on the host.

    Raises:
        BadArgumentError: Not even the number of dimensions is given, of numbers.
        ModelScopeError: Nothing is being exported.
    """
    recorder = RECORDER.get()
    if recorder is None:
        raise errors.ModelScopeError(
            "A placeholder of an export is made while one is traced. Features and labels are the arguments of a "
            "`model_fn`."
        )
    return recorder.placeholder(as_dtype(dtype), shape, name)
