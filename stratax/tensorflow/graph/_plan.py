"""What a session computes for certain fetches and feeds, as a compiled program (graph layer)."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import TensorLike
from stratax.core import Function
from stratax.summary.forms import SummaryRecord
from stratax.tensorflow.graph._evaluation import Evaluation
from stratax.tensorflow.graph._gradients import differentiate
from stratax.tensorflow.graph._nodes import GraphCall, GraphOperation, GraphTensor, describe_dtype
from stratax.tensorflow.graph._scopes import BuiltScope
from stratax.tensorflow.v1 import DerivativesError, Operation

# Gradients of gradients, and so on.
_MOST_DERIVATIVES = 4
# Of so few whole numbers a program may be made for their values.
_MOST_CONSTANTS = 16

Fetch: TypeAlias = Any


class Run(Evaluation):
    """Makes the calls of a plan, with values that are traced.

    Args:
        scope: The scope of the graph.
        fed: The values of what is fed, by id of the tensor.
    """

    def __init__(self, scope: BuiltScope, fed: dict[int, Any]) -> None:
        super().__init__(scope)
        self._values = fed
        self._leaves: dict[int, list[Any]] = {}

    def value(self, tensor: GraphTensor) -> Any:
        if id(tensor) not in self._values:
            if tensor.call.number not in self._leaves:
                # What a function has closed over that was not tried: an initializer.
                self._check_fed(tensor)
                self.compute_call(tensor.call)
            leaf = self._leaves[tensor.call.number][tensor.index]
            if isinstance(leaf, Operation):
                self.scope.make_operation(leaf, self.done)
                leaf = leaf.value()
            self._values[id(tensor)] = leaf
        return self._values[id(tensor)]

    def _check_fed(self, tensor: GraphTensor) -> None:
        if tensor.call.function is None:
            raise _missing_feed(tensor)

    def operation(self, operation: GraphOperation) -> Any:
        if operation.index is None or operation.call is None:
            return Operation(None, operation.name, (), -1)
        return self._leaves[operation.call.number][operation.index]

    def compute_call(self, call: GraphCall) -> None:
        """Make a call, and keep its results."""
        for each in call.inputs:
            # Here: inside of a branch or a loop it would be a value of that.
            self.value(each)
        self._leaves[call.number], _ = self.make(call)

    def watch(self, tensor: GraphTensor) -> None:
        """Have gradients be asked for of a tensor's value."""
        value = self.value(tensor)
        if not is_traced(value):
            value = self._values[id(tensor)] = jnp.array(value)
        self.scope.derivatives.watch(value)

    def run_operation(self, operation: GraphOperation) -> None:
        """Run an operation and, before it, those that it waits for."""
        made = self.operation(operation)
        if operation.index is not None:
            self.scope.make_operation(made, self.done)

    def end(self) -> None:
        """Run what runs in the end."""
        for each in self.scope.operations_behind_end():
            self.scope.make_operation(each, self.done)


