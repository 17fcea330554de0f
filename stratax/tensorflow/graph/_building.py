"""How calls are added to a graph: their results become tensors and operations with names (graph layer)."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax.base.recording import NOT_RECORDED
from stratax.base.tracing import PIPELINE, TRACING, is_traced
from stratax.base.typing import DTypeLike, PyTree, TensorLike
from stratax.data.elements import DType, TensorShape
from stratax.seams import jax_arrays
from stratax.summary.forms import SummaryRecord
from stratax.tensorflow.graph import _replicas, _trial
from stratax.tensorflow.graph._evaluation import find_symbols, is_leaf
from stratax.tensorflow.graph._layers import OperationCall, find_inputs, is_of_model
from stratax.tensorflow.graph._nodes import Abstract, GraphCall, GraphOperation, GraphTensor
from stratax.tensorflow.graph._recording import Recording
from stratax.tensorflow.graph._scopes import BuiltScope
from stratax.tensorflow.v1.parts import MetricValue

# TensorFlow's names of operations, where they are not their functions' names in camel case.
_KINDS = {
    "constant": "Const",
    "convert_to_tensor": "Const",
    "placeholder": "Placeholder",
    "matmul": "MatMul",
    "multiply": "Mul",
    "subtract": "Sub",
    "divide": "truediv",
    "negative": "Neg",
    "batch_normalization": "batchnorm",
    "concat": "concat",
    "stack": "stack",
    "unstack": "unstack",
    "split": "split",
    "zeros": "zeros",
    "ones": "ones",
    "zeros_like": "zeros_like",
    "ones_like": "ones_like",
    "one_hot": "one_hot",
    "range": "range",
    "transpose": "transpose",
    "random_normal": "random_normal",
    "random_uniform": "random_uniform",
    "truncated_normal": "truncated_normal",
    "dropout": "dropout",
    "moments": "moments",
    "cond": "cond",
    "while_loop": "while",
    "argmax": "ArgMax",
    "argmin": "ArgMin",
    "bias_add": "BiasAdd",
    "conv2d": "Conv2D",
    "conv1d": "conv1d",
    "conv2d_transpose": "conv2d_transpose",
    "max_pool": "MaxPool",
    "avg_pool": "AvgPool",
    "embedding_lookup": "embedding_lookup",
    "gather": "GatherV2",
    "top_k": "TopKV2",
    "in_top_k": "in_top_k/InTopKV2",
    "expand_dims": "ExpandDims",
    "clip_by_value": "clip_by_value",
    "clip_by_norm": "clip_by_norm",
    "clip_by_global_norm": "clip_by_global_norm",
    "global_norm": "global_norm",
    "l2_normalize": "l2_normalize",
    "l2_loss": "L2Loss",
    "lrn": "LRN",
    "softmax_cross_entropy_with_logits": "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits": "SparseSoftmaxCrossEntropyWithLogits",
    "sigmoid_cross_entropy_with_logits": "logistic_loss",
    "where": "Where",
    "norm": "norm",
    "tensordot": "Tensordot",
    "boolean_mask": "boolean_mask",
    "reduce_logsumexp": "ReduceLogSumExp",
    "to_float": "ToFloat",
    "to_int32": "ToInt32",
    "print": "Print",
}
_UNLIKE_TEXT = (jax.Array, np.ndarray, np.generic, int, float, complex, bool, str, bytes)


class Building(Recording):
    """Adds to a graph what is called while it is built.

    Args:
        scope: The scope of the graph.
    """

    def __init__(self, scope: BuiltScope) -> None:
        self._scope = scope
        # Makes a dataset of tensors: whoever knows iterators says how.
        self.make_dataset: Callable[..., Any] = GraphCall
        self._signatures: dict[Any, inspect.Signature] = {}
        self._phase: GraphTensor | None = None
        # What stands for tensors of Keras' models, by id, beside these.
        self._of_models: dict[int, tuple[keras.KerasTensor, GraphTensor]] = {}

    @property
    def phase(self) -> GraphTensor:
        """Keras' learning phase: a tensor that is false where nobody feeds it."""
        if self._phase is None:
            (self._phase,) = self.add_source(
                [(TensorShape([]), np.dtype(bool))],
                "keras_learning_phase",
                "PlaceholderWithDefault",
                default=np.array(False),
            )
            # Layers have to know it, as Python does.
            self._phase.trials = dict.fromkeys(self._phase.trials, np.array(False))
        return self._phase

    def record_operation(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add a call of a layer or an operation of Keras, if it has a part in the graph."""
        if not find_symbols((args, kwargs)) and not _is_of_graph(args, kwargs):
            return NOT_RECORDED
        made = OperationCall(operation)
        if isinstance(operation, keras.layers.Layer) and made.follows_phase(args, kwargs):
            return self.add(made, (self.phase, *args), kwargs)
        return self.add(made, (None, *args), kwargs)

    def give(self, tensor: keras.KerasTensor) -> GraphTensor:
        """Return the tensor of the graph that stands for one of a model of Keras.

        Args:
            tensor: An input of the model, which becomes a placeholder, or what the model computes.
        """
        found = self._of_models.get(id(tensor))
        if found is None:
            inputs = find_inputs(tensor)
            if inputs == [tensor]:
                (made,) = self.add_source(
                    [(TensorShape(tensor.shape), tensor.dtype)], tensor.name, "Placeholder"
                )
            else:
                model = keras.Model(inputs, tensor)
                made = self.add(OperationCall(model), (self.phase, [self.give(each) for each in inputs]), {})
            found = self._of_models[id(tensor)] = tensor, made
        return found[1]

    def record_call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add a call to the graph, if it has a part in one."""
        # What can be gone through once only is read now.
        args = tuple(list(each) if isinstance(each, Iterator) else each for each in args)
        if not find_symbols((args, kwargs)) and not _is_of_graph(args, kwargs):
            return NOT_RECORDED
        if getattr(function, "makes_dataset", False):
            return self._give_dataset(function, args, kwargs)
        if getattr(function, "__qualname__", "") == "Strategy.run":
            given = inspect.signature(function).bind(*args, **kwargs).arguments
            if given["self"].num_replicas_in_sync == 1:
                return NOT_RECORDED
            args, kwargs = (), given | {"fn": _replicas.refuse_updates(given["fn"])}
        if getattr(function, "__name__", "") in ("py_func", "numpy_function", "py_function"):
            return self._add_python(*args, **kwargs)
        return self.add(function, args, kwargs)

    def _add_python(
        self,
        func: Callable[..., Any],
        inp: Sequence[Any] = (),
        Tout: Any = None,
        stateful: bool = True,
        name: str | None = None,
    ) -> Any:
        """Add a call of a function of Python's, on the host: its results' shapes are not known."""
        is_one = not isinstance(Tout, list | tuple)
        dtypes = [DType(each) for each in ([Tout] if is_one else Tout)]

        def call(operands: list[Any]) -> list[Any]:
            found = func(*[np.asarray(each) for each in operands])
            values = (
                [found] if len(dtypes) == 1 and not isinstance(found, list | tuple) else list(found or ())
            )
            return [np.asarray(each, np.dtype(kind)) for each, kind in zip(values, dtypes, strict=True)]

        made = self.add_typed(
            call, (list(inp),), [(TensorShape(None), each) for each in dtypes], name or "PyFunc", "PyFunc"
        )
        return made[0] if is_one else made

    def add_typed(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        specs: Sequence[tuple[Any, Any]],
        name: str,
        kind: str,
    ) -> list[GraphTensor]:
        """Add a call that the host makes, whose results' types are given."""
        call = self._make_call(function, args)
        call.is_on_host = True
        for each in find_symbols(args):
            if isinstance(each, GraphTensor):
                call.add_input(each)
        call.find_order()
        results = _Results(self._scope, call, name, kind)
        for index, (shape, dtype) in enumerate(specs):
            results.add_tensor(index, _trial.stand_ins(shape, dtype), dtype)
        call.results = list(results.tensors)
        results.finish()
        return results.tensors

    def _give_dataset(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not find_symbols((args, kwargs)):
            return NOT_RECORDED
        return self.make_dataset(self, function, args, kwargs)

    def compute(self, function: Callable[..., Any], operands: tuple[Any, ...], kind: str) -> Any:
        """Add what Python's operator gives for tensors of the graph."""
        if not any(isinstance(each, GraphTensor) for each in operands) and not jax_arrays.is_top_level():
            # Of a layer's variable, in a step of `fit`.
            return function(*(each.value if isinstance(each, keras.Variable) else each for each in operands))
        return self.add(function, operands, {}, kind=kind)

    def convert(self, tensor: PyTree) -> Any:
        """Return the value of a constant, which tables are made of; refuse to give others."""
        found = tensor.find_constant()
        return tensor._refuse() if found is None else found

    def add(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        kind: str | None = None,
    ) -> Any:
        """Add a call; return what it gives, with tensors and operations of the graph in it.

        Args:
            function: What is called.
            args: Its arguments.
            kwargs: Those with names.
            kind: TensorFlow's name of the operation.
        """
        args, kwargs = self.in_graph((args, kwargs))
        name, default, args, kwargs = self._take_name(function, args, kwargs)
        call = self._make_call(function, args, kwargs)
        for each in find_symbols((args, kwargs)):
            if isinstance(each, GraphTensor):
                call.add_input(each)
        first, trials = _trial.find_results(self._scope, call)
        call.find_order()
        results = _Results(self._scope, call, name, kind or default)
        structure, keys, names = first.structure
        count = len(first.leaves) - 0
        made = [results.find(first.leaves[index], index, _at(trials, index)) for index in range(count)]
        call.results = made
        result, added, named = jax.tree.unflatten(structure, made)
        for key, value in zip(keys, added, strict=True):
            self._scope.collections.add(key, value)
        for own_name, value in zip(names, named, strict=True):
            results.rename(value, own_name)
        results.finish()
        self._scope.add_initializers()
        return jax.tree.map(self._open, result, is_leaf=is_leaf)

    def in_graph(self, values: PyTree) -> Any:
        """Return a structure with tensors of the graph in the place of those of models."""
        return jax.tree.map(
            lambda leaf: self.give(leaf) if is_of_model(leaf) else leaf, values, is_leaf=is_leaf
        )

    def _open(self, leaf: PyTree) -> Any:
        if isinstance(leaf, MetricValue):
            # Of variables alone: it is computed without what was measured.
            return self.add(leaf.result, (), {}, kind="value")
        return leaf

    def _take_name(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[str | None, str, tuple[Any, ...], dict[str, Any]]:
        """Return a call's name, its default, and its arguments without it."""
        own = getattr(function, "__name__", type(function).__name__)
        if getattr(function, "is_composite", False):
            # What it is called has a meaning for what it makes.
            return None, own, args, kwargs
        if not args and not kwargs:
            return None, _find_kind(own), args, kwargs
        signature = self._signatures.get(function)
        if signature is None:
            try:
                signature = inspect.signature(function)
            except (TypeError, ValueError):
                signature = inspect.Signature()
            self._signatures[function] = signature
        if "name" not in signature.parameters:
            return None, _find_kind(own), args, kwargs
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return None, _find_kind(own), args, kwargs
        name = bound.arguments.get("name")
        if "name" in kwargs:
            kwargs = {key: value for key, value in kwargs.items() if key != "name"}
        elif name is not None:
            bound.arguments["name"] = None
            args, kwargs = bound.args, bound.kwargs
        return name, _find_kind(own), args, kwargs

    def _make_call(
        self,
        function: Callable[..., Any] | None,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> GraphCall:
        scope = self._scope
        return GraphCall(
            scope.graph,
            scope.graph.count(),
            function,
            args,
            kwargs or {},
            scope.position(),
            scope.controlling(),
        )

    def add_source(
        self,
        specs: Sequence[tuple[Any, Any]],
        name: str,
        kind: str,
        *,
        source: Any = None,
        default: TensorLike = None,
    ) -> list[GraphTensor]:
        """Add tensors whose values come from outside of the graph.

        Args:
            specs: The shape and dtype of each.
            name: The operation's name.
            kind: TensorFlow's name of what it does.
            source: Gives their values, where nobody feeds them.
            default: The value of one, where nobody feeds it.
        """
        function = None if default is None else (lambda value: value)
        call = self._make_call(function, () if default is None else (default,))
        call.source = source
        results = _Results(self._scope, call, name, kind)
        if isinstance(default, GraphTensor):
            call.add_input(default)
        call.find_order()
        for index, (shape, dtype) in enumerate(specs):
            results.add_tensor(index, _trial.stand_ins(shape, dtype), dtype)
        call.results = list(results.tensors)
        results.finish()
        return results.tensors

    def unique_name(self, name: str) -> str:
        """Return a name that nothing in the graph has."""
        return self._scope.names.unique(name)

    def add_group(self, name: str, operations: Iterable[Any]) -> GraphOperation:
        """Add an operation that stands for others."""
        graph = self._scope.graph
        before = dict.fromkeys([*operations, *self._scope.controlling()])
        made = GraphOperation(
            graph, self._scope.names.unique(name), graph.count(), control_inputs=list(before)
        )
        graph.operations.append(made)
        return made

    def add_operation(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        name: str,
        *,
        writes: keras.Variable | None = None,
    ) -> GraphOperation:
        """Add a call that gives one operation, of which nothing has to be found out.

        Args:
            function: Returns the operation.
            args: Its arguments.
            name: The operation's full name.
            writes: The variable that it gives a value.
        """
        call = self._make_call(function, args)
        for each in find_symbols(args):
            if isinstance(each, GraphTensor):
                call.add_input(each)
        call.find_order()
        made = GraphOperation(
            self._scope.graph,
            name,
            call.number,
            kind="Assign",
            call=call,
            index=0,
            control_inputs=call.controls,
        )
        call.writes = [] if writes is None else [writes]
        call.results = [made]
        self._scope.graph.operations.append(made)
        return made

    def add_gradients(
        self, function: Callable[..., Any], args: tuple[Any, ...], sources: Sequence[Any]
    ) -> list[GraphTensor]:
        """Add gradients, whose types are those of what they are taken by."""
        call = self._make_call(function, args)
        for each in find_symbols(args):
            if isinstance(each, GraphTensor):
                call.add_input(each)
        call.find_order()
        results = _Results(self._scope, call, None, "gradients/grad")
        for index, source in enumerate(sources):
            trials: dict[int, Abstract]
            if isinstance(source, GraphTensor):
                trials = {
                    number: jax.ShapeDtypeStruct(each.shape, each.dtype)
                    for number, each in source.trials.items()
                }
            else:
                trials = dict.fromkeys(
                    _trial.BASE, jax.ShapeDtypeStruct(tuple(source.shape), np.dtype(source.dtype))
                )
            results.add_tensor(index, trials)
        call.results = list(results.tensors)
        results.finish()
        return results.tensors


class _Results:
    """Makes tensors and operations of what a call gives."""

    def __init__(self, scope: BuiltScope, call: GraphCall, name: str | None, kind: str) -> None:
        self._scope = scope
        self._call = call
        self._kind = kind
        self._name = name
        # By id of what the first trial gave.
        self._found: dict[int, tuple[Any, Any]] = {}
        self._names: dict[int, str] = {}
        self._operations: list[GraphOperation] = []
        self.tensors: list[GraphTensor] = []

    def find(self, leaf: PyTree, index: int, trials: dict[int, Any]) -> Any:
        """Return what a result of the first trial is in the graph."""
        key = id(leaf.operation) if isinstance(leaf, _trial.Assigned) else id(leaf)
        if key in self._found and not isinstance(leaf, int | float | str | bool | bytes):
            return self._found[key][1]
        made = self._make(leaf, index, trials)
        self._found[key] = leaf, made
        return made

    def _make(self, leaf: PyTree, index: int, trials: dict[int, Any]) -> Any:
        abstracts: dict[int, Abstract] = {}
        for number, each in trials.items():
            abstract = _trial.as_abstract(each)
            if abstract is not None:
                abstracts[number] = abstract
        if isinstance(leaf, _trial.Assigned):
            operation = self._add_operation(leaf.operation.name, index)
            if not abstracts:
                return operation
            tensor = GraphTensor(self._call, index, abstracts)
            tensor.is_assigned, tensor.op = True, operation
            operation.outputs.append(tensor)
            return tensor
        if not abstracts:
            return leaf
        tensor = self.add_tensor(index, abstracts)
        tensor.is_summary = isinstance(leaf, SummaryRecord)
        return tensor

    def _add_operation(self, name: str, index: int | None) -> GraphOperation:
        call = self._call
        made = GraphOperation(
            call.graph,
            name,
            call.graph.count(),
            kind=self._kind.rpartition("/")[2],
            call=call,
            index=index,
            control_inputs=call.controls,
        )
        # Numbers of operations are those of the program: in this order they run.
        self._operations.append(made)
        return made

    def add_tensor(
        self, index: int, trials: dict[int, Abstract], dtype: DTypeLike | None = None
    ) -> GraphTensor:
        """Return a tensor, which gets its operation in the end."""
        tensor = GraphTensor(self._call, index, trials, dtype)
        self.tensors.append(tensor)
        return tensor

    def rename(self, tensor: TensorLike, name: str) -> None:
        """Have a tensor have a name that the call has given it."""
        if isinstance(tensor, GraphTensor) and not tensor.is_assigned:
            self._names[id(tensor)] = name

    def finish(self) -> None:
        """Give the tensors operations."""
        plain = [tensor for tensor in self.tensors if id(tensor) not in self._names]
        if plain:
            operation = self._add_operation(self._scope.names.unique(self._name or self._kind), None)
            for place, tensor in enumerate(plain):
                tensor.op, tensor.place = operation, place
                operation.outputs.append(tensor)
        for tensor in self.tensors:
            if id(tensor) in self._names:
                tensor.op = self._add_operation(self._names[id(tensor)], None)
                tensor.op.outputs.append(tensor)
        self._call.graph.operations.extend(self._operations)


def _at(trials: dict[int, Any], index: int) -> dict[int, Any]:
    return {number: trial.leaves[index] for number, trial in trials.items() if index < len(trial.leaves)}


def _is_of_graph(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether a call without tensors of a graph belongs to the one that is built: nothing else computes now."""
    if TRACING.get() or PIPELINE.get() is not None or not jax_arrays.is_top_level():
        return False
    return not any(
        is_traced(leaf) or isinstance(leaf, keras.KerasTensor | keras.Variable)
        for leaf in jax.tree.leaves((args, kwargs))
    )


@functools.cache
def _find_kind(name: str) -> str:
    """Return TensorFlow's name of the operation that a function of `tf` adds."""
    if name in _KINDS:
        return _KINDS[name]
    words = name.removeprefix("reduce_").split("_")
    return "".join(word.capitalize() for word in words) or "Operation"