class Plan:
    """What is computed for fetches and feeds.

    Args:
        scope: The scope of the graph.
        fetches: Tensors, operations and variables.
        fed: The tensors that are fed.

    Attributes:
        sources: The calls whose values the host gives, before each run.
        begins: What is done on the host first.
        needs: The variables that need a value.
        writes: The variables that have one behind a run.
    """

    def __init__(self, scope: BuiltScope, fetches: Sequence[Fetch], fed: Sequence[GraphTensor]) -> None:
        self._scope = scope
        self.fetches = list(fetches)
        self._fed = list(fed)
        calls, operations = find_needed(self.fetches, {id(each) for each in fed})
        self.sources = [call for call in calls if call.source is not None]
        self.begins = [each.begins for each in operations if each.begins is not None]
        # What the host gives is fed.
        self._fed += [each for call in self.sources for each in call.results]
        known = {id(each) for each in self._fed}
        computed = [call for call in calls if call.source is None]
        self._before, self._behind, computed = divide_by_host(computed, known)
        self._given = list(self._fed)
        self._fed += [each for call in self._before for each in _tensors_of(call)]
        known.update(map(id, self._fed))
        # What the program gives: what is fetched of it, and what the host computes with behind it.
        on_host = {*known, *(id(each) for call in self._behind for each in _tensors_of(call))}
        wanted = [each for each in self.fetches if id(each) not in on_host]
        wanted += [each for call in self._behind for each in call.inputs if id(each) not in on_host]
        self._outputs = list({id(each): each for each in wanted}.values())
        for call in computed:
            if call.function is None:
                raise _missing_feed(call.results[0])
        self._first = [call for call in computed if not call.is_behind]
        behind: list[GraphCall | GraphOperation] = [call for call in computed if call.is_behind]
        updates = [each for each in operations if each.index is not None]
        self._rest = sorted([*behind, *updates], key=_order)
        gradients = [call for call in computed if call.function is differentiate]
        self._differentiates = bool(gradients)
        # By the number of the call that gives them; None for what is fed.
        self._watched: dict[int | None, list[GraphTensor]] = {}
        for call in gradients:
            for each in call.args[1]:
                if isinstance(each, GraphTensor):
                    key = None if id(each) in known else each.call.number
                    self._watched.setdefault(key, []).append(each)
        self.needs, self.writes = self._find_variables()
        self._constants: dict[int, Any] = {}
        self._varying = [index for index, each in enumerate(self._fed) if not _is_text(each)]
        self._functions: dict[Any, Function] = {}
        self._may_fix = True
        has_fed = any(id(each) in known for each in self.fetches)
        self._has_host = (
            bool(self._before or self._behind) or has_fed or len(self._outputs) != len(self.fetches)
        )

    def _find_variables(self) -> tuple[list[Any], list[Any]]:
        needs: dict[int, Any] = {}
        writes: dict[int, Any] = {}
        for each in self.fetches:
            if isinstance(each, keras.Variable):
                needs[id(each)] = each
        for item in [*self._first, *self._rest]:
            call = item if isinstance(item, GraphCall) else item.call
            if isinstance(item, GraphCall) and not item.writes:
                for each in item.reads:
                    if id(each) not in writes:
                        needs[id(each)] = each
            elif isinstance(item, GraphOperation) and call is not None:
                for each in call.reads:
                    if id(each) not in writes:
                        needs[id(each)] = each
                writes.update({id(each): each for each in call.writes})
        graph_of = [each for each in needs.values() if hasattr(each, "first")]
        return graph_of, list(writes.values())

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Compute; return the value of each fetch, None for operations.

        Args:
            values: NumPy arrays for what is fed, and what sources give.
        """
        if not self._has_host:
            return self._run(values)
        found = {id(tensor): value for tensor, value in zip(self._given, values, strict=True)}
        self._compute_on_host(self._before, found)
        made = self._run([found[id(tensor)] for tensor in self._fed])
        found |= {id(each): value for each, value in zip(self._outputs, made, strict=True)}
        self._compute_on_host(self._behind, found)
        return [found.get(id(each)) for each in self.fetches]

    def _compute_on_host(self, calls: Sequence[GraphCall], found: dict[int, Any]) -> None:
        """Make calls on the host, with values, and add what they give to those."""
        if not calls:
            return
        run = Run(self._scope, found)
        with self._scope.evaluating(run):
            for call in calls:
                run.compute_call(call)
                for tensor in _tensors_of(call):
                    value = run.value(tensor)
                    found[id(tensor)] = value if isinstance(value, SummaryRecord) else np.asarray(value)

    def _run(self, values: Sequence[Any]) -> list[Any]:
        """Run the program; return what it gives.

        Args:
            values: NumPy arrays for what is fed to it.
        """
        while True:
            key = tuple(
                (values[index].dtype.str, values[index].tobytes(), values[index].shape)
                for index in self._constants
            )
            function = self._functions.get(key)
            if function is None:
                fixed = {index: values[index] for index in self._constants}
                function = self._functions[key] = Function(
                    _Body(self, fixed).trace, autograph=False, traces_before_warning=0
                )
            try:
                return function([values[index] for index in self._varying])  # type: ignore[no-any-return]
            except DerivativesError:
                if self._scope.state.derivatives > _MOST_DERIVATIVES:
                    raise
                # Gradients of gradients; or the first, inside of a function's call.
                self._scope.state.derivatives += self._differentiates
                self._differentiates = True
            except (errors.StrataxError, jax.errors.JAXTypeError, TypeError, ValueError):
                if not self._fix_numbers(values):
                    raise

    def _fix_numbers(self, values: Sequence[Any]) -> bool:
        """Have whole numbers that are fed be constants of programs; return whether there is something new."""
        found = [
            index
            for index in self._varying
            if values[index].dtype.kind in "iub" and values[index].size <= _MOST_CONSTANTS
        ]
        if not self._may_fix or not found:
            return False
        self._may_fix = False
        self._constants = dict.fromkeys(found)
        self._varying = [index for index in self._varying if index not in self._constants]
        return True

    def trace(self, varying: Sequence[Any], fixed: dict[int, Any]) -> list[Any]:
        """Compute, with values that are traced.

        Args:
            varying: The values of what is fed and none of `fixed`.
            fixed: Values that are constants of the program.
        """
        given = dict(zip(self._varying, varying, strict=True)) | fixed
        fed = {id(tensor): given[index] for index, tensor in enumerate(self._fed) if index in given}
        run = Run(self._scope, fed)
        with self._scope.evaluating(run, list(varying), differentiates=self._differentiates):
            for tensor in self._watched.get(None, ()):
                run.watch(tensor)
            for call in self._first:
                self._compute(run, call)
            # Before operations run: of what does not depend on them, the values are those of before.
            found = {
                index: self._read(run, each)
                for index, each in enumerate(self._outputs)
                if not _is_later(each)
            }
            for item in self._rest:
                if isinstance(item, GraphCall):
                    self._compute(run, item)
                else:
                    run.run_operation(item)
            found |= {
                index: self._read(run, each) for index, each in enumerate(self._outputs) if _is_later(each)
            }
            run.end()
        return [found[index] for index in range(len(self._outputs))]

    def _compute(self, run: Run, call: GraphCall) -> None:
        run.compute_call(call)
        for tensor in self._watched.get(call.number, ()):
            run.watch(tensor)

    def _read(self, run: Run, fetch: Fetch) -> Any:
        if isinstance(fetch, GraphOperation):
            return None
        value = fetch.value if isinstance(fetch, keras.Variable) else run.value(fetch)
        return value if not is_traced(value) else jnp.array(value, copy=True)


def _is_text(tensor: GraphTensor) -> bool:
    return np.dtype(tensor.dtype).hasobject


def _tensors_of(call: GraphCall) -> list[GraphTensor]:
    return [each for each in call.results if isinstance(each, GraphTensor)]


def divide_by_host(
    calls: Sequence[GraphCall], known: set[int]
) -> tuple[list[GraphCall], list[GraphCall], list[GraphCall]]:
    """Return the calls that the host makes before a program and behind it, and those of the program.

    Args:
        calls: Calls in the order of the graph.
        known: The ids of tensors that are fed.

    Raises:
        UnimplementedError: If the program computes with text that depends on its own results.
    """
    before: list[GraphCall] = []
    behind: list[GraphCall] = []
    program: list[GraphCall] = []
    early, late = set(known), set[int]()
    for call in calls:
        own = _tensors_of(call)
        if call.is_on_host or any(map(_is_text, [*call.inputs, *own])):
            is_early = all(id(each) in early for each in call.inputs)
            (before if is_early else behind).append(call)
            (early if is_early else late).update(map(id, own))
        elif any(id(each) in late for each in call.inputs):
            raise errors.UnimplementedError(
                "A device computes with what the host makes of its own results, in one run. Fetch the results, and "
                f"feed them in a second run. Received: {shown(call.results)}."
            )
        else:
            program.append(call)
    return before, behind, program


class _Body:
    """A plan's program for certain values of whole numbers."""

    def __init__(self, plan: Plan, fixed: dict[int, Any]) -> None:
        self._plan = plan
        self._fixed = fixed

    def trace(self, varying: list[Any]) -> list[Any]:
        return self._plan.trace(varying, self._fixed)


def _order(item: GraphCall | GraphOperation) -> int:
    return item.number if isinstance(item, GraphCall) else item.order


def _is_later(fetch: Fetch) -> bool:
    return isinstance(fetch, GraphTensor) and (fetch.is_assigned or fetch.call.is_behind)


def find_needed(fetches: Sequence[Fetch], fed: set[int]) -> tuple[list[GraphCall], list[GraphOperation]]:
    """Return the calls and the operations that fetches depend on, in the order of the graph.

    Args:
        fetches: Tensors, operations and variables.
        fed: The ids of tensors that are fed: what they are computed of is not needed.
    """
    calls: dict[int, GraphCall] = {}
    operations: dict[int, GraphOperation] = {}
    waiting: list[Any] = list(fetches)
    while waiting:
        each = waiting.pop()
        if isinstance(each, GraphTensor):
            if id(each) not in fed:
                if each.is_assigned:
                    waiting.append(each.op)
                waiting.append(each.call)
        elif isinstance(each, GraphOperation):
            if id(each) not in operations:
                operations[id(each)] = each
                waiting.extend(each.control_inputs)
                is_fed = bool(each.outputs) and all(id(output) in fed for output in each.outputs)
                if each.call is not None and not is_fed:
                    waiting.append(each.call)
        elif isinstance(each, GraphCall) and id(each) not in calls:
            calls[id(each)] = each
            waiting.extend([*each.inputs, *each.controls])
    return (
        sorted(calls.values(), key=lambda call: call.number),
        sorted(operations.values(), key=lambda operation: operation.order),
    )


def _missing_feed(tensor: GraphTensor) -> Exception:
    shape = "" if tensor.shape.rank is None else f" and shape {_show(tensor)}"
    return errors.BadArgumentError(
        f"You must feed a value for placeholder tensor '{tensor.op.name}' with dtype {describe_dtype(tensor)}{shape}. "
        "Pass it in feed_dict."
    )


def _show(tensor: GraphTensor) -> str:
    return "[" + ",".join("?" if size is None else str(size) for size in tensor.shape.as_list()) + "]"


def as_fed(tensor: GraphTensor, value: TensorLike) -> np.ndarray:
    """Return a value as it is fed for a tensor.

    Args:
        tensor: The tensor.
        value: An array, a number or a nested list.

    Raises:
        BadTypeError: If it is a tensor.
        BadArgumentError: If it does not fit.
    """
    # NumPy asks a dtype of `tf` for much before it takes it.
    dtype = tensor.dtype.dtype
    if type(value) is np.ndarray and value.dtype == dtype and _fits(tensor, value.shape):
        return value
    if isinstance(value, GraphTensor | keras.Variable):
        raise errors.BadTypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, "
            f"lists, numpy ndarrays. For reference, the tensor object was {shown(value)}. Run it first."
        )
    try:
        array = np.asarray(value, dtype)
    except (TypeError, ValueError) as error:
        raise errors.BadArgumentError(
            f"{error} Expected: a value of dtype {tensor.dtype.name} for tensor {shown(tensor.name)}."
        ) from None
    if not _fits(tensor, array.shape):
        raise errors.BadArgumentError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, which has shape {_tuple(tensor)}."
        )
    return array


def _fits(tensor: GraphTensor, shape: tuple[int, ...]) -> bool:
    sizes = tensor.sizes
    return sizes is None or (
        len(sizes) == len(shape)
        and all(size is None or size == own for size, own in zip(sizes, shape, strict=True))
    )


def _tuple(tensor: GraphTensor) -> str:
    return str(tuple("?" if size is None else size for size in tensor.shape.as_list())).replace("'?'", "?")
